#include "reports/text/html.h"

#include <gmock/gmock.h>

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Escape, LeavesNoMarkupNoQuoteAndNoControlCharacter) {
  EXPECT_EQ(escape("</script><b>\"a\" & 'b'"),
            "&lt;/script&gt;&lt;b&gt;&quot;a&quot; &amp; &#39;b&#39;");
  EXPECT_EQ(escape(std::string("a\0b\x1b", 4)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(escape("é中文"), "é中文");
}

TEST(Escape, LeavesNothingThatTurnsTheDirectionOfWriting) {
  // Right-to-left override, left-to-right isolate; but not the ellipsis, which starts alike.
  EXPECT_EQ(escape("a\xE2\x80\xAE"
                   "b\xE2\x81\xA6"
                   "c…"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD"
            "c…");
  EXPECT_EQ(without_controls("<a>\n\t"), "<a>\n\t");
}

TEST(Shorten, CutsBetweenCharactersAndNotInsideOfOne) {
  EXPECT_EQ(shorten("Muon", 4), "Muon");
  EXPECT_EQ(shorten("Muon 2", 4), "Muo…");
  EXPECT_EQ(shorten("中文中文中", 3), "中文…");
}

TEST(HtmlTable, MarksHeadersAndNumbers) {
  HtmlTable table({"arm", "loss"});
  table.row({"Muon", "1.5"});
  table.wide_row("AdamW", "nothing");
  EXPECT_THAT(table.html(), HasSubstr("<th scope=\"col\" class=\"number\">loss</th>"));
  EXPECT_THAT(table.html(), HasSubstr("<th scope=\"row\">Muon</th><td class=\"number\">1.5</td>"));
  EXPECT_THAT(table.html(),
              HasSubstr("<th scope=\"row\">AdamW</th><td colspan=\"1\">nothing</td>"));
}

TEST(HtmlTable, SaysAColumnThatIsConstantOnceBelow) {
  HtmlTable table({"arm", "seeds", "loss"});
  table.row({"AdamW", "5", "1.5"});
  EXPECT_EQ(table.html_without_constants(), table.html());  // one row has no constants
  table.wide_row("boom", "nothing");
  table.row({"Muon", "5", "1.4"});
  const std::string html = table.html_without_constants();
  EXPECT_THAT(html, HasSubstr("<p class=\"note\">In every row: seeds 5.</p>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">Muon</th><td class=\"number\">1.4</td></tr>"));
  EXPECT_THAT(html, HasSubstr("<td colspan=\"1\">nothing</td>"));
  EXPECT_THAT(html, Not(HasSubstr("seeds</th>")));
}

}  // namespace
}  // namespace draftlab
