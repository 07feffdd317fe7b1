#include "record/metrics_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "base/file.h"
#include "base/number_text.h"
#include "base/random.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

class MetricsLine : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("draftlab_metrics_line_" + std::to_string(::getpid()));
    make_folder(folder_);
    file_ = folder_ / "metrics.jsonl";
  }
  void TearDown() override { fs::remove_all(folder_); }

  // What MetricsLog writes for rows of random numbers, some not finite, some whole.
  std::string written(int64_t rows) {
    Random random(1, "rows");
    const auto number = [&] {
      const uint64_t kind = random.below(12);
      if (kind == 0) return std::numeric_limits<double>::quiet_NaN();
      if (kind == 1) return std::numeric_limits<double>::infinity();
      if (kind == 2) return -std::numeric_limits<double>::infinity();
      if (kind == 3) return static_cast<double>(random.below(1000));
      return random.normal() * std::pow(10, static_cast<double>(random.below(40)) - 20);
    };
    MetricsLog log(file_, 0);
    for (int64_t step = 0; step < rows; ++step) {
      log.add(StepRow{step, 3 * step, number(), number(), number(), random.below(2) == 1, number(),
                      number(), number()});
      UpdateRow update{step, "mlp.up_proj", "muon", number(), number(), number(), number()};
      if (random.below(2) == 1) {
        update.weight_spectrum = {number(), number()};
        update.weight_stable_rank = number();
      }
      if (random.below(2) == 1) {
        update.momentum_spectrum = {number()};
        update.momentum_stable_rank = number();
      }
      log.add(update);
      EvaluationRow row{.step = step, .split = "tuning", .loss = number()};
      for (uint64_t i = random.below(4); i > 0; --i) row.slot_accuracy.push_back(number());
      for (uint64_t i = random.below(4); i > 0; --i) row.prompt_blocks.push_back(-7);
      row.prefix_share = {number(), number()};
      if (random.below(2) == 1) {
        row.expected_acceptance = {number(), number()};
        row.expected_acceptance_length = number();
      }
      if (random.below(2) == 1) {
        row.top_2_recall = {number(), number()};
        row.top_4_recall = {number()};
        row.top_8_recall = {number(), number(), number()};
        row.top_8_length = number();
      }
      if (random.below(2) == 1) row.tree_lengths = {number(), number(), number(), number()};
      row.acceptance_length = number();
      row.train_seconds = number();
      row.data_hash = "0123456789abcdef";
      log.add(row);
    }
    log.flush();
    return read_file(file_);
  }

  fs::path folder_, file_;
};

template <typename Visit>
void for_each_line(const std::string& text, const Visit& visit) {
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    visit(text.substr(begin, end - begin));
}

// Every value of every row as text, numbers exact.
std::string printed(const Metrics& metrics) {
  std::string text;
  // + 0.0: the parser reads -0 as a whole number, which has no sign there.
  const auto add = [&](auto... values) { ((text += number_text(values + 0.0) + " "), ...); };
  for (const StepRow& row : metrics.steps) {
    add(row.step, row.tokens, row.loss, row.learning_rate, row.gradient_norm, row.clipped,
        row.data_seconds, row.model_seconds, row.optimizer_seconds);
  }
  for (const UpdateRow& row : metrics.updates) {
    text += row.kind + " " + row.rule + " ";
    add(row.step, row.update_rms, row.weight_rms, row.alignment, row.deviation,
        row.weight_stable_rank, row.momentum_stable_rank);
    for (const auto* values : {&row.weight_spectrum, &row.momentum_spectrum}) {
      text += "[ ";
      for (const double value : *values) add(value);
    }
  }
  for (const EvaluationRow& row : metrics.evaluations) {
    text += row.split + " " + row.data_hash + " ";
    add(row.step, row.tokens, row.train_seconds, row.loss, row.blocks, row.prompts,
        row.acceptance_length, row.acceptance_length_argmax, row.acceptance_length_per_prompt,
        row.expected_acceptance_length, row.top_8_length);
    for (const auto* values :
         {&row.slot_accuracy, &row.prefix_share, &row.expected_acceptance, &row.top_2_recall,
          &row.top_4_recall, &row.top_8_recall, &row.tree_lengths}) {
      text += "[ ";
      for (const double value : *values) add(value);
    }
    for (const auto* values : {&row.prompt_blocks, &row.prompt_matches}) {
      text += "[ ";
      for (const int64_t value : *values) add(value);
    }
  }
  return text;
}

// Not as MetricsLog writes it, but the same for the strict parser.
std::string spaced(const std::string& line) { return "{ " + line.substr(1); }

TEST_F(MetricsLine, EveryWrittenLineIsReadAndReadsAsTheStrictParserReadsIt) {
  const std::string text = written(500);
  Metrics fast;
  std::string others;
  for_each_line(text, [&](const std::string& line) {
    EXPECT_TRUE(add_written_line(line, fast)) << line;
    EXPECT_FALSE(add_written_line(spaced(line), fast));
    others += spaced(line) + "\n";
  });
  std::ofstream(file_) << others;
  EXPECT_EQ(printed(fast), printed(read_metrics(file_)));
  EXPECT_EQ(fast.updates.size(), 500u);
}

TEST_F(MetricsLine, OfChangedLinesItTakesOnlyWhatTheStrictParserTakesWithTheSameNumbers) {
  const std::string text = written(20);
  Random random(2, "changes");
  const std::string characters = "0123456789.-+eE\",:[]{}ntx ";
  int64_t taken = 0;
  for (int round = 0; round < 40; ++round) {
    for_each_line(text, [&](std::string line) {
      char& changed = line[random.below(line.size())];
      changed = characters[random.below(characters.size())];
      Metrics fast;
      if (!add_written_line(line, fast)) return;
      ++taken;
      std::ofstream(file_) << spaced(line) << "\n";
      Metrics strict;
      EXPECT_NO_THROW(strict = read_metrics(file_)) << line;
      EXPECT_EQ(printed(fast), printed(strict)) << line;
    });
  }
  EXPECT_GT(taken, 300);
}

}  // namespace
}  // namespace draftlab
