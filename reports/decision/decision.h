#pragma once

#include <limits>
#include <string>
#include <vector>

#include "reports/decision/pillar.h"
#include "reports/decision/time_ratio.h"

namespace draftlab {

// A decision about a run in production from measurements: pillars, and what follows from them
// (docs/decide.md). Every word follows from the data.
struct Decision {
  // One of "start with it", "switch now", "stay".
  struct Choice {
    std::string name;
    Verdict verdict = Verdict::kUndecided;
    std::string reason;  // which pillars say so
  };
  std::vector<Pillar> pillars;
  // Of pillars that measure one quantity, how many steps the candidate needs, and whose intervals
  // have nothing in common.
  std::vector<std::string> disagreements;
  // What the bottleneck would say of other lengths of a step and numbers of seeds; empty without
  // its ratio of steps.
  std::vector<WhatIf> what_if;
  double turning_step_ratio = std::numeric_limits<double>::quiet_NaN();
  std::vector<Choice> choices;
  std::string recommendation;
  // The pillar with the least margin; one without a number before all others.
  size_t weakest = 0;
};

// Throws Error where the context's evidence names a folder that no study is of, or two are.
// REQUIRES: there is a study.
Decision decide(const std::vector<Study>& studies, const DecisionContext& context);
// What follows from the pillars (bottleneck, time behind the switch, switch cost, architecture,
// diminishing returns): a new run asks the first and the last two, a switch all but the first.
Decision conclude(std::vector<Pillar> pillars, const DecisionContext& context);

// Where the run stands, by the context: pairs of what and how much.
std::vector<std::pair<std::string, std::string>> context_facts(const DecisionContext& context);

// The decision where the same facts are read in another way.
struct Reading {
  DecisionContext context;
  Decision decision;
};

// For machines; numbers without a value as "NaN", "Infinity".
Json decision_json(const Decision& decision, const DecisionContext& context,
                   const std::vector<Reading>& others = {});

// One HTML file in the style of the report, from `folders`, of which the last part of each path is
// named.
std::string decision_page(const Decision& decision, const DecisionContext& context,
                          const std::vector<Reading>& others,
                          const std::vector<std::string>& folders);

}  // namespace draftlab
