#include "record/lives.h"

#include <algorithm>

#include "base/build.h"
#include "base/error.h"
#include "base/file.h"
#include "record/run_folder.h"

namespace draftlab {
namespace {

constexpr int64_t kSchema = 2;  // 1: one flat object, without a schema

}  // namespace

JsonObject to_json(const Life& life) {
  JsonObject object{{"host", life.host}, {"first_step", life.first_step}};
  const JsonObject machine = to_json(life.machine);
  for (const JsonObject& facts : {machine, life.build}) {
    for (const auto& fact : facts) object.insert(fact);
  }
  return object;
}

// What is not of the machine is of the build.
Life life_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  Life life;
  life.host = fields.text("host", "");
  life.first_step = fields.integer("first_step", 0);
  life.machine = read_machine(fields);
  const JsonObject machine = to_json(life.machine);
  for (const auto& field : value.as_object()) {
    const std::string_view key = field.key();
    if (key != "host" && key != "first_step" && !machine.contains(key))
      life.build[key] = field.value();
  }
  return life;
}

JsonObject this_build() {
  return {{"draftlab_version", build_version()},
          {"commit", build_commit()},
          {"build_type", build_type()},
          {"compiler", build_compiler()}};
}

bool is_of_this_build(const Life& life) {
  const JsonObject ours = this_build();
  return std::ranges::all_of(ours, [&](const auto& fact) {
    const Json* theirs = life.build.if_contains(fact.key());
    return theirs != nullptr && *theirs == fact.value();
  });
}

void add_life(const std::filesystem::path& file, const Life& life) {
  std::vector<Life> lives = read_lives(file);
  lives.push_back(life);
  JsonArray list;
  for (const Life& each : lives) list.push_back(to_json(each));
  replace_file(file, pretty(JsonObject{{"schema", kSchema}, {"lives", std::move(list)}}));
}

std::vector<Life> read_lives(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  const Json value = read_json(file);
  Fields fields(value, file.string());
  if (!fields.has("lives")) return {life_from_json(value, file.string())};
  require_schema(fields.integer("schema"), kSchema, fields.where("schema"));
  std::vector<Life> lives;
  for (const Json& life : fields.array("lives")) {
    lives.push_back(
        life_from_json(life, fields.where("lives") + "[" + std::to_string(lives.size()) + "]"));
  }
  fields.finish();
  return lives;
}

std::vector<Life> contributing(const std::vector<Life>& lives) {
  std::vector<Life> kept;
  for (const Life& life : lives) {
    while (!kept.empty() && kept.back().first_step >= life.first_step) kept.pop_back();
    kept.push_back(life);
  }
  return kept;
}

}  // namespace draftlab
