#include "target_model/decoder_loops.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "target_model/key_value_cache.h"

namespace draftlab {
namespace {

std::vector<float> normal(int64_t size, uint64_t index, double scale = 1) {
  Random random(3, "decoder_loops_test", index);
  std::vector<float> x(size);
  for (float& value : x) value = static_cast<float>(scale * random.normal());
  return x;
}

TEST(DecoderLoops, RmsNormIsTheFormula) {
  for (const int64_t size : {1, 7, 16, 64, 577}) {
    const std::vector<float> x = normal(size, 0, 3), w = normal(size, 1);
    std::vector<float> out(size);
    rms_norm(x.data(), w.data(), 1e-5f, size, out.data());
    double squares = 0;
    for (const float value : x) squares += double{value} * value;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(size) + 1e-5);
    for (int64_t i = 0; i < size; ++i)
      EXPECT_NEAR(out[i], w[i] * (x[i] * scale), 1e-5) << size << " " << i;
  }
}

TEST(DecoderLoops, GatedSiluIsTheFormulaFromTinyToHugeGates) {
  std::vector<float> gate = normal(1000, 0, 5), up = normal(1000, 1), out(1000);
  gate[0] = -200, gate[1] = 200, gate[2] = 0;
  gated_silu(gate.data(), up.data(), 1000, out.data());
  for (int64_t i = 0; i < 1000; ++i) {
    const double expected = gate[i] / (1 + std::exp(-double{gate[i]})) * up[i];
    EXPECT_NEAR(out[i], expected, 1e-6 * (1 + std::abs(expected))) << gate[i];
  }
}

TEST(DecoderLoops, AttentionIsTheFormulaForAnyLengthAndHeadSize) {
  for (const int64_t head_dim : {2, 8, 16, 48, 64, 80, 128}) {
    for (const int64_t length : {1, 2, 15, 16, 17, 63, 64, 65, 200}) {
      TransformerConfig config;
      config.layers = config.kv_heads = 1;
      config.head_dim = head_dim;
      KeyValueCache cache(config, {length + 3});
      std::vector<std::vector<float>> keys, values;
      for (int64_t j = 0; j < length; ++j) {
        keys.push_back(normal(head_dim, 2 * j));
        values.push_back(normal(head_dim, 2 * j + 1));
        cache.put(0, 0, 0, j, keys[j].data(), values[j].data());
      }
      const std::vector<float> query = normal(head_dim, 1000, 2);
      std::vector<float> scores(length + 16), out(head_dim);
      attend(query.data(), cache.keys(0, 0, 0), cache.values(0, 0, 0), cache.value_stride(), length,
             head_dim, scores.data(), out.data());
      std::vector<double> weights;
      double largest = -1e300, sum = 0;
      for (int64_t j = 0; j < length; ++j) {
        double score = 0;
        for (int64_t d = 0; d < head_dim; ++d) score += double{query[d]} * keys[j][d];
        weights.push_back(score / std::sqrt(static_cast<double>(head_dim)));
        largest = std::max(largest, weights[j]);
      }
      for (double& weight : weights) sum += weight = std::exp(weight - largest);
      for (int64_t d = 0; d < head_dim; ++d) {
        double expected = 0;
        for (int64_t j = 0; j < length; ++j) expected += weights[j] / sum * values[j][d];
        EXPECT_NEAR(out[d], expected, 1e-5)
            << "head_dim " << head_dim << " length " << length;  // float32
      }
    }
  }
}

TEST(DecoderLoops, RoundingToBf16GoesToTheNearestEven) {
  const auto bits = [](float x) {
    uint16_t out;
    to_bf16(&x, 1, &out);
    return out;
  };
  EXPECT_EQ(bits(1.f), 0x3f80);
  EXPECT_EQ(bits(1.f + 1.f / 256), 0x3f80);  // half way, down to even
  EXPECT_EQ(bits(1.f + 3.f / 256), 0x3f82);  // half way, up to even
  EXPECT_EQ(bits(1.f + 1.01f / 256), 0x3f81);
  EXPECT_EQ(bits(-INFINITY), 0xff80);
  EXPECT_EQ(bits(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bits(NAN) & 0x7fff, 0x7fc0);
}

TEST(DecoderLoops, ArgmaxIsTheFirstOfTheLargestAndShowsNaN) {
  std::vector<float> x = normal(1003, 5);
  x[17] = x[900] = x[1001] = 50;
  EXPECT_EQ(argmax(x.data(), 1003), 17);
  x[17] = 49;
  EXPECT_EQ(argmax(x.data(), 1003), 900);
  x[1002] = 51;
  EXPECT_EQ(argmax(x.data(), 1003), 1002);
  x[500] = NAN;
  EXPECT_EQ(argmax(x.data(), 1003), 500);
  const float one = -INFINITY;
  EXPECT_EQ(argmax(&one, 1), 0);
}

TEST(DecoderLoops, SamplingFollowsTheSoftmaxAtEveryTemperature) {
  const std::vector<float> x = normal(700, 6, 2);
  for (const double temperature : {0.3, 0.7, 1.5}) {
    std::vector<double> p;
    const float largest = x[argmax(x.data(), 700)];
    double sum = 0;
    for (const float value : x)
      sum += p.emplace_back(std::exp(double{value - largest} / temperature));
    // The borders of the intervals in u are the cumulative sums: a little above one gives the next
    // token.
    double below = 0;
    for (int64_t i = 0; i < 700; ++i) {
      const double share = p[i] / sum;
      if (share > 1e-5) {
        EXPECT_EQ(sample(x.data(), 700, largest, temperature, below + 1e-2 * share + 1e-7), i);
        EXPECT_EQ(sample(x.data(), 700, largest, temperature, below + 0.98 * share), i);
      }
      below += share;
    }
    EXPECT_LT(sample(x.data(), 700, largest, temperature, 1 - 1e-16), 700);
  }
}

}  // namespace
}  // namespace draftlab
