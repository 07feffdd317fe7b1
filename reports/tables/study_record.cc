#include "reports/tables/study_record.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace draftlab {
namespace {

constexpr int64_t kSchema = 1;

std::filesystem::path last_part(const std::filesystem::path& path) {
  const std::filesystem::path plain = path.lexically_normal();
  return plain.has_filename() ? plain.filename() : plain.parent_path().filename();
}

std::string place(const Fields& fields, const char* key, size_t i) {
  return fields.where(key) + "[" + std::to_string(i) + "]";
}

JsonArray whole_numbers(const std::vector<int64_t>& values) {
  return JsonArray(values.begin(), values.end());
}

// What evaluations.csv has not of one row; of the tuning split nobody asks for single slots.
JsonObject to_json(const EvaluationRow& row) {
  JsonObject object{{"split", row.split}, {"step", row.step}};
  if (!row.data_hash.empty()) object["data_hash"] = row.data_hash;
  if (!row.prompt_blocks.empty()) {
    object["prompt_blocks"] = whole_numbers(row.prompt_blocks);
    object["prompt_matches"] = whole_numbers(row.prompt_matches);
  }
  if (row.split != "tuning") return object;
  object["blocks"] = row.blocks;
  object["prompts"] = row.prompts;
  return object;
}

EvaluationRow evaluation_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  EvaluationRow row;
  row.split = fields.text("split");
  require_one_of(row.split, {"held_out", "tuning"}, fields.where("split"));
  row.step = fields.integer("step");
  row.data_hash = fields.text("data_hash", "");
  if (fields.has("prompt_blocks")) {
    row.prompt_blocks = fields.integers("prompt_blocks");
    row.prompt_matches = fields.integers("prompt_matches");
    if (row.prompt_blocks.size() != row.prompt_matches.size())
      throw Error(fields.where("prompt_matches"), "must be as many as prompt_blocks");
  }
  if (row.split == "tuning") {
    row.blocks = fields.integer("blocks");
    row.prompts = fields.integer("prompts");
  }
  fields.finish();
  return row;
}

JsonObject to_json(const GradientRow& row) {
  return {{"step", row.step},
          {"norm", row.norm},
          {"clipped_share", row.clipped_share},
          {"schedule", row.schedule}};
}

GradientRow gradient_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  const GradientRow row{fields.integer("step"), fields.number("norm"),
                        fields.number("clipped_share"), fields.number("schedule")};
  fields.finish();
  return row;
}

JsonArray to_json(const Point& point) { return {point.x, point.y}; }

Point point_from_json(const Json& value, const std::string& where) {
  const JsonArray* pair = value.if_array();
  if (pair == nullptr || pair->size() != 2) throw Error(where, "must be two numbers, [x, y]");
  return {json_number((*pair)[0], where), json_number((*pair)[1], where)};
}

JsonObject to_json(const Pause& pause) {
  return {{"step", pause.step}, {"seconds", pause.seconds}, {"usual", pause.usual}};
}

Pause pause_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  const Pause pause{fields.integer("step"), fields.number("seconds"), fields.number("usual")};
  fields.finish();
  return pause;
}

JsonObject to_json(const Result& run);
JsonObject to_json(const Source& source);

template <typename Item>
JsonArray list_of(const std::vector<Item>& items) {
  JsonArray list;
  for (const Item& item : items) list.push_back(to_json(item));
  return list;
}

template <typename Item>
std::vector<Item> read_list(Fields& fields, const char* key,
                            Item (*read)(const Json&, const std::string&)) {
  std::vector<Item> items;
  for (const Json& value : fields.array(key))
    items.push_back(read(value, place(fields, key, items.size())));
  return items;
}

JsonObject to_json(const Result& run) {
  JsonArray evaluations = list_of(run.held_out);
  for (Json& row : list_of(run.tuning)) evaluations.push_back(std::move(row));
  JsonObject object{{"run", run.run},
                    {"resumed", run.resumed},
                    {"evaluations", std::move(evaluations)},
                    {"gradients", list_of(run.gradients)},
                    {"schedule", list_of(run.schedule)},
                    {"pauses", list_of(run.pauses)},
                    {"lives", list_of(run.lives)}};
  JsonArray transfers;  // one list for each stage
  for (const RunStage& stage : run.stages) transfers.push_back(to_json(stage.transfer));
  object["transfers"] = std::move(transfers);
  if (run.baselines) object["baselines"] = to_json(*run.baselines);
  if (run.probe) object["timing"] = to_json(*run.probe);
  if (run.decoding) object["decoding"] = to_json(*run.decoding);
  return object;
}

void read_result(const Json& value, const std::string& where, Result& run) {
  Fields fields(value, where);
  if (fields.text("run") != run.run)
    throw Error(fields.where("run"), "must be '" + run.run + "', as in the plan");
  run.resumed = fields.boolean("resumed");
  for (EvaluationRow& row : read_list(fields, "evaluations", evaluation_from_json)) {
    std::vector<EvaluationRow>& rows = row.split == "tuning" ? run.tuning : run.held_out;
    if (!rows.empty() && rows.back().step >= row.step)
      throw Error(fields.where("evaluations"), "must be in the order of their steps");
    rows.push_back(std::move(row));
  }
  run.gradients = read_list(fields, "gradients", gradient_from_json);
  run.schedule = read_list(fields, "schedule", point_from_json);
  run.pauses = read_list(fields, "pauses", pause_from_json);
  run.lives = read_list(fields, "lives", life_from_json);
  const JsonArray& transfers = fields.array("transfers");
  if (transfers.size() != run.stages.size())
    throw Error(fields.where("transfers"), "must be one list for each segment of the run");
  for (size_t i = 0; i < transfers.size(); ++i) {
    const std::string at = place(fields, "transfers", i);
    const JsonArray* list = transfers[i].if_array();
    if (list == nullptr) throw Error(at, "must be a list");
    run.stages[i].transfer = transfer_from_json(*list, at);
  }
  if (fields.has("baselines"))
    run.baselines = baselines_from_json(fields.any("baselines"), fields.where("baselines"));
  if (fields.has("timing"))
    run.probe = timing_from_json(fields.any("timing"), fields.where("timing"));
  if (fields.has("decoding"))
    run.decoding = decoding_from_json(fields.any("decoding"), fields.where("decoding"));
  fields.finish();
}

JsonObject to_json(const Source& source) {
  PlanRecord plan = source.plan;
  plan.sweep_file = last_part(plan.sweep_file).string();
  plan.store_folder = last_part(plan.store_folder);
  JsonObject* const store = plan.store.if_object();
  if (store != nullptr && store->contains("folder") && store->at("folder").is_string())
    store->at("folder") = last_part(store->at("folder").as_string().c_str()).string();
  return {{"folder", last_part(source.folder.root()).string()},
          {"label", source.label},
          {"plan", all_phases_to_json(plan)}};
}

Source source_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  Source source{RunFolder(fields.text("folder")), fields.text("label"),
                all_phases_from_json(fields.any("plan"), fields.where("plan"))};
  fields.finish();
  return source;
}

}  // namespace

std::string study_record(const Study& study) {
  return pretty(JsonObject{
      {"schema", kSchema}, {"sources", list_of(study.sources)}, {"runs", list_of(study.results)}});
}

Study read_study_record(const Json& value, const std::string& where) {
  Fields fields(value, where);
  require_schema(fields.integer("schema"), kSchema, fields.where("schema"));
  Study study;
  study.sources = read_list(fields, "sources", source_from_json);
  if (study.sources.empty()) throw Error(fields.where("sources"), "must not be empty");
  study.plan = joined_plan(study.sources);
  for (const Source& source : study.sources) {
    for (Result& result : planned_results(source.plan)) {
      result.folder = source.label;
      study.results.push_back(std::move(result));
    }
  }
  const JsonArray& runs = fields.array("runs");
  if (runs.size() != study.results.size())
    throw Error(fields.where("runs"), "must be " + std::to_string(study.results.size()) +
                                          ", one for each planned run, are " +
                                          std::to_string(runs.size()));
  for (size_t i = 0; i < runs.size(); ++i)
    read_result(runs[i], place(fields, "runs", i), study.results[i]);
  fields.finish();
  return study;
}

}  // namespace draftlab
