#include "target_model/key_value_cache.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace draftlab {
namespace {

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

void KeyValueCache::Free::operator()(float* memory) const { std::free(memory); }

KeyValueCache::KeyValueCache(const TransformerConfig& config,
                             const std::vector<int64_t>& capacities)
    : layers_(config.layers),
      kv_heads_(config.kv_heads),
      head_dim_(config.head_dim),
      value_stride_(round_up(config.head_dim, kLanes)) {
  int64_t size = 0;
  for (const int64_t capacity : capacities) {
    capacities_.push_back(round_up(capacity, kLanes));
    offsets_.push_back(size);
    size += layers_ * kv_heads_ * head_size(sequences() - 1);
  }
  // calloc: fresh pages are zero already, and those never used cost nothing.
  memory_.reset(static_cast<float*>(std::calloc(size + kLanes, sizeof(float))));
  if (!memory_) throw std::bad_alloc();
}

int64_t KeyValueCache::head_size(int64_t sequence) const {
  return capacities_[sequence] * (head_dim_ + value_stride_);
}

float* KeyValueCache::keys(int64_t sequence, int64_t layer, int64_t kv_head) {
  return memory_.get() + offsets_[sequence] + (layer * kv_heads_ + kv_head) * head_size(sequence);
}

float* KeyValueCache::values(int64_t sequence, int64_t layer, int64_t kv_head) {
  return keys(sequence, layer, kv_head) + capacities_[sequence] * head_dim_;
}

void KeyValueCache::put(int64_t sequence, int64_t layer, int64_t kv_head, int64_t position,
                        const float* key, const float* value) {
  float* block =
      keys(sequence, layer, kv_head) + position / kLanes * head_dim_ * kLanes + position % kLanes;
  for (int64_t d = 0; d < head_dim_; ++d) block[d * kLanes] = key[d];
  std::memcpy(values(sequence, layer, kv_head) + position * value_stride_, value,
              head_dim_ * sizeof(float));
}

void KeyValueCache::copy_prefix(int64_t from, int64_t to, int64_t length) {
  const int64_t key_floats = round_up(length, kLanes) * head_dim_,
                value_floats = length * value_stride_;
  for (int64_t layer = 0; layer < layers_; ++layer) {
    for (int64_t head = 0; head < kv_heads_; ++head) {
      std::memcpy(keys(to, layer, head), keys(from, layer, head), key_floats * sizeof(float));
      std::memcpy(values(to, layer, head), values(from, layer, head), value_floats * sizeof(float));
    }
  }
}

}  // namespace draftlab
