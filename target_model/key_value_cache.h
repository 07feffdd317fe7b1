#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "target_model/checkpoint.h"

namespace draftlab {

// Keys and values of a batch of sequences, each with its own capacity. Per sequence, layer and
// head:
//   keys   [ceil(capacity / 16)][head_dim][16]: 16 positions side by side, so that scores are made
//   16 at a time values [capacity][value_stride]: head_dim rounded up to 16, the padding zero
// in one block of memory.
class KeyValueCache {
 public:
  static constexpr int64_t kLanes = 16;

  KeyValueCache(const TransformerConfig& config, const std::vector<int64_t>& capacities);
  int64_t sequences() const { return static_cast<int64_t>(offsets_.size()); }
  int64_t capacity(int64_t sequence) const { return capacities_[sequence]; }
  int64_t value_stride() const { return value_stride_; }
  float* keys(int64_t sequence, int64_t layer, int64_t kv_head);
  float* values(int64_t sequence, int64_t layer, int64_t kv_head);

  // Stores the key and value [head_dim] of one position.
  void put(int64_t sequence, int64_t layer, int64_t kv_head, int64_t position, const float* key,
           const float* value);

  // Copies positions 0 .. length-1 of all layers: two texts that begin alike are alike there.
  void copy_prefix(int64_t from, int64_t to, int64_t length);

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  int64_t head_size(int64_t sequence) const;  // floats of one head of one layer: keys and values

  int64_t layers_, kv_heads_, head_dim_, value_stride_;
  std::vector<int64_t> capacities_;  // rounded up to kLanes
  std::vector<int64_t> offsets_;     // of a sequence, in floats
  std::unique_ptr<float, Free> memory_;
};

}  // namespace draftlab
