#include "reports/tables/tensorboard.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "base/file.h"
#include "reports/tables/event_file.h"
#include "source_dir.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Scalar {
  int64_t step;
  double wall_time;
  float value;
};
using Scalars = std::map<std::string, std::vector<Scalar>>;  // by tag

// The fields of one Protocol Buffers message, in order; numbers of any width as the bytes they
// have.
std::vector<std::pair<int, std::string>> fields(std::string_view message) {
  std::vector<std::pair<int, std::string>> list;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint64_t byte = static_cast<unsigned char>(message.at(0));
      message.remove_prefix(1);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (!message.empty()) {
    const uint64_t key = varint();
    const int wire = key & 7;
    size_t size = wire == 1 ? 8 : 4;
    if (wire == 0) {
      const uint64_t value = varint();
      list.emplace_back(key >> 3, std::string(reinterpret_cast<const char*>(&value), 8));
      continue;
    }
    if (wire == 2) size = varint();
    EXPECT_LE(size, message.size());
    list.emplace_back(key >> 3, std::string(message.substr(0, size)));
    message.remove_prefix(size);
  }
  return list;
}

template <typename Number>
Number number(const std::string& bytes) {
  Number value;
  EXPECT_EQ(bytes.size(), sizeof value);
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// An event file read back, every checksum compared.
Scalars read_events_of(const fs::path& file) {
  const std::string bytes = read_file(file);
  std::string_view rest = bytes;
  Scalars scalars;
  int records = 0;
  while (!rest.empty()) {
    const auto length = number<uint64_t>(std::string(rest.substr(0, 8)));
    EXPECT_EQ(number<uint32_t>(std::string(rest.substr(8, 4))), masked_crc32c(rest.substr(0, 8)));
    const std::string_view event = rest.substr(12, length);
    EXPECT_EQ(number<uint32_t>(std::string(rest.substr(12 + length, 4))), masked_crc32c(event));
    rest.remove_prefix(length + 16);
    double wall_time = 0;
    int64_t step = 0;
    for (const auto& [field, value] : fields(event)) {
      if (field == 1) wall_time = number<double>(value);
      if (field == 2) step = number<int64_t>(value);
      if (field == 3) {
        EXPECT_EQ(value + (records > 0 ? " again" : ""), "brain.Event:2");
      }
      if (field != 5) continue;
      for (const auto& [summary_field, entry] : fields(value)) {
        EXPECT_EQ(summary_field, 1);
        const auto parts = fields(entry);
        scalars[parts.at(0).second].push_back({step, wall_time, number<float>(parts.at(1).second)});
      }
    }
    ++records;
  }
  return scalars;
}

class TensorboardTest : public ::testing::Test {
 protected:
  TensorboardTest() : root_(scratch_folder("draftlab_tensorboard_test")), out_(root_ / "out") {
    fs::remove_all(root_);
    sweep_.arms = {sweep_.arms[0], sweep_.arms[1]};
    sweep_.arms[1].name = "../M";
    sweep_.tuning = 20;
  }
  ~TensorboardTest() override { fs::remove_all(root_); }
  fs::path file(const std::string& run) const {
    return out_ / tensorboard_folder(run) / "events.out.tfevents.draftlab";
  }

  fs::path root_, out_;
  SyntheticSweep sweep_ = SyntheticSweep::of_four();
  const std::string diverged_ = synthetic_run("AdamW", 4e-3, 2);
};

TEST_F(TensorboardTest, HoldsEveryStepAndEvaluationAtItsTrueStepAndTime) {
  const RunFolder folder = write_synthetic_folder(root_ / "a", sweep_);
  EXPECT_THAT(write_tensorboard(load_study(folder), out_), IsEmpty());
  const std::string run = synthetic_run("AdamW", 1e-3, 1);
  const Metrics metrics =
      read_metrics(SegmentFolder(folder, read_plan(folder).runs[3].segments[0]).metrics());
  Scalars scalars = read_events_of(file(run));
  EXPECT_THAT(scalars, SizeIs(9));
  const double start = read_events(folder.events())[3].start;
  const std::vector<Scalar>& norms = scalars["train/gradient_norm"];
  ASSERT_THAT(norms, SizeIs(200));
  for (size_t i = 0; i < norms.size(); ++i) {
    EXPECT_EQ(norms[i].step, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(norms[i].value, static_cast<float>(metrics.steps[i].gradient_norm));
    EXPECT_NEAR(norms[i].wall_time - start, 0.055 * static_cast<double>(i + 1), 1e-6);
  }
  for (const EvaluationRow& row : metrics.evaluations) {
    const std::vector<Scalar>& losses = scalars[row.split + "/loss"];
    ASSERT_THAT(losses, SizeIs(4));
    const auto found = std::ranges::find(losses, row.step, &Scalar::step);
    ASSERT_NE(found, losses.end());
    EXPECT_EQ(found->value, static_cast<float>(row.loss));
    EXPECT_EQ(found->wall_time, start + row.train_seconds);
  }
}

TEST_F(TensorboardTest, ANaNIsWrittenAndRunsWithoutALogAreNot) {
  const std::string absent = synthetic_run("AdamW", 1e-3, 1),
                    broken = synthetic_run("../M", 1e-2, 1);
  const RunFolder folder = write_synthetic_folder(
      root_ / "a", sweep_, {{diverged_, "diverged", "NaN"}, {absent, "not started", ""}});
  for (const PlannedRun& run : read_plan(folder).runs) {
    if (run.name == broken)
      replace_file(SegmentFolder(folder, run.segments[0]).metrics(), "{\"row\":\"x\"}\n");
  }
  EXPECT_THAT(write_tensorboard(load_study(folder), out_), ElementsAre(broken));
  const std::vector<Scalar> losses = read_events_of(file(diverged_))["train/loss"];
  ASSERT_THAT(losses, SizeIs(60));
  EXPECT_TRUE(std::isnan(losses[59].value));
  EXPECT_FALSE(fs::exists(file(absent)));
  EXPECT_FALSE(fs::exists(file(broken)));
}

TEST_F(TensorboardTest, WithoutARecordedStartTimeBeginsAtZero) {
  const RunFolder folder = write_synthetic_folder(root_ / "a", sweep_);
  fs::remove(folder.events());
  write_tensorboard(load_study(folder), out_);
  const std::vector<Scalar> losses = read_events_of(file(diverged_))["train/loss"];
  EXPECT_NEAR(losses.front().wall_time, 0.055, 1e-12);
}

TEST_F(TensorboardTest, TheSameFolderGivesTheSameBytesAndRunsStayApart) {
  SyntheticSweep other = sweep_;
  other.change = [](SegmentConfig& config) { config.training.clip = 17; };
  const Study study = load_study(
      {write_synthetic_folder(root_ / "a", sweep_), write_synthetic_folder(root_ / "b", other)});
  write_tensorboard(study, out_);
  EXPECT_EQ(std::distance(fs::directory_iterator(out_), fs::directory_iterator()), 2 * 21);
  const std::string bytes = read_file(file(diverged_ + " (a)"));
  write_tensorboard(study, out_);
  EXPECT_EQ(read_file(file(diverged_ + " (a)")), bytes);
}

TEST(TensorboardFolder, IsOneHarmlessNamePerRun) {
  EXPECT_EQ(tensorboard_folder("AdamW lr=0.001 seed=1 (a)"), "AdamW lr=0.001 seed=1 (a)");
  std::set<std::string> names;
  for (const std::string& run :
       {std::string("../a"), std::string(".. a"), std::string(""), std::string("."),
        std::string("a/b"), std::string("a_b"), std::string("a\\b"), std::string(10000, 'x'),
        std::string(10001, 'x'), std::string("é\n")}) {
    const std::string name = tensorboard_folder(run);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_LE(name.size(), 120u);
    EXPECT_EQ(name.find_first_of("/\\\n"), std::string::npos) << name;
    EXPECT_FALSE(name.starts_with('.')) << name;
  }
}

// With the package that scripts/test puts below build/deps.
TEST_F(TensorboardTest, TheRealTensorboardReadsTheSame) {
  write_tensorboard(
      load_study(write_synthetic_folder(root_ / "a", sweep_, {{diverged_, "diverged", "NaN"}})),
      out_);
  const std::string command = "PYTHONPATH='" DRAFTLAB_SOURCE_DIR
                              "/build/deps/tensorboard' python3 " DRAFTLAB_SOURCE_DIR
                              "/tests/read_event_files.py '" +
                              out_.string() + "' 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::multiset<std::string> theirs, ours;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) theirs.insert(line);
  const int status = ::pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    GTEST_SKIP() << "the tensorboard package is not here: scripts/test installs it";
  for (const auto& folder : fs::directory_iterator(out_)) {
    for (const auto& [tag, scalars] :
         read_events_of(folder.path() / "events.out.tfevents.draftlab")) {
      for (const Scalar& scalar : scalars) {
        std::snprintf(line, sizeof line, "%s\t%s\t%lld\t%016llx\t%08x\n",
                      folder.path().filename().c_str(), tag.c_str(),
                      static_cast<long long>(scalar.step),
                      static_cast<unsigned long long>(std::bit_cast<uint64_t>(scalar.wall_time)),
                      std::bit_cast<uint32_t>(scalar.value));
        ours.insert(line);
      }
    }
  }
  EXPECT_GT(ours.size(), 20 * 200 * 3u);
  EXPECT_EQ(theirs == ours, true) << theirs.size() << " and " << ours.size() << " scalars, such as "
                                  << (theirs.empty() ? "" : *theirs.begin()) << *ours.begin();
}

}  // namespace
}  // namespace draftlab
