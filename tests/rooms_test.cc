#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "source_dir.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = DRAFTLAB_SOURCE_DIR;

using Rooms = std::set<std::string>;

// What each room may include besides itself (docs/architecture.md).
const std::map<std::string, Rooms> kUpstream = [] {
  std::map<std::string, Rooms> upstream = {
      {"base", {}},
      {"record", {"base"}},
      {"store", {"base", "record"}},
      {"kernels", {"base"}},
      {"target_model", {"base", "record", "store", "kernels"}},
      {"model", {"base", "record", "store", "kernels"}},
      {"optim", {"base", "record", "kernels"}},
      {"train", {"base", "record", "store", "kernels", "target_model", "model", "optim"}},
      {"decode", {"base", "record", "store", "kernels", "target_model", "model", "optim", "train"}},
      {"runner", {"base", "record"}},
  };
  // The rooms inside reports, and what each adds to what all of them may include.
  const std::map<std::string, Rooms> reports = {
      {"text", {}},
      {"stats", {"text"}},
      {"study", {"text", "stats"}},
      {"switches", {"text", "stats", "study"}},
      {"checks", {"text", "stats", "study", "switches"}},
      {"tables", {"text", "stats", "study", "switches", "checks"}},
      {"charts", {"text", "stats"}},
      {"page", {"text", "stats", "study", "switches", "checks", "tables", "charts"}},
      {"pipeline", {"text", "stats"}},
      {"decision",
       {"text", "stats", "study", "switches", "checks", "tables", "charts", "page", "pipeline"}},
  };
  for (const auto& [room, others] : reports) {
    Rooms& all = upstream["reports/" + room] = {"base", "record"};
    for (const std::string& other : others) all.insert("reports/" + other);
  }
  return upstream;
}();

const Rooms kOthers = {"fuzz", "programs", "tests", "benchmarks", "testing"};

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

std::vector<std::string> included_files(const fs::path& file) {
  return matches(file, R"re(^\s*#\s*include\s*"([^"]*)")re");
}

// The known room in which a folder lies ("record" for "record/layers"), else the folder itself.
std::string room_of(const fs::path& folder) {
  for (fs::path path = folder; !path.empty(); path = path.parent_path()) {
    if (kUpstream.count(path.string()) || kOthers.count(path.string())) return path.string();
  }
  return folder.string();
}

// The rooms of what a file includes: "base", "reports/text".
std::vector<std::string> included_rooms(const fs::path& file) {
  std::vector<std::string> rooms;
  for (const fs::path header : included_files(file)) {
    if (header.has_parent_path()) rooms.push_back(room_of(header.parent_path()));
  }
  return rooms;
}

std::vector<std::string> included_torch(const fs::path& file) {
  return matches(file, R"re(^\s*#\s*include\s*[<"]((?:torch|ATen|c10)/[^>"]*))re");
}

bool is_test(const fs::path& file) { return file.stem().string().ends_with("_test"); }

TEST(Rooms, ARoomIncludesOnlyItselfAndRoomsUpstream) {
  size_t includes = 0;
  for (const auto& [room, upstream] : kUpstream) {
    for (const fs::path& file : sources(room)) {
      for (const std::string& other : included_rooms(file)) {
        ++includes;
        if (other == "testing" && is_test(file)) continue;
        EXPECT_TRUE(other == room || upstream.count(other))
            << file.string() << " includes from " << other << ", which is not upstream of " << room;
      }
    }
  }
  EXPECT_GT(includes, 100u) << "the search finds nothing";
}

TEST(Rooms, TestsAloneIncludeFromTesting) {
  for (const fs::path& file : sources("programs")) {
    for (const std::string& room : included_rooms(file))
      EXPECT_NE(room, "testing") << file.string();
  }
}

// Whatever has a source of its own is a part of the programs, if one that nothing calls yet.
TEST(Rooms, AHeaderThatTestsAloneIncludeLiesInTesting) {
  std::set<std::string> included, headers;
  for (const auto& [room, upstream] : kUpstream) {
    for (const fs::path& file : sources(room)) {
      const std::string name = file.lexically_relative(kRoot).string();
      fs::path source = file, kernel = file;
      const bool alone = !fs::exists(source.replace_extension(".cc")) &&
                         !fs::exists(kernel.replace_extension(".cu"));
      if (name.ends_with(".h") && alone) headers.insert(name);
      if (is_test(file)) continue;
      for (const std::string& header : included_files(file)) included.insert(header);
    }
  }
  for (const fs::path& file : sources("programs")) {
    for (const std::string& header : included_files(file)) included.insert(header);
  }
  EXPECT_GT(headers.size(), 5u) << "the search finds nothing";
  for (const std::string& header : headers) {
    EXPECT_TRUE(included.count(header)) << header << " is included by tests alone";
  }
}

TEST(Rooms, NoCircleLeadsFromARoomToItself) {
  for (const auto& [room, upstream] : kUpstream) {
    for (const std::string& other : upstream) {
      ASSERT_TRUE(kUpstream.count(other)) << other;
      EXPECT_FALSE(kUpstream.at(other).count(room)) << room << " and " << other;
      for (const std::string& third : kUpstream.at(other)) {
        EXPECT_TRUE(upstream.count(third))
            << room << " may include " << other << " and thereby includes " << third;
      }
    }
  }
}

TEST(Rooms, EveryFolderOfSourcesIsARoomThatIsKnownHere) {
  const Rooms outside = {"build", "runs"};
  for (const auto& top : fs::directory_iterator(kRoot)) {
    const std::string name = top.path().filename().string();
    if (!top.is_directory() || outside.count(name) || name.starts_with(".")) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      const std::string room = room_of(entry.path().parent_path().lexically_relative(kRoot));
      EXPECT_TRUE(kUpstream.count(room) || kOthers.count(room))
          << entry.path().string() << " lies in " << room << ", which is no room";
    }
  }
}

TEST(Rooms, WhatDraftlabLinksHoldsNoTensors) {
  std::vector<fs::path> files;
  for (const char* room : {"base", "record", "store", "runner", "reports"}) {
    for (const fs::path& file : sources(room)) files.push_back(file);
  }
  const Rooms with_tensors = {"kernels", "target_model", "model", "optim", "train", "decode"};
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
