#include "model/layers/token_mixer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "base/error.h"
#include "record/layers/layer_kind.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Options that suit every kind.
DrafterConfig config() {
  DrafterConfig config{.hidden_size = 8};
  for (const LayerKind* kind : layer_kinds())
    for (const LayerOption& option : kind->options) config.layer_options[option.key] = 2;
  return config;
}

TEST(TokenMixer, EveryKindThatIsDescribedCanBeMade) {
  Workspace workspace(at::kDouble);
  for (const LayerKind* kind : layer_kinds())
    EXPECT_NE(make_token_mixer(kind->name, config(), workspace), nullptr) << kind->name;
}

TEST(TokenMixer, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  Workspace workspace(at::kDouble);
  EXPECT_THAT([&] { make_token_mixer("mamba", config(), workspace); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("'mamba' is not known"), HasSubstr("sliding_attention"))));
}

}  // namespace
}  // namespace draftlab
