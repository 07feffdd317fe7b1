#include <filesystem>

#include "base/number_text.h"
#include "record/drafter_config.h"
#include "reports/page/sections.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

std::string fact(const std::string& name, const std::string& text) {
  return "<dt>" + name + "</dt><dd>" + escape(text) + "</dd>\n";
}

std::string target_fact(const StoreFacts& store) {
  if (store.target_name.empty()) return "not known";
  std::string text = store.target_name + ", " + store.target_architecture;
  if (store.target_layers) text += ", " + counted(*store.target_layers, "layer");
  return text;
}

std::string store_fact(const StoreFacts& store) {
  std::string text;
  if (store.records) text += counted(*store.records, "sequence") + ", ";
  if (store.tokens) {
    text +=
        grouped(*store.tokens) + " tokens (" + grouped(*store.response_tokens) + " of responses)";
  }
  if (!store.responses.empty()) text += ", responses: " + store.responses;
  if (store.looped_share) {
    text += ", " + significant(100 * *store.looped_share, 2) + " % cut where they loop";
  }
  return text;
}

std::string drafter_fact(const StoreFacts& store, const DrafterConfig& drafter) {
  int64_t parameters = 0;
  for (const ParameterShape& shape : parameter_shapes(drafter)) parameters += shape.count();
  std::string text = "DFlash, " + counted(drafter.num_hidden_layers(), "layer") + ", block of " +
                     std::to_string(drafter.block_size) + ", " + grouped(parameters) +
                     " trained parameters, hidden size " + std::to_string(drafter.hidden_size) +
                     ", draft vocabulary " + grouped(drafter.draft_vocab_size) + " of " +
                     grouped(drafter.vocab_size);
  for (size_t i = 0; i < store.taps.size(); ++i) {
    text += (i == 0 ? ", taps " : " ") + std::to_string(store.taps[i]);
  }
  return text;
}

std::string training_fact(const SegmentConfig& config) {
  const TrainingConfig& training = config.training;
  std::string text = grouped(training.steps) + " steps of " +
                     counted(training.sequences_per_step, "sequence") + " with up to " +
                     counted(training.anchors, "anchor") + " each, " + training.schedule +
                     " schedule, labels from the ";
  text += training.labels == "argmax" ? "target's greedy choice" : "data";
  const auto steps = static_cast<double>(training.steps);
  text += "; " + grouped(std::llround(sequences_after(config, steps))) + " visits, " +
          significant(epochs_after(config, steps), 2) + " epochs of " +
          grouped(config.split.train) + " sequences";
  if (training.loss != LossConfig{}) text += ", loss " + loss_text(training.loss);
  return text + ", on " + training.device + " with " + counted(training.threads, "thread");
}

std::string evaluation_fact(const Study& study, const SegmentConfig& config) {
  std::string text = counted(config.split.held_out, "held-out sequence");
  if (config.split.by != SplitConfig().by) text += ", split by " + config.split.by;
  for (const Result& result : study.results) {
    if (result.held_out.empty()) continue;
    text += " (" + grouped(result.held_out.back().blocks) + " blocks in " +
            grouped(result.held_out.back().prompts) + " of them)";
    break;
  }
  return text + "; " +
         (config.split.tuning > 0
              ? "settings chosen on " + counted(config.split.tuning, "other sequence")
              : std::string("no tuning split"));
}

std::string runs_fact(const Study& study) {
  int64_t done = 0, diverged = 0, dropped = 0, trials = 0;
  for (const Result& result : study.results) {
    trials += result.phase == kTrial;
    done += result.done();
    diverged += result.diverged();
    dropped += result.dropped();
  }
  const int64_t all = static_cast<int64_t>(study.results.size());
  return counted(all, "run") + ": " + std::to_string(done) + " finished, " +
         std::to_string(diverged) + " diverged, " +
         (dropped == 0 ? "" : std::to_string(dropped) + " dropped on the way, ") +
         std::to_string(all - done - diverged - dropped) + " without a result" +
         (trials == 0 ? "" : "; " + counted(trials, "trial") + " among them chose the settings");
}

// Of the sweep's file its name alone: folders are of a machine.
std::string repeat_command(const Study& study) {
  if (study.sources.size() > 1) return "draftlab report and the folders below";
  std::string text = "draftlab run " +
                     std::filesystem::path(study.plan.sweep_file).filename().string() +
                     " --out DIR";
  for (const std::string& change : study.plan.changes) text += " --set " + change;
  return text;
}

}  // namespace

std::string overview(const Study& study) {
  std::string arms;
  for (const Arm& arm : study.summary.arms) arms += (arms.empty() ? "" : " · ") + arm.name;
  std::string html = "<dl class=\"facts\">\n";
  html += fact("Compared", arms);
  html += fact("Runs", runs_fact(study));
  html += fact("Repeat", repeat_command(study));
  if (study.sources.size() > 1) {
    std::vector<std::string> folders;
    for (const Source& source : study.sources) folders.push_back(source.label);
    html += fact("Folders", joined(folders));
  }
  const StoreFacts store = study.plan.store_facts.value_or(StoreFacts());
  std::string setup = fact("Target", target_fact(store));
  setup += fact("Store", study.plan.store_facts          ? store_fact(store)
                         : study.plan.store_hash.empty() ? "the folders have different stores"
                                                         : "planned by a version of draftlab that "
                                                           "kept nothing of its store");
  if (!study.results.empty()) {
    const SegmentConfig& config = study.results.front().config;
    setup += fact("Drafter", drafter_fact(store, config.drafter));
    setup += fact("Training", training_fact(config));
    setup += fact("Evaluation", evaluation_fact(study, config));
  }
  return section("setup", "What was compared", html + setup + "</dl>\n");
}

}  // namespace draftlab
