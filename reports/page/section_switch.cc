#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "record/optimizer_kind.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/study/look.h"
#include "reports/switches/switch_study.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr int kLossDecimals = 4, kLengthDecimals = 3;

// What lies at and behind the switch; before it there is no difference.
Series from_switch(size_t look, const std::string& name, const std::vector<int64_t>& steps,
                   const std::vector<double>& values, int64_t step, Series::Stroke stroke) {
  Series series{look, name, {{static_cast<double>(step), 0}}, stroke};
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] > step) series.points.push_back({static_cast<double>(steps[i]), values[i]});
  }
  return series;
}

// Of the variants, by the optimizer behind the switch.
std::vector<size_t> looks_of(const SwitchGroup& group) {
  std::vector<std::string> kinds;
  for (const SwitchVariant& variant : group.variants)
    kinds.push_back(variant.settings.front().optimizer.kind);
  return looks(kinds);
}

LineChart difference_chart(const SwitchStudy& study, Measure measure, const std::string& id) {
  const bool loss = measure == Measure::kLoss;
  const int64_t step = study.group.place.step;
  const std::string name = kind_of(measure).name;
  LineChart chart;
  chart.text.id = "switch-" + kind_of(measure).key + id;
  chart.text.title = capitalized(name) + " minus that of the run that went on";
  chart.text.description = "Paired differences of held-out " + name +
                           " to the run that kept its optimizer, from the switch on: thick lines "
                           "are means over seeds, thin lines single seeds, areas 95 % intervals.";
  chart.text.x_label = "training steps";
  chart.text.csv = "evaluations.csv";
  chart.verticals.push_back({static_cast<double>(step), "switch"});
  chart.levels.push_back({0, ""});
  const std::vector<size_t> look = looks_of(study.group);
  for (size_t v = 0; v < study.outcomes.size(); ++v) {
    const PairedCurve& curve = loss ? study.outcomes[v].loss : study.outcomes[v].length;
    const std::string& variant = study.group.variants[v].name;
    if (curve.seeds.empty()) continue;
    std::vector<double> means;
    Band band{look[v], {}};
    for (size_t i = 0; i < curve.steps.size(); ++i) {
      const Estimate& mean = curve.mean[i];
      means.push_back(mean.mean);
      if (curve.steps[i] > step && mean.n >= kFewestForInterval)
        band.points.push_back({static_cast<double>(curve.steps[i]), mean.low, mean.high});
    }
    if (!band.points.empty()) chart.bands.push_back(std::move(band));
    for (size_t s = 0; s < curve.seeds.size() && curve.seeds.size() > 1; ++s) {
      chart.series.push_back(from_switch(look[v], variant + ", seed " + seed_text(curve.seeds[s]),
                                         curve.steps, curve.of_seed[s], step,
                                         Series::Stroke::kSeed));
    }
    chart.series.push_back(
        from_switch(look[v], variant, curve.steps, means, step, Series::Stroke::kMean));
  }
  return chart;
}

std::string estimate_cell(const Estimate& d, int decimals, bool claimed = false) {
  if (d.n == 0) return "–";
  std::string text = signed_text(d.mean, decimals);
  if (claimed) text = "<strong>" + text + "</strong>";
  if (d.n > 1) text += "<small>" + interval_text(d.low, d.high, decimals) + "</small>";
  return text;
}

std::string legend_of(const SwitchStudy& study) {
  std::string html = "<ul class=\"legend\">\n";
  for (size_t v = 0; v < study.outcomes.size(); ++v) {
    if (study.outcomes[v].loss.seeds.empty()) continue;
    html += "<li>" + look_sample(looks_of(study.group)[v]) + " " +
            escape(study.group.variants[v].name) + "</li>\n";
  }
  return html + "</ul>\n";
}

std::string outcomes_table(const SwitchStudy& study) {
  HtmlTable table({"behind the switch", "rate", "seeds", "largest D, loss", "steps to it",
                   "below for good after", "final D, acceptance length", "final D, loss"});
  for (size_t v = 0; v < study.outcomes.size(); ++v) {
    const SwitchVariant& variant = study.group.variants[v];
    const SwitchOutcome& outcome = study.outcomes[v];
    const std::string name = look_sample(looks_of(study.group)[v]) + " " + escape(variant.name);
    if (variant.chosen() == nullptr || outcome.final_loss.difference.n == 0) {
      table.wide_row(
          name, variant.chosen() == nullptr ? "no finished run" : "no finished seed in common");
      continue;
    }
    const Transient& t = outcome.transient;
    std::string lengths;
    for (const double length : t.length_of_seed)
      lengths +=
          (lengths.empty() ? "" : ", ") + (std::isinf(length) ? "never" : number_text(length));
    table.row(
        {name, number_text(variant.chosen()->optimizer.learning_rate()),
         std::to_string(outcome.final_loss.difference.n), estimate_cell(t.peak, kLossDecimals),
         t.peak.n == 0 ? "–" : std::to_string(t.peak_step - study.group.place.step),
         length_text(t.length) + "<small>" + lengths + "</small>",
         estimate_cell(outcome.final_length.interval, kLengthDecimals,
                       outcome.final_length.claimed()),
         estimate_cell(outcome.final_loss.interval, kLossDecimals, outcome.final_loss.claimed())});
  }
  return table.html() +
         paragraph("Intervals of the final D go with their claims: over " +
                       counted(static_cast<int64_t>(2 * study.outcomes.size()), "difference") +
                       ", all variants in both measures. Others are 95 %.",
                   "note");
}

// Every rate of variants that were tried at several.
std::string rates_table(const SwitchStudy& study) {
  HtmlTable table({"behind the switch", "rate", "finished", "diverged", "final D, loss",
                   "final D, acceptance length"});
  bool any = false;
  for (size_t v = 0; v < study.outcomes.size(); ++v) {
    const SwitchVariant& variant = study.group.variants[v];
    if (variant.settings.size() < 2) continue;
    any = true;
    for (const SwitchSetting& setting : variant.settings) {
      const auto& reference = study.group.reference();
      table.row(
          {look_sample(looks_of(study.group)[v]) + " " + escape(variant.name) +
               (&setting == variant.chosen() ? " <small>chosen</small>" : ""),
           number_text(setting.optimizer.learning_rate()), std::to_string(setting.finished.size()),
           std::to_string(setting.diverged),
           estimate_cell(final_difference(setting.finished, reference, Measure::kLoss),
                         kLossDecimals),
           estimate_cell(final_difference(setting.finished, reference, Measure::kAcceptanceLength),
                         kLengthDecimals)});
    }
  }
  return any ? "<h4>Every rate</h4>\n" + table.html() : "";
}

// What carrying the state over saves, and what the late start costs.
std::string other_differences_table(const SwitchStudy& study) {
  HtmlTable table({"", "rates", "seeds", "final loss", "final acceptance length"});
  bool any = false;
  const auto row = [&](const std::string& a, const std::string& b, const SwitchSetting& of_a,
                       const SwitchSetting& of_b, const Estimate& loss, const Estimate& length) {
    any = true;
    table.row({escape(a + " \u2212 " + b),
               number_text(of_a.optimizer.learning_rate()) + ", " +
                   number_text(of_b.optimizer.learning_rate()),
               std::to_string(loss.n), estimate_cell(loss, kLossDecimals),
               estimate_cell(length, kLengthDecimals)});
  };
  const std::vector<SwitchVariant>& variants = study.group.variants;
  for (const TransferGain& gain : study.gains) {
    const SwitchVariant &a = variants[gain.transfer], &b = variants[gain.reset];
    row(a.name, b.name, *a.chosen(), *b.chosen(), gain.loss, gain.length);
  }
  for (size_t v = 0; v < study.outcomes.size(); ++v) {
    const SwitchOutcome& outcome = study.outcomes[v];
    if (outcome.late_loss.n == 0) continue;
    row(variants[v].name, "M", *variants[v].chosen(), *variants[v].chosen_from_start(),
        outcome.late_loss, outcome.late_length);
  }
  return any ? "<h4>Other differences</h4>\n" + table.html() : "";
}

std::string bytes_text(double bytes) { return grouped(std::llround(bytes)); }

std::string changes_table(const SwitchStudy& study) {
  HtmlTable table({"behind the switch", "tensors with another rule", "what became of the state",
                   "state before, bytes", "after"},
                  3);
  for (size_t v = 0; v < study.outcomes.size(); ++v) {
    const SwitchOutcome& outcome = study.outcomes[v];
    std::vector<std::string> changes, fates;
    for (const RuleChange& change : outcome.changes) {
      changes.push_back(kind_title(change.from) + " → " + kind_title(change.to) + ": " +
                        counted(change.tensors, "tensor") + ", " + grouped(change.parameters) +
                        " parameters");
    }
    for (const FateCount& fate : outcome.fates) {
      fates.push_back(fate.buffer + " " + fate.fate + " (" + fate.how +
                      "): " + counted(fate.tensors, "tensor"));
    }
    table.row({look_sample(looks_of(study.group)[v]) + " " + escape(study.group.variants[v].name),
               changes.empty() ? "none" : escape(listed(changes)),
               fates.empty() ? "not recorded" : escape(listed(fates)),
               bytes_text(outcome.state_bytes_before), bytes_text(outcome.state_bytes_after)});
  }
  return table.html();
}

std::string updates_table(const SwitchStudy& study) {
  std::vector<std::string> kinds;
  std::vector<std::string> head = {"tensors"};
  std::vector<size_t> shown;
  for (size_t v = 0; v < study.outcomes.size(); ++v) {
    if (study.outcomes[v].first_updates.empty()) continue;
    shown.push_back(v);
    head.push_back(study.group.variants[v].name);
    for (const FirstUpdate& update : study.outcomes[v].first_updates) {
      if (std::ranges::find(kinds, update.kind) == kinds.end()) kinds.push_back(update.kind);
    }
  }
  if (shown.empty()) return "";
  for (std::string& name : head) name = escape(name);
  HtmlTable table(head);
  for (const std::string& kind : kinds) {
    std::vector<std::string> cells = {kind.empty() ? "all together"
                                                   : "<code>" + escape(kind) + "</code>"};
    for (const size_t v : shown) {
      const auto& updates = study.outcomes[v].first_updates;
      const auto update = std::ranges::find(updates, kind, &FirstUpdate::kind);
      if (update == updates.end()) {
        cells.emplace_back("–");
        continue;
      }
      cells.push_back(significant(update->ratio, 3) +
                      (update->reference > 0
                           ? "<small>" + significant(update->ratio / update->reference, 2) +
                                 " × unswitched</small>"
                           : ""));
    }
    table.row(cells);
  }
  return table.html();
}

std::string notes_list(const SwitchStudy& study) {
  if (study.notes.empty()) return "";
  HtmlTable table({"", "what limits this"}, 2);
  for (const FairnessFinding& note : study.notes) {
    const std::string name = severity_name(note.severity);
    table.row({escape(name), escape(note.sentence)}, name);
  }
  return table.html();
}

std::string study_html(const SwitchStudy& study, const std::string& id) {
  std::string html = "<h3>" + escape(switch_title(study.group)) + "</h3>\n";
  html += paragraph(escape(capitalized(place_text(study.group.place)) + "."), "note");
  for (const std::string& sentence : switch_sentences(study)) html += paragraph(escape(sentence));
  html += notes_list(study);
  if (study.status == SwitchStudy::Status::kRefused) return html;
  if (std::ranges::any_of(study.outcomes, [](const SwitchOutcome& outcome) {
        return !outcome.loss.seeds.empty();
      })) {
    html +=
        legend_of(study) + side_by_side(difference_chart(study, Measure::kLoss, id),
                                        difference_chart(study, Measure::kAcceptanceLength, id));
  }
  html += outcomes_table(study) + other_differences_table(study) + rates_table(study);
  html += details("State, rules and the first update", changes_table(study) + updates_table(study));
  return html;
}

}  // namespace

std::string switch_section(const Study& study) {
  const std::vector<SwitchStudy> studies = switch_studies(study);
  if (studies.empty()) return "";
  std::string html;
  for (size_t i = 0; i < studies.size(); ++i)
    html += study_html(studies[i], "-" + std::to_string(i + 1));
  return section(
      "switch", "Switches in mid-run",
      html +
          paragraph(
              "D is the difference, seed by seed, to the run that kept its optimizer and was "
              "resumed at the same step; in loss below 0 is better, in acceptance length above. "
              "Each variant is shown at its best rate. M: the same optimizer from the start, at "
              "its own best rate; a variant minus M is what the late start costs, and one with its "
              "state "
              "carried over minus the same with zeros what carrying over changes. Below for good: "
              "steps behind the switch to the first evaluation "
              "from which on D in loss stays below 0, for the mean and for each seed. The largest "
              "D "
              "is that of the mean; being picked as the largest, it is a little too large. Bold: "
              "may be claimed, by p values adjusted for all variants of the group. Update: root "
              "mean square of the first update behind the switch over that of the weights. All "
              "differences are in <a href=\"switch_study.csv\">switch_study.csv</a>.",
              "note"));
}

}  // namespace draftlab
