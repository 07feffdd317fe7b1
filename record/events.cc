#include "record/events.h"

#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace draftlab {

EventLog::EventLog(std::filesystem::path file, Disk& disk)
    : log_(std::move(file), std::nullopt, disk) {}

void EventLog::start(const WorkerEvent& event) {
  log_.append(canonical(JsonObject{{"event", "start"},
                                   {"segment", event.segment},
                                   {"time", event.start},
                                   {"threads", event.threads}}) +
              "\n");
}

void EventLog::end(const WorkerEvent& event) {
  log_.append(canonical(JsonObject{{"event", "end"},
                                   {"segment", event.segment},
                                   {"time", event.end},
                                   {"outcome", event.outcome}}) +
              "\n");
}

std::vector<WorkerEvent> read_events(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  std::vector<WorkerEvent> events;
  for_each_json_line(file, [&](const Json& value, const std::string& where) {
    Fields fields(value, where);
    const std::string kind = fields.text("event");
    require_one_of(kind, {"start", "end"}, fields.where("event"));
    const std::string segment = fields.text("segment");
    const double time = fields.number("time");
    if (kind == "start") {
      events.push_back({segment, time, 0, "", fields.integer("threads")});
    } else {
      const std::string outcome = fields.text("outcome");
      for (auto event = events.rbegin(); event != events.rend(); ++event) {
        if (event->segment != segment || event->end != 0) continue;
        event->end = time;
        event->outcome = outcome;
        break;
      }
    }
    fields.finish();
  });
  return events;
}

}  // namespace draftlab
