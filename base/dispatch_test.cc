#include "base/dispatch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace draftlab {
namespace {

TEST(Dispatch, EveryVariableIsSetOverWhatTheCallerAskedAndToldBack) {
  std::set<std::string_view> variables;
  for (const Dispatch& dispatch : dispatches()) {
    EXPECT_TRUE(variables.insert(dispatch.variable).second) << dispatch.variable;
    EXPECT_FALSE(dispatch.why.empty()) << dispatch.variable;
    ::unsetenv(dispatch.variable.data());
  }
  EXPECT_EQ(asked_of("oneDNN"), "the best for this CPU");
  ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  EXPECT_EQ(asked_of("oneDNN"), "ONEDNN_MAX_CPU_ISA=AVX2");
  ask_for_portable_arithmetic();
  for (const Dispatch& dispatch : dispatches()) {
    EXPECT_EQ(std::getenv(dispatch.variable.data()), dispatch.portable_value);
    EXPECT_NE(asked_of(dispatch.library).find(dispatch.portable_value), std::string::npos);
  }
}

}  // namespace
}  // namespace draftlab
