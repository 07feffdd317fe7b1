#include "runner/memory.h"

#include <gtest/gtest.h>

#include "testing/example_sweep.h"

namespace draftlab {
namespace {

SegmentConfig config(const std::string& path = "/seeds", const std::string& value = "[1]") {
  return example_plan({{path, value}}).segments[0].config;
}

TEST(WorkerMemory, IsFrozenTensorsTrainingAndOneStepBesideTheProgram) {
  const WorkerMemory memory = worker_memory(config(), 100);
  EXPECT_EQ(memory.total(), memory.program + memory.on_device());
  const DrafterConfig& drafter = config().drafter;
  EXPECT_EQ(memory.frozen,
            4.0 * drafter.hidden_size * (2.0 * drafter.vocab_size + drafter.draft_vocab_size));
}

TEST(WorkerMemory, GrowsWithWhatIsKeptForIt) {
  const WorkerMemory adamw = worker_memory(config(), 100),
                     muon = worker_memory(config("/arms/0/optimizer/kind", "\"muon\""), 100),
                     more = worker_memory(config("/training/anchors", "64"), 100);
  EXPECT_LT(muon.training, adamw.training) << "one moment in place of two";
  EXPECT_EQ(more.training, adamw.training);
  EXPECT_GT(more.step, adamw.step);
  EXPECT_GT(worker_memory(config(), 1000).step, adamw.step) << "longer sequences";
}

}  // namespace
}  // namespace draftlab
