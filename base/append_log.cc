#include "base/append_log.h"

#include <utility>

#include "base/error.h"

namespace draftlab {

AppendLog::AppendLog(std::filesystem::path file, std::optional<int64_t> keep, Disk& disk)
    : file_(std::move(file)), disk_(disk) {
  if (!std::filesystem::exists(file_)) disk_.append_and_sync(file_, "");
  const std::string text = read_file(file_);
  const auto size = static_cast<int64_t>(text.size());
  bytes_ = keep.value_or(static_cast<int64_t>(text.rfind('\n') + 1));  // npos + 1 is 0
  if (bytes_ > size) {
    throw Error(file_.string(), "holds " + std::to_string(size) + " bytes of the " +
                                    std::to_string(bytes_) + " that were written; lines are lost");
  }
  if (bytes_ < size) disk_.cut(file_, bytes_);
  hash_.add(std::string_view(text).substr(0, bytes_));
}

void AppendLog::append(std::string_view lines) {
  try {
    disk_.append_and_sync(file_, lines);
  } catch (...) {
    try {
      disk_.cut(file_, bytes_);
    } catch (const Error&) {  // the first failure says more
    }
    throw;
  }
  bytes_ += static_cast<int64_t>(lines.size());
  hash_.add(lines);
}

}  // namespace draftlab
