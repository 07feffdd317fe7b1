#include "record/events.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace draftlab {
namespace {

void append_line(const std::filesystem::path& file, const JsonObject& object) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string line = canonical(object) + "\n";
  // One write, so that lines of two processes cannot mix.
  const bool written =
      fd >= 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int code = errno;
  if (fd >= 0) ::close(fd);
  if (!written) throw Error(file.string(), std::string("cannot append: ") + std::strerror(code));
}

}  // namespace

void append_start(const std::filesystem::path& file, const WorkerEvent& event) {
  append_line(file, {{"event", "start"},
                     {"segment", event.segment},
                     {"time", event.start},
                     {"threads", event.threads}});
}

void append_end(const std::filesystem::path& file, const WorkerEvent& event) {
  append_line(file, {{"event", "end"},
                     {"segment", event.segment},
                     {"time", event.end},
                     {"outcome", event.outcome}});
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
