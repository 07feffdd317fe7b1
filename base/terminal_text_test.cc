#include "base/terminal_text.h"

#include <gmock/gmock.h>

namespace draftlab {
namespace {

TEST(TerminalText, PaddingCountsCharactersAndCutsNothing) {
  EXPECT_EQ(padded("é", 3), "é  ");
  EXPECT_EQ(padded("four", 3), "four");
}

TEST(TerminalText, ControlCharactersAndBrokenUtf8AreShownAndNotSent) {
  EXPECT_EQ(printable("é中 <b>"), "é中 <b>");
  EXPECT_EQ(printable("a\x1b[2J\n"), "a\\x1b[2J\\x0a");
  EXPECT_EQ(printable("\xc2\x9b"
                      "x"),
            "\\xc2\\x9bx");  // U+009B, a control sequence of its own
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
}

TEST(TerminalText, CutsBetweenCharacters) {
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdef", 5), "ab...");
  EXPECT_EQ(cut("ééééé", 4), "é...");
  EXPECT_EQ(cut("abcdef", 2), "..");
}

TEST(TerminalText, Durations) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1 min");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 5 min");
  EXPECT_EQ(duration_text(4 * 86400 + 3 * 3600), "4 d 3 h");
}

TEST(TerminalText, WordsWrapBelowTheFirstOne) {
  EXPECT_EQ(wrapped("é: ", "one two three", 10),
            "é: one two\n"
            "   three\n");
  EXPECT_EQ(wrapped("  ", "a-word-that-is-too-long b", 10),
            "  a-word-that-is-too-long\n"
            "  b\n");
  EXPECT_EQ(wrapped("x", "", 10), "x\n");
}

TEST(TerminalText, Bytes) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(812), "812 B");
  EXPECT_EQ(bytes_text(999.7), "1.00 kB");
  EXPECT_EQ(bytes_text(108e6), "108 MB");
  EXPECT_EQ(bytes_text(3.44e9), "3.44 GB");
}

TEST(TerminalText, TablesAlignByCharacters) {
  EXPECT_EQ(table({"run", "n", ""}, {{"é", "10", "x"}, {"abcd", "9", ""}}, {false, true, false}),
            "run    n\n"
            "é     10  x\n"
            "abcd   9\n");
}

}  // namespace
}  // namespace draftlab
