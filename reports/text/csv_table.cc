#include "reports/text/csv_table.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/number_text.h"

namespace draftlab {
namespace {

// Goes through the text field by field.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& origin) : rest_(text), origin_(origin) {}

  bool at_end() const { return rest_.empty(); }
  // The fields of one line.
  std::vector<std::string> line() {
    std::vector<std::string> fields;
    ++row_;
    while (true) {
      fields.push_back(field());
      if (rest_.starts_with(',')) {
        rest_.remove_prefix(1);
        continue;
      }
      if (!rest_.starts_with("\r\n"))
        fail(rest_.empty() ? "the last line does not end with CR LF; the file was cut"
                           : "a field is followed by neither a comma nor CR LF");
      rest_.remove_prefix(2);
      return fields;
    }
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(origin_ + ", row " + std::to_string(row_), what);
  }

 private:
  std::string field() {
    std::string text = rest_.starts_with('"') ? quoted() : plain();
    if (text.starts_with('\'')) text.erase(0, 1);
    return text;
  }

  std::string plain() {
    const size_t length = std::min(rest_.find_first_of(",\"\r\n"), rest_.size());
    std::string text(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return text;
  }

  std::string quoted() {
    std::string text;
    rest_.remove_prefix(1);
    while (true) {
      const size_t quote = rest_.find('"');
      if (quote == rest_.npos) fail("a quote is opened and not closed");
      text += rest_.substr(0, quote);
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) return text;
      text += '"';
      rest_.remove_prefix(1);
    }
  }

  std::string_view rest_;
  const std::string& origin_;
  int64_t row_ = 0;
};

}  // namespace

double CsvField::number() const { return parse_number(text, where); }

std::optional<double> CsvField::number_if_any() const {
  return empty() ? std::nullopt : std::optional(number());
}

int64_t CsvField::integer() const {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (empty() || error != std::errc() || last != end)
    throw Error(where, "must be a whole number, is '" + text + "'");
  return value;
}

bool CsvField::yes() const {
  if (text != "yes" && text != "no") throw Error(where, "must be yes or no, is '" + text + "'");
  return text == "yes";
}

CsvTable::CsvTable(std::string_view text, std::string origin) : origin_(std::move(origin)) {
  if (text.empty()) throw Error(origin_, "is empty; a table begins with the names of its columns");
  CsvReader reader(text, origin_);
  columns_ = reader.line();
  std::set<std::string> names;
  for (const std::string& name : columns_)
    if (!names.insert(name).second) reader.fail("column '" + name + "' is there twice");
  while (!reader.at_end()) {
    std::vector<std::string> line = reader.line();
    if (line.size() != columns_.size())
      reader.fail("has " + std::to_string(line.size()) + " fields, and there are " +
                  std::to_string(columns_.size()) + " columns");
    std::ranges::move(line, std::back_inserter(fields_));
  }
}

std::optional<size_t> CsvTable::index(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  return found == columns_.end() ? std::nullopt : std::optional<size_t>(found - columns_.begin());
}

bool CsvTable::has(std::string_view column) const { return index(column).has_value(); }

std::string CsvTable::where(size_t row, std::string_view column) const {
  return origin_ + ", row " + std::to_string(row + 2) + ", column " + std::string(column);
}

CsvField CsvTable::at(size_t row, std::string_view column) const {
  const std::optional<size_t> i = index(column);
  if (!i) throw Error(origin_, "has no column '" + std::string(column) + "'");
  return {fields_[row * columns_.size() + *i], where(row, column)};
}

CsvTable read_csv_table(const std::filesystem::path& file) {
  return CsvTable(read_file(file), file.string());
}

void require_equal(const CsvTable& table, const CsvTable& expected) {
  for (const std::string& column : table.columns())
    if (!expected.has(column)) throw Error(table.origin(), "column '" + column + "' is unknown");
  for (const std::string& column : expected.columns())
    if (!table.has(column)) throw Error(table.origin(), "has no column '" + column + "'");
  if (table.columns() != expected.columns())
    throw Error(table.origin(), "has its columns in another order");
  if (table.rows() != expected.rows())
    throw Error(table.origin(), "has " + std::to_string(table.rows()) + " rows, not " +
                                    std::to_string(expected.rows()));
  for (size_t row = 0; row < table.rows(); ++row) {
    for (const std::string& column : table.columns()) {
      const std::string says = table.at(row, column).text, is = expected.at(row, column).text;
      if (says == is) continue;
      throw Error(table.where(row, column), "says '" + says + "', but all else that was exported " +
                                                "makes it '" + is + "'; the tables were changed");
    }
  }
}

}  // namespace draftlab
