#include "target_model/transformer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "target_model/decoder_loops.h"

namespace draftlab {
namespace {

// Random weights by name, norms and biases too. `weights` keeps what was read, for the naive
// forward pass.
class RandomWeights : public WeightSource {
 public:
  explicit RandomWeights(std::map<std::string, std::vector<float>>& weights) : weights_(weights) {}
  void read(const std::string& name, const std::vector<int64_t>& shape, float* out) override {
    int64_t count = 1;
    for (const int64_t side : shape) count *= side;
    Random random(11, name);
    const bool is_norm = name.find("norm") != std::string::npos;
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<float>((is_norm ? 1 : 0) + 0.3 * random.normal());
    weights_[name].assign(out, out + count);
  }
  void finish() override {}

 private:
  std::map<std::string, std::vector<float>>& weights_;
};

using Vector = std::vector<double>;

// The textbook forward pass of one sequence in float64, position by position.
class NaiveTransformer {
 public:
  NaiveTransformer(const TransformerConfig& config,
                   const std::map<std::string, std::vector<float>>& weights)
      : c_(config), weights_(weights) {}

  // Logits of every position; `taps` gets the output of every layer.
  std::vector<Vector> run(const std::vector<int32_t>& ids,
                          std::vector<std::vector<Vector>>& taps) const {
    std::vector<Vector> h;
    for (const int32_t id : ids) {
      const std::vector<float>& table = weights_.at("model.embed_tokens.weight");
      h.emplace_back(table.begin() + id * c_.hidden_size,
                     table.begin() + (id + 1) * c_.hidden_size);
    }
    for (int64_t l = 0; l < c_.layers; ++l) {
      const std::string p = "model.layers." + std::to_string(l) + ".";
      std::vector<Vector> keys, values, mixed;
      for (size_t t = 0; t < h.size(); ++t) {
        const Vector x = norm(h[t], p + "input_layernorm.weight");
        const Vector q = heads(linear(x, p + "self_attn.q_proj"), p + "self_attn.q_norm.weight", t);
        keys.push_back(heads(linear(x, p + "self_attn.k_proj"), p + "self_attn.k_norm.weight", t));
        values.push_back(linear(x, p + "self_attn.v_proj"));
        mixed.push_back(attention(q, keys, values));
      }
      for (size_t t = 0; t < h.size(); ++t) {
        add(h[t], linear(mixed[t], p + "self_attn.o_proj"));
        const Vector x = norm(h[t], p + "post_attention_layernorm.weight");
        Vector gate = linear(x, p + "mlp.gate_proj");
        const Vector up = linear(x, p + "mlp.up_proj");
        for (size_t i = 0; i < gate.size(); ++i)
          gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
        add(h[t], linear(gate, p + "mlp.down_proj"));
      }
      taps.push_back(h);
    }
    std::vector<Vector> logits;
    for (const Vector& row : h) {
      logits.push_back(
          matrix(norm(row, "model.norm.weight"),
                 weights_.at(c_.tied ? "model.embed_tokens.weight" : "lm_head.weight")));
    }
    return logits;
  }

 private:
  Vector matrix(const Vector& x, const std::vector<float>& w) const {
    Vector out(w.size() / x.size(), 0);
    for (size_t o = 0; o < out.size(); ++o) {
      for (size_t i = 0; i < x.size(); ++i) out[o] += w[o * x.size() + i] * x[i];
    }
    return out;
  }
  Vector linear(const Vector& x, const std::string& name) const {
    Vector out = matrix(x, weights_.at(name + ".weight"));
    const auto bias = weights_.find(name + ".bias");
    if (bias != weights_.end()) {
      for (size_t o = 0; o < out.size(); ++o) out[o] += bias->second[o];
    }
    return out;
  }
  Vector norm(const Vector& x, const std::string& name) const {
    double squares = 0;
    for (const double value : x) squares += value * value;
    Vector out;
    for (size_t i = 0; i < x.size(); ++i) {
      out.push_back(weights_.at(name)[i] * x[i] /
                    std::sqrt(squares / static_cast<double>(x.size()) + c_.rms_norm_eps));
    }
    return out;
  }
  // Norm of each head, if there is one, and half rotation.
  Vector heads(const Vector& x, const std::string& norm_name, size_t position) const {
    Vector out;
    for (size_t begin = 0; begin < x.size(); begin += c_.head_dim) {
      Vector head(x.begin() + begin, x.begin() + begin + c_.head_dim);
      if (weights_.contains(norm_name)) head = norm(head, norm_name);
      const int64_t half = c_.head_dim / 2;
      for (int64_t j = 0; j < c_.head_dim; ++j) {
        const double angle = static_cast<double>(position) *
                             std::pow(c_.rope_theta, -2.0 * static_cast<double>(j % half) /
                                                         static_cast<double>(c_.head_dim));
        const double rotated = j < half ? -head[j + half] : head[j - half];
        out.push_back(head[j] * std::cos(angle) + rotated * std::sin(angle));
      }
    }
    return out;
  }
  Vector attention(const Vector& q, const std::vector<Vector>& keys,
                   const std::vector<Vector>& values) const {
    Vector out(q.size(), 0);
    for (int64_t h = 0; h < c_.heads; ++h) {
      const int64_t kv = h / (c_.heads / c_.kv_heads);
      Vector weights;
      double sum = 0;
      for (const Vector& key : keys) {
        double score = 0;
        for (int64_t d = 0; d < c_.head_dim; ++d)
          score += q[h * c_.head_dim + d] * key[kv * c_.head_dim + d];
        sum += weights.emplace_back(std::exp(score / std::sqrt(static_cast<double>(c_.head_dim))));
      }
      for (size_t j = 0; j < values.size(); ++j) {
        for (int64_t d = 0; d < c_.head_dim; ++d) {
          out[h * c_.head_dim + d] += weights[j] / sum * values[j][kv * c_.head_dim + d];
        }
      }
    }
    return out;
  }
  static void add(Vector& x, const Vector& y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  const TransformerConfig& c_;
  const std::map<std::string, std::vector<float>>& weights_;
};

struct Model {
  std::map<std::string, std::vector<float>> weights;
  TransformerConfig config;
  std::unique_ptr<Transformer> transformer;

  explicit Model(const std::string& architecture, bool tied = false) {
    at::set_num_threads(1);
    config.architecture = architecture;
    config.layers = 3;
    config.hidden_size = 24;
    config.heads = 6;
    config.kv_heads = 2;
    config.head_dim = 6;  // not hidden / heads, not a multiple of 16
    config.intermediate_size = 40;
    config.vocab_size = 31;
    config.context_length = 64;
    config.rope_theta = 100;
    config.tied = tied;
    TargetCheckpoint checkpoint;
    checkpoint.config = config;
    checkpoint.weights = std::make_unique<RandomWeights>(weights);
    transformer = std::make_unique<Transformer>(config, load_weights(checkpoint));
  }
};

std::vector<int32_t> random_ids(int64_t count, uint64_t index) {
  Random random(4, "ids", index);
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(random.below(31));
  return ids;
}

std::vector<TokenRow> rows_of(const std::vector<int32_t>& ids, int64_t sequence, int64_t begin,
                              int64_t end) {
  std::vector<TokenRow> rows;
  for (int64_t p = begin; p < end; ++p) rows.push_back({sequence, p, ids[p]});
  return rows;
}

TEST(Transformer, AgreesWithTheTextbookForEveryArchitecture) {
  for (const char* architecture : {"llama", "qwen2", "qwen3"}) {
    for (const bool tied : {false, true}) {
      Model model(architecture, tied);
      const std::vector<int32_t> ids = random_ids(21, 0);
      std::vector<std::vector<Vector>> expected_taps;
      const std::vector<Vector> expected =
          NaiveTransformer(model.config, model.weights).run(ids, expected_taps);
      KeyValueCache cache(model.config, {21});
      int64_t layers_seen = 0;
      const at::Tensor hidden = model.transformer->forward(
          cache, rows_of(ids, 0, 0, 21), [&](int64_t layer, const at::Tensor& output) {
            EXPECT_EQ(layer, layers_seen++);
            for (int64_t t = 0; t < 21; ++t) {
              for (int64_t i = 0; i < 24; ++i) {
                const double value = expected_taps[layer][t][i];
                ASSERT_NEAR(output[t][i].item<float>(), value,
                            1e-4 * (1 + std::abs(value)));  // float32
              }
            }
          });
      EXPECT_EQ(layers_seen, 3);
      const at::Tensor logits = model.transformer->logits(hidden);
      for (int64_t t = 0; t < 21; ++t) {
        for (int64_t v = 0; v < 31; ++v) {
          ASSERT_NEAR(logits[t][v].item<float>(), expected[t][v],
                      1e-4 * (1 + std::abs(expected[t][v])))
              << architecture << " tied " << tied << " position " << t;
        }
      }
    }
  }
}

TEST(Transformer, ABatchOfRowsInAnyMixtureGivesWhatEachSequenceGivesAlone) {
  Model model("qwen3");
  const std::vector<int64_t> lengths = {1, 9, 20, 33};
  std::vector<std::vector<int32_t>> ids;
  std::vector<at::Tensor> alone;
  for (size_t i = 0; i < lengths.size(); ++i) {
    ids.push_back(random_ids(lengths[i], i));
    KeyValueCache cache(model.config, {lengths[i]});
    alone.push_back(model.transformer->forward(cache, rows_of(ids[i], 0, 0, lengths[i])).clone());
  }
  // First some positions of each, then what is left in steps of one and two.
  KeyValueCache cache(model.config, lengths);
  std::vector<int64_t> done(lengths.size(), 0);
  for (int64_t step = 0; done != lengths; ++step) {
    std::vector<TokenRow> rows;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const int64_t more = step == 0 ? 5 : 1 + static_cast<int64_t>(i % 2);
      const int64_t end = std::min(lengths[i], done[i] + more);
      for (const TokenRow& row : rows_of(ids[i], static_cast<int64_t>(i), done[i], end))
        rows.push_back(row);
      done[i] = end;
    }
    const at::Tensor hidden = model.transformer->forward(cache, rows);
    for (size_t r = 0; r < rows.size(); ++r) {
      const double difference =
          (hidden[static_cast<int64_t>(r)] - alone[rows[r].sequence][rows[r].position])
              .abs()
              .max()
              .item<double>();
      EXPECT_LT(difference, 1e-5);  // float32: the products round by their number of rows
    }
  }
}

TEST(Transformer, ACopiedPrefixGivesTheSameBitsAsItsOwn) {
  Model model("llama");
  const std::vector<int32_t> ids = random_ids(30, 7);
  KeyValueCache cache(model.config, {30, 40});
  model.transformer->forward(cache, rows_of(ids, 0, 0, 19));
  cache.copy_prefix(0, 1, 19);
  const at::Tensor own = model.transformer->forward(cache, rows_of(ids, 0, 19, 30)).clone();
  EXPECT_TRUE(own.equal(model.transformer->forward(cache, rows_of(ids, 1, 19, 30))));
}

TEST(Transformer, ATreesRowsAreThoseOfEachPathAloneAndOnePathIsKept) {
  Model model("qwen3");
  TargetCheckpoint checkpoint;
  checkpoint.config = model.config;
  checkpoint.weights = std::make_unique<RandomWeights>(model.weights);
  Transformer target(model.config, load_weights(checkpoint), Products::kRowwise);
  const std::vector<int32_t> text = random_ids(12, 0);
  KeyValueCache cache(model.config, {30});
  target.forward(cache, rows_of(text, 0, 0, 9));
  const std::vector<TokenRow> tree = {{0, 9, text[9]}, {0, 10, 4, 0}, {0, 10, 5, 0},
                                      {0, 11, 6, 2},   {0, 11, 7, 1}, {0, 12, 8, 3}};
  const at::Tensor hidden = target.forward(cache, tree);
  target.keep_path(cache, tree, 5);
  const at::Tensor behind = target.forward(cache, std::vector<TokenRow>{{0, 13, 9}});
  const std::vector<std::vector<int64_t>> paths = {{0, 1, 4}, {0, 2, 3, 5}};
  for (const std::vector<int64_t>& path : paths) {
    KeyValueCache alone(model.config, {30});
    target.forward(alone, rows_of(text, 0, 0, 9));
    std::vector<TokenRow> rows;
    for (const int64_t row : path) rows.push_back({0, tree[row].position, tree[row].token});
    const at::Tensor expected = target.forward(alone, rows);
    for (size_t i = 0; i < path.size(); ++i)
      EXPECT_TRUE(hidden[path[i]].equal(expected[static_cast<int64_t>(i)])) << path[i];
    if (path.back() == 5) {
      EXPECT_TRUE(behind.equal(target.forward(alone, std::vector<TokenRow>{{0, 13, 9}})));
    }
  }
}

TEST(Transformer, ARowWhoseParentIsNotRightBeforeItIsRefused) {
  Model model("llama");
  KeyValueCache cache(model.config, {8});
  for (const std::vector<TokenRow>& rows :
       {std::vector<TokenRow>{{0, 0, 1}, {0, 2, 1, 0}}, {{0, 0, 1}, {0, 1, 1, 1}}})
    EXPECT_THROW(model.transformer->forward(cache, rows), c10::Error);
}

TEST(Transformer, ATokenOutsideOfTheVocabularyIsAnError) {
  Model model("llama");
  KeyValueCache cache(model.config, {4});
  EXPECT_THAT([&] { model.transformer->forward(cache, rows_of({31}, 0, 0, 1)); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::HasSubstr("token 31 is outside of the vocabulary of 31")));
}

}  // namespace
}  // namespace draftlab
