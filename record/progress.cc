#include "record/progress.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace draftlab {
namespace {

// Skips the syncs: losing a progress report in a crash costs nothing.
class HastyDisk : public Disk {
 public:
  void write_and_sync(const std::filesystem::path& file, std::string_view bytes) override {
    write(file, bytes);
  }
  void sync_folder(const std::filesystem::path&) override {}
};

}  // namespace

void write_progress(const std::filesystem::path& file, const Progress& progress) {
  HastyDisk disk;
  replace_file(file,
               canonical(JsonObject{{"step", progress.step},
                                    {"steps", progress.steps},
                                    {"steps_per_second", progress.steps_per_second}}),
               disk);
}

std::optional<Progress> read_progress(const std::filesystem::path& file) {
  try {
    const Json value = read_json(file);
    Fields fields(value, file.string());
    return Progress{fields.integer("step"), fields.integer("steps"),
                    fields.number("steps_per_second")};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace draftlab
