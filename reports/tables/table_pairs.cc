
#include "reports/study/comparison.h"
#include "reports/tables/tables.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

// One line.
struct Pair {
  Comparison comparison;
  Measure measure;
  View view;
};
using Column = CsvColumn<Pair>;

Column of_difference(std::string name, double Estimate::*value) {
  return {std::move(name), [value](const Pair& pair) { return pair.comparison.difference.*value; }};
}

}  // namespace

std::string pairs_csv(const Study& study) {
  std::vector<Pair> pairs;
  for (Measure measure : {Measure::kAcceptanceLength, Measure::kLoss}) {
    for (View view : {View::kEqualSteps, View::kEqualSeconds}) {
      for (const Comparison& comparison : comparisons(study, measure, view))
        pairs.push_back({comparison, measure, view});
    }
  }
  const std::vector<Column> columns = {
      {"measure", [](const Pair& pair) { return kind_of(pair.measure).key; }},
      {"at",
       [](const Pair& pair) {
         return pair.view == View::kEqualSteps ? "equal steps" : "equal seconds";
       }},
      {"a", [](const Pair& pair) { return pair.comparison.a->name; }},
      {"b", [](const Pair& pair) { return pair.comparison.b->name; }},
      {"n", [](const Pair& pair) { return pair.comparison.difference.n; }},
      of_difference("difference", &Estimate::mean),
      of_difference("sd", &Estimate::sd),
      of_difference("low", &Estimate::low),
      of_difference("high", &Estimate::high),
      {"t", [](const Pair& pair) { return t_value(pair.comparison.difference); }},
      {"p", [](const Pair& pair) { return pair.comparison.p; }},
      {"adjusted_p", [](const Pair& pair) { return pair.comparison.adjusted_p; }},
      {"comparisons", [](const Pair& pair) { return pair.comparison.pairs; }},
      {"detectable_difference",
       [](const Pair& pair) { return detectable_difference(pair.comparison.difference); }},
      {"claimed", [](const Pair& pair) { return pair.comparison.claimed(); }},
      {"refused_by",
       [](const Pair& pair) {
         const FairnessFinding* refusal = pair.comparison.refusal;
         return refusal == nullptr ? std::string() : refusal->id;
       }},
      {"verdict", [](const Pair& pair) { return verdict(pair.comparison, pair.measure); }},
  };
  return csv(columns, pairs);
}

}  // namespace draftlab
