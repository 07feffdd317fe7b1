#include "reports/pipeline/pipeline_findings.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"

namespace draftlab {
namespace {

// Below this share of the time a difference is not worth words.
constexpr double kNothing = 5e-4;

std::string place(const PipelineCase& c) {
  return to_text(c.hidden_states) + " " + to_text(c.topology);
}

bool same_place(const PipelineCase& a, const PipelineCase& b) {
  return a.hidden_states == b.hidden_states && a.topology == b.topology;
}

double batches(const PipelineCase& c) { return c.optimizer.batches_to_target.value; }
double seconds(const PipelineCase& c) { return c.seconds_to_target.value; }

// "20% fewer", "5% more", "as many"
std::string compared(double change, const char* less, const char* more, const char* equal) {
  if (std::abs(change) < kNothing) return equal;
  return share_text(std::abs(change)) + " " + (change < 0 ? less : more);
}

// "6.4 days (5.71 to 7.27 days)"
std::string with_interval(const PipelineInterval& time) {
  const std::string text = pipeline_time_text(time.value);
  return time.low == time.high ? text : text + " (" + pipeline_interval_text(time) + ")";
}

std::string phase_text(const PipelinePhase& phase) {
  const SteadyState& s = phase.steady;
  const std::string waits = who_waits(s), at = short_number(s.throughput) + " batches/s";
  const std::string source = "the " + phase.source;
  const std::string idle = share_text(1 - s.consumer_busy), rest = share_text(1 - s.producers_busy);
  const std::string verb = phase.source == "store" ? " waits " : " wait ";
  if (waits == "consumer") {
    return source + (phase.source == "store" ? " sets" : " set") + " the pace at " + at +
           "; the consumer could take " + short_number(s.demand) + " and waits " + idle +
           " of the time";
  }
  if (waits == "producers") {
    return "the consumer sets the pace at " + at + "; " + source + " could give " +
           short_number(s.supply) + " and" + verb + rest + " of the time";
  }
  if (waits == "both") {
    return "the times vary, so that both sides wait at " + at + ": the consumer " + idle + ", " +
           source + " " + rest + " of the time";
  }
  return source + " and the consumer are equally fast, " + at + "; neither waits";
}

// Empty while the target lies within the planned batches.
std::string beyond_plan_text(const PipelineCase& c) {
  const double plan = c.batches_left * (1 + 1e-9);
  if (!(c.optimizer.batches_to_target.high > plan)) return "";
  return std::string(batches(c) > plan ? ", beyond the " : "; the interval ends beyond the ") +
         grouped(std::llround(c.batches_left)) + " planned batches";
}

// The change of the time, from the ends of both intervals: as wide as it can be.
std::string change_text(const PipelineInterval& time, const PipelineInterval& other) {
  const auto text = [](double change) {
    return std::isinf(change) ? "never" : compared(change, "less", "more", "as much");
  };
  if (time.low == time.high && other.low == other.high) return "";
  return " (" + text(time.low / other.high - 1) + " to " + text(time.high / other.low - 1) + ")";
}

// What the pipeline is like with one optimizer.
std::string alone_text(const PipelineCase& c) {
  std::string text;
  for (size_t i = 0; i < c.phases.size(); ++i) {
    const PipelinePhase& phase = c.phases[i];
    std::string sentence = phase_text(phase);
    if (i > 0) {
      sentence = "after that " + sentence;
    } else if (std::isfinite(phase.batches)) {
      sentence = "for " + grouped(std::llround(phase.batches)) + " batches " + sentence;
    }
    if (sentence[0] >= 'a' && sentence[0] <= 'z') sentence[0] += 'A' - 'a';
    text += sentence + ". ";
    if (batches(c) <= phase.batches) break;
  }
  text += "The target comes in " + std::string(c.exact ? "" : "no less than ") +
          with_interval(c.seconds_to_target) + beyond_plan_text(c) + ". ";
  text += c.free_slowdown < kNothing
              ? "A 1% longer step costs " + percent_text(c.longer_step_costs) + " of that time"
              : "A step may take " + share_text(c.free_slowdown) + " longer at no cost";
  text += "; 1% fewer batches save " + percent_text(c.fewer_batches_save) + ".";
  return text;
}

// One optimizer against the first one: first its batches at the other's step, then its own step.
std::string against_text(const PipelineCase& c, const PipelineCase& first) {
  const std::string& other = first.optimizer.name;
  const double by_batches = batches(c) / batches(first) - 1;
  const double by_batches_in_time = seconds_for(batches(c), first.phases) / seconds(first) - 1;
  const double in_time = seconds(c) / seconds(first) - 1;
  const double by_step_in_time = in_time - by_batches_in_time;
  const double by_step = c.phases[0].stage.step_seconds / first.phases[0].stage.step_seconds - 1;
  std::string text = "Against " + other + ": " +
                     compared(by_batches, "fewer batches", "more batches", "as many batches");
  if (std::abs(by_batches) >= kNothing) {
    text += std::string(by_batches < 0 ? ", which shorten" : ", which lengthen") + " the time by " +
            share_text(std::abs(by_batches_in_time)) +
            (std::abs(by_batches - by_batches_in_time) < kNothing ? ", in full" : "");
  }
  text += "; " + compared(by_step, "shorter steps", "longer steps", "steps as long");
  if (std::abs(by_step) >= kNothing) {
    text += std::abs(by_step_in_time) < kNothing
                ? std::string(", which change nothing")
                : ", which " + std::string(by_step_in_time > 0 ? "cost " : "save ") +
                      share_text(std::abs(by_step_in_time));
  }
  text += ". In all " + compared(in_time, "less time", "more time", "the same time") +
          change_text(c.seconds_to_target, first.seconds_to_target) + ".";
  if (std::isnan(c.even_slowdown)) {
    return text + " No step is short enough to come even.";
  }
  return text + " It would come even with " + other + " at a step " +
         compared(c.even_slowdown, "shorter than its own", "longer than its own",
                  "as long as its own") +
         ".";
}

// The order of the topologies for the first optimizer, fastest first.
std::string topologies_text(std::vector<const PipelineCase*> cases) {
  std::stable_sort(cases.begin(), cases.end(), [](const PipelineCase* a, const PipelineCase* b) {
    return seconds(*a) < seconds(*b);
  });
  std::string text;
  for (const PipelineCase* c : cases) {
    const double later = seconds(*c) / seconds(*cases[0]) - 1;
    text +=
        (text.empty() ? "" : "; ") + to_text(c->topology) + " " + pipeline_time_text(seconds(*c));
    if (c != cases[0]) text += " (+" + share_text(later) + ")";
  }
  return "To the target, producers-consumers: " + text + ".";
}

std::string cached_text(const PipelineCase& online, const PipelineCase& cached) {
  const double change = seconds(cached) / seconds(online) - 1;
  const auto sides = [](double a, double b) {
    return percent_text(a) + " online and " + percent_text(b) + " cached";
  };
  return "Cached takes " + compared(change, "less time", "more time", "the same time") +
         " than online: " + pipeline_time_text(seconds(cached)) + " and " +
         pipeline_time_text(seconds(online)) + ". A 1% longer step costs " +
         sides(online.longer_step_costs, cached.longer_step_costs) + ", 1% fewer batches save " +
         sides(online.fewer_batches_save, cached.fewer_batches_save) + ".";
}

// Who is first in one pipeline; several where their intervals meet.
std::string first_text(const std::vector<const PipelineCase*>& cases) {
  const PipelineCase* best = *std::min_element(
      cases.begin(), cases.end(),
      [](const PipelineCase* a, const PipelineCase* b) { return seconds(*a) < seconds(*b); });
  std::string names;
  for (const PipelineCase* c : cases) {
    if (c->seconds_to_target.low > best->seconds_to_target.high * (1 + 1e-9)) continue;
    names += (names.empty() ? "" : " or ") + c->optimizer.name;
  }
  return names;
}

}  // namespace

std::vector<PipelineFinding> pipeline_findings(const std::vector<PipelineCase>& cases) {
  std::vector<PipelineFinding> findings;
  if (cases.empty()) return findings;
  std::vector<std::vector<const PipelineCase*>> places;  // the optimizers of each pipeline
  for (const PipelineCase& c : cases) {
    if (places.empty() || !same_place(*places.back()[0], c)) places.emplace_back();
    places.back().push_back(&c);
  }
  const PipelineTopology as_is = cases[0].topology;
  std::string firsts;
  for (const auto& here : places) {
    const PipelineCase& first = *here[0];
    firsts += (firsts.empty() ? "" : "; ") + place(first) + ": " + first_text(here);
    if (!(first.topology == as_is)) continue;
    for (const PipelineCase* c : here) {
      std::string text = alone_text(*c);
      if (c != here[0]) text += " " + against_text(*c, first);
      if (!c->exact) {
        text += " The times vary, so that these are limits, which a queue long enough comes near.";
      }
      findings.push_back({c->optimizer.name + ", " + place(*c), text});
    }
    std::vector<const PipelineCase*> topologies;
    for (const PipelineCase& c : cases) {
      if (c.hidden_states == first.hidden_states && c.optimizer.name == first.optimizer.name)
        topologies.push_back(&c);
    }
    if (topologies.size() > 1) {
      findings.push_back({first.optimizer.name + ", " + to_text(first.hidden_states),
                          topologies_text(topologies)});
    }
  }
  for (const PipelineCase& online : cases) {
    for (const PipelineCase& cached : cases) {
      if (online.hidden_states == HiddenStates::kOnline &&
          cached.hidden_states == HiddenStates::kCached && online.topology == as_is &&
          cached.topology == as_is && online.optimizer.name == cached.optimizer.name) {
        findings.push_back({online.optimizer.name, cached_text(online, cached)});
      }
    }
  }
  if (places[0].size() > 1) {
    if (firsts.find(" or ") != std::string::npos) firsts += " (several where their intervals meet)";
    findings.push_back({"first to the target", firsts + "."});
  }
  return findings;
}

std::string pipeline_time_text(double seconds) {
  if (std::isinf(seconds) && seconds > 0) return "never";
  if (seconds < 120) return short_number(seconds) + " s";
  if (seconds < 7200) return short_number(seconds / 60) + " minutes";
  if (seconds < 172800) return short_number(seconds / 3600) + " hours";
  return short_number(seconds / 86400) + " days";
}

std::string pipeline_interval_text(const PipelineInterval& time) {
  std::string low = pipeline_time_text(time.low);
  const std::string high = pipeline_time_text(time.high);
  const size_t unit = low.find(' '), other = high.find(' ');
  if (unit != std::string::npos && other != std::string::npos &&
      low.substr(unit) == high.substr(other)) {
    low.resize(unit);
  }
  return low + " to " + high;
}

std::string percent_text(double percent) {
  if (!std::isfinite(percent)) return number_text(percent);
  const double hundredths = std::round(100 * percent);
  return number_text(hundredths == 0 ? 0 : hundredths / 100) + "%";
}

std::string share_text(double share) {
  if (!std::isfinite(share)) return number_text(share);
  const double tenths = std::round(1000 * share);
  return number_text(tenths == 0 ? 0 : tenths / 10) + "%";
}

std::string short_number(double value) {
  return number_text(parse_number(significant(value, 3), "short_number"));
}

}  // namespace draftlab
