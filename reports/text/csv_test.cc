#include "reports/text/csv.h"

#include <gtest/gtest.h>

#include <cmath>

namespace draftlab {
namespace {

TEST(CsvField, QuotesWhatRfc4180Asks) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

TEST(CsvField, IsNeverAFormulaOfASpreadsheet) {
  for (const std::string text : {"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'=1", "'"})
    EXPECT_EQ(csv_field(text), "'" + text);
  EXPECT_EQ(csv_field("\r=1"), "\"'\r=1\"");
  EXPECT_EQ(csv_field("=HYPERLINK(\"x\",1)"), "\"'=HYPERLINK(\"\"x\"\",1)\"");
  EXPECT_EQ(csv_field("a=1 - b's"), "a=1 - b's");
  std::string number;
  add_csv_field(-1.5, number);
  EXPECT_EQ(number, "-1.5");
}

struct Line {
  std::string name;
  double number = 0;
  std::optional<int64_t> count;
  bool flag = false;
};

TEST(Csv, WritesMembersAndFunctionsOfARow) {
  const std::vector<CsvColumn<Line>> columns = {
      {"name", &Line::name},
      {"number, half", [](const Line& line) { return line.number / 2; }},
      {"count", &Line::count},
      {"flag", &Line::flag},
      {"word", [](const Line&) { return "x"; }}};
  EXPECT_EQ(csv(columns, {{"a,b", 1e-3, 3, true}, {"", NAN, std::nullopt, false}}),
            "name,\"number, half\",count,flag,word\r\n"
            "\"a,b\",5e-04,3,yes,x\r\n"
            ",NaN,,no,x\r\n");
  EXPECT_EQ(csv(columns, {}), "name,\"number, half\",count,flag,word\r\n");
}

}  // namespace
}  // namespace draftlab
