#include "record/run_folder.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/error.h"

namespace draftlab {
namespace {

constexpr char kPrefix[] = "step_", kSuffix[] = ".safetensors";
constexpr size_t kDigits = 9;

}  // namespace

void require_schema(int64_t schema, int64_t ours, const std::string& where) {
  if (schema == ours) return;
  throw Error(where,
              "is " + std::to_string(schema) + ", and this version of draftlab reads " +
                  std::to_string(ours) +
                  "; use the version that wrote the folder, or run the sweep into a new one");
}

std::filesystem::path SegmentFolder::checkpoint(int64_t step) const {
  char name[64];
  std::snprintf(name, sizeof name, "%s%0*" PRId64 "%s", kPrefix, static_cast<int>(kDigits), step,
                kSuffix);
  return checkpoints() / name;
}

std::optional<int64_t> SegmentFolder::checkpoint_step(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const size_t prefix = sizeof kPrefix - 1;
  if (name.size() != prefix + kDigits + sizeof kSuffix - 1 || !name.starts_with(kPrefix) ||
      !name.ends_with(kSuffix)) {
    return std::nullopt;
  }
  int64_t step = 0;
  for (char c : name.substr(prefix, kDigits)) {
    if (c < '0' || c > '9') return std::nullopt;
    step = step * 10 + (c - '0');
  }
  return step;
}

std::vector<int64_t> SegmentFolder::checkpoint_steps() const {
  std::vector<int64_t> steps;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints(), none))
    if (const auto step = checkpoint_step(entry.path())) steps.push_back(*step);
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

std::optional<int64_t> SegmentFolder::last_checkpoint() const {
  const std::vector<int64_t> steps = checkpoint_steps();
  return steps.empty() ? std::nullopt : std::optional(steps.front());
}

}  // namespace draftlab
