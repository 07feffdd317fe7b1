#include "reports/company.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace draftlab {

std::map<std::string, bool> segments_in_company(const std::vector<WorkerEvent>& events) {
  // One start may have two rows: written without an end when the worker started, and again when it ended.
  std::map<std::pair<std::string, double>, double> ends;
  for (const WorkerEvent& event : events) {
    double& end = ends[{event.segment, event.start}];
    end = std::max(end, event.end);
  }
  struct Span {
    std::string segment;
    double start, end;
  };
  std::vector<Span> spans;
  for (auto it = ends.begin(); it != ends.end(); ++it) {
    double end = it->second;
    if (end == 0) {
      const auto next = std::next(it);
      const bool again = next != ends.end() && next->first.first == it->first.first;
      end = again ? next->first.second : std::numeric_limits<double>::infinity();
    }
    spans.push_back({it->first.first, it->first.second, end});
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  std::map<std::string, bool> in_company;
  for (size_t i = 0; i < spans.size(); ++i) {
    in_company[spans[i].segment];  // false unless set below or before
    for (size_t j = i + 1; j < spans.size() && spans[j].start < spans[i].end; ++j) {
      if (spans[j].segment == spans[i].segment) continue;
      in_company[spans[i].segment] = in_company[spans[j].segment] = true;
    }
  }
  return in_company;
}

}  // namespace draftlab
