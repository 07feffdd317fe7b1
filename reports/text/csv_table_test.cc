#include "reports/text/csv_table.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

std::string told(const std::string& text) {
  try {
    CsvTable(text, "t.csv");
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(CsvTable, ReadsEveryTextAndNumberThatIsWritten) {
  const std::vector<std::string> texts = {"",     "plain",   "a,b",     "say \"x\"", "two\r\nlines",
                                          "=1+1", "'quoted", "''twice", "-3",        "@x, \"y\"",
                                          "\"",   "'",       "tab\t",   "\tfirst",   "\r"};
  const std::vector<double> numbers = {0.1,
                                       -0.0,
                                       1e-300,
                                       5e-324,
                                       1.7976931348623157e308,
                                       std::numeric_limits<double>::infinity(),
                                       -std::numeric_limits<double>::infinity()};
  std::string csv = "text,number\r\n";
  for (size_t i = 0; i < texts.size(); ++i) {
    add_csv_field(texts[i], csv);
    csv += ',';
    add_csv_field(numbers[i % numbers.size()], csv);
    csv += "\r\n";
  }
  const CsvTable table(csv, "t.csv");
  ASSERT_EQ(table.rows(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(table.at(i, "text").text, texts[i]);
    EXPECT_EQ(table.at(i, "number").number(), numbers[i % numbers.size()]);
    EXPECT_EQ(std::signbit(table.at(i, "number").number()),
              std::signbit(numbers[i % numbers.size()]));
  }
}

TEST(CsvTable, KeepsNaNApartFromNoValue) {
  const CsvTable table("x,y\r\nNaN,\r\n", "t.csv");
  EXPECT_TRUE(std::isnan(table.at(0, "x").number()));
  EXPECT_TRUE(std::isnan(*table.at(0, "x").number_if_any()));
  EXPECT_EQ(table.at(0, "y").number_if_any(), std::nullopt);
  EXPECT_THROW(table.at(0, "y").number(), Error);
}

TEST(CsvTable, NamesTheRowOfWhatIsBroken) {
  EXPECT_THAT(told(""), HasSubstr("t.csv"));
  EXPECT_THAT(told("a,b\r\n1\r\n"), HasSubstr("row 2"));
  EXPECT_THAT(told("a,b\r\n1,2\r\n1,2,3\r\n"), HasSubstr("row 3"));
  EXPECT_THAT(told("a,a\r\n"), HasSubstr("'a' is there twice"));
  EXPECT_THAT(told("a\r\n1"), HasSubstr("cut"));
  EXPECT_THAT(told("a\n1\n"), HasSubstr("CR LF"));
  EXPECT_THAT(told("a\r\n\"1\r\n"), HasSubstr("not closed"));
  EXPECT_THAT(told("a\r\n\"1\"2\r\n"), HasSubstr("row 2"));
}

TEST(CsvTable, TakesNoNumberThatIsNotWhole) {
  const CsvTable table("x\r\n1.5\r\n1e3\r\n99999999999999999999\r\nyes\r\n", "t.csv");
  for (size_t row = 0; row < table.rows(); ++row)
    EXPECT_THROW(table.at(row, "x").integer(), Error) << row;
  EXPECT_TRUE(table.at(3, "x").yes());
  EXPECT_THROW(table.at(0, "x").yes(), Error);
}

TEST(CsvTable, SaysWhereTwoTablesDiffer) {
  const CsvTable table("x,y\r\n1,2\r\n3,4\r\n", "t.csv");
  require_equal(table, table);
  const auto differs = [&](const std::string& other) {
    try {
      require_equal(table, CsvTable(other, "o.csv"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(differs("x,y\r\n1,2\r\n3,5\r\n"), HasSubstr("t.csv, row 3, column y"));
  EXPECT_THAT(differs("x,y\r\n1,2\r\n"), HasSubstr("2 rows"));
  EXPECT_THAT(differs("x,z\r\n1,2\r\n3,4\r\n"), HasSubstr("'y' is unknown"));
  EXPECT_THAT(differs("y,x\r\n1,2\r\n3,4\r\n"), HasSubstr("another order"));
}

}  // namespace
}  // namespace draftlab
