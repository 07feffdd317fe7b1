#include "decode/decoding.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <map>

#include "base/error.h"
#include "decode/drafter_proposer.h"
#include "decode/look_up_proposer.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<int64_t> kTaps = {0, 1, 3};
const std::atomic<bool> kGoOn{false};

// A made-up target, prompts for it, and what it answers by itself.
class DecodingTest : public ::testing::Test {
 protected:
  DecodingTest() : target_(make_target({})), decoding_(target_, kTaps) {
    at::set_num_threads(1);
    prompts_ = made_up_prompts({.count = 7, .tokens = 20, .seed = 5}, 128);
  }
  static Transformer make_target(std::vector<int64_t> ends) {
    TargetCheckpoint checkpoint = make_up_target({});
    checkpoint.config.end_token_ids = std::move(ends);
    return Transformer(checkpoint.config, load_weights(checkpoint), Products::kRowwise);
  }
  static FrozenTensors frozen() {
    TargetCheckpoint checkpoint = make_up_target({});
    const TransformerWeights weights = load_weights(checkpoint);
    return {weights.embedding, weights.head};
  }
  std::vector<std::vector<int32_t>> texts(const std::vector<DecodedAnswer>& answers) {
    std::vector<std::vector<int32_t>> texts;
    for (const DecodedAnswer& answer : answers) texts.push_back(answer.tokens);
    return texts;
  }
  std::vector<DecodedAnswer> plain(const DecodeOptions& options) {
    NoProposer nothing;
    return decoding_.answer(prompts_, nothing, options, kGoOn);
  }

  Transformer target_;
  Decoding decoding_;
  std::vector<Prompt> prompts_;
};

// Drafts what the target said by itself, but for every `wrong`-th token of a text.
class KnowingProposer : public Proposer {
 public:
  KnowingProposer(std::vector<std::vector<int32_t>> answers, std::vector<int64_t> prompt_lengths,
                  int64_t wrong)
      : answers_(std::move(answers)), prompt_lengths_(std::move(prompt_lengths)), wrong_(wrong) {}
  int64_t longest() const override { return 7; }
  bool needs_taps() const override { return false; }
  void start(int64_t sequences) override {
    first_ += static_cast<int64_t>(passed_.size());
    passed_.assign(sequences, 0);
  }
  void observe(int64_t sequence, std::span<const int32_t> tokens, const at::Tensor&) override {
    passed_[sequence] += std::ssize(tokens);
  }
  Draft propose(int64_t sequence, int32_t anchor, double, Random&) override {
    const std::vector<int32_t>& answer = answers_[first_ + sequence];
    const int64_t at = passed_[sequence] - prompt_lengths_[first_ + sequence];
    EXPECT_EQ(anchor, answer[at]);
    Draft draft;
    for (int64_t i = at + 1; i < std::ssize(answer) && std::ssize(draft.tokens) < longest(); ++i)
      draft.tokens.push_back(i % wrong_ == 0 ? (answer[i] + 1) % 128 : answer[i]);
    return draft;
  }

 private:
  std::vector<std::vector<int32_t>> answers_;
  std::vector<int64_t> prompt_lengths_, passed_;
  int64_t wrong_, first_ = 0;
};

TEST_F(DecodingTest, WhatIsProposedAndInWhatBatchChangesNoTokenOfAGreedyAnswer) {
  const DecodeOptions alone{.max_tokens = 40};
  const auto expected = texts(plain(alone));
  ASSERT_EQ(expected.size(), 7u);
  std::vector<int64_t> lengths;
  for (const Prompt& prompt : prompts_) lengths.push_back(std::ssize(prompt.token_ids));
  for (const int64_t batch : {1, 3, 7}) {
    const DecodeOptions options{.max_tokens = 40, .batch = batch};
    EXPECT_EQ(texts(plain(options)), expected) << "plain, batch " << batch;
    for (const int64_t wrong : {2, 5, 1000}) {
      KnowingProposer proposer(expected, lengths, wrong);
      const auto answers = decoding_.answer(prompts_, proposer, options, kGoOn);
      EXPECT_EQ(texts(answers), expected) << "batch " << batch << ", wrong " << wrong;
      for (const DecodedAnswer& answer : answers) {
        int64_t tokens = 1;  // the prompt's pass gives the first
        for (const auto& pass : answer.passes) tokens += pass.tokens;
        EXPECT_EQ(tokens, std::ssize(answer.tokens));
        // 39 tokens behind the first, eight a pass where nothing is wrong.
        if (wrong == 1000) {
          EXPECT_EQ(answer.passes.size(), 5u);
        }
      }
    }
  }
}

DrafterConfig drafter_config(const char* layers) {
  return parse_drafter_config(
      parse_json(std::string(R"({"hidden_size": 32, "intermediate_size": 48, "block_size": 4,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
        "vocab_size": 128, "draft_vocab_size": 96, "initializer_range": 0.3, )") +
                     layers + "}",
                 "test"),
      "test", 0, 3);
}

// The draft ids are spread over the target's, so that a mistake in the map would show.
DraftVocabulary vocabulary() {
  std::vector<int64_t> d2t;
  std::vector<uint8_t> t2d(128);
  for (int64_t d = 0; d < 96; ++d) {
    d2t.push_back(d * 4 / 3 - d);
    t2d[d * 4 / 3] = 1;
  }
  return DraftVocabulary::from_maps(d2t, t2d, "test");
}

TEST_F(DecodingTest, ADrafterOfEveryKindOfLayerLeavesGreedyAnswersAsTheyAre) {
  const auto expected = texts(plain({.max_tokens = 30}));
  for (
      const char* layers :
      {R"("layer_types": ["full_attention", "full_attention"])",
       R"("layer_types": ["sliding_attention", "full_attention"], "sliding_window": 8)",
       R"("layer_types": ["gated_delta_net", "sliding_attention"], "sliding_window": 8, "linear_num_key_heads": 1,
           "linear_num_value_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8)"}) {
    const DrafterConfig config = drafter_config(layers);
    DrafterProposer proposer(config, initial_parameters(config, 3), frozen(), vocabulary());
    for (const int64_t batch : {1, 4}) {
      const auto answers =
          decoding_.answer(prompts_, proposer, {.max_tokens = 30, .batch = batch}, kGoOn);
      EXPECT_EQ(texts(answers), expected) << layers << ", batch " << batch;
    }
  }
}

TEST_F(DecodingTest, LookingUpLeavesGreedyAnswersAsTheyAreAndIsRightWhereTheyRepeat) {
  const auto expected = texts(plain({.max_tokens = 30}));
  LookUpProposer proposer(7);
  for (const int64_t batch : {1, 4}) {
    const auto answers =
        decoding_.answer(prompts_, proposer, {.max_tokens = 30, .batch = batch}, kGoOn);
    EXPECT_EQ(texts(answers), expected) << "batch " << batch;
  }
  // It sees the prompt, the answer and the anchor, each sequence its own.
  Random random(1, "unused");
  proposer.start(2);
  proposer.observe(0, std::vector<int32_t>{5, 6, 7}, {});
  proposer.observe(1, std::vector<int32_t>{8, 9}, {});
  proposer.observe(0, std::vector<int32_t>{1}, {});
  EXPECT_THAT(proposer.propose(0, 5, 0, random).tokens, ElementsAre(6, 7, 1, 5, 6, 7, 1));
  EXPECT_THAT(proposer.propose(0, 5, 1, random).tokens, ElementsAre(6, 7, 1, 5, 6, 7, 1))
      << "proposing is not observing";
  EXPECT_TRUE(proposer.propose(1, 5, 0, random).tokens.empty());
}

// Drafts what the target says by itself as one branch among wrong ones, which come first.
class BranchingProposer : public KnowingProposer {
 public:
  using KnowingProposer::KnowingProposer;
  Draft propose(int64_t sequence, int32_t anchor, double temperature, Random& random) override {
    const Draft right = KnowingProposer::propose(sequence, anchor, temperature, random);
    Draft tree;
    int64_t at = -1;
    for (const int32_t token : right.tokens) {
      tree.tokens.insert(tree.tokens.end(), {(token + 2) % 128, token});
      tree.parents.insert(tree.parents.end(), {at, at});
      at = std::ssize(tree.tokens) - 1;
    }
    return tree;
  }
};

TEST_F(DecodingTest, ATreeIsFollowedAlongTheTargetsOwnTextAndLeavesItAsItIs) {
  const auto expected = texts(plain({.max_tokens = 30}));
  std::vector<int64_t> lengths;
  for (const Prompt& prompt : prompts_) lengths.push_back(std::ssize(prompt.token_ids));
  for (const int64_t batch : {1, 4}) {
    KnowingProposer chain(expected, lengths, 9);
    BranchingProposer tree(expected, lengths, 9);
    const DecodeOptions options{.max_tokens = 30, .batch = batch};
    const auto of_chain = decoding_.answer(prompts_, chain, options, kGoOn);
    const auto of_tree = decoding_.answer(prompts_, tree, options, kGoOn);
    EXPECT_EQ(texts(of_tree), expected) << "batch " << batch;
    for (size_t i = 0; i < prompts_.size(); ++i)
      EXPECT_EQ(of_tree[i].passes.size(), of_chain[i].passes.size());
  }
}

TEST_F(DecodingTest, TreesOfADrafterLeaveGreedyAnswersAsTheyAreAndLargerOnesAcceptNoLess) {
  const auto expected = texts(plain({.max_tokens = 30}));
  const DrafterConfig config = drafter_config(R"("layer_types": ["full_attention"])");
  int64_t before = INT64_MAX;
  for (const int64_t budget : {1, 8, 64, 400}) {
    DrafterProposer proposer(config, initial_parameters(config, 3), frozen(), vocabulary(), budget);
    for (const int64_t batch : {1, 4}) {
      const auto answers =
          decoding_.answer(prompts_, proposer, {.max_tokens = 30, .batch = batch}, kGoOn);
      EXPECT_EQ(texts(answers), expected) << budget << " nodes, batch " << batch;
      int64_t passes = 0;
      for (const DecodedAnswer& answer : answers) passes += std::ssize(answer.passes);
      EXPECT_LE(passes, before) << budget << " nodes";
      before = passes;
    }
  }
  EXPECT_LT(before, 7 * 29) << "something was accepted";
}

// A drafter sees what it saw in training: the taps of a store, which are those of a pass over the
// whole text, of what lies before the anchor.
TEST_F(DecodingTest, ADraftIsThatOfOneBlockBehindAWholePassOverTheText) {
  const DrafterConfig config =
      drafter_config(R"("layer_types": ["sliding_attention"], "sliding_window": 8)");
  const NamedTensors weights = initial_parameters(config, 3);
  DrafterProposer proposer(config, weights, frozen(), vocabulary());
  std::vector<int32_t> text = prompts_[0].token_ids;
  KeyValueCache cache(target_.config(), {64});
  std::vector<TokenRow> rows;
  for (size_t p = 0; p < text.size(); ++p) rows.push_back({0, static_cast<int64_t>(p), text[p]});
  std::map<int64_t, at::Tensor> layers;
  target_.forward(cache, rows,
                  [&](int64_t layer, const at::Tensor& h) { layers[layer] = h.clone(); });
  const at::Tensor taps =
      at::cat({layers[0], layers[1], layers[3]}, 1).to(at::kBFloat16).to(at::kFloat);
  Random random(1, "unused");
  proposer.start(1);
  proposer.observe(0, {text.data(), 5}, taps.narrow(0, 0, 5));
  proposer.observe(0, {text.data() + 5, text.size() - 6}, taps.slice(0, 5, -1));
  const Draft piecewise = proposer.propose(0, text.back(), 0, random);
  ASSERT_EQ(piecewise.tokens.size(), 3u);

  Drafter drafter(config, frozen().embedding, vocabulary().head_rows(frozen().head));
  const auto length = static_cast<int64_t>(text.size()) - 1;
  BlockBatch batch;
  batch.context = taps.narrow(0, 0, length).contiguous();
  batch.sequence_begin = {0, length};
  batch.block_sequence = {0};
  batch.block_anchor = {length};
  batch.token_ids = {text.back(), 0, 0, 0};
  batch.labels.assign(4, -1);
  batch.weights.assign(4, 0);
  batch.block_size = 4;
  TopTokens top{.k = 1};
  drafter.loss_and_top(weights, batch, top);
  for (int64_t k = 1; k < 4; ++k)
    EXPECT_EQ(piecewise.tokens[k - 1], vocabulary().target_id(top.ids[k]));
}

TEST_F(DecodingTest, AnEndOfTextInsideABlockEndsTheAnswerThere) {
  const auto whole = texts(plain({.max_tokens = 30}));
  const int32_t end = whole[0][10];
  Transformer target = make_target({end});
  Decoding decoding(target, kTaps);
  NoProposer nothing;
  std::vector<int64_t> lengths;
  for (const Prompt& prompt : prompts_) lengths.push_back(std::ssize(prompt.token_ids));
  KnowingProposer proposer(whole, lengths, 1000);  // drafts past the end
  const auto expected = texts(decoding.answer(prompts_, nothing, {.max_tokens = 30}, kGoOn));
  EXPECT_EQ(texts(decoding.answer(prompts_, proposer, {.max_tokens = 30}, kGoOn)), expected);
  const auto first = std::ranges::find(whole[0], end) - whole[0].begin();
  EXPECT_EQ(std::ssize(expected[0]), first + 1);
  EXPECT_EQ(expected[0].back(), end);
}

TEST_F(DecodingTest, SampledAnswersAreAFunctionOfTheSeedAndHaveTheTargetsDistribution) {
  const DrafterConfig config = drafter_config(R"("layer_types": ["full_attention"])");
  DrafterProposer proposer(config, initial_parameters(config, 3), frozen(), vocabulary());
  const DecodeOptions options{.max_tokens = 12, .temperature = 1, .seed = 4, .batch = 2};
  const auto once = texts(decoding_.answer(prompts_, proposer, options, kGoOn));
  EXPECT_EQ(texts(decoding_.answer(prompts_, proposer, options, kGoOn)), once);
  DecodeOptions other = options;
  other.seed = 5;
  EXPECT_NE(texts(decoding_.answer(prompts_, proposer, other, kGoOn)), once);
  // The second token behind one prompt, over many seeds, with and without a drafter.
  constexpr int kDraws = 1500;
  std::vector<Prompt> same(kDraws, prompts_[0]);
  std::map<int32_t, std::array<double, 2>> counts;
  NoProposer nothing;
  const DecodeOptions two{.max_tokens = 3, .temperature = 1, .seed = 1, .batch = 50};
  for (const auto& text : texts(decoding_.answer(same, nothing, two, kGoOn))) ++counts[text[2]][0];
  for (const auto& text : texts(decoding_.answer(same, proposer, two, kGoOn))) ++counts[text[2]][1];
  // Two-sample chi-square over tokens seen often enough; its mean is their number less one.
  double statistic = 0, cells = 0;
  for (const auto& [token, n] : counts) {
    if (n[0] + n[1] < 20) continue;
    statistic += (n[0] - n[1]) * (n[0] - n[1]) / (n[0] + n[1]);
    ++cells;
  }
  EXPECT_GT(cells, 10);
  EXPECT_LT(statistic, cells + 4 * std::sqrt(2 * cells)) << cells << " tokens";
}

TEST_F(DecodingTest, APromptThatDoesNotFitTheContextIsNamed) {
  NoProposer nothing;
  EXPECT_THAT([&] { decoding_.answer(prompts_, nothing, {.max_tokens = 4090}, kGoOn); },
              ThrowsMessage<Error>(HasSubstr("prompt made-up-0: with an answer of 4090 tokens")));
}

TEST_F(DecodingTest, StopsBetweenBatchesWhenAsked) {
  NoProposer nothing;
  const std::atomic<bool> stop{true};
  EXPECT_TRUE(decoding_.answer(prompts_, nothing, {}, stop).empty());
}

}  // namespace
}  // namespace draftlab
