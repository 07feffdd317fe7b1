#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace draftlab {

// One field of a table that was read. Each of these throws Error naming file, row and column for
// text that is not what is asked for.
struct CsvField {
  std::string text;   // unquoted, without the apostrophe before what looks like a formula
  std::string where;  // "runs.csv, row 3, column steps"

  bool empty() const { return text.empty(); }
  double number() const;  // NaN and infinity too
  std::optional<double> number_if_any() const;
  int64_t integer() const;
  bool yes() const;  // "yes" or "no"
};

// A table as csv.h writes it. Rows are counted as a spreadsheet does: the line of column names is
// row 1, and row(0) is row 2.
class CsvTable {
 public:
  // Throws Error naming `origin`, row and column where there are no column names or one is there
  // twice, a row has another number of fields, a line does not end with CR LF, or a quote is amiss.
  CsvTable(std::string_view text, std::string origin);

  const std::string& origin() const { return origin_; }
  const std::vector<std::string>& columns() const { return columns_; }
  size_t rows() const { return fields_.size() / columns_.size(); }
  bool has(std::string_view column) const;
  // Throws Error where there is no such column. REQUIRES: row < rows().
  CsvField at(size_t row, std::string_view column) const;
  std::string where(size_t row, std::string_view column) const;

 private:
  std::optional<size_t> index(std::string_view column) const;

  std::string origin_;
  std::vector<std::string> columns_;
  std::vector<std::string> fields_;  // all rows, one after another
};

CsvTable read_csv_table(const std::filesystem::path& file);

// Throws Error naming the first column or field in which `table` is not `expected`.
void require_equal(const CsvTable& table, const CsvTable& expected);

}  // namespace draftlab
