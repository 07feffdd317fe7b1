#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "kernels/delta_chunks.h"
#include "kernels/gated_delta_rule.h"

// The gated delta rule of one value head over one chunk: what kernels/gated_delta_rule.cc puts
// together.
namespace draftlab {

// One head's columns of a matrix.
template <typename T>
struct HeadRows {
  T* first;
  int64_t stride;
  T* operator[](int64_t row) const { return first + row * stride; }
  HeadRows from(int64_t row) const { return {first + row * stride, stride}; }
};

// Memory of one thread, for the largest chunk. Z has the chunk's keys first, then block after block
// its B keys and its B queries.
template <typename T>
struct DeltaScratch {
  // Of a key head:
  T *z, *dz;           // [Z, dk]
  T *gram, *d_gram;    // [Z, kChunkRows] z . k of the chunk's rows
  T *slots, *d_slots;  // [blocks, 2B, B] z . k of the block's own slots
  // Of a value head:
  T *decay, *since;            // [Z, kChunkRows] d[i, j], 0 where hidden; [Z] d[i]
  T* slot_decay;               // [blocks, B, B]
  T *weights, *slot_weights;   // decay times gram and slots
  T* reads;                    // [Z, dv] what the rows read; going back the gradient p
  T *updates, *d_updates;      // [kChunkRows, dv] u and y
  T *slot_updates, *d_update;  // [B, dv], [dv]
  T* d_weights;                // [Z, max(kChunkRows, B)]
  T* slopes;                   // [max(kChunkRows, B)] gradients of the logarithms of decays
  T* from_anchors;             // [kChunkRows] what the blocks add to them
  T* d_states;                 // [nv/nk, dk, dv]

  DeltaScratch(const DeltaHeads& heads, int64_t block_size, int64_t blocks) {
    const int64_t rows = kChunkRows + blocks * 2 * block_size, square = block_size * block_size;
    const int64_t longest = std::max(kChunkRows, block_size), dk = heads.key_dim;
    const int64_t dv = heads.value_dim;
    const std::pair<T**, int64_t> parts[] = {
        {&z, rows * dk},
        {&dz, rows * dk},
        {&gram, rows * kChunkRows},
        {&d_gram, rows * kChunkRows},
        {&slots, blocks * 2 * square},
        {&d_slots, blocks * 2 * square},
        {&decay, rows * kChunkRows},
        {&since, rows},
        {&slot_decay, blocks * square},
        {&weights, rows * kChunkRows},
        {&slot_weights, blocks * 2 * square},
        {&reads, rows * dv},
        {&updates, kChunkRows * dv},
        {&d_updates, kChunkRows * dv},
        {&slot_updates, block_size * dv},
        {&d_update, dv},
        {&d_weights, rows * longest},
        {&slopes, longest},
        {&from_anchors, kChunkRows},
        {&d_states, heads.value / heads.key * dk * dv},
    };
    int64_t numbers = 0;
    for (const auto& [part, size] : parts) numbers += size;
    memory = std::make_unique_for_overwrite<T[]>(numbers);
    T* next = memory.get();
    for (const auto& [part, size] : parts) {
      *part = next;
      next += size;
    }
  }

 private:
  std::unique_ptr<T[]> memory;
};

// A chunk in the hands of one value head. Its key head has filled z, gram and slots.
template <typename T>
struct DeltaTask {
  const DeltaChunk& chunk;
  const DeltaScratch<T>& scratch;
  int64_t dk, dv, block_size;
  int64_t context_rows;          // T
  HeadRows<const T> v, g, beta;  // of all rows
  const T* state;                // [dk, dv] before the chunk

  int64_t rows() const { return chunk.rows; }
  int64_t blocks() const { return static_cast<int64_t>(chunk.blocks.size()); }
  int64_t z_rows() const { return rows() + blocks() * 2 * block_size; }
  // The keys of block b of the chunk in Z; its queries follow.
  int64_t z_row(int64_t b) const { return rows() + b * 2 * block_size; }
  // Its first row among all.
  int64_t row(int64_t b) const { return context_rows + chunk.blocks[b] * block_size; }
  int64_t query_row(int64_t b) const { return chunk.blocks[b] * block_size; }
};

// Writes the errors of all rows, the blocks' outputs, and the state [dk, dv] behind the chunk
// unless `next` is null.
void forward_chunk(const DeltaTask<float>& task, HeadRows<float> errors, HeadRows<float> out,
                   float* next);
void forward_chunk(const DeltaTask<double>& task, HeadRows<double> errors, HeadRows<double> out,
                   double* next);

// What the backward pass reads and writes besides.
template <typename T>
struct DeltaGradients {
  HeadRows<const T> d_out, out, errors;
  HeadRows<T> dv, dg, dbeta;
  const T* next;  // [dk, dv] the state behind the chunk; null behind a sequence's last
  T* d_state;     // [dk, dv] its gradient (not read where `next` is null), then that of `state`
};

// Adds to dz, d_gram and d_slots, which the value heads of a key head share, and writes the rest.
void backward_chunk(const DeltaTask<float>& task, const DeltaGradients<float>& to);
void backward_chunk(const DeltaTask<double>& task, const DeltaGradients<double>& to);

}  // namespace draftlab
