#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = DRAFTLAB_SOURCE_DIR;

// What each room may include besides itself (docs/architecture.md).
const std::map<std::string, std::set<std::string>> kUpstream = {
    {"base", {}},
    {"record", {"base"}},
    {"store", {"base"}},
    {"kernels", {"base"}},
    {"target", {"base", "store", "kernels"}},
    {"model", {"base", "record", "store", "kernels"}},
    {"optim", {"base", "record", "kernels"}},
    {"train", {"base", "record", "store", "kernels", "target", "model", "optim"}},
    {"runner", {"base", "record"}},
    {"reports", {"base", "record"}},
};

bool is_source(const fs::path& file) {
  const std::string end = file.extension().string();
  return end == ".h" || end == ".cc" || end == ".cu" || end == ".cuh";
}

std::vector<fs::path> sources(const std::string& room) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
    if (entry.is_regular_file() && is_source(entry.path())) files.push_back(entry.path());
  }
  return files;
}

// Every match of an expression with one group.
std::vector<std::string> matches(const fs::path& file, const char* expression) {
  const std::string text = read_file(file);
  const std::regex regex(expression, std::regex::multiline);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    found.push_back((*it)[1]);
  return found;
}

std::vector<std::string> included_rooms(const fs::path& file) {
  return matches(file, R"re(^\s*#\s*include\s*"([a-z_]+)/)re");
}

std::vector<std::string> included_torch(const fs::path& file) {
  return matches(file, R"re(^\s*#\s*include\s*[<"]((?:torch|ATen|c10)/[^>"]*))re");
}

TEST(Rooms, ARoomIncludesOnlyItselfAndRoomsUpstream) {
  size_t includes = 0;
  for (const auto& [room, upstream] : kUpstream) {
    for (const fs::path& file : sources(room)) {
      for (const std::string& other : included_rooms(file)) {
        ++includes;
        EXPECT_TRUE(other == room || upstream.count(other))
            << file.string() << " includes from " << other << ", which is downstream of " << room;
      }
    }
  }
  EXPECT_GT(includes, 100u) << "the search finds nothing";
}

TEST(Rooms, EveryFolderOfSourcesIsARoomThatIsKnownHere) {
  const std::set<std::string> others = {"programs", "tests", "benchmarks"};
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name == "build" || name.starts_with(".")) continue;
    bool has_sources = false;
    for (const auto& file : fs::directory_iterator(entry.path()))
      has_sources |= is_source(file.path());
    if (has_sources) {
      EXPECT_TRUE(kUpstream.count(name) || others.count(name)) << name;
    }
  }
}

TEST(Rooms, WhatDraftlabLinksHoldsNoTensors) {
  std::vector<fs::path> files;
  for (const char* room : {"base", "record", "store", "runner", "reports"}) {
    for (const fs::path& file : sources(room)) files.push_back(file);
  }
  const std::set<std::string> with_tensors = {"kernels", "target", "model", "optim", "train"};
  for (const fs::path& file : sources("programs")) {
    if (file.filename() == "worker.cc") continue;  // draftlab-worker, whose business tensors are
    files.push_back(file);
    for (const std::string& room : included_rooms(file)) {
      EXPECT_FALSE(with_tensors.count(room)) << file.string() << " includes from " << room;
    }
  }
  for (const fs::path& file : files) {
    for (const std::string& header : included_torch(file))
      ADD_FAILURE() << file.string() << " includes " << header;
  }
}

}  // namespace
}  // namespace draftlab
