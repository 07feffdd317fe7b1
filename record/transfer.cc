#include "record/transfer.h"

#include "base/file.h"

namespace draftlab {

JsonArray to_json(const std::vector<TransferRow>& rows) {
  JsonArray list;
  for (const TransferRow& row : rows) {
    list.push_back(JsonObject{
        {"tensor", row.tensor}, {"buffer", row.buffer}, {"fate", row.fate}, {"how", row.how}});
  }
  return list;
}

std::vector<TransferRow> transfer_from_json(const JsonArray& list, const std::string& where) {
  std::vector<TransferRow> rows;
  for (const Json& element : list) {
    Fields row(element, where + "[" + std::to_string(rows.size()) + "]");
    rows.push_back({row.text("tensor"), row.text("buffer"), row.text("fate"), row.text("how")});
    row.finish();
    require_one_of(rows.back().fate, {"carried", "converted", "reset", "dropped"},
                   row.where("fate"));
  }
  return rows;
}

void write_transfer(const std::filesystem::path& file, const std::vector<TransferRow>& rows) {
  replace_file(file, pretty(JsonObject{{"rows", to_json(rows)}}));
}

std::vector<TransferRow> read_transfer(const std::filesystem::path& file) {
  const Json value = read_json(file);
  Fields fields(value, file.string());
  std::vector<TransferRow> rows = transfer_from_json(fields.array("rows"), fields.where("rows"));
  fields.finish();
  return rows;
}

}  // namespace draftlab
