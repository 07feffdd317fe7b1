#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "store/specification.h"

namespace draftlab {

// A decoder-only transformer of the Llama family; the values are those of Hugging Face's
// config.json.
struct TransformerConfig {
  // "llama", "qwen2" (bias on q, k, v) or "qwen3" (norm of each q and k head)
  std::string architecture;
  int64_t layers = 0;
  int64_t hidden_size = 0;  // H
  int64_t heads = 0;        // query heads, a multiple of kv_heads
  int64_t kv_heads = 0;
  int64_t head_dim = 0;           // even
  int64_t intermediate_size = 0;  // I
  int64_t vocab_size = 0;         // V
  int64_t context_length = 0;     // longest sequence
  double rms_norm_eps = 1e-5;
  double rope_theta = 10000;
  bool tied = false;                   // the head is the embedding
  std::vector<int64_t> end_token_ids;  // a response ends with one of these; may be empty

  bool has_qkv_bias() const { return architecture == "qwen2"; }
  bool has_qk_norm() const { return architecture == "qwen3"; }
};

// Named float32 tensors of a checkpoint, read one at a time so that only one copy is in memory.
// Names and layouts are Hugging Face's ("model.layers.0.self_attn.q_proj.weight" [out, in], half
// rotation).
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Writes the tensor to `out`. Throws Error naming file and tensor if it is missing, of another
  // shape or of a type that is not supported.
  virtual void read(const std::string& name, const std::vector<int64_t>& shape, float* out) = 0;
  // The same without reading, before memory is taken for it. What is made up has any shape.
  virtual void require(const std::string&, const std::vector<int64_t>&) const {}
  // Throws Error for the first tensor that was never read: a model we only half understand.
  virtual void finish() = 0;
};

// A target that can be read: its configuration, its identity and its weights.
struct TargetCheckpoint {
  std::string name;            // file or folder name without its extension, or "made up"
  std::filesystem::path file;  // the GGUF file or the Hugging Face folder; empty: made up
  // of the file; of the list of all files of a folder; of a made-up description
  std::string sha256;
  TransformerConfig config;
  std::unique_ptr<WeightSource> weights;
};

// Opens a GGUF file, a folder with config.json and safetensors (one file, or shards with an index),
// or makes a target up from its seed. Throws Error for what is not supported, by name:
// architectures, rope scaling, quantisations. Files are hashed once per process.
TargetCheckpoint open_target(const TargetSource& source);

// Throws Error naming `where` and the number for a configuration that no model has: counts below 1
// or so large that products of them do not fit, heads that do not divide, an odd head_dim.
void check_config(const TransformerConfig& config, const std::string& where);

// The three kinds.
TargetCheckpoint open_gguf(const std::filesystem::path& file);
TargetCheckpoint open_huggingface(const std::filesystem::path& folder);
TargetCheckpoint make_up_target(const MadeUpTarget& description);

}  // namespace draftlab
