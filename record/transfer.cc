#include "record/transfer.h"

#include "base/file.h"
#include "base/json.h"

namespace draftlab {

void write_transfer(const std::filesystem::path& file, const std::vector<TransferRow>& rows) {
  JsonArray list;
  for (const TransferRow& row : rows) {
    list.push_back(JsonObject{
        {"tensor", row.tensor}, {"buffer", row.buffer}, {"fate", row.fate}, {"how", row.how}});
  }
  replace_file(file, pretty(JsonObject{{"rows", list}}));
}

std::vector<TransferRow> read_transfer(const std::filesystem::path& file) {
  const Json value = read_json(file);
  Fields fields(value, file.string());
  std::vector<TransferRow> rows;
  for (const Json& element : fields.array("rows")) {
    Fields row(element, fields.where("rows[" + std::to_string(rows.size()) + "]"));
    rows.push_back({row.text("tensor"), row.text("buffer"), row.text("fate"), row.text("how")});
    row.finish();
    require_one_of(rows.back().fate, {"carried", "converted", "reset", "dropped"},
                   row.where("fate"));
  }
  fields.finish();
  return rows;
}

}  // namespace draftlab
