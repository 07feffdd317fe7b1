#include "record/decoding.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "record/run_folder.h"

namespace draftlab {
namespace {

constexpr int64_t kSchema = 1;

struct Part {
  const char* key;
  double DecodingCost::*seconds;
};
constexpr std::array<Part, 4> kParts = {{{"prompt_seconds", &DecodingCost::prompt_seconds},
                                         {"draft_seconds", &DecodingCost::draft_seconds},
                                         {"verify_seconds", &DecodingCost::verify_seconds},
                                         {"rest_seconds", &DecodingCost::rest_seconds}}};

JsonObject to_json(const DecodingCost& cost) {
  JsonObject object{{"tokens", cost.tokens}, {"passes", cost.passes}};
  for (const Part& part : kParts) object[part.key] = cost.*part.seconds;
  return object;
}

int64_t count_of(Fields& fields, const char* key) {
  const int64_t count = fields.integer(key);
  require_at_least(static_cast<double>(count), 0, fields.where(key));
  return count;
}

DecodingCost cost_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  DecodingCost cost;
  cost.tokens = count_of(fields, "tokens");
  cost.passes = count_of(fields, "passes");
  for (const Part& part : kParts) {
    const double seconds = fields.number(part.key);
    if (!std::isfinite(seconds) || seconds < 0)
      throw Error(fields.where(part.key), "must be seconds, finite and not negative");
    cost.*part.seconds = seconds;
  }
  fields.finish();
  return cost;
}

DecodedPrompt prompt_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  DecodedPrompt prompt{fields.text("id"), count_of(fields, "tokens"), count_of(fields, "passes")};
  if (fields.has("same")) prompt.same = fields.boolean("same", false);
  fields.finish();
  return prompt;
}

DecodedSample sample_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  DecodedSample sample{fields.text("id"), {}};
  for (const Json& piece : fields.array("pieces")) {
    Fields of_piece(piece, fields.where("pieces"));
    sample.pieces.push_back({of_piece.text("text"), of_piece.boolean("drafted", false)});
    of_piece.finish();
  }
  fields.finish();
  return sample;
}

DecodingSettings read_settings(Fields& fields) {
  DecodingSettings settings;
  settings.prompts = fields.integer("prompts", settings.prompts);
  settings.tokens = fields.integer("tokens", settings.tokens);
  settings.temperature = fields.number("temperature", settings.temperature);
  settings.seed = fields.integer("seed", settings.seed);
  settings.batch = fields.integer("batch", settings.batch);
  settings.threads = fields.integer("threads", settings.threads);
  settings.samples = fields.integer("samples", settings.samples);
  require_at_least(static_cast<double>(settings.prompts), 0, fields.where("prompts"));
  require_between(settings.tokens, 2, 1 << 20, fields.where("tokens"));
  require_between(settings.temperature, 0, 100, fields.where("temperature"));
  require_at_least(static_cast<double>(settings.seed), 0, fields.where("seed"));
  require_between(settings.batch, 1, 4096, fields.where("batch"));
  require_between(settings.threads, 0, 1024, fields.where("threads"));
  require_between(settings.samples, 0, 1000, fields.where("samples"));
  return settings;
}

DecodingSettings settings_with_file(const Json& value, const std::string& where) {
  Fields fields(value, where);
  DecodingSettings settings = read_settings(fields);
  if (fields.has("file")) settings.file = fields.text("file");
  settings.proposer = fields.text("proposer", settings.proposer);
  require_one_of(settings.proposer, {"drafter", "look_up"}, fields.where("proposer"));
  settings.tree = fields.integer("tree", settings.tree);
  require_between(settings.tree, 0, 1024, fields.where("tree"));
  fields.finish();
  return settings;
}

}  // namespace

DecodingSettings parse_decoding_settings(const Json& value, const std::string& where) {
  Fields fields(value, where);
  const DecodingSettings settings = read_settings(fields);
  fields.finish();
  return settings;
}

JsonObject to_json(const DecodingSettings& settings) {
  JsonObject object{{"prompts", settings.prompts},
                    {"tokens", settings.tokens},
                    {"temperature", settings.temperature},
                    {"seed", settings.seed},
                    {"batch", settings.batch},
                    {"threads", settings.threads},
                    {"samples", settings.samples}};
  if (!settings.file.empty()) object["file"] = settings.file;
  if (settings.tree > 0) object["tree"] = settings.tree;
  if (settings.proposer != "drafter") object["proposer"] = settings.proposer;
  return object;
}

double DecodingCost::tokens_per_pass() const {
  return passes == 0 ? NAN : static_cast<double>(tokens) / static_cast<double>(passes);
}

double DecodingCost::tokens_per_second() const {
  return seconds() > 0 ? static_cast<double>(tokens) / seconds() : NAN;
}

int64_t DecodingRecord::different() const {
  return std::ranges::count_if(prompts, [](const DecodedPrompt& one) { return one.same == false; });
}

void write_decoding_request(const std::filesystem::path& file, const DecodingRequest& request) {
  replace_file(file, pretty(JsonObject{{"settings", to_json(request.settings)},
                                       {"out", request.out.string()}}));
}

DecodingRequest read_decoding_request(const std::filesystem::path& file) {
  const Json value = read_json(file);
  Fields fields(value, file.string());
  DecodingRequest request{settings_with_file(fields.any("settings"), fields.where("settings")),
                          fields.text("out")};
  fields.finish();
  return request;
}

JsonObject to_json(const DecodingRecord& record) {
  JsonArray prompts, samples;
  for (const DecodedPrompt& prompt : record.prompts) {
    JsonObject object{{"id", prompt.id}, {"tokens", prompt.tokens}, {"passes", prompt.passes}};
    if (prompt.same) object["same"] = *prompt.same;
    prompts.push_back(std::move(object));
  }
  for (const DecodedSample& sample : record.samples) {
    JsonArray pieces;
    for (const DecodedPiece& piece : sample.pieces)
      pieces.push_back(JsonObject{{"text", piece.text}, {"drafted", piece.drafted}});
    samples.push_back(JsonObject{{"id", sample.id}, {"pieces", std::move(pieces)}});
  }
  return {{"schema", kSchema},
          {"settings", to_json(record.settings)},
          {"weights_hash", record.weights_hash},
          {"proposer", record.proposer},
          {"speculative", to_json(record.speculative)},
          {"plain", to_json(record.plain)},
          {"plain_pass_seconds", JsonArray{record.pass_low, record.pass_median, record.pass_high}},
          {"prompts", std::move(prompts)},
          {"samples", std::move(samples)},
          {"machine", to_json(record.machine)}};
}

DecodingRecord decoding_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  require_schema(fields.integer("schema"), kSchema, fields.where("schema"));
  DecodingRecord record;
  record.settings = settings_with_file(fields.any("settings"), fields.where("settings"));
  record.weights_hash = fields.text("weights_hash");
  record.proposer = fields.text("proposer");
  record.speculative = cost_from_json(fields.any("speculative"), fields.where("speculative"));
  record.plain = cost_from_json(fields.any("plain"), fields.where("plain"));
  std::vector<double> quartiles;
  for (const Json& one : fields.array("plain_pass_seconds"))
    quartiles.push_back(json_number(one, fields.where("plain_pass_seconds")));
  if (quartiles.size() != 3)
    throw Error(fields.where("plain_pass_seconds"), "must be three numbers, the quartiles");
  record.pass_low = quartiles[0];
  record.pass_median = quartiles[1];
  record.pass_high = quartiles[2];
  const auto place = [&](const char* key, size_t i) {
    return fields.where(key) + "[" + std::to_string(i) + "]";
  };
  for (const Json& one : fields.array("prompts"))
    record.prompts.push_back(prompt_from_json(one, place("prompts", record.prompts.size())));
  for (const Json& one : fields.array("samples"))
    record.samples.push_back(sample_from_json(one, place("samples", record.samples.size())));
  Fields machine(fields.any("machine"), fields.where("machine"));
  record.machine = read_machine(machine);
  machine.finish();
  fields.finish();
  return record;
}

void write_decoding(const std::filesystem::path& file, const DecodingRecord& record) {
  replace_file(file, pretty(to_json(record)));
}

std::optional<DecodingRecord> read_decoding(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  return decoding_from_json(read_json(file), file.string());
}

}  // namespace draftlab
