#include "train/checkpoint.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/number_text.h"
#include "store/safetensors.h"

namespace draftlab {
namespace {

struct Dtype {
  const char* name;
  at::ScalarType type;
};
constexpr Dtype kDtypes[] = {{"F32", at::kFloat}, {"F64", at::kDouble}, {"I64", at::kLong}};

std::string dtype_name(const at::Tensor& tensor) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.type == tensor.scalar_type()) return dtype.name;
  }
  TORCH_CHECK(false, "checkpoint: no name for dtype ", tensor.scalar_type());
}

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), static_cast<size_t>(tensor.nbytes())};
}

at::Tensor to_tensor(const SafetensorsEntry& entry, const std::string& where) {
  for (const Dtype& dtype : kDtypes) {
    if (entry.dtype != dtype.name) continue;
    at::Tensor tensor = at::empty(entry.shape, dtype.type);
    std::copy(entry.bytes.begin(), entry.bytes.end(),
              static_cast<char*>(tensor.mutable_data_ptr()));
    return tensor;
  }
  throw Error(where, "has the dtype " + entry.dtype + ", which no checkpoint holds");
}

constexpr std::string_view kWeights = "weights/", kOptimizer = "optimizer/";

// Over all that the file says: metadata but the hash itself, and name, dtype, shape and bytes of
// every tensor.
std::string content_hash(const std::map<std::string, SafetensorsEntry>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  Sha256 sum;
  for (const auto& [key, value] : metadata)
    if (key != "sha256") sum.add(key + "=" + value + "\n");
  for (const auto& [name, entry] : tensors) {
    sum.add(name + " " + entry.dtype);
    for (const int64_t side : entry.shape) sum.add("," + std::to_string(side));
    sum.add("\n");
    sum.add(entry.bytes);
  }
  return sum.hex();
}

}  // namespace

void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint) {
  NamedTensors on_cpu;
  for (const auto& [name, tensor] : checkpoint.weights) {
    on_cpu[std::string(kWeights) + name] = tensor.cpu().contiguous();
  }
  for (const auto& [name, tensor] : checkpoint.optimizer) {
    on_cpu[std::string(kOptimizer) + name] = tensor.cpu().contiguous();
  }
  std::map<std::string, SafetensorsEntry> entries;
  for (const auto& [name, tensor] : on_cpu) {
    entries[name] = {dtype_name(tensor), tensor.sizes().vec(), bytes_of(tensor)};
  }
  std::map<std::string, std::string> metadata = {
      {"format", "pt"},
      {"step", std::to_string(checkpoint.step)},
      {"tokens", std::to_string(checkpoint.tokens)},
      {"data_seconds", number_text(checkpoint.data_seconds)},
      {"model_seconds", number_text(checkpoint.model_seconds)},
      {"optimizer_seconds", number_text(checkpoint.optimizer_seconds)},
      {"first_loss", number_text(checkpoint.first_loss)},
      {"data_hash", checkpoint.data_hash},
      {"segment", checkpoint.segment},
      {"log_bytes", std::to_string(checkpoint.log_bytes)},
      {"log_sha256", checkpoint.log_sha256}};
  metadata["sha256"] = content_hash(entries, metadata);
  replace_file(file, safetensors_bytes(entries, metadata));
}

Checkpoint read_checkpoint(const std::filesystem::path& path, const std::string& segment,
                           int64_t step) {
  const SafetensorsFile file(path);
  const auto metadata = [&](const char* name) {
    const auto found = file.metadata().find(name);
    if (found == file.metadata().end())
      throw Error(path.string(), std::string("has no metadata ") + name);
    return found->second;
  };
  if (metadata("sha256") != content_hash(file.tensors(), file.metadata()))
    throw Error(path.string(), "does not fit its own hash: it was damaged");
  Checkpoint checkpoint;
  for (const auto& [name, entry] : file.tensors()) {
    const std::string where = path.string() + ": " + name;
    if (name.starts_with(kWeights)) {
      checkpoint.weights[name.substr(kWeights.size())] = to_tensor(entry, where);
    } else if (name.starts_with(kOptimizer)) {
      checkpoint.optimizer[name.substr(kOptimizer.size())] = to_tensor(entry, where);
    } else {
      throw Error(where, "is not a tensor of a checkpoint");
    }
  }
  const auto counter = [&](const char* name) {
    return parse_number(metadata(name), path.string() + ": " + name);
  };
  checkpoint.step = static_cast<int64_t>(counter("step"));
  checkpoint.tokens = static_cast<int64_t>(counter("tokens"));
  checkpoint.data_seconds = counter("data_seconds");
  checkpoint.model_seconds = counter("model_seconds");
  checkpoint.optimizer_seconds = counter("optimizer_seconds");
  checkpoint.first_loss = counter("first_loss");
  checkpoint.data_hash = metadata("data_hash");
  checkpoint.segment = metadata("segment");
  checkpoint.log_bytes = static_cast<int64_t>(counter("log_bytes"));
  checkpoint.log_sha256 = metadata("log_sha256");
  if (checkpoint.segment != segment || checkpoint.step != step) {
    throw Error(path.string(), "is of step " + std::to_string(checkpoint.step) + " of segment " +
                                   checkpoint.segment + ", not of step " + std::to_string(step) +
                                   " of " + segment);
  }
  return checkpoint;
}

std::string weights_hash(const NamedTensors& weights) {
  Sha256 sum;
  for (const auto& [name, tensor] : weights) {
    const at::Tensor on_cpu = tensor.cpu().contiguous();
    sum.add(name);
    for (int64_t side : on_cpu.sizes()) sum.add("," + std::to_string(side));
    sum.add(bytes_of(on_cpu));
  }
  return sum.hex();
}

}  // namespace draftlab
