// What the drafters do to the speed of decoding, and ten answers with what they proposed.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/stats/acceptance.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// Of the chosen setting's finished runs those that were decoded with.
std::vector<const Result*> decoded_runs(const Arm& arm) {
  std::vector<const Result*> runs;
  if (arm.chosen() == nullptr) return runs;
  for (const Result* run : arm.chosen()->finished)
    if (run->decoding) runs.push_back(run);
  return runs;
}

// Mean over runs with its 95 % interval.
std::string cell(const std::vector<const Result*>& runs, int decimals,
                 double (*number)(const DecodingRecord&)) {
  std::vector<double> values;
  for (const Result* run : runs) values.push_back(number(*run->decoding));
  const Estimate e = estimate(values);
  std::string text = fixed(e.mean, decimals);
  if (e.n >= kFewestForInterval)
    text += "<small>" + interval_text(e.low, e.high, decimals) + "</small>";
  return text;
}

// All runs' tokens a pass together, with what other prompts would change.
std::string over_prompts(const std::vector<const Result*>& runs) {
  std::map<std::string, std::pair<int64_t, int64_t>> by_prompt;  // tokens, passes
  for (const Result* run : runs) {
    for (const DecodedPrompt& prompt : run->decoding->prompts) {
      by_prompt[prompt.id].first += prompt.tokens;
      by_prompt[prompt.id].second += prompt.passes;
    }
  }
  std::vector<int64_t> passes, more;
  for (const auto& [id, sums] : by_prompt) {
    passes.push_back(sums.second);
    more.push_back(sums.first - sums.second);  // as an acceptance length: 1 + more / passes
  }
  const PromptMean mean = pooled_acceptance_length(passes, more);
  return std::isnan(mean.low) ? "–" : interval_text(mean.low, mean.high, 3);
}

// Tokens a pass minus those of the reference's runs with the same seeds.
std::string difference(const std::vector<const Result*>& runs,
                       const std::vector<const Result*>& reference) {
  std::vector<double> values;
  for (const Result* run : runs) {
    for (const Result* other : reference) {
      if (run == other || !(run->seeds == other->seeds)) continue;
      values.push_back(run->decoding->speculative.tokens_per_pass() -
                       other->decoding->speculative.tokens_per_pass());
    }
  }
  const Estimate e = estimate(values);
  if (e.n == 0) return "–";
  return signed_text(e.mean, 3) + (e.n >= kFewestForInterval
                                       ? "<small>" + interval_text(e.low, e.high, 3) + "</small>"
                                       : "");
}

double share_of_draft(const DecodingRecord& record) {
  return 100 * record.speculative.draft_seconds / record.speculative.seconds();
}

// What training could know of it, against what it is: greedy answers are the target's own choices.
double offline(const Result& run) {
  const bool greedy = run.decoding->settings.temperature == 0;
  return run.final(Split::kHeldOut,
                   greedy ? Measure::kAcceptanceLengthArgmax : Measure::kAcceptanceLength);
}

LineChart calibration(const Study& study) {
  LineChart chart;
  chart.text = {"decoding-calibration",
                "Tokens a pass of the target, decoding",
                "Tokens that a pass of the target yields in speculative decoding, against the "
                "acceptance length along stored text, a dot for every run; the line is where both "
                "are the same.",
                "acceptance length along stored text",
                "",
                "runs.csv"};
  double low = INFINITY, high = -INFINITY;
  for (const Arm& arm : study.summary.arms) {
    Series dots{arm.look, arm.name, {}, Series::Stroke::kDots};
    for (const Result* run : decoded_runs(arm)) {
      const Point at{offline(*run), run->decoding->speculative.tokens_per_pass()};
      dots.points.push_back(at);
      low = std::min({low, at.x, at.y});
      high = std::max({high, at.x, at.y});
    }
    if (!dots.points.empty()) chart.series.push_back(std::move(dots));
  }
  chart.series.push_back({0, "equal", {{low, low}, {high, high}}, Series::Stroke::kPlain});
  return chart;
}

// By the beginning of the prompts' ids: "code-017" is of the kind "code".
std::string kind_of_prompt(const std::string& id) { return id.substr(0, id.rfind('-')); }

// Tokens a pass of each kind of prompt, if there are several.
std::string kinds_table(const Study& study) {
  std::map<std::string, std::vector<std::string>> rows;  // by kind
  std::vector<std::string> head = {"kind of prompt"};
  for (const Arm& arm : study.summary.arms) {
    std::map<std::string, std::pair<double, double>> sums;  // tokens, passes
    const auto runs = decoded_runs(arm);
    if (runs.empty()) continue;
    for (const Result* run : runs) {
      for (const DecodedPrompt& prompt : run->decoding->prompts) {
        auto& [tokens, passes] = sums[kind_of_prompt(prompt.id)];
        tokens += static_cast<double>(prompt.tokens);
        passes += static_cast<double>(prompt.passes);
      }
    }
    head.push_back(escape(arm.name));
    for (const auto& [kind, sum] : sums) {
      rows[kind].resize(head.size() - 1, "–");
      rows[kind].back() = fixed(sum.first / sum.second, 3);
    }
  }
  if (rows.size() < 2) return "";
  HtmlTable table(head);
  for (auto& [kind, cells] : rows) {
    cells.resize(head.size() - 1, "–");
    cells.insert(cells.begin(), escape(kind));
    table.row(cells);
  }
  return table.html();
}

// The answers to one prompt, an arm below the other.
std::string samples(const Study& study) {
  std::vector<std::pair<const Arm*, const DecodingRecord*>> shown;
  for (const Arm& arm : study.summary.arms) {
    const auto runs = decoded_runs(arm);
    if (!runs.empty()) shown.emplace_back(&arm, &*runs.front()->decoding);
  }
  std::string html;
  for (const DecodedSample& first : shown.front().second->samples) {
    html += "<h4>" + escape(first.id) + "</h4>\n<dl class=\"decoded\">\n";
    for (const auto& [arm, record] : shown) {
      const auto sample = std::ranges::find(record->samples, first.id, &DecodedSample::id);
      if (sample == record->samples.end()) continue;
      html += "<dt>" + look_sample(arm->look) + " " + escape(arm->name) + "</dt><dd>";
      for (const DecodedPiece& piece : sample->pieces)
        html +=
            (piece.drafted ? "<mark>" : "") + escape(piece.text) + (piece.drafted ? "</mark>" : "");
      html += "</dd>\n";
    }
    html += "</dl>\n";
  }
  return html;
}

}  // namespace

std::string decoding_section(const Study& study) {
  const Arm& reference = study.summary.arms[study.summary.reference];
  HtmlTable table({"arm", "runs", "tokens a pass", "over prompts",
                   "minus " + escape(reference.name), "along stored text", "times plain decoding",
                   "tokens/s", "plain, tokens/s", "drafting, % of the time", "prompts"});
  int64_t different = 0, answers = 0, disturbed = 0, all = 0;
  const DecodingSettings* settings = nullptr;
  for (const Arm& arm : study.summary.arms) {
    const auto runs = decoded_runs(arm);
    if (runs.empty()) continue;
    std::vector<double> along;
    for (const Result* run : runs) {
      along.push_back(offline(*run));
      different += run->decoding->different();
      answers += static_cast<int64_t>(run->decoding->prompts.size());
      disturbed += run->decoding->is_disturbed();
      ++all;
    }
    settings = &runs.front()->decoding->settings;
    table.row(
        {look_sample(arm.look) + " " + escape(arm.name), std::to_string(runs.size()),
         cell(runs, 3, [](const DecodingRecord& d) { return d.speculative.tokens_per_pass(); }),
         over_prompts(runs), &arm == &reference ? "–" : difference(runs, decoded_runs(reference)),
         fixed(estimate(along).mean, 3),
         cell(runs, 2, [](const DecodingRecord& d) { return d.speed_up(); }),
         cell(runs, 1, [](const DecodingRecord& d) { return d.speculative.tokens_per_second(); }),
         cell(runs, 1, [](const DecodingRecord& d) { return d.plain.tokens_per_second(); }),
         cell(runs, 0, share_of_draft), std::to_string(runs.front()->decoding->prompts.size())});
  }
  if (settings == nullptr) return "";
  std::string html = table.html_without_constants();
  if (disturbed > 0) {
    html += paragraph("Something else used the machine while " + std::to_string(disturbed) +
                          " of " + counted(all, "run") +
                          " were decoded with: quartiles of equal plain passes lie more than a "
                          "fifth apart, so that tokens a second and times say little; tokens a "
                          "pass do not depend on it.",
                      "warns");
  }
  html += paragraph(
      (settings->temperature == 0
           ? (different == 0
                  ? "All " + counted(answers, "answer") +
                        " are those of plain decoding, token for token. "
                  : "<strong>" + std::to_string(different) + " of " + counted(answers, "answer") +
                        " differ from plain decoding, which is a fault.</strong> ")
           : "Sampled at temperature " + number_text(settings->temperature) +
                 ", with the target's own distribution. ") +
          "Speculative decoding of the target with each run's drafter, in turn with plain decoding "
          "of the same prompts in the same process: at most " +
          counted(settings->tokens, "token") + " an answer, " + counted(settings->batch, "prompt") +
          " at once, " + counted(settings->threads, "thread") +
          ". Means over runs; below them 95 % intervals from " + kFewestSeedsInWords +
          " runs on, of differences over runs with the same seeds; over prompts: the interval of "
          "all runs together from resampling prompts. No claim is made of them. Prompts' own "
          "passes "
          "are in no number.",
      "note");
  html += figure(calibration(study), "single");
  html += kinds_table(study);
  if (const std::string text = samples(study); !text.empty()) {
    html += details("Answers, with what the drafter proposed",
                    paragraph("Underlined: proposed by the drafter and kept by the target, of the "
                              "first decoded run of each arm. The rest the target said itself.",
                              "note") +
                        text);
  }
  return section("decoding", "Speculative decoding", html);
}

}  // namespace draftlab
