#include "kernels/block_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/gemm.h"
#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Context positions that slot o of a block with this anchor sees.
Range context_range(int64_t anchor, int64_t slot, int64_t window) {
  const int64_t end = std::max<int64_t>(anchor, 0);
  const int64_t begin = window == 0 ? 0 : std::max<int64_t>(0, anchor + slot - (window - 1));
  return {std::min(begin, end), end};
}

// Slots of its own block that it sees.
Range slot_range(int64_t anchor, int64_t slot, int64_t block_size, int64_t window) {
  if (anchor < 0) return {};
  return {0, window == 0 ? block_size : slot + 1};
}

// Neighbouring blocks of one sequence that are computed together: their rows against `context`, the
// positions that any of them sees, and against their own rows. Score columns: first context, then
// rows.
struct Tile {
  int64_t first_block = 0, last_block = 0;  // half open
  int64_t sequence = 0;
  Range context;
};

std::vector<Tile> make_tiles(const BlockLayout& layout, int64_t window) {
  constexpr int64_t kRows =
      64;  // enough for full-speed products, few enough to waste little on masked pairs
  const int64_t blocks_per_tile = std::max<int64_t>(1, kRows / layout.block_size);
  const int64_t blocks = static_cast<int64_t>(layout.block_anchor.size());
  std::vector<Tile> tiles;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t sequence = layout.block_sequence[block];
    const Range seen =
        context_range(layout.block_anchor[block], 0, window);  // slot 0 sees the most
    TORCH_CHECK(seen.end <= layout.sequence_begin[sequence + 1] - layout.sequence_begin[sequence],
                "block_attention: anchor ", seen.end, " lies behind the end of sequence ",
                sequence);
    if (tiles.empty() || tiles.back().sequence != sequence ||
        tiles.back().last_block - tiles.back().first_block == blocks_per_tile) {
      tiles.push_back({block, block, sequence, seen});
    }
    Tile& tile = tiles.back();
    tile.last_block = block + 1;
    if (tile.context.size() == 0) tile.context = seen;
    if (seen.size() > 0) {
      tile.context.begin = std::min(tile.context.begin, seen.begin);
      tile.context.end = std::max(tile.context.end, seen.end);
    }
  }
  return tiles;
}

// The two pieces of a score row that its query sees, as columns of the tile; all other columns are
// hidden.
struct Visible {
  Range context, slots;
};

Visible visible(const BlockLayout& layout, const Tile& tile, int64_t row, int64_t window) {
  const int64_t block = row / layout.block_size, slot = row % layout.block_size;  // inside the tile
  const int64_t anchor = layout.block_anchor[tile.first_block + block];
  Range context = context_range(anchor, slot, window);
  if (context.size() == 0) {
    context = {};
  } else {
    context = {context.begin - tile.context.begin, context.end - tile.context.begin};
  }
  Range slots = slot_range(anchor, slot, layout.block_size, window);
  const int64_t shift = tile.context.size() + block * layout.block_size;
  return {context, {slots.begin + shift, slots.end + shift}};
}

// score - log_sum, exponentiated where visible and 0 elsewhere.
template <typename T>
void probabilities(T* scores, int64_t columns, const Visible& seen, T log_sum) {
  const auto [context, slots] = seen;
  std::fill(scores, scores + context.begin, T(0));
  std::fill(scores + context.end, scores + slots.begin, T(0));
  std::fill(scores + slots.end, scores + columns, T(0));
  exponentials(scores + context.begin, context.size(), log_sum);
  exponentials(scores + slots.begin, slots.size(), log_sum);
}

// One query head of one sequence's blocks: raw pointers and strides of everything it touches.
template <typename T>
struct Head {
  const T* q;  // slot 0 of block 0, this head
  const T* k;  // context row 0, the key head that serves this head
  const T* v;
  int64_t q_stride, kv_stride;
  int64_t dim, context_rows;
  T scale;
  const BlockLayout& layout;
  int64_t window;

  int64_t rows(const Tile& tile) const {
    return (tile.last_block - tile.first_block) * layout.block_size;
  }
  int64_t columns(const Tile& tile) const { return tile.context.size() + rows(tile); }
  // Rows of k, v and their gradients: the tile's context, and its own blocks.
  int64_t context_row(const Tile& tile) const {
    return layout.sequence_begin[tile.sequence] + tile.context.begin;
  }
  int64_t block_row(const Tile& tile) const {
    return context_rows + tile.first_block * layout.block_size;
  }

  // scores [rows, columns] = alpha * left [rows, dim] . (k or v) [columns, dim]^T
  void against_keys(const Tile& tile, T alpha, const T* left, int64_t left_stride, const T* keys,
                    T* scores) const {
    const int64_t r = rows(tile), c = columns(tile), n = tile.context.size();
    gemm(false, true, r, n, dim, alpha, left, left_stride, keys + context_row(tile) * kv_stride,
         kv_stride, T(0), scores, c);
    gemm(false, true, r, r, dim, alpha, left, left_stride, keys + block_row(tile) * kv_stride,
         kv_stride, T(0), scores + n, c);
  }
  // out [rows, dim] = alpha * weights [rows, columns] . (k or v) [columns, dim]
  void mix(const Tile& tile, T alpha, const T* weights, const T* values, T* out) const {
    const int64_t r = rows(tile), c = columns(tile), n = tile.context.size();
    gemm(false, false, r, dim, r, alpha, weights + n, c, values + block_row(tile) * kv_stride,
         kv_stride, T(0), out, q_stride);
    if (n > 0) {
      gemm(false, false, r, dim, n, alpha, weights, c, values + context_row(tile) * kv_stride,
           kv_stride, T(1), out, q_stride);
    }
  }
  // sums [T + N*B, dim] += alpha * weights^T . right [rows, dim], in the rows that the tile sees
  void spread(const Tile& tile, T alpha, const T* weights, const T* right, T* sums) const {
    const int64_t r = rows(tile), c = columns(tile), n = tile.context.size();
    gemm(true, false, n, dim, r, alpha, weights, c, right, q_stride, T(1),
         sums + context_row(tile) * dim, dim);
    gemm(true, false, r, dim, r, alpha, weights + n, c, right, q_stride, T(1),
         sums + block_row(tile) * dim, dim);
  }
};

template <typename T>
Head<T> make_head(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const BlockLayout& layout, const AttentionHeads& heads, int64_t window,
                  int64_t head) {
  const int64_t kv_head = head / (heads.query / heads.key_value);
  return {q.const_data_ptr<T>() + head * heads.dim,
          k.const_data_ptr<T>() + kv_head * heads.dim,
          v.const_data_ptr<T>() + kv_head * heads.dim,
          heads.query * heads.dim,
          heads.key_value * heads.dim,
          heads.dim,
          layout.context_rows(),
          static_cast<T>(1 / std::sqrt(static_cast<double>(heads.dim))),
          layout,
          window};
}

template <typename T>
void forward_tile(const Head<T>& head, const Tile& tile, T* scores, T* out, T* log_sum,
                  T* largest_scores) {
  const int64_t first = tile.first_block * head.layout.block_size;
  const int64_t rows = head.rows(tile), columns = head.columns(tile);
  head.against_keys(tile, head.scale, head.q + first * head.q_stride, head.q_stride, head.k,
                    scores);
  for (int64_t r = 0; r < rows; ++r) {
    T* row = scores + r * columns;
    const Visible seen = visible(head.layout, tile, r, head.window);
    const T largest = std::max(maximum(row + seen.context.begin, seen.context.size()),
                               maximum(row + seen.slots.begin, seen.slots.size()));
    T sum = exponentials(row + seen.context.begin, seen.context.size(), largest);
    sum += exponentials(row + seen.slots.begin, seen.slots.size(), largest);
    const bool blind = seen.context.size() + seen.slots.size() == 0;
    const T inverse = blind ? T(0) : 1 / sum;
    std::fill(row, row + seen.context.begin, T(0));
    std::fill(row + seen.context.end, row + seen.slots.begin, T(0));
    std::fill(row + seen.slots.end, row + columns, T(0));
    for (int64_t c = seen.context.begin; c < seen.context.end; ++c) row[c] *= inverse;
    for (int64_t c = seen.slots.begin; c < seen.slots.end; ++c) row[c] *= inverse;
    log_sum[first + r] = blind ? T(0) : largest + std::log(sum);
    if (largest_scores != nullptr) largest_scores[first + r] = largest;
  }
  head.mix(tile, T(1), scores, head.v, out + first * head.q_stride);
}

// d_keys, d_values [T + N*B, dim] of this query head are added to.
template <typename T>
void backward_tile(const Head<T>& head, const Tile& tile, const T* d_out, const T* out,
                   const T* log_sum, T* weights, T* d_weights, T* dq, T* d_keys, T* d_values) {
  const int64_t first = tile.first_block * head.layout.block_size;
  const int64_t rows = head.rows(tile), columns = head.columns(tile);
  const T* q = head.q + first * head.q_stride;
  d_out += first * head.q_stride;
  out += first * head.q_stride;
  head.against_keys(tile, head.scale, q, head.q_stride, head.k, weights);
  for (int64_t r = 0; r < rows; ++r)
    probabilities(weights + r * columns, columns, visible(head.layout, tile, r, head.window),
                  log_sum[first + r]);
  head.spread(tile, T(1), weights, d_out, d_values);

  // Softmax: d_score = p * (d_p - sum over columns of p * d_p), and that sum is d_out . out.
  head.against_keys(tile, T(1), d_out, head.q_stride, head.v, d_weights);
  for (int64_t r = 0; r < rows; ++r) {
    const T along = dot(d_out + r * head.q_stride, out + r * head.q_stride, head.dim);
    T* p = weights + r * columns;
    const T* d_p = d_weights + r * columns;
    for (int64_t c = 0; c < columns; ++c) p[c] *= d_p[c] - along;
  }
  head.mix(tile, head.scale, weights, head.k, dq + first * head.q_stride);
  head.spread(tile, head.scale, weights, q, d_keys);
}

int64_t largest_tile(const std::vector<Tile>& tiles, int64_t block_size) {
  int64_t numbers = 0;
  for (const Tile& tile : tiles) {
    const int64_t rows = (tile.last_block - tile.first_block) * block_size;
    numbers = std::max(numbers, rows * (tile.context.size() + rows));
  }
  return numbers;
}

// Tiles of each sequence: [first, last) of `tiles`.
std::vector<Range> group_by_sequence(const std::vector<Tile>& tiles) {
  std::vector<Range> groups;
  for (int64_t t = 0; t < static_cast<int64_t>(tiles.size()); ++t) {
    if (t == 0 || tiles[t].sequence != tiles[t - 1].sequence) groups.push_back({t, t});
    groups.back().end = t + 1;
  }
  return groups;
}

void check_shapes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const BlockLayout& layout, const AttentionHeads& heads) {
  TORCH_CHECK(q.size(0) == layout.query_rows() && q.size(1) == heads.query * heads.dim &&
                  k.size(0) == layout.context_rows() + layout.query_rows() &&
                  k.size(1) == heads.key_value * heads.dim && v.sizes() == k.sizes() &&
                  heads.query % heads.key_value == 0,
              "block_attention: shapes do not fit the layout");
}

// One block as dense tensors, for the plain version.
struct PlainBlock {
  int64_t first, last;  // query rows
  at::Tensor rows;      // [m] rows of k and v that some slot sees
  at::Tensor hidden;    // [B, m] true where the slot does not see the row
  at::Tensor q, k, v;   // [nh, B, hd], [nh, m, hd], [nh, m, hd]
};

at::Tensor by_head(const at::Tensor& x, int64_t heads) {  // [r, heads*hd] -> [heads, r, hd]
  return x.view({x.size(0), heads, -1}).transpose(0, 1);
}

PlainBlock plain_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       const BlockLayout& layout, const AttentionHeads& heads, int64_t window,
                       int64_t block) {
  const int64_t size = layout.block_size, anchor = layout.block_anchor[block];
  const int64_t begin = layout.sequence_begin[layout.block_sequence[block]];
  const int64_t context = std::max<int64_t>(anchor, 0);
  PlainBlock result;
  result.first = block * size;
  result.last = result.first + size;
  result.rows = at::cat({at::arange(begin, begin + context, at::kLong),
                         at::arange(size, at::kLong) + (layout.context_rows() + result.first)})
                    .to(k.device());
  at::Tensor hidden = at::ones({size, context + size}, at::kBool);
  for (int64_t slot = 0; slot < size; ++slot) {
    const Range seen = context_range(anchor, slot, window);
    const Range slots = slot_range(anchor, slot, size, window);
    hidden[slot].slice(0, seen.begin, seen.end).fill_(false);
    hidden[slot].slice(0, context + slots.begin, context + slots.end).fill_(false);
  }
  result.hidden = hidden.to(k.device());
  const int64_t group = heads.query / heads.key_value;
  const auto gather = [&](const at::Tensor& x) {
    return by_head(x.index_select(0, result.rows), heads.key_value).repeat_interleave(group, 0);
  };
  result.q = by_head(q.slice(0, result.first, result.last), heads.query);
  result.k = gather(k);
  result.v = gather(v);
  return result;
}

}  // namespace

void plain_block_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const BlockLayout& layout, const AttentionHeads& heads, int64_t window,
                           const at::Tensor& out, const at::Tensor& log_sum,
                           const at::Tensor* largest) {
  check_shapes(q, k, v, layout, heads);
  const double scale = 1 / std::sqrt(static_cast<double>(heads.dim));
  for (int64_t n = 0; n < static_cast<int64_t>(layout.block_anchor.size()); ++n) {
    const PlainBlock block = plain_block(q, k, v, layout, heads, window, n);
    const at::Tensor scores =
        (block.q.matmul(block.k.transpose(1, 2)) * scale).masked_fill(block.hidden, -INFINITY);
    if (largest != nullptr) largest->slice(1, block.first, block.last).copy_(scores.amax(2));
    at::Tensor sums = scores.logsumexp(2);  // [nh, B]
    sums = sums.masked_fill(sums == -INFINITY, 0);
    const at::Tensor mixed = (scores - sums.unsqueeze(2)).exp().matmul(block.v);
    out.slice(0, block.first, block.last).copy_(mixed.transpose(0, 1).reshape({-1, out.size(1)}));
    log_sum.slice(1, block.first, block.last).copy_(sums);
  }
}

void plain_block_attention_backward(const at::Tensor& d_out, const at::Tensor& q,
                                    const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
                                    const at::Tensor& log_sum, const BlockLayout& layout,
                                    const AttentionHeads& heads, int64_t window,
                                    const at::Tensor& dq, const at::Tensor& dk,
                                    const at::Tensor& dv) {
  check_shapes(q, k, v, layout, heads);
  const double scale = 1 / std::sqrt(static_cast<double>(heads.dim));
  const int64_t group = heads.query / heads.key_value;
  dk.zero_();
  dv.zero_();
  for (int64_t n = 0; n < static_cast<int64_t>(layout.block_anchor.size()); ++n) {
    const PlainBlock block = plain_block(q, k, v, layout, heads, window, n);
    const at::Tensor scores =
        (block.q.matmul(block.k.transpose(1, 2)) * scale).masked_fill(block.hidden, -INFINITY);
    const at::Tensor p =
        (scores - log_sum.slice(1, block.first, block.last).unsqueeze(2)).exp();  // [nh, B, m]
    const at::Tensor d_mixed = by_head(d_out.slice(0, block.first, block.last), heads.query);
    const at::Tensor mixed = by_head(out.slice(0, block.first, block.last), heads.query);
    const at::Tensor d_p = d_mixed.matmul(block.v.transpose(1, 2));
    const at::Tensor d_scores = p * (d_p - (d_mixed * mixed).sum(2, /*keepdim=*/true)) * scale;
    dq.slice(0, block.first, block.last)
        .copy_(d_scores.matmul(block.k).transpose(0, 1).reshape({-1, dq.size(1)}));
    const auto scatter = [&](const at::Tensor& sum, const at::Tensor& to) {  // [nh, m, hd]
      const at::Tensor per_kv_head = sum.view({heads.key_value, group, -1, heads.dim}).sum(1);
      to.index_add_(0, block.rows, per_kv_head.transpose(0, 1).reshape({-1, to.size(1)}));
    };
    scatter(d_scores.transpose(1, 2).matmul(block.q), dk);
    scatter(p.transpose(1, 2).matmul(d_mixed), dv);
  }
}

void block_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const BlockLayout& layout, const AttentionHeads& heads, int64_t window,
                     const at::Tensor& out, const at::Tensor& log_sum, const at::Tensor* largest) {
  if (!plain_memory({q, k, v, out, log_sum}) ||
      (largest != nullptr && !plain_memory({q, *largest}))) {
    return plain_block_attention(q, k, v, layout, heads, window, out, log_sum, largest);
  }
  check_shapes(q, k, v, layout, heads);
  const std::vector<Tile> tiles = make_tiles(layout, window);
  const std::vector<Range> sequences = group_by_sequence(tiles);
  const int64_t tasks = static_cast<int64_t>(sequences.size()) * heads.query;
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "block_attention", [&] {
    at::parallel_for(0, tasks, 1, [&](int64_t begin, int64_t end) {
      const auto scores =
          std::make_unique_for_overwrite<scalar_t[]>(largest_tile(tiles, layout.block_size));
      for (int64_t task = begin; task < end; ++task) {
        const int64_t h = task % heads.query;
        const auto head = make_head<scalar_t>(q, k, v, layout, heads, window, h);
        const Range sequence = sequences[task / heads.query];
        for (int64_t t = sequence.begin; t < sequence.end; ++t)
          forward_tile(head, tiles[t], scores.get(), out.data_ptr<scalar_t>() + h * heads.dim,
                       log_sum.data_ptr<scalar_t>() + h * layout.query_rows(),
                       largest == nullptr
                           ? nullptr
                           : largest->data_ptr<scalar_t>() + h * layout.query_rows());
      }
    });
  });
}

void block_attention_backward(const at::Tensor& d_out, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const at::Tensor& out, const at::Tensor& log_sum,
                              const BlockLayout& layout, const AttentionHeads& heads,
                              int64_t window, const at::Tensor& dq, const at::Tensor& dk,
                              const at::Tensor& dv, at::Tensor& scratch) {
  if (!plain_memory({d_out, q, k, v, out, log_sum, dq, dk, dv})) {
    return plain_block_attention_backward(d_out, q, k, v, out, log_sum, layout, heads, window, dq,
                                          dk, dv);
  }
  check_shapes(q, k, v, layout, heads);
  const int64_t key_rows = k.size(0);
  if (!scratch.defined()) scratch = at::empty({0}, q.options());
  scratch.resize_({2, heads.query, key_rows, heads.dim}).zero_();
  const std::vector<Tile> tiles = make_tiles(layout, window);
  const std::vector<Range> sequences = group_by_sequence(tiles);
  const int64_t tasks = static_cast<int64_t>(sequences.size()) * heads.query;
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "block_attention_backward", [&] {
    // Every query head has its own sums of dk and dv, added up per key head in a fixed order
    // afterwards.
    scalar_t* d_keys = scratch.data_ptr<scalar_t>();
    scalar_t* d_values = d_keys + heads.query * key_rows * heads.dim;
    at::parallel_for(0, tasks, 1, [&](int64_t begin, int64_t end) {
      const int64_t numbers = largest_tile(tiles, layout.block_size);
      const auto weights = std::make_unique_for_overwrite<scalar_t[]>(2 * numbers);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t h = task % heads.query, at = h * key_rows * heads.dim;
        const auto head = make_head<scalar_t>(q, k, v, layout, heads, window, h);
        const Range sequence = sequences[task / heads.query];
        for (int64_t t = sequence.begin; t < sequence.end; ++t)
          backward_tile(head, tiles[t], d_out.const_data_ptr<scalar_t>() + h * heads.dim,
                        out.const_data_ptr<scalar_t>() + h * heads.dim,
                        log_sum.const_data_ptr<scalar_t>() + h * layout.query_rows(), weights.get(),
                        weights.get() + numbers, dq.data_ptr<scalar_t>() + h * heads.dim,
                        d_keys + at, d_values + at);
      }
    });
  });
  const int64_t group = heads.query / heads.key_value;
  for (int64_t i = 0; i < 2; ++i) {
    const at::Tensor& sum = i == 0 ? dk : dv;
    at::Tensor to = sum.view({key_rows, heads.key_value, heads.dim}).transpose(0, 1);
    at::sum_out(to, scratch[i].view({heads.key_value, group, key_rows, heads.dim}), {1});
  }
}

}  // namespace draftlab
