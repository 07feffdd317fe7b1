#include "reports/decision/decision_context.h"

#include <cmath>

#include "base/error.h"
#include "base/number_text.h"
#include "record/layers/layer_kind.h"
#include "record/optimizer_kind.h"

namespace draftlab {
namespace {

double positive(Fields& fields, std::string_view key) {
  const double value = fields.number(key);
  require_above(value, 0, fields.where(key));
  if (!std::isfinite(value)) throw Error(fields.where(key), "must be finite");
  return value;
}

int64_t at_least(Fields& fields, std::string_view key, int64_t low) {
  const int64_t value = fields.integer(key);
  require_at_least(static_cast<double>(value), static_cast<double>(low), fields.where(key));
  return value;
}

PipelineInterval parse_range(const Json& json, const std::string& where) {
  Fields fields(json, where);
  PipelineInterval ratio;
  ratio.low = positive(fields, "low");
  ratio.value = positive(fields, "value");
  ratio.high = positive(fields, "high");
  fields.finish();
  if (!(ratio.low <= ratio.value && ratio.value <= ratio.high))
    throw Error(where, "must have low <= value <= high");
  return ratio;
}

void parse_optimizers(const Json& json, const std::string& where, DecisionContext& context) {
  Fields fields(json, where);
  context.current = fields.text("current");
  context.candidate = fields.text("candidate");
  optimizer_kind(context.current, fields.where("current"));
  optimizer_kind(context.candidate, fields.where("candidate"));
  if (context.current == context.candidate)
    throw Error(fields.where("candidate"), "is the current optimizer; name another kind");
  if (fields.has("step_ratio"))
    context.step_ratio = parse_range(fields.any("step_ratio"), fields.where("step_ratio"));
  fields.finish();
}

// {"target_layers": 64, "taps": 5, "parameters": 1.7e9, "config": {...}}
void parse_drafter(const Json& json, const std::string& where, DecisionContext& context) {
  Fields fields(json, where);
  context.target_layers = at_least(fields, "target_layers", 1);
  const int64_t taps = at_least(fields, "taps", 1);
  context.drafter = parse_drafter_config(fields.any("config"), fields.where("config"), 0, taps);
  for (const ParameterShape& shape : parameter_shapes(context.drafter))
    context.parameters += shape.count();
  if (fields.has("layers_in_question")) {
    context.layers_in_question = fields.texts("layers_in_question");
    for (const std::string& type : context.layers_in_question)
      layer_kind(type, fields.where("layers_in_question"));
  }
  const double stated = positive(fields, "parameters");
  const auto counted = static_cast<double>(context.parameters);
  if (std::abs(stated - counted) > 0.05 * stated) {
    throw Error(fields.where("parameters"), "is " + number_text(stated) +
                                                ", but the shapes of \"config\" hold " +
                                                grouped(context.parameters) + "; correct either");
  }
  fields.finish();
}

// The steps of the warm-up that make the rate what it is after `step` steps.
int64_t derived_warmup(const DecisionContext& context, const std::string& where) {
  const double share = context.rate / context.peak_rate;
  const auto step = static_cast<double>(context.place.step);
  const auto steps = static_cast<double>(context.place.steps);
  if (share >= 1) return context.place.step;
  const double warmup = step / share;
  if (warmup > steps)
    throw Error(where, "fits no warm-up within the planned steps; give \"warmup_steps\"");
  // In the decay of a cosine over what the warm-up leaves.
  const double progress = cosine_progress(share);
  const double decay_warmup = (step - progress * steps) / (1 - progress);
  if (decay_warmup >= 0) {
    throw Error(where, "may lie in a warm-up of " + grouped(std::llround(warmup)) +
                           " steps or in the decay after one of " +
                           grouped(std::llround(decay_warmup)) + "; give \"warmup_steps\"");
  }
  return std::llround(warmup);
}

void parse_run(const Json& json, const std::string& where, DecisionContext& context) {
  Fields fields(json, where);
  context.place.step = at_least(fields, "step", 1);
  context.place.steps = at_least(fields, "steps", context.place.step + 1);
  context.epochs = positive(fields, "epochs");
  if (fields.has("tokens_per_second"))
    context.tokens_per_second = positive(fields, "tokens_per_second");
  if (fields.has("tokens_per_batch")) {
    const Json& tokens = fields.any("tokens_per_batch");
    if (tokens.is_object()) {
      context.tokens_per_batch = parse_range(tokens, fields.where("tokens_per_batch"));
    } else {
      const double count = positive(fields, "tokens_per_batch");
      context.tokens_per_batch = {count, count, count};
    }
  } else if (context.tokens_per_second == 0) {
    throw Error(where, "needs \"tokens_per_batch\" or \"tokens_per_second\"");
  }
  context.peak_rate = positive(fields, "peak_rate");
  context.rate = positive(fields, "rate");
  require_between(context.rate, 0, context.peak_rate, fields.where("rate"));
  if (fields.has("warmup_steps")) {
    context.place.warmup_steps = at_least(fields, "warmup_steps", 0);
    require_between(static_cast<double>(context.place.warmup_steps), 0,
                    static_cast<double>(context.place.steps), fields.where("warmup_steps"));
  } else {
    context.place.warmup_steps = derived_warmup(context, fields.where("rate"));
  }
  context.first_loss = positive(fields, "first_loss");
  context.loss = positive(fields, "loss");
  context.acceptance_length = fields.number("acceptance_length");
  require_between(context.acceptance_length, 1, static_cast<double>(context.drafter.block_size),
                  fields.where("acceptance_length"));
  fields.finish();
}

// A pipeline's specification (docs/pipeline.md) without what the rest of the context says: its
// name, the training, and the optimizers but for the current one's seconds.
void parse_pipeline(const Json& json, const std::string& where, DecisionContext& context) {
  const JsonObject* given = json.if_object();
  if (given == nullptr) throw Error(where, "must be an object");
  JsonObject spec = *given;
  for (const char* key : {"name", "training", "optimizers", "simulation"}) {
    if (spec.contains(key))
      throw Error(where + "." + key, "does not belong here; the rest of the context says it");
  }
  const auto take = [&](const char* key) -> double {
    const Json* value = given->if_contains(key);
    if (value == nullptr) throw Error(where + "." + key, "is missing");
    spec.erase(key);
    return json_number(*value, where + "." + key);
  };
  const double step_seconds = take("step_seconds"), update_seconds = take("update_seconds");
  const auto left = static_cast<double>(context.place.steps - context.place.step);
  const auto per_epoch =
      std::max<int64_t>(1, std::llround(static_cast<double>(context.place.steps) / context.epochs));
  spec["name"] = context.name;
  spec["training"] = JsonObject{{"batches_per_epoch", per_epoch},
                                {"epochs", left / static_cast<double>(per_epoch)}};
  spec["optimizers"] = JsonArray{JsonObject{{"name", context.current},
                                            {"step_seconds", step_seconds},
                                            {"update_seconds", update_seconds},
                                            {"batches_to_target", left}}};
  context.pipeline = parse_pipeline_spec(spec, where);
}

// Batches a second that the pipeline as it is gets through: of its producers or its consumer.
double batches_per_second(const PipelineSpec& pipeline) {
  double produced = 0;
  for (const ProducerGroup& group : pipeline.producers)
    produced += static_cast<double>(group.count) * group.rate;
  return std::min(produced, 1 / pipeline.optimizers.front().step_seconds);
}

// Tokens a batch are tokens a second over batches a second, whatever somebody wrote down.
void fit_tokens(const std::string& where, DecisionContext& context) {
  if (context.tokens_per_second == 0) return;
  constexpr double kSlack = 0.1;
  const double batches = batches_per_second(context.pipeline);
  const double follows = context.tokens_per_second / batches;
  PipelineInterval& tokens = context.tokens_per_batch;
  if (tokens.value == 0) {
    tokens = {follows, follows, follows};
    return;
  }
  if (follows >= (1 - kSlack) * tokens.low && follows <= (1 + kSlack) * tokens.high) return;
  throw Error(where + ".tokens_per_batch", "is " + number_text(tokens.value) + ", but " +
                                               number_text(context.tokens_per_second) +
                                               " tokens a second at " + significant(batches, 3) +
                                               " batches a second are " +
                                               grouped(std::llround(follows)) +
                                               " a batch; correct one of them, or give a range "
                                               "{\"low\", \"value\", \"high\"}");
}

void parse_evidence(const Json& json, const std::string& where, DecisionContext& context) {
  Fields fields(json, where);
  for (const char* pillar : {"bottleneck", "time behind the switch", "switch cost", "architecture",
                             "diminishing returns"}) {
    if (!fields.has(pillar)) continue;
    context.evidence[pillar] = fields.texts(pillar);
    if (context.evidence[pillar].empty())
      throw Error(fields.where(pillar), "names no folder; leave it out, or name one");
  }
  fields.finish();
}

}  // namespace

const std::vector<std::string>& DecisionContext::folders_of(const std::string& pillar) const {
  static const std::vector<std::string> kNone;
  const auto found = evidence.find(pillar);
  return found == evidence.end() ? kNone : found->second;
}

PipelineInterval DecisionContext::tokens() const {
  const auto steps = static_cast<double>(place.steps);
  return {steps * tokens_per_batch.value, steps * tokens_per_batch.low,
          steps * tokens_per_batch.high};
}

std::vector<DecisionContext> parse_decision_readings(const Json& json, const std::string& origin) {
  std::vector<DecisionContext> contexts = {parse_decision_context(json, origin)};
  const Json* readings = json.as_object().if_contains("readings");
  if (readings == nullptr) return contexts;
  const JsonArray* list = readings->if_array();
  if (list == nullptr) throw Error(origin + ": readings", "must be a list");
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string where = origin + ": readings[" + std::to_string(i) + "]";
    Fields fields((*list)[i], where);
    JsonObject read = json.as_object();
    read.erase("readings");
    read["reading"] = fields.text("reading");
    const JsonObject* run = fields.any("run").if_object();
    if (run == nullptr) throw Error(fields.where("run"), "must be an object");
    fields.finish();
    for (const auto& field : *run) read["run"].as_object()[field.key()] = field.value();
    contexts.push_back(parse_decision_context(read, where));
  }
  return contexts;
}

DecisionContext parse_decision_context(const Json& json, const std::string& origin) {
  Fields fields(json, origin);
  DecisionContext context;
  if (fields.has("reading")) context.reading = fields.text("reading");
  if (fields.has("readings")) fields.any("readings");  // parse_decision_readings
  context.name = fields.text("name");
  parse_optimizers(fields.any("optimizers"), fields.where("optimizers"), context);
  parse_drafter(fields.any("drafter"), fields.where("drafter"), context);
  parse_run(fields.any("run"), fields.where("run"), context);
  parse_pipeline(fields.any("pipeline"), fields.where("pipeline"), context);
  if (fields.has("evidence"))
    parse_evidence(fields.any("evidence"), fields.where("evidence"), context);
  fields.finish();
  fit_tokens(fields.where("run"), context);
  return context;
}

DecisionContext read_decision_context(const std::filesystem::path& file) {
  return parse_decision_context(read_json(file), file.string());
}

}  // namespace draftlab
