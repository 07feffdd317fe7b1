#include "store/specification.h"

#include <algorithm>

#include "base/error.h"
#include "store/prompts.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

fs::path resolve(const std::string& path, const fs::path& folder) {
  return fs::absolute(folder / path).lexically_normal();
}

MadeUpTarget parse_made_up(Fields& fields) {
  MadeUpTarget target;
  const auto size = [&](const char* key, int64_t& value) {
    value = fields.integer(key, value);
    require_at_least(value, 1, fields.where(key));
  };
  target.seed = fields.integer("seed", target.seed);
  size("hidden_size", target.hidden_size);
  size("layers", target.layers);
  size("heads", target.heads);
  size("kv_heads", target.kv_heads);
  size("head_dim", target.head_dim);
  size("intermediate_size", target.intermediate_size);
  size("vocab_size", target.vocab_size);
  target.logit_scale = fields.number("logit_scale", target.logit_scale);
  require_above(target.logit_scale, 0, fields.where("logit_scale"));
  if (target.heads % target.kv_heads != 0) {
    throw Error(fields.where("kv_heads"), "must divide heads, " + std::to_string(target.heads));
  }
  if (target.head_dim % 2 != 0) throw Error(fields.where("head_dim"), "must be even");
  return target;
}

PromptSource parse_prompts(const Json& value, const std::string& where, const fs::path& folder) {
  Fields fields(value, where);
  PromptSource prompts;
  if (fields.has("file") == fields.has("made_up")) {
    throw Error(where, R"(needs either "file" or "made_up")");
  }
  if (fields.has("made_up")) {
    Fields made_up(fields.any("made_up"), fields.where("made_up"));
    prompts.count = made_up.integer("count");
    prompts.tokens = made_up.integer("tokens", prompts.tokens);
    prompts.seed = made_up.integer("seed", prompts.seed);
    require_at_least(prompts.count, 1, made_up.where("count"));
    require_at_least(prompts.tokens, 2, made_up.where("tokens"));
    made_up.finish();
  } else {
    prompts.file = resolve(fields.text("file"), folder);
    std::error_code unusable;  // a name too long to be one, a loop of links
    if (!fs::is_regular_file(prompts.file, unusable)) {
      throw Error(fields.where("file"), "no such file: " + prompts.file.string());
    }
    prompts.count = fields.integer("count", 0);
    if (fields.has("count")) require_at_least(prompts.count, 1, fields.where("count"));
    prompts.count = static_cast<int64_t>(read_prompts(prompts).size());
  }
  fields.finish();
  return prompts;
}

ResponseOptions parse_responses(const Json& value, const std::string& where) {
  Fields fields(value, where);
  ResponseOptions responses;
  responses.max_tokens = fields.integer("max_tokens", responses.max_tokens);
  responses.temperature = fields.number("temperature", responses.temperature);
  responses.seed = fields.integer("seed", responses.seed);
  responses.cut_loops = fields.boolean("cut_loops", responses.cut_loops);
  require_at_least(responses.max_tokens, 1, fields.where("max_tokens"));
  require_at_least(responses.temperature, 0, fields.where("temperature"));
  fields.finish();
  return responses;
}

// The parts that hold no path.
JsonObject common_json(const StoreSpecification& s, JsonObject target, JsonObject prompts) {
  JsonObject object{{"name", s.name},
                    {"target", std::move(target)},
                    {"taps", JsonArray(s.taps.begin(), s.taps.end())},
                    {"mask_token_id", s.mask_token_id},
                    {"prompts", std::move(prompts)},
                    {"responses",
                     {{"max_tokens", s.responses.max_tokens},
                      {"temperature", s.responses.temperature},
                      {"seed", s.responses.seed},
                      {"cut_loops", s.responses.cut_loops}}},
                    {"sequences_per_shard", s.sequences_per_shard},
                    {"threads", s.threads}};
  // Left out where it is not so: stores from before there was a choice keep their hashes.
  if (s.final_hidden) object["final_hidden"] = true;
  return object;
}

JsonObject made_up_prompts_json(const PromptSource& p) {
  return {{"made_up", {{"count", p.count}, {"tokens", p.tokens}, {"seed", p.seed}}}};
}

void collect_differences(const Json* there, const Json* here, const std::string& path,
                         std::vector<std::string>& lines) {
  if (there && here && there->is_object() && here->is_object()) {
    const auto inside = [&](std::string_view key) {
      return path.empty() ? std::string(key) : path + "." + std::string(key);
    };
    for (const auto& field : there->get_object()) {
      collect_differences(&field.value(), here->get_object().if_contains(field.key()),
                          inside(field.key()), lines);
    }
    for (const auto& field : here->get_object()) {
      if (!there->get_object().contains(field.key())) {
        collect_differences(nullptr, &field.value(), inside(field.key()), lines);
      }
    }
    return;
  }
  const auto text = [](const Json* value) {
    return value ? canonical(*value) : std::string("nothing");
  };
  if (text(there) != text(here))
    lines.push_back(path + ": " + text(there) + " there, " + text(here) + " here");
}

}  // namespace

TargetSource parse_target_source(const Json& value, const std::string& where,
                                 const fs::path& folder) {
  Fields fields(value, where);
  TargetSource target;
  target.format = fields.text("format");
  require_one_of(target.format, {"gguf", "huggingface", "made_up"}, fields.where("format"));
  if (target.format == "made_up") {
    target.made_up = parse_made_up(fields);
  } else {
    target.path = resolve(fields.text("path"), folder);
  }
  fields.finish();
  return target;
}

JsonObject to_json(const TargetSource& target) {
  if (target.format != "made_up")
    return {{"format", target.format}, {"path", target.path.string()}};
  const MadeUpTarget& t = target.made_up;
  return {{"format", "made_up"},
          {"seed", t.seed},
          {"hidden_size", t.hidden_size},
          {"layers", t.layers},
          {"heads", t.heads},
          {"kv_heads", t.kv_heads},
          {"head_dim", t.head_dim},
          {"intermediate_size", t.intermediate_size},
          {"vocab_size", t.vocab_size},
          {"logit_scale", t.logit_scale}};
}

StoreSpecification parse_store_specification(const Json& value, const std::string& where,
                                             const fs::path& folder) {
  Fields fields(value, where);
  StoreSpecification s;
  s.name = fields.text("name");
  s.target = parse_target_source(fields.any("target"), fields.where("target"), folder);
  s.taps = fields.integers("taps");
  if (s.taps.empty()) throw Error(fields.where("taps"), "must name at least one decoder layer");
  for (size_t i = 0; i < s.taps.size(); ++i) {
    const std::string tap = fields.where("taps") + "[" + std::to_string(i) + "]";
    require_at_least(s.taps[i], 0, tap);
    if (i > 0) require_above(s.taps[i], s.taps[i - 1], tap);
    if (s.target.format == "made_up")
      require_between(s.taps[i], 0, s.target.made_up.layers - 1, tap);
  }
  // No default: an arbitrary token, such as the padding token, can spoil the first steps of a
  // drafter.
  s.mask_token_id = fields.integer("mask_token_id");
  require_at_least(s.mask_token_id, 0, fields.where("mask_token_id"));
  s.prompts = parse_prompts(fields.any("prompts"), fields.where("prompts"), folder);
  if (fields.has("responses")) {
    s.responses = parse_responses(fields.any("responses"), fields.where("responses"));
  }
  s.final_hidden = fields.boolean("final_hidden", s.final_hidden);
  s.sequences_per_shard = fields.integer("sequences_per_shard", s.sequences_per_shard);
  require_between(s.sequences_per_shard, 1, 4096, fields.where("sequences_per_shard"));
  s.threads = fields.integer("threads", s.threads);
  require_between(s.threads, 1, 1024, fields.where("threads"));
  fields.finish();
  return s;
}

StoreSpecification read_store_specification(const fs::path& file) {
  return parse_store_specification(read_json(file), file.string(),
                                   fs::absolute(file).parent_path());
}

JsonObject to_json(const StoreSpecification& s) {
  JsonObject prompts = s.prompts.file.empty() ? made_up_prompts_json(s.prompts)
                                              : JsonObject{{"file", s.prompts.file.string()},
                                                           {"count", s.prompts.count}};
  return common_json(s, to_json(s.target), std::move(prompts));
}

JsonObject identity_json(const StoreSpecification& s, const std::string& target_sha256,
                         const std::string& prompts_sha256) {
  JsonObject target = s.target.format == "made_up"
                          ? to_json(s.target)
                          : JsonObject{{"format", s.target.format},
                                       {"path", s.target.path.filename().string()},
                                       {"sha256", target_sha256}};
  JsonObject prompts = s.prompts.file.empty()
                           ? made_up_prompts_json(s.prompts)
                           : JsonObject{{"file", s.prompts.file.filename().string()},
                                        {"count", s.prompts.count},
                                        {"sha256", prompts_sha256}};
  return common_json(s, std::move(target), std::move(prompts));
}

std::vector<std::string> differences(const Json& there, const Json& here) {
  std::vector<std::string> lines;
  collect_differences(&there, &here, "", lines);
  return lines;
}

}  // namespace draftlab
