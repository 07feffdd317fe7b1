#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "store/file_hash.h"
#include "target_model/checkpoint.h"
#include "target_model/end_tokens.h"
#include "target_model/gguf.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

// Hugging Face's name of a tensor -> the name in a GGUF file.
std::string gguf_name(const std::string& name) {
  static const std::map<std::string, std::string> whole = {
      {"model.embed_tokens.weight", "token_embd.weight"},
      {"model.norm.weight", "output_norm.weight"},
      {"lm_head.weight", "output.weight"}};
  static const std::map<std::string, std::string> in_layer = {
      {"input_layernorm", "attn_norm"},    {"post_attention_layernorm", "ffn_norm"},
      {"self_attn.q_proj", "attn_q"},      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"}, {"self_attn.k_norm", "attn_k_norm"},
      {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"}};
  if (const auto found = whole.find(name); found != whole.end()) return found->second;
  // model.layers.{i}.{part}.{weight or bias}
  const std::string prefix = "model.layers.";
  const size_t number_end = name.find('.', prefix.size()), kind = name.rfind('.');
  const std::string part = name.substr(number_end + 1, kind - number_end - 1);
  return "blk." + name.substr(prefix.size(), number_end - prefix.size()) + "." + in_layer.at(part) +
         name.substr(kind);
}

class GgufWeights : public WeightSource {
 public:
  GgufWeights(std::shared_ptr<GgufFile> file, const TransformerConfig& config)
      : file_(std::move(file)), architecture_(config.architecture), head_dim_(config.head_dim) {}

  void require(const std::string& name, const std::vector<int64_t>& shape) const override {
    const std::string own_name = gguf_name(name);
    if (file_->tensor(own_name).shape != shape) {
      throw Error(file_->file().string() + ": " + own_name,
                  "has another shape than its metadata say");
    }
  }

  void read(const std::string& name, const std::vector<int64_t>& shape, float* out) override {
    require(name, shape);
    const std::string own_name = gguf_name(name);
    dequantise(file_->tensor(own_name), file_->file().string() + ": " + own_name, out);
    read_.insert(own_name);
    if (architecture_ == "llama" &&
        (name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight"))) {
      unpermute(shape[0], shape[1], out);
    }
  }

  void finish() override {
    for (const auto& [name, tensor] : file_->tensors()) {
      if (!read_.contains(name)) {
        throw Error(file_->file().string(), "has the tensor '" + name + "', which no " +
                                                architecture_ +
                                                " model that is supported here has");
      }
    }
  }

 private:
  // llama.cpp keeps the q and k rows of Llama for interleaved rotation, (head, head_dim/2, 2); half
  // rotation wants (head, 2, head_dim/2).
  void unpermute(int64_t rows, int64_t columns, float* matrix) const {
    const std::vector<float> old(matrix, matrix + rows * columns);
    const int64_t half = head_dim_ / 2;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t head = row / head_dim_, side = row % head_dim_ / half, pair = row % half;
      const float* from = old.data() + (head * head_dim_ + 2 * pair + side) * columns;
      std::copy(from, from + columns, matrix + row * columns);
    }
  }

  std::shared_ptr<GgufFile> file_;
  std::string architecture_;
  int64_t head_dim_;
  std::set<std::string> read_;
};

TransformerConfig read_config(const GgufFile& file) {
  TransformerConfig c;
  c.architecture = file.text("general.architecture");
  if (c.architecture != "llama" && c.architecture != "qwen2" && c.architecture != "qwen3") {
    throw Error(file.file().string(),
                "has the architecture '" + c.architecture + "'; supported are llama, qwen2, qwen3");
  }
  const auto key = [&](const char* name) { return c.architecture + "." + name; };
  c.layers = file.integer(key("block_count"));
  c.hidden_size = file.integer(key("embedding_length"));
  c.heads = file.integer(key("attention.head_count"));
  c.kv_heads = file.integer(key("attention.head_count_kv"), c.heads);
  c.head_dim = file.integer(key("attention.key_length"), c.heads > 0 ? c.hidden_size / c.heads : 0);
  c.intermediate_size = file.integer(key("feed_forward_length"));
  c.context_length = file.integer(key("context_length"));
  c.rms_norm_eps = file.number(key("attention.layer_norm_rms_epsilon"));
  c.rope_theta = file.number(key("rope.freq_base"), 10000);
  for (const char* scaling : {"rope.scaling.type", "rope.scaling.factor", "rope.scale_linear",
                              "attention.sliding_window"}) {
    if (file.has(key(scaling)) &&
        !(std::string(scaling) == "rope.scaling.type" && file.text(key(scaling)) == "none")) {
      throw Error(file.file().string(), "uses " + key(scaling) + ", which is not supported");
    }
  }
  if (file.integer(key("attention.value_length"), c.head_dim) != c.head_dim ||
      file.integer(key("rope.dimension_count"), c.head_dim) != c.head_dim) {
    throw Error(file.file().string(), "rotates only a part of each head, which is not supported");
  }
  const std::vector<int64_t>& embedding = file.tensor("token_embd.weight").shape;
  c.vocab_size = embedding.empty() ? 0 : embedding[0];
  c.tied = !file.tensors().contains("output.weight");
  check_config(c, file.file().string());
  c.end_token_ids = end_tokens(file, c.vocab_size);
  return c;
}

}  // namespace

TargetCheckpoint open_gguf(const fs::path& path) {
  if (!fs::exists(path))
    throw Error(path.string(), "no such GGUF file; scripts/dependencies fetches SmolLM2's");
  const auto file = std::make_shared<GgufFile>(path);
  TargetCheckpoint checkpoint;
  checkpoint.name = path.stem().string();
  checkpoint.file = fs::absolute(path).lexically_normal();
  checkpoint.sha256 = sha256_once(path);
  checkpoint.config = read_config(*file);
  checkpoint.weights = std::make_unique<GgufWeights>(file, checkpoint.config);
  return checkpoint;
}

}  // namespace draftlab
