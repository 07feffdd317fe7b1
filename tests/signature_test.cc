#include <gtest/gtest.h>

#include "base/file.h"
#include "source_dir.h"
#include "tests/program.h"

namespace draftlab {
namespace {

// A change of behaviour changes this number; then write the new one into tests/signature.txt and
// say why.
TEST(Signature, IsTheOneThatIsExpected) {
  const Finished signature = draftlab({"signature"});
  ASSERT_EQ(signature.status, 0) << signature.output;
  EXPECT_EQ(signature.output, read_file(DRAFTLAB_SOURCE_DIR "/tests/signature.txt"));
}

}  // namespace
}  // namespace draftlab
