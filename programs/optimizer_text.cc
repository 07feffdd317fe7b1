#include "programs/optimizer_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <vector>

#include "base/number_text.h"
#include "base/terminal_text.h"
#include "record/buffer.h"
#include "record/option.h"
#include "record/update_cost.h"

namespace draftlab {
namespace {

constexpr int64_t kRows = 1024, kCols = 4096;  // of the matrix whose cost is shown
constexpr size_t kWidth = 100;

std::string shape_text() { return std::to_string(kRows) + " x " + std::to_string(kCols); }

// "-" where nothing is multiplied.
std::string count_text(int64_t count) { return count == 0 ? "-" : grouped(count); }
std::string gflop_text(double flop) { return flop == 0 ? "-" : fixed(flop / 1e9, 0); }

struct MatrixCost {
  std::string state, products, gflop;
};

// The matrix whose cost is shown, under the optimizer's own rule.
Route matrix(const OptimizerConfig& config) {
  return route({{"matrix.weight", {kRows, kCols}}}, config, {}, config.kind)[0];
}

MatrixCost matrix_cost(const OptimizerConfig& config) {
  const UpdateCost cost = update_cost(matrix(config), config);
  const double state = cost.state_bytes / static_cast<double>(kRows * kCols);
  return {number_text(std::round(10 * state) / 10), count_text(cost.products),
          gflop_text(cost.flop)};
}

bool is_default(const OptimizerKind& kind, const OptimizerPreset& preset) {
  return std::any_of(kind.options.begin(), kind.options.end(), [&](const OptimizerOption& option) {
    return option.key == preset.key && option.fallback == Json(preset.value);
  });
}

std::string allowed(const OptimizerOption& option) {
  if (option.fallback.is_bool()) return "true or false";
  if (!option.choices.empty()) return comma_list(option.choices);
  return option.low == 0 && option.high == 0
             ? "any"
             : number_text(option.low) + " to " + number_text(option.high);
}

// When an option exists, in the shorter of two forms; "": always; nothing: never in this kind.
std::optional<std::string> condition(const OptimizerKind& kind, const OptimizerOption& option) {
  if (option.when_key.empty()) return "";
  std::vector<std::string> with, without;
  for (const OptimizerOption& other : kind.options) {
    if (other.key != option.when_key) continue;
    const std::vector<std::string> either = {"false", "true"};
    for (const std::string& choice : other.fallback.is_bool() ? either : other.choices) {
      const bool has =
          std::find(option.when.begin(), option.when.end(), choice) != option.when.end();
      (has ? with : without).push_back(choice);
    }
  }
  if (with.empty()) return std::nullopt;
  if (without.empty()) return "";
  return with.size() <= without.size()
             ? "only where " + option.when_key + " is " + comma_list(with)
             : "not where " + option.when_key + " is " + comma_list(without);
}

// Which other option decides the default of this one, in words; "": none but a convention.
std::string default_follows(const OptimizerKind& kind, const OptimizerOption& option) {
  for (const OptimizerPreset& preset : kind.presets) {
    if (preset.key == "convention") continue;
    for (const auto& [key, value] : preset.defaults) {
      if (key != option.key) continue;
      if (preset.value == "true") return "; " + option_text(value) + " with " + preset.key;
      return "; each " + preset.key + " has its own default";
    }
  }
  return "";
}

std::string options_text(const OptimizerKind& kind, const OptimizerConfig& defaults) {
  size_t longest = 0;
  for (const OptimizerOption& option : kind.options) longest = std::max(longest, option.key.size());
  std::string text = "\noptions: default, allowed, meaning\n";
  for (const OptimizerOption& option : kind.options) {
    const std::optional<std::string> when = condition(kind, option);
    if (!when) continue;
    const Json* value = defaults.find(option.key);
    const std::string head = padded("  " + option.key, longest + 4) +
                             padded(option_text(value ? *value : option.fallback), 12) + "  ";
    std::string meaning = option.meaning;
    meaning += default_follows(kind, option);
    if (!when->empty()) meaning += "; " + *when;
    text += wrapped(head, allowed(option), kWidth) + wrapped("      ", meaning, kWidth);
  }
  return text;
}

std::string shape_text(const Buffer& buffer) {
  std::string text;
  for (const int64_t side : buffer.shape)
    text += (text.empty() ? "" : " x ") + std::to_string(side);
  return text;
}

// What is kept for the matrix whose cost is shown; counters of steps are left out.
std::string state_text(const OptimizerConfig& config) {
  std::vector<Buffer> kept = buffers(config, matrix(config));
  std::erase_if(kept, [](const Buffer& each) { return each.meaning == Buffer::Meaning::kCounter; });
  size_t name = 0, shape = 0;
  for (const Buffer& buffer : kept) {
    name = std::max(name, buffer.name.size());
    shape = std::max(shape, shape_text(buffer).size());
  }
  std::string text = "\nstate of a " + shape_text() + " matrix\n";
  for (const Buffer& buffer : kept) {
    text += wrapped("  " + padded(buffer.name, name + 2) + padded(shape_text(buffer), shape + 2),
                    buffer.text + (buffer.beta > 0 ? ", decay " + number_text(buffer.beta) : ""),
                    kWidth);
  }
  return text;
}

std::string conventions_text(const OptimizerKind& kind) {
  std::string text;
  for (const OptimizerPreset& preset : kind.presets) {
    if (preset.key != "convention") continue;
    std::string changes;
    for (const auto& [option, value] : preset.defaults)
      changes += (changes.empty() ? "" : ", ") + option + " " + option_text(value);
    if (is_default(kind, preset)) changes = "the defaults above";
    text += wrapped("  " + preset.value + ": ", preset.summary, kWidth) +
            wrapped("      ", changes, kWidth);
  }
  return text.empty() ? "" : "\nconventions, and the defaults that each changes\n" + text;
}

std::string products_text(const std::string& products, const std::string& gflop) {
  const std::string cost = gflop + " GFLOP for a " + shape_text() + " matrix";
  if (products != "-") return products + " matrix products, " + cost;
  return gflop == "-" ? "no matrix products" : "no matrix products, about " + cost;
}

std::string floor_text(const OrthogonalizerKind& kind) {
  if (kind.table.empty()) return "-";
  return kind.at_least ? "max(norm, " + number_text(kind.epsilon) + ")"
                       : "norm + " + number_text(kind.epsilon);
}

ProductCount default_products(const OrthogonalizerKind& kind) {
  return count_products(kind, kind.steps, kind.restart, kRows, kCols);
}

}  // namespace

std::string comma_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string optimizer_list() {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, const JsonObject& given, const std::string& text) {
    const MatrixCost cost = matrix_cost(parse_optimizer_config(given, name));
    rows.push_back({name, cost.state, cost.products, cost.gflop, text});
  };
  for (const OptimizerKind& kind : optimizer_kinds()) {
    add(kind.name, {{"kind", kind.name}}, kind.source);
    for (const OptimizerPreset& preset : kind.presets) {
      if (preset.key != "convention" || is_default(kind, preset)) continue;
      add(kind.name + " convention=" + preset.value,
          {{"kind", kind.name}, {preset.key, preset.value}}, preset.summary);
    }
  }
  return table({"optimizer", "state", "products", "GFLOP", "source"}, rows,
               {false, true, true, true, false}) +
         "\n" +
         wrapped("",
                 "state: bytes a parameter; products and GFLOP: of the matrix products (and "
                 "decompositions) in one update of a " +
                     shape_text() +
                     " matrix, as the source states it; the kernels use symmetry and need fewer.",
                 kWidth) +
         "\n  draftlab optimizers muon             formula, options and conventions of one\n"
         "  draftlab optimizers orthogonalizers  the ways to orthogonalize, for the muon kinds\n";
}

std::string explained(const OptimizerKind& kind) {
  const OptimizerConfig defaults = parse_optimizer_config({{"kind", kind.name}}, kind.name);
  const MatrixCost cost = matrix_cost(defaults);
  std::string text =
      wrapped(kind.name + ": ", kind.summary, kWidth) + wrapped("source    ", kind.source, kWidth) +
      "cost      " + cost.state + " bytes of state a parameter; " +
      products_text(cost.products, cost.gflop) + "\nupdates   " +
      (kind.takes_vectors ? "every tensor"
                          : "matrices; AdamW with the options adamw.* takes the rest") +
      ", unless a routing says otherwise\n\n";
  std::istringstream formula(kind.formula);
  for (std::string line; std::getline(formula, line);) text += "    " + line + "\n";
  text += "\n" + wrapped("",
                         "W weight (m rows, n columns), G its gradient after clipping, eta "
                         "learning_rate times the schedule, lambda weight_decay, mu momentum",
                         kWidth);
  text += state_text(defaults) + options_text(kind, defaults) + conventions_text(kind);
  const double rate = defaults.learning_rate();
  return text + "\nin a sweep file, for instance\n  \"optimizer\": {\"kind\": \"" + kind.name +
         "\", \"learning_rate\": [" + number_text(rate / 2) + ", " + number_text(rate) + "]}\n";
}

std::string optimizer_markdown() {
  std::string text =
      "| kind | conventions | tensors | state of a matrix: bytes a parameter, "
      "buffers |\n|---|---|---|---|\n";
  for (const OptimizerKind& kind : optimizer_kinds()) {
    const OptimizerConfig defaults = parse_optimizer_config({{"kind", kind.name}}, kind.name);
    std::string conventions, kept;
    for (const OptimizerPreset& preset : kind.presets) {
      if (preset.key == "convention")
        conventions += (conventions.empty() ? "`" : ", `") + preset.value + "`";
    }
    for (const Buffer& buffer : buffers(defaults, matrix(defaults))) {
      if (buffer.meaning != Buffer::Meaning::kCounter)
        kept += (kept.empty() ? ": `" : ", `") + buffer.name + "` " + buffer.text;
    }
    text += "| `" + kind.name + "` | " + conventions + " | " +
            (kind.takes_vectors ? "all" : "matrices; AdamW the rest") + " | " +
            matrix_cost(defaults).state + kept + " |\n";
  }
  return text;
}

std::string orthogonalizer_list() {
  std::vector<std::vector<std::string>> rows;
  for (const OrthogonalizerKind& kind : orthogonalizer_kinds()) {
    const ProductCount count = default_products(kind);
    rows.push_back({kind.name, kind.normalizer.empty() ? "-" : kind.normalizer,
                    count_text(kind.steps), count_text(count.products), gflop_text(count.flop),
                    floor_text(kind), kind.source});
  }
  return table(
             {"orthogonalizer", "norm", "steps", "products", "GFLOP", "published floor", "source"},
             rows, {false, false, true, true, true, false, false}) +
         "\n" +
         wrapped("",
                 "norm: what a matrix is divided by first; steps, products, GFLOP: by default, for "
                 "a " +
                     shape_text() +
                     " matrix, as the source states it. The published floor keeps a zero norm from "
                     "dividing; it applies with \"epsilon\": \"published\" alone.",
                 kWidth) +
         "\n  draftlab optimizers polar_express    explains one\n"
         "  {\"kind\": \"muon\", \"orthogonalizer\": \"polar_express\", \"steps\": 6}\n";
}

std::string explained(const OrthogonalizerKind& kind) {
  const ProductCount count = default_products(kind);
  std::string text = wrapped(kind.name + ": ", kind.summary, kWidth) +
                     wrapped("source    ", kind.source, kWidth) + "cost      " +
                     products_text(count_text(count.products), gflop_text(count.flop)) + "\n";
  if (!kind.table.empty()) {
    text += "norm      " + kind.normalizer + "; published floor " + floor_text(kind) +
            "\nsteps     " + std::to_string(kind.steps) + " by default, " +
            (kind.fewest_steps > 1 ? "and no fewer" : "any number from 1 on") +
            (kind.table == "generated" ? "\n" : "; past the table its last step repeats\n");
  }
  std::vector<std::string> users;
  for (const OptimizerKind& optimizer : optimizer_kinds()) {
    for (const OptimizerOption& option : optimizer.options) {
      if (option.key == "orthogonalizer" && std::find(option.choices.begin(), option.choices.end(),
                                                      kind.name) != option.choices.end())
        users.push_back(optimizer.name);
    }
  }
  return text + "for       " + comma_list(users) + ": \"orthogonalizer\": \"" + kind.name + "\"\n";
}

}  // namespace draftlab
