#include "reports/study/company.h"

#include <algorithm>
#include <limits>

namespace draftlab {

std::map<std::string, bool> segments_in_company(std::vector<WorkerEvent> events) {
  std::stable_sort(events.begin(), events.end(),
                   [](const WorkerEvent& a, const WorkerEvent& b) { return a.start < b.start; });
  // Close what has no end: from the last start backwards, each segment's next start is known.
  std::map<std::string, double> next_start;
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    const auto next =
        next_start.try_emplace(event->segment, std::numeric_limits<double>::infinity());
    if (event->end == 0) event->end = next.first->second;
    next.first->second = event->start;
  }
  std::map<std::string, bool> in_company;
  for (size_t i = 0; i < events.size(); ++i) {
    in_company[events[i].segment];  // false, unless another event says otherwise
    for (size_t j = i + 1; j < events.size() && events[j].start < events[i].end; ++j) {
      if (events[j].segment == events[i].segment) continue;
      in_company[events[i].segment] = in_company[events[j].segment] = true;
    }
  }
  return in_company;
}

}  // namespace draftlab
