#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/number_text.h"
#include "record/option.h"
#include "reports/page/sections.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

std::string definition(const std::string& term, const std::string& html) {
  return "<dt>" + term + "</dt><dd>" + html + "</dd>\n";
}

// Every fact of machines and builds with its values, and how many runs have each; a run that went
// on elsewhere has several. Hosts stay in the folder.
std::map<std::string, std::map<std::string, int64_t>> provenance_values(const Study& study) {
  std::map<std::string, std::map<std::string, int64_t>> values;
  for (const Result& result : study.results) {
    std::set<std::pair<std::string, std::string>> facts;
    for (const Life& life : result.lives) {
      const JsonObject machine = to_json(life.machine);
      for (const JsonObject* object : {&machine, &life.build}) {
        for (const auto& field : *object) facts.emplace(field.key(), option_text(field.value()));
      }
    }
    for (const auto& [key, text] : facts) ++values[key][text];
  }
  return values;
}

// Without its folders, which are of one machine and its user.
std::string name_of(const std::filesystem::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::string code(const std::string& text) { return "<code>" + escape(text) + "</code>"; }

}  // namespace

std::string excluded_section(const Study& study) {
  HtmlTable table({"run", "outcome", "steps", "reason"}, 99);
  int64_t rows = 0, trials = 0;
  for (const Result& result : study.results) {
    trials += result.phase == kTrial;
    if (result.done()) continue;
    ++rows;
    table.row({escape(result.run), escape(result.outcome),
               grouped(result.steps) + " of " + grouped(result.config.training.steps),
               escape(result.reason)});
  }
  const std::string tuning =
      trials == 0 ? ""
                  : paragraph(counted(trials, "trial") + " helped to choose the settings and " +
                              (trials == 1 ? "is" : "are") +
                              " in no number of the comparison; see Learning rates.");
  if (rows == 0) {
    return section("excluded", "Excluded runs",
                   tuning + paragraph("None" + std::string(trials == 0 ? "" : " of the others") +
                                      ": every planned run finished and is in the numbers."));
  }
  return section("excluded", "Excluded runs",
                 tuning + table.html() +
                     paragraph("These runs are in no mean and no curve above. Diverged "
                               "runs count against their setting and as not having "
                               "reached the target.",
                               "note"));
}

std::string definitions_section(const Study&) {
  std::string html = "<dl class=\"definitions\">\n";
  html += definition("Block",
                     "One anchor position of a held-out sequence and the slots after it "
                     "that the drafter fills in one pass. Only blocks whose labels are all "
                     "supervised count.");
  html += definition("Loss",
                     "Cross entropy of the slots against the training labels, weighted by "
                     "slot as in training, in nats, pooled over blocks.");
  html +=
      definition("Acceptance length",
                 "1 plus the mean number of leading slots that match, pooled over blocks; the 1 "
                 "is the token that the target adds itself. The plain number matches against the "
                 "data's tokens, the one marked greedy tokens against the target's own most "
                 "likely tokens. Both are measured along the data, not by running the target on "
                 "drafts.");
  html +=
      definition("Acceptance per slot", "The share of blocks whose slots 1 to k are all right.");
  html += definition("Untrained drafter", "The evaluation at step 0, before any update.");
  html += definition("Bigram chain",
                     "A table of which token most often follows another in the training part, "
                     "applied slot after slot from the anchor, on the same blocks.");
  html += definition("Training seconds",
                     "Wall-clock time of training steps: data, forward and backward, optimizer. "
                     "Evaluation, checkpoints and start-up are off the clock. Of runs that shared "
                     "the machine: their steps times the median step of the arm timed alone.");
  html +=
      definition("Equal seconds",
                 "The training time at which the fastest run of the compared settings ends. "
                 "Every other run is read off there by straight lines between its evaluations.");
  html += definition("Setting",
                     "One combination of an arm's options, over all seeds. The chosen "
                     "setting of an arm is the one with the fewest diverged runs and, "
                     "among those, the best mean over finished seeds. In a tuned sweep the trials, "
                     "on seeds of their own, choose it, and only its runs with fresh seeds are "
                     "reported.");
  html += definition("± and interval",
                     "± is the standard deviation over seeds. Intervals are 95 % Student-t "
                     "intervals of the mean; of differences, over the per-seed differences of runs "
                     "with the same seeds. There is none for one seed.");
  html +=
      definition("Time to target",
                 "Where the straight line between two evaluations reaches the target and the next "
                 "evaluation is there too. Per arm the median over runs, infinite ones included.");
  html += definition("Diverged",
                     "Training met a loss that is not a number or that exploded. It is a "
                     "result, not a failure, and never a zero.");
  return section("definitions", "Definitions", html + "</dl>\n");
}

std::string provenance_section(const Study& study) {
  const PlanRecord& plan = study.plan;
  HtmlTable table({"what", "value"}, 99);
  for (const auto& [key, values] : provenance_values(study)) {
    std::string cell;
    for (const auto& [value, runs] : values) {
      if (!cell.empty()) cell += "<br>";
      cell += escape(value);
      if (values.size() > 1) cell += " <small>" + counted(runs, "run") + "</small>";
    }
    table.row({escape(key), cell});
  }
  for (const Source& source : study.sources) {
    const std::string of = source.label.empty() ? "" : " of " + escape(source.label);
    table.row({"sweep file" + of, code(name_of(source.plan.sweep_file))});
    for (const std::string& change : source.plan.changes)
      table.row({"changed by --set" + of, code(change)});
    table.row({"store folder" + of, code(name_of(source.plan.store_folder))});
    table.row({"store hash" + of, code(source.plan.store_hash)});
  }
  const StoreFacts store = plan.store_facts.value_or(StoreFacts());
  table.row({"target hash", code(store.target_sha256)});
  table.row({"tokenizer hash", code(store.tokenizer_sha256)});
  std::string html = table.html();
  if (!plan.notices.empty()) {
    html += "<h3>Notices of the plan</h3>\n<ul>\n";
    for (const std::string& notice : plan.notices) html += "<li>" + escape(notice) + "</li>\n";
    html += "</ul>\n";
  }
  HtmlTable runs({"run", "outcome", "segments", "weights"}, 99);
  for (const Result& result : study.results) {
    std::string segments;
    for (const std::string& id : result.segments) segments += (segments.empty() ? "" : " ") + id;
    runs.row({escape(result.run), escape(result.outcome), code(segments),
              code(result.weights_hash.substr(0, 16))});
  }
  html += details("Segments and weights of every run", runs.html());
  const std::string sweep = study.sources.size() > 1
                                ? "The sweeps as they were read, with the names of arms as here"
                                : "The sweep as it was read";
  html += details(sweep, "<pre>" + escape(pretty(plan.sweep)) + "</pre>\n");
  return section("provenance", "Provenance", html);
}

}  // namespace draftlab
