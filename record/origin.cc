#include "record/origin.h"

#include "base/file.h"
#include "base/json.h"

namespace draftlab {

void write_origin(const std::filesystem::path& file, const Origin& origin) {
  JsonObject object{{"folder", origin.folder}, {"workers", origin.workers}};
  if (origin.alone) object["alone"] = *origin.alone;
  replace_file(file, pretty(object));
}

std::optional<Origin> read_origin(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const Json value = read_json(file);
  Fields fields(value, file.string());
  Origin origin{fields.text("folder"), std::nullopt, fields.integer("workers")};
  if (fields.has("alone")) origin.alone = fields.boolean("alone", false);
  fields.finish();
  return origin;
}

}  // namespace draftlab
