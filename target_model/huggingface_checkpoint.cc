#include <c10/util/Half.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "store/file_hash.h"
#include "store/safetensors.h"
#include "target_model/checkpoint.h"
#include "target_model/end_tokens.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

void to_float32(const SafetensorsEntry& entry, const std::string& where, float* out) {
  const char* in = entry.bytes.data();
  const auto bits = [&](size_t i) {
    uint16_t value;
    std::memcpy(&value, in + 2 * i, sizeof value);
    return value;
  };
  if (entry.dtype == "F32") {
    std::memcpy(out, in, entry.bytes.size());
  } else if (entry.dtype == "F16") {
    for (size_t i = 0; i < entry.bytes.size() / 2; ++i)
      out[i] = c10::detail::fp16_ieee_to_fp32_value(bits(i));
  } else if (entry.dtype == "BF16") {
    for (size_t i = 0; i < entry.bytes.size() / 2; ++i) {
      const uint32_t wide = uint32_t{bits(i)} << 16;
      std::memcpy(out + i, &wide, sizeof wide);
    }
  } else {
    throw Error(where, "is stored as " + entry.dtype + "; supported are F32, F16, BF16");
  }
}

class HuggingFaceWeights : public WeightSource {
 public:
  HuggingFaceWeights(const fs::path& folder, const std::vector<fs::path>& files,
                     const TransformerConfig& config)
      : folder_(folder), tied_(config.tied), rope_theta_(config.rope_theta) {
    for (const fs::path& file : files) {
      files_.push_back(std::make_unique<SafetensorsFile>(file));
      for (const auto& [name, entry] : files_.back()->tensors()) {
        if (!tensors_.emplace(name, std::pair(files_.back().get(), &entry)).second) {
          throw Error(file.string() + ": " + name, "is in another file of this model too");
        }
      }
    }
  }

  void require(const std::string& name, const std::vector<int64_t>& shape) const override {
    if (entry_of(name).shape != shape)
      throw Error(where(name), "has another shape than config.json says");
  }

  void read(const std::string& name, const std::vector<int64_t>& shape, float* out) override {
    require(name, shape);
    to_float32(entry_of(name), where(name), out);
    read_.insert(name);
  }

  void finish() override {
    for (const auto& [name, place] : tensors_) {
      if (read_.contains(name) || is_redundant(name)) continue;
      throw Error(
          place.first->file().string() + ": " + name,
          "belongs to no model that is supported here; config.json may name another architecture");
    }
  }

 private:
  std::string where(const std::string& name) const {
    return tensors_.at(name).first->file().string() + ": " + name;
  }
  const SafetensorsEntry& entry_of(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) throw Error(folder_.string(), "has no tensor '" + name + "'");
    return *found->second.second;
  }

  // What says nothing that we do not know: old exports carry the rotation's constants, and tied
  // ones sometimes the head again.
  bool is_redundant(const std::string& name) const {
    const SafetensorsEntry& entry = entry_of(name);
    if (tied_ && name == "lm_head.weight") {
      const SafetensorsEntry& embedding = entry_of("model.embed_tokens.weight");
      if (entry.dtype == embedding.dtype && entry.bytes == embedding.bytes) return true;
      throw Error(where(name),
                  "differs from the embedding, but tie_word_embeddings in config.json says that "
                  "the embedding is the head; set it to false to use this one, or remove it");
    }
    return name.ends_with("rotary_emb.inv_freq") && entry.dtype == "F32" && is_rotation(entry);
  }

  // theta^(-2i/d), to the float32 that some exports computed it in.
  bool is_rotation(const SafetensorsEntry& entry) const {
    std::vector<float> values(entry.bytes.size() / sizeof(float));
    std::memcpy(values.data(), entry.bytes.data(), values.size() * sizeof(float));
    for (size_t i = 0; i < values.size(); ++i) {
      const double expected =
          std::pow(rope_theta_, -static_cast<double>(i) / static_cast<double>(values.size()));
      if (!(std::abs(values[i] - expected) <= 1e-4 * expected)) return false;
    }
    return true;
  }

  fs::path folder_;
  bool tied_;
  double rope_theta_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, std::pair<const SafetensorsFile*, const SafetensorsEntry*>> tensors_;
  std::set<std::string> read_;
};

// The value of a key that may be absent or null.
const Json* optional(const Json& config, const char* key) {
  const Json* value = config.get_object().if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void refuse_unless(bool fine, const std::string& where, const char* key) {
  if (!fine) throw Error(where + ": " + key, "has a value that is not supported");
}

// RoPE lies flat (rope_theta, rope_scaling) or, in newer files, nested (rope_parameters).
double read_rope_theta(const Json& config, Fields& fields, const std::string& where) {
  const auto is_default = [](const Json& rope, const char* key) {
    const Json* type = rope.is_object() ? optional(rope, key) : nullptr;
    return type == nullptr || (type->is_string() && type->get_string() == "default");
  };
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const Json* rope = optional(config, name);
    if (rope == nullptr) continue;
    refuse_unless(rope->is_object() && is_default(*rope, "rope_type") && is_default(*rope, "type"),
                  where, name);
    if (const Json* theta = optional(*rope, "rope_theta"))
      return json_number(*theta, where + ": rope_theta");
  }
  return fields.number("rope_theta", 10000);
}

TransformerConfig read_config(const fs::path& file) {
  const Json config = read_json(file);
  const std::string where = file.string();
  Fields fields(config, where);  // config.json holds much that does not matter here: no finish()
  TransformerConfig c;
  c.architecture = fields.text("model_type");
  require_one_of(c.architecture, {"llama", "qwen2", "qwen3"}, fields.where("model_type"));
  c.layers = fields.integer("num_hidden_layers");
  c.hidden_size = fields.integer("hidden_size");
  c.heads = fields.integer("num_attention_heads");
  c.kv_heads =
      optional(config, "num_key_value_heads") ? fields.integer("num_key_value_heads") : c.heads;
  c.head_dim = optional(config, "head_dim") ? fields.integer("head_dim")
               : c.heads > 0                ? c.hidden_size / c.heads
                                            : 0;
  c.intermediate_size = fields.integer("intermediate_size");
  c.vocab_size = fields.integer("vocab_size");
  c.context_length = fields.integer("max_position_embeddings");
  c.rms_norm_eps = fields.number("rms_norm_eps", 1e-6);
  c.rope_theta = read_rope_theta(config, fields, where);
  c.tied = fields.boolean("tie_word_embeddings", false);
  check_config(c, where);

  refuse_unless(fields.text("hidden_act", "silu") == "silu", where, "hidden_act");
  refuse_unless(!fields.boolean("use_sliding_window", false), where, "use_sliding_window");
  refuse_unless(c.has_qkv_bias() || !fields.boolean("attention_bias", false), where,
                "attention_bias");
  refuse_unless(!fields.boolean("mlp_bias", false), where, "mlp_bias");
  refuse_unless(fields.number("partial_rotary_factor", 1) == 1, where, "partial_rotary_factor");
  refuse_unless(!optional(config, "quantization_config"), where, "quantization_config");
  if (optional(config, "layer_types")) {
    for (const std::string& type : fields.texts("layer_types")) {
      refuse_unless(type == "full_attention", where, "layer_types");
    }
  }
  return c;
}

std::vector<fs::path> weight_files(const fs::path& folder) {
  if (fs::exists(folder / "model.safetensors")) return {folder / "model.safetensors"};
  const fs::path index = folder / "model.safetensors.index.json";
  if (!fs::exists(index))
    throw Error(folder.string(), "has neither model.safetensors nor model.safetensors.index.json");
  const Json json = read_json(index);
  Fields map(Fields(json, index.string()).any("weight_map"), index.string() + ": weight_map");
  std::set<fs::path> files;
  for (const auto& field : json.at("weight_map").get_object()) {
    const std::string file = map.text(field.key());
    if (file.find('/') != std::string::npos)
      throw Error(map.where(field.key()), "must be a file in the same folder");
    files.insert(folder / file);
  }
  return {files.begin(), files.end()};
}

}  // namespace

TargetCheckpoint open_huggingface(const fs::path& path) {
  if (!fs::is_directory(path)) throw Error(path.string(), "no such folder");
  const fs::path folder = fs::absolute(path / "").lexically_normal().parent_path();
  if (!fs::exists(folder / "config.json")) throw Error(folder.string(), "has no config.json");
  TargetCheckpoint checkpoint;
  checkpoint.name = folder.filename().string();
  checkpoint.file = folder;
  checkpoint.config = read_config(folder / "config.json");
  const std::vector<fs::path> files = weight_files(folder);
  const TransformerConfig& config = checkpoint.config;
  checkpoint.config.end_token_ids = end_tokens(folder, config.vocab_size);
  JsonObject hashes{{"config.json", sha256_once(folder / "config.json")}};
  // Ends that another file adds are as much of the model's identity as those of config.json.
  if (config.end_token_ids != end_tokens_of_config(folder, config.vocab_size)) {
    hashes["end_token_ids"] = JsonArray(config.end_token_ids.begin(), config.end_token_ids.end());
  }
  for (const fs::path& file : files) hashes[file.filename().string()] = sha256_once(file);
  checkpoint.sha256 = sha256_hex(canonical(hashes));
  checkpoint.weights = std::make_unique<HuggingFaceWeights>(folder, files, config);
  return checkpoint;
}

}  // namespace draftlab
