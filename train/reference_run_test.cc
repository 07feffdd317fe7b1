// A second implementation of training, as plain as it can be and with no line of train/ in it: its
// own split, order, batches, schedule, clipping and counting. What a segment logs has to agree
// with it in every column.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "model/anchors.h"
#include "model/drafter.h"
#include "optim/optimizer.h"
#include "optim/state_transfer.h"
#include "store/reader.h"
#include "target_model/frozen.h"
#include "testing/example_segments.h"
#include "train/checkpoint.h"
#include "train/training_data.h"

namespace draftlab {
namespace {

// Sums over many rows in another order than the program's.
constexpr double kTolerance = 2e-4;

class PlainTraining {
 public:
  PlainTraining(const SegmentConfig& config, const std::filesystem::path& store)
      : config_(config), reader_(store), frozen_(load_frozen(reader_.manifest())) {
    const std::vector<int64_t> order = permutation(reader_.size(), Random(0, "split"));
    for (int64_t i = 0; i < static_cast<int64_t>(order.size()); ++i) {
      if (i < config.split.train) {
        train_.push_back(order[i]);
      } else if (i < config.split.train + config.split.tuning) {
        tuning_.push_back(order[i]);
      } else if (i < config.split.train + config.split.tuning + config.split.held_out) {
        held_out_.push_back(order[i]);
      }
    }
    keep_most_frequent_tokens();
    weights_ = initial_parameters(config.drafter, config.seeds.weights);
  }

  // What is logged from here to config.to_step.
  Metrics run(const SegmentConfig& config) {
    Metrics rows;
    Drafter drafter(
        config.drafter, frozen_.embedding,
        frozen_.head.index_select(0, at::tensor(std::vector<int64_t>(kept_.begin(), kept_.end()))));
    Optimizer optimizer(config.optimizer, config.routing, weights_);
    if (!config.parent.empty()) {
      optimizer.load_state(transfer_state(state_, config_.optimizer, config_.routing,
                                          config.optimizer, config.routing)
                               .state);
    }
    config_ = config;
    if (step_ == 0) evaluate(drafter, rows);
    while (step_ < config.to_step) {
      const bool after_switch = !config.parent.empty() && step_ == config.from_step;
      step(drafter, optimizer, is_evaluated(step_ + 1) || after_switch, rows);
      if (is_evaluated(step_)) evaluate(drafter, rows);
    }
    state_ = optimizer.state();
    return rows;
  }

  const NamedTensors& weights() const { return weights_; }

  // Each training token is followed by its most frequent successor.
  Baselines baselines() {
    std::map<int64_t, std::map<int64_t, int64_t>> successors;
    std::set<std::vector<int32_t>> texts;
    for (const int64_t index : train_) {
      const StoreRecord record = reader_.record(index);
      texts.insert({record.token_ids.begin(), record.token_ids.end()});
      for (size_t s = 1; s < record.token_ids.size(); ++s) {
        if (record.loss_mask[s - 1] && record.loss_mask[s])
          ++successors[record.token_ids[s - 1]][record.token_ids[s]];
      }
    }
    Baselines baselines;
    baselines.duplicates = 0;
    int64_t data = 0, argmax = 0, found_data = 0, found_argmax = 0;
    for (const int64_t index : held_out_) {
      const StoreRecord record = reader_.record(index);
      baselines.duplicates += texts.contains({record.token_ids.begin(), record.token_ids.end()});
      ++baselines.prompts;
      for (const int64_t anchor : blocks_of(record)) {
        ++baselines.blocks;
        std::vector<int64_t> drafts(config_.drafter.block_size, -1);
        int64_t token = record.token_ids[anchor];
        for (int64_t& draft : std::span(drafts).subspan(1)) {
          const auto& after = successors[token];
          if (after.empty()) break;
          token = std::max_element(after.begin(), after.end(), [](const auto& a, const auto& b) {
                    return a.second < b.second;
                  })->first;
          draft = token;
        }
        data += leading(drafts, record.token_ids.subspan(anchor));
        argmax += leading(drafts, record.target_argmax.subspan(anchor - 1));
        // What followed where the longest end of the text up to the anchor was the last time.
        int64_t longest = 0, from = -1;
        for (int64_t end = 0; end < anchor; ++end) {
          int64_t length = 0;
          while (length <= end &&
                 record.token_ids[end - length] == record.token_ids[anchor - length])
            ++length;
          if (length > 0 && length >= longest) longest = length, from = end + 1;
        }
        std::vector<int64_t> text(record.token_ids.begin(), record.token_ids.begin() + anchor + 1);
        for (int64_t k = 1; k < config_.drafter.block_size; ++k) {
          drafts[k] = from < 0 ? -1 : text[from + k - 1];
          text.push_back(drafts[k]);
        }
        found_data += leading(drafts, record.token_ids.subspan(anchor));
        found_argmax += leading(drafts, record.target_argmax.subspan(anchor - 1));
      }
    }
    baselines.bigram_acceptance_length = 1 + static_cast<double>(data) / baselines.blocks;
    baselines.bigram_acceptance_length_argmax = 1 + static_cast<double>(argmax) / baselines.blocks;
    baselines.look_up_acceptance_length = 1 + static_cast<double>(found_data) / baselines.blocks;
    baselines.look_up_acceptance_length_argmax =
        1 + static_cast<double>(found_argmax) / baselines.blocks;
    return baselines;
  }

 private:
  void keep_most_frequent_tokens() {
    std::vector<int64_t> counts(config_.drafter.vocab_size), ids(config_.drafter.vocab_size);
    for (const int64_t index : train_) {
      const StoreRecord record = reader_.record(index);
      for (size_t s = 0; s < record.token_ids.size(); ++s)
        counts[record.token_ids[s]] += record.loss_mask[s];
    }
    std::iota(ids.begin(), ids.end(), 0);
    std::sort(ids.begin(), ids.end(), [&](int64_t a, int64_t b) {
      return counts[a] != counts[b] ? counts[a] > counts[b] : a < b;
    });
    kept_ = {ids.begin(), ids.begin() + config_.drafter.draft_vocab_size};
  }
  int64_t draft_id(int64_t token) const {
    const auto found = kept_.find(token);
    return found == kept_.end() ? -1 : std::distance(kept_.begin(), found);
  }

  bool is_evaluated(int64_t step) const {
    return std::ranges::count(config_.evaluation.steps, step);
  }

  // Every stride-th of the anchors whose whole block is supervised.
  std::vector<int64_t> blocks_of(const StoreRecord& record) const {
    std::vector<int64_t> whole, blocks;
    const auto length = static_cast<int64_t>(record.token_ids.size());
    for (int64_t a = 0; a + config_.drafter.block_size <= length; ++a) {
      bool supervised = true;
      for (int64_t k = 0; k < config_.drafter.block_size; ++k)
        supervised = supervised && record.loss_mask[a + k];
      if (supervised) whole.push_back(a);
    }
    for (size_t i = 0; i < whole.size(); i += config_.evaluation.stride) blocks.push_back(whole[i]);
    return blocks;
  }

  // Of one block: how many right slots before the first wrong one.
  static int64_t leading(std::span<const int64_t> drafts, std::span<const int32_t> labels) {
    int64_t right = 0;
    for (size_t k = 1; k < drafts.size() && drafts[k] == labels[k]; ++k) ++right;
    return right;
  }

  // All that one block could draft of its lists, as draft-vocabulary ids slot by slot: every
  // combination of every length, the likeliest first.
  static std::vector<std::vector<int64_t>> likeliest_paths(const TopTokens& top, int64_t block,
                                                           int64_t size) {
    struct Path {
      std::vector<int64_t> ids;
      double log_probability = 0;
    };
    std::vector<Path> paths = {{}};
    for (size_t i = 0; i < paths.size(); ++i) {
      const int64_t slot = std::ssize(paths[i].ids) + 1;
      for (int64_t place = 0; place < top.k && slot < size; ++place) {
        const int64_t at = (block * size + slot) * top.k + place;
        if (top.ids[at] < 0) continue;
        Path longer = paths[i];
        longer.ids.push_back(top.ids[at]);
        longer.log_probability += top.log_probabilities[at];
        paths.push_back(std::move(longer));
      }
    }
    std::ranges::stable_sort(paths, std::greater(), &Path::log_probability);
    std::vector<std::vector<int64_t>> sorted;
    for (Path& path : paths)
      if (!path.ids.empty()) sorted.push_back(std::move(path.ids));
    return sorted;
  }

  BlockBatch batch_of(const std::vector<std::pair<StoreRecord, std::vector<int64_t>>>& sequences) {
    const int64_t size = config_.drafter.block_size;
    BlockBatch batch;
    batch.block_size = size;
    batch.sequence_begin = {0};
    std::vector<at::Tensor> context;
    for (const auto& [record, anchors] : sequences) {
      const auto length = static_cast<int64_t>(record.token_ids.size());
      for (const int64_t anchor : anchors) {
        batch.block_sequence.push_back(static_cast<int64_t>(context.size()));
        batch.block_anchor.push_back(anchor);
        for (int64_t k = 0; k < size; ++k) {
          const int64_t s = anchor + k;
          const bool supervised = k > 0 && s < length && record.loss_mask[s];
          batch.token_ids.push_back(k == 0 ? record.token_ids[s] : config_.drafter.mask_token_id);
          batch.labels.push_back(!supervised ? -1
                                 : config_.training.labels == "argmax"
                                     ? draft_id(record.target_argmax[s - 1])
                                     : draft_id(record.token_ids[s]));
          batch.weights.push_back(batch.labels.back() < 0 ? 0
                                                          : std::exp(-static_cast<double>(k - 1) /
                                                                     config_.training.gamma));
        }
      }
      const int64_t rows = anchors.back();
      context.push_back(at::from_blob(const_cast<uint16_t*>(record.taps.data()),
                                      {rows, static_cast<int64_t>(record.taps.size()) / length},
                                      at::kBFloat16)
                            .to(at::kFloat));
      batch.sequence_begin.push_back(batch.sequence_begin.back() + rows);
    }
    batch.context = at::cat(context);
    return batch;
  }

  double schedule() const {
    const TrainingConfig& training = config_.training;
    const double steps = static_cast<double>(training.steps - config_.start.schedule_from);
    const double t = static_cast<double>(step_ - config_.start.schedule_from);
    const double warm = std::floor(training.warmup * steps);
    double factor = 1;
    if (t < warm) {
      factor = (t + 1) / warm;
    } else if (training.schedule == "cosine") {
      factor = 0.5 + 0.5 * std::cos(std::numbers::pi * (t - warm) / (steps - warm));
    }
    const auto since = static_cast<double>(step_ + 1 - config_.from_step);
    const auto rewarmup = static_cast<double>(config_.start.rewarmup);
    return since < rewarmup ? factor * since / rewarmup : factor;
  }

  void step(Drafter& drafter, Optimizer& optimizer, bool measured, Metrics& rows) {
    std::vector<std::pair<StoreRecord, std::vector<int64_t>>> sequences;
    for (int64_t i = 0; i < config_.training.sequences_per_step; ++i) {
      const auto size = static_cast<int64_t>(train_.size());
      const int64_t visit = step_ * config_.training.sequences_per_step + i, epoch = visit / size;
      const auto order = permutation(size, Random(config_.seeds.data, "sample order", epoch));
      const int64_t index = train_[order[visit % size]];
      const StoreRecord record = reader_.record(index);
      sequences.emplace_back(record, draw_anchors(record.loss_mask, config_.training.anchors,
                                                  config_.seeds.noise, index, epoch));
    }
    NamedTensors gradients;
    const BlockBatch batch = batch_of(sequences);
    StepRow row;
    row.loss = drafter.loss_and_gradients(weights_, batch, gradients).loss;
    for (const auto& [name, gradient] : gradients)
      row.gradient_norm += gradient.to(at::kDouble).square().sum().item<double>();
    row.gradient_norm = std::sqrt(row.gradient_norm);
    row.clipped = row.gradient_norm > config_.training.clip;
    if (row.clipped) {
      for (auto& [name, gradient] : gradients)
        gradient.mul_(config_.training.clip / row.gradient_norm);
    }
    row.learning_rate = config_.optimizer.learning_rate() * schedule();
    for (const int64_t label : batch.labels) tokens_ += label >= 0;
    row.tokens = tokens_;
    row.step = step_ + 1;
    const NamedTensors before = copies();
    double seconds = 0;
    std::vector<UpdateRow> updates = optimizer.measured_step(gradients, schedule(), seconds);
    ++step_;
    if (measured) {
      for (UpdateRow& update : updates) {
        measure(update, before);
        rows.updates.push_back(update);
      }
    }
    const double threshold = config_.optimizer.number("qk_clip");
    for (int64_t layer = 0; layer < config_.drafter.num_hidden_layers() && threshold > 0; ++layer) {
      const double largest = drafter.largest_scores()[layer].max().item<double>();
      if (largest <= threshold) continue;
      for (const char* norm : {"q_norm", "k_norm"}) {
        weights_.at("layers." + std::to_string(layer) + ".self_attn." + norm + ".weight")
            .mul_(std::sqrt(threshold / largest));
      }
    }
    rows.steps.push_back(row);
  }

  NamedTensors copies() const {
    NamedTensors copies;
    for (const auto& [name, weight] : weights_) copies[name] = weight.clone();
    return copies;
  }

  void measure(UpdateRow& row, const NamedTensors& before) const {
    row.step = step_;
    double changes = 0, weights = 0, count = 0;
    for (const auto& [name, old] : before) {
      if (tensor_kind(name) != row.kind) continue;
      changes += (weights_.at(name) - old).to(at::kDouble).square().sum().item<double>();
      weights += old.to(at::kDouble).square().sum().item<double>();
      count += static_cast<double>(old.numel());
    }
    row.update_rms = std::sqrt(changes / count);
    row.weight_rms = std::sqrt(weights / count);
  }

  void evaluate(Drafter& drafter, Metrics& rows) {
    rows.evaluations.push_back(evaluated(drafter, held_out_, "held_out"));
    rows.evaluations.push_back(evaluated(drafter, tuning_, "tuning"));
  }

  // Sequence after sequence, each in a batch of its own.
  EvaluationRow evaluated(Drafter& drafter, const std::vector<int64_t>& records,
                          const char* split) {
    const int64_t size = config_.drafter.block_size;
    EvaluationRow row;
    row.step = step_;
    row.split = split;
    row.tokens = tokens_;
    row.slot_accuracy.resize(size - 1);
    row.prefix_share.resize(size - 1);
    for (auto* recall : {&row.top_2_recall, &row.top_4_recall, &row.top_8_recall})
      recall->resize(size - 1);
    row.tree_lengths.resize(tree_budgets().size());
    std::map<int64_t, std::pair<int64_t, int64_t>> prompts;  // blocks, matches
    double numerator = 0, denominator = 0;
    int64_t matches = 0, matches_argmax = 0, matches_within = 0;
    for (const int64_t index : records) {
      const StoreRecord record = reader_.record(index);
      TopTokens top{.k = 8};
      const LossResult loss =
          drafter.loss_and_top(weights_, batch_of({{record, blocks_of(record)}}), top);
      numerator += loss.numerator;
      denominator += loss.denominator;
      int64_t block = 0;
      for (const int64_t anchor : blocks_of(record)) {
        std::vector<int64_t> drafts;  // target ids
        for (int64_t k = 0; k < size; ++k) {
          const int64_t id = top.ids[(block * size + k) * top.k];
          drafts.push_back(id < 0 ? -1 : *std::next(kept_.begin(), id));
        }
        ++block;
        const int64_t right = leading(drafts, record.token_ids.subspan(anchor));
        for (int64_t k = 1; k < size; ++k) {
          row.slot_accuracy[k - 1] += drafts[k] == record.token_ids[anchor + k];
          row.prefix_share[k - 1] += k <= right;
        }
        int64_t within = 0;  // leading slots whose token is one of eight
        for (int64_t k = 1; k < size; ++k) {
          int64_t place = 0;
          for (; place < top.k; ++place) {
            const int64_t id = top.ids[((block - 1) * size + k) * top.k + place];
            if (id >= 0 && *std::next(kept_.begin(), id) == record.token_ids[anchor + k]) break;
          }
          row.top_2_recall[k - 1] += place < 2;
          row.top_4_recall[k - 1] += place < 4;
          row.top_8_recall[k - 1] += place < 8;
          within += within == k - 1 && place < 8;
        }
        matches_within += within;
        const std::vector<std::vector<int64_t>> nodes = likeliest_paths(top, block - 1, size);
        for (size_t b = 0; b < tree_budgets().size(); ++b) {
          int64_t longest = 0;
          for (int64_t i = 0; i < std::min(tree_budgets()[b], std::ssize(nodes)); ++i) {
            bool right = true;
            for (size_t slot = 0; slot < nodes[i].size(); ++slot) {
              right &= *std::next(kept_.begin(), nodes[i][slot]) ==
                       record.token_ids[anchor + 1 + static_cast<int64_t>(slot)];
            }
            if (right) longest = std::max(longest, std::ssize(nodes[i]));
          }
          row.tree_lengths[b] += static_cast<double>(longest);
        }
        matches += right;
        matches_argmax += leading(drafts, record.target_argmax.subspan(anchor - 1));
        prompts[index].first += 1;
        prompts[index].second += right;
        ++row.blocks;
      }
    }
    row.loss = numerator / denominator;
    for (double& share : row.slot_accuracy) share /= static_cast<double>(row.blocks);
    for (double& share : row.prefix_share) share /= static_cast<double>(row.blocks);
    for (auto* recall : {&row.top_2_recall, &row.top_4_recall, &row.top_8_recall})
      for (double& share : *recall) share /= static_cast<double>(row.blocks);
    for (double& length : row.tree_lengths) length = 1 + length / static_cast<double>(row.blocks);
    row.top_8_length = 1 + static_cast<double>(matches_within) / row.blocks;
    row.acceptance_length = 1 + static_cast<double>(matches) / row.blocks;
    row.acceptance_length_argmax = 1 + static_cast<double>(matches_argmax) / row.blocks;
    row.prompts = static_cast<int64_t>(prompts.size());
    for (const auto& [index, counts] : prompts) {
      row.acceptance_length_per_prompt +=
          (1 + static_cast<double>(counts.second) / counts.first) / row.prompts;
      if (step_ < config_.training.steps) continue;
      row.prompt_blocks.push_back(counts.first);
      row.prompt_matches.push_back(counts.second);
    }
    return row;
  }

  SegmentConfig config_;
  StoreReader reader_;
  FrozenTensors frozen_;
  std::vector<int64_t> train_, tuning_, held_out_;
  std::set<int64_t> kept_;  // target ids of the draft vocabulary
  NamedTensors weights_, state_;
  int64_t step_ = 0, tokens_ = 0;
};

void expect_close(double a, double b, const std::string& what) {
  if (std::isnan(b)) {
    EXPECT_TRUE(std::isnan(a)) << what;
  } else {
    EXPECT_NEAR(a, b, kTolerance * std::max(1e-3, std::abs(b))) << what;
  }
}

// All columns but seconds and data_hash.
void expect_close(const Metrics& rows, const Metrics& plain) {
  ASSERT_EQ(rows.steps.size(), plain.steps.size());
  for (size_t i = 0; i < rows.steps.size(); ++i) {
    const StepRow &a = rows.steps[i], &b = plain.steps[i];
    const std::string at = "step " + std::to_string(b.step);
    EXPECT_EQ(a.step, b.step);
    EXPECT_EQ(a.tokens, b.tokens) << at;
    EXPECT_EQ(a.clipped, b.clipped) << at;
    EXPECT_NEAR(a.learning_rate, b.learning_rate, 1e-12) << at;
    expect_close(a.loss, b.loss, at + " loss");
    expect_close(a.gradient_norm, b.gradient_norm, at + " gradient norm");
  }
  ASSERT_EQ(rows.updates.size(), plain.updates.size());
  for (size_t i = 0; i < rows.updates.size(); ++i) {
    const UpdateRow &a = rows.updates[i], &b = plain.updates[i];
    const std::string at = "update " + std::to_string(b.step) + " of " + b.kind;
    EXPECT_EQ(a.step, b.step) << at;
    EXPECT_EQ(a.kind, b.kind) << at;
    EXPECT_EQ(a.rule, b.rule) << at;
    EXPECT_NEAR(a.update_rms, b.update_rms, 1e-2 * b.update_rms) << at;
    expect_close(a.weight_rms, b.weight_rms, at + " weights");
    if (!std::isnan(b.alignment)) {
      EXPECT_NEAR(a.alignment, b.alignment, 1e-2) << at;
      EXPECT_NEAR(a.deviation, b.deviation, 1e-2) << at;
    }
  }
  ASSERT_EQ(rows.evaluations.size(), plain.evaluations.size());
  for (size_t i = 0; i < rows.evaluations.size(); ++i) {
    const EvaluationRow &a = rows.evaluations[i], &b = plain.evaluations[i];
    const std::string at = b.split + " at step " + std::to_string(b.step);
    EXPECT_EQ(a.step, b.step) << at;
    EXPECT_EQ(a.split, b.split) << at;
    EXPECT_EQ(a.tokens, b.tokens) << at;
    EXPECT_EQ(a.blocks, b.blocks) << at;
    EXPECT_EQ(a.prompts, b.prompts) << at;
    expect_close(a.loss, b.loss, at + " loss");
    EXPECT_THAT(a.slot_accuracy,
                ::testing::Pointwise(::testing::DoubleNear(1e-12), b.slot_accuracy))
        << at;
    EXPECT_THAT(a.prefix_share, ::testing::Pointwise(::testing::DoubleNear(1e-12), b.prefix_share))
        << at;
    EXPECT_NEAR(a.acceptance_length, b.acceptance_length, 1e-12) << at;
    EXPECT_NEAR(a.acceptance_length_argmax, b.acceptance_length_argmax, 1e-12) << at;
    EXPECT_NEAR(a.acceptance_length_per_prompt, b.acceptance_length_per_prompt, 1e-12) << at;
    EXPECT_EQ(a.prompt_blocks, b.prompt_blocks) << at;
    EXPECT_EQ(a.prompt_matches, b.prompt_matches) << at;
  }
}

class ReferenceRun : public ExampleSegments, public ::testing::WithParamInterface<const char*> {};

TEST_P(ReferenceRun, EveryLoggedColumnAgreesAcrossEpochsASwitchAndARestart) {
  SegmentConfig first = config(R"({"kind": "adamw", "learning_rate": 0.01, "qk_clip": 0.6})");
  first.training.steps = 20;
  first.training.labels = GetParam();
  first.training.clip = 8;
  first.evaluation = {.steps = {0, 5, 12, 20}, .stride = 2};
  first.to_step = 9;
  SegmentConfig second = config(R"({"kind": "muon", "scale": "match_rms", "learning_rate": 0.02})");
  second.training = first.training;
  second.evaluation = first.evaluation;
  second.parent = segment_id(first);
  second.from_step = second.start.schedule_from = 9;
  second.start.rewarmup = 4;
  second.to_step = 20;

  PlainTraining plain(first, root_ / "store");
  ASSERT_EQ(train(first).kind, OutcomeKind::kDone);
  const Metrics before = metrics(segment_id(first)), plain_before = plain.run(first);
  expect_close(before, plain_before);
  const Outcome outcome = train(second);
  const Metrics after = metrics(segment_id(second)), plain_after = plain.run(second);
  expect_close(after, plain_after);

  // What the comparison is worth: both ways of a step occur, and what could be mixed up differs.
  const auto clipped = [](const StepRow& row) { return row.clipped; };
  EXPECT_TRUE(std::ranges::any_of(plain_before.steps, clipped) ||
              std::ranges::any_of(plain_after.steps, clipped));
  EXPECT_FALSE(std::ranges::all_of(plain_after.steps, clipped));
  const EvaluationRow& last = plain_after.evaluations.back();
  EXPECT_NE(last.acceptance_length, last.acceptance_length_argmax);
  EXPECT_NE(last.acceptance_length, last.acceptance_length_per_prompt);

  // Seconds: of each step, and summed since the first step of all.
  double seconds = 0;
  size_t evaluation = 0;
  std::vector<EvaluationRow> evaluations = before.evaluations;
  evaluations.insert(evaluations.end(), after.evaluations.begin(), after.evaluations.end());
  for (const Metrics* rows : {&before, &after}) {
    for (const StepRow& row : rows->steps) {
      EXPECT_GT(row.data_seconds, 0);
      EXPECT_GT(row.model_seconds, 0);
      EXPECT_GT(row.optimizer_seconds, 0);
      for (; evaluation < evaluations.size() && evaluations[evaluation].step < row.step;
           ++evaluation)
        EXPECT_NEAR(evaluations[evaluation].train_seconds, seconds, 1e-9);
      seconds += row.data_seconds + row.model_seconds + row.optimizer_seconds;
    }
  }
  EXPECT_NEAR(evaluations.back().train_seconds, seconds, 1e-9);
  EXPECT_NEAR(outcome.train_seconds, seconds, 1e-9);

  // Weights and baselines.
  const SegmentFolder folder(root_ / "segments" / segment_id(second));
  const Checkpoint checkpoint = read_checkpoint(folder.checkpoint(20), segment_id(second), 20);
  EXPECT_EQ(outcome.weights_hash, weights_hash(checkpoint.weights));
  EXPECT_EQ(checkpoint.tokens, plain_after.steps.back().tokens);
  for (const auto& [name, weight] : plain.weights())
    EXPECT_LT((checkpoint.weights.at(name) - weight).abs().max().item<double>(),
              1e-2 * weight.abs().max().item<double>())
        << name;
  const Baselines written =
      read_baselines(SegmentFolder(root_ / "segments" / segment_id(first)).baselines());
  const Baselines counted = plain.baselines();
  EXPECT_EQ(written.blocks, counted.blocks);
  EXPECT_EQ(written.prompts, counted.prompts);
  EXPECT_EQ(written.duplicates, counted.duplicates);
  EXPECT_NEAR(written.bigram_acceptance_length, counted.bigram_acceptance_length, 1e-12);
  EXPECT_NEAR(written.bigram_acceptance_length_argmax, counted.bigram_acceptance_length_argmax,
              1e-12);
  EXPECT_NEAR(written.look_up_acceptance_length, counted.look_up_acceptance_length, 1e-12);
  EXPECT_NEAR(written.look_up_acceptance_length_argmax, counted.look_up_acceptance_length_argmax,
              1e-12);
}

// Every second prompt is the one before it, and a greedy target answers both alike.
TEST_F(ExampleSegments, HeldOutSequencesThatAreTrainedOnAreCounted) {
  std::string prompts;
  for (int64_t i = 0; i < 40; ++i) {
    const int64_t twin = i / 2;
    prompts += canonical(JsonObject{{"id", "p" + std::to_string(i)},
                                    {"token_ids", JsonArray{3, twin, 7, 2 * twin % 39}}}) +
               "\n";
  }
  replace_file(root_ / "twins.jsonl", prompts);
  const char* const specification = R"({"name": "twins",
      "target": {"format": "made_up", "logit_scale": 6, "vocab_size": 40}, "taps": [0, 1, 3],
      "mask_token_id": 39, "prompts": {"file": "twins.jsonl"},
      "responses": {"max_tokens": 16, "cut_loops": false}})";
  SegmentConfig segment = config();
  segment.store =
      capture_store(parse_store_specification(parse_json(specification, "test"), "test", root_),
                    root_ / "twins")
          .hash();
  const Baselines counted = PlainTraining(segment, root_ / "twins").baselines();
  EXPECT_GE(counted.duplicates, 2);
  EXPECT_LT(counted.duplicates, segment.split.held_out);
  EXPECT_EQ(TrainingData(segment, root_ / "twins").baselines().duplicates, counted.duplicates);
}

INSTANTIATE_TEST_SUITE_P(Labels, ReferenceRun, ::testing::Values("data", "argmax"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace draftlab
