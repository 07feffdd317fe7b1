#include "kernels/gated_delta_rule.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "kernels/delta_chunks.h"
#include "kernels/delta_head.h"
#include "kernels/gemm.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

template <typename T>
HeadRows<const T> rows_of(const at::Tensor& x, int64_t column) {
  return {x.const_data_ptr<T>() + column, x.stride(0)};
}
template <typename T>
HeadRows<T> rows_to(const at::Tensor& x, int64_t column) {
  return {x.data_ptr<T>() + column, x.stride(0)};
}

// Z and its products: the same for all value heads of a key head.
template <typename T>
void gather(const DeltaTask<T>& task, HeadRows<const T> q, HeadRows<const T> k) {
  const DeltaScratch<T>& s = task.scratch;
  const int64_t dk = task.dk, size = task.block_size;
  for (int64_t i = 0; i < task.rows(); ++i)
    std::copy_n(k[task.chunk.first_row + i], dk, s.z + i * dk);
  for (int64_t b = 0; b < task.blocks(); ++b) {
    T* z = s.z + task.z_row(b) * dk;
    for (int64_t o = 0; o < size; ++o) {
      std::copy_n(k[task.row(b) + o], dk, z + o * dk);
      std::copy_n(q[task.query_row(b) + o], dk, z + (size + o) * dk);
    }
    gemm(false, true, 2 * size, size, dk, T(1), z, dk, z, dk, T(0), s.slots + b * 2 * size * size,
         size);
  }
  gemm(false, true, task.z_rows(), task.rows(), dk, T(1), s.z, dk, s.z, dk, T(0), s.gram,
       kChunkRows);
}

// The gradients of the products go into Z's, and Z's to the keys and queries.
template <typename T>
void scatter(const DeltaTask<T>& task, HeadRows<T> dq, HeadRows<T> d_keys) {
  const DeltaScratch<T>& s = task.scratch;
  const int64_t dk = task.dk, size = task.block_size, rows = task.rows();
  if (rows > 0) {
    gemm(false, false, task.z_rows(), dk, rows, T(1), s.d_gram, kChunkRows, s.z, dk, T(1), s.dz,
         dk);
    gemm(true, false, rows, dk, task.z_rows(), T(1), s.d_gram, kChunkRows, s.z, dk, T(1), s.dz, dk);
  }
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(s.dz + i * dk, dk, d_keys[task.chunk.first_row + i]);
  for (int64_t b = 0; b < task.blocks(); ++b) {
    const T *z = s.z + task.z_row(b) * dk, *d_slots = s.d_slots + b * 2 * size * size;
    T* dz = s.dz + task.z_row(b) * dk;
    gemm(false, false, 2 * size, dk, size, T(1), d_slots, size, z, dk, T(1), dz, dk);
    gemm(true, false, size, dk, 2 * size, T(1), d_slots, size, z, dk, T(1), dz, dk);
    for (int64_t o = 0; o < size; ++o) {
      std::copy_n(dz + o * dk, dk, d_keys[task.row(b) + o]);
      std::copy_n(dz + (size + o) * dk, dk, dq[task.query_row(b) + o]);
    }
  }
}

void check_shapes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const at::Tensor& g, const at::Tensor& beta, const at::Tensor& out,
                  const BlockLayout& layout, const DeltaHeads& heads) {
  const int64_t queries = layout.query_rows(), rows = layout.context_rows() + queries;
  const int64_t keys = heads.key * heads.key_dim, values = heads.value * heads.value_dim;
  TORCH_CHECK(q.sizes() == at::IntArrayRef({queries, keys}) &&
                  k.sizes() == at::IntArrayRef({rows, keys}) &&
                  v.sizes() == at::IntArrayRef({rows, values}) &&
                  g.sizes() == at::IntArrayRef({rows, heads.value}) && beta.sizes() == g.sizes() &&
                  out.sizes() == at::IntArrayRef({queries, values}) && heads.value % heads.key == 0,
              "gated_delta_rule: shapes do not fit");
}

// What both passes read.
struct Inputs {
  const at::Tensor &q, &k, &v, &g, &beta;
  const DeltaRuleMemory& memory;
  const BlockLayout& layout;
  const DeltaHeads& heads;
  DeltaChunks plan;

  int64_t group() const { return heads.value / heads.key; }
  int64_t state_size() const { return heads.key_dim * heads.value_dim; }
  // The state before a chunk; null behind the last one of a sequence that ends at `last`.
  template <typename T>
  T* state(int64_t chunk, int64_t last, int64_t head) const {
    if (chunk == last) return nullptr;
    return memory.states.data_ptr<T>() + (chunk * heads.value + head) * state_size();
  }
  template <typename T>
  DeltaTask<T> task(const DeltaScratch<T>& scratch, int64_t chunk, int64_t head) const {
    return {plan.chunks[chunk],
            scratch,
            heads.key_dim,
            heads.value_dim,
            layout.block_size,
            layout.context_rows(),
            rows_of<T>(v, head * heads.value_dim),
            rows_of<T>(g, head),
            rows_of<T>(beta, head),
            state<T>(chunk, -1, head)};
  }
};

// work(scratch, key head, first chunk, last chunk): sequences and key heads side by side.
template <typename T, typename Work>
void for_each_sequence(const Inputs& in, const Work& work) {
  const std::vector<int64_t>& begins = in.plan.sequence_begin;
  const int64_t sequences = static_cast<int64_t>(begins.size()) - 1;
  at::parallel_for(0, sequences * in.heads.key, 1, [&](int64_t begin, int64_t end) {
    const DeltaScratch<T> scratch(in.heads, in.layout.block_size, in.plan.largest_blocks);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t sequence = task / in.heads.key;
      work(scratch, task % in.heads.key, begins[sequence], begins[sequence + 1]);
    }
  });
}

template <typename T>
void forward_sequence(const Inputs& in, const DeltaScratch<T>& scratch, int64_t key_head,
                      int64_t first, int64_t last, const at::Tensor& out,
                      const at::Tensor* initial) {
  const int64_t dk = in.heads.key_dim, dv = in.heads.value_dim, begin = key_head * in.group();
  for (int64_t head = begin; head < begin + in.group(); ++head) {
    T* state = in.state<T>(first, last, head);
    if (initial == nullptr) {
      std::fill_n(state, in.state_size(), T(0));
    } else {
      const int64_t index = in.plan.chunks[first].sequence * in.heads.value + head;
      std::copy_n(initial->const_data_ptr<T>() + index * in.state_size(), in.state_size(), state);
    }
  }
  for (int64_t chunk = first; chunk < last; ++chunk) {
    gather(in.task(scratch, chunk, begin), rows_of<T>(in.q, key_head * dk),
           rows_of<T>(in.k, key_head * dk));
    for (int64_t head = begin; head < begin + in.group(); ++head)
      forward_chunk(in.task(scratch, chunk, head), rows_to<T>(in.memory.errors, head * dv),
                    rows_to<T>(out, head * dv), in.state<T>(chunk + 1, last, head));
  }
}

// The gradients that gated_delta_rule_backward() is given and gives.
struct Outputs {
  const at::Tensor &d_out, &out, &dq, &dk, &dv, &dg, &dbeta;
};

template <typename T>
void backward_sequence(const Inputs& in, const DeltaScratch<T>& scratch, int64_t key_head,
                       int64_t first, int64_t last, const Outputs& to) {
  const int64_t dk = in.heads.key_dim, dv = in.heads.value_dim, begin = key_head * in.group();
  for (int64_t chunk = last - 1; chunk >= first; --chunk) {
    const DeltaTask<T> any_head = in.task(scratch, chunk, begin);
    gather(any_head, rows_of<T>(in.q, key_head * dk), rows_of<T>(in.k, key_head * dk));
    std::fill_n(scratch.dz, any_head.z_rows() * dk, T(0));
    std::fill_n(scratch.d_gram, any_head.z_rows() * kChunkRows, T(0));
    std::fill_n(scratch.d_slots,
                any_head.blocks() * 2 * in.layout.block_size * in.layout.block_size, T(0));
    for (int64_t head = begin; head < begin + in.group(); ++head)
      backward_chunk(
          in.task(scratch, chunk, head),
          DeltaGradients<T>{rows_of<T>(to.d_out, head * dv), rows_of<T>(to.out, head * dv),
                            rows_of<T>(in.memory.errors, head * dv), rows_to<T>(to.dv, head * dv),
                            rows_to<T>(to.dg, head), rows_to<T>(to.dbeta, head),
                            in.state<T>(chunk + 1, last, head),
                            scratch.d_states + (head - begin) * in.state_size()});
    scatter(any_head, rows_to<T>(to.dq, key_head * dk), rows_to<T>(to.dk, key_head * dk));
  }
}

}  // namespace

void gated_delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const at::Tensor& g, const at::Tensor& beta, const BlockLayout& layout,
                      const DeltaHeads& heads, const at::Tensor& out, DeltaRuleMemory& memory,
                      const at::Tensor* initial) {
  if (!plain_rows({q, k, v, g, beta, out}) || (initial != nullptr && !plain_memory({*initial}))) {
    return plain_gated_delta_rule(q, k, v, g, beta, layout, heads, out, initial);
  }
  check_shapes(q, k, v, g, beta, out, layout, heads);
  const Inputs in = {q, k, v, g, beta, memory, layout, heads, DeltaChunks(layout)};
  for (at::Tensor* x : {&memory.states, &memory.errors})
    if (!x->defined()) *x = at::empty({0}, v.options());
  memory.states.resize_(
      {static_cast<int64_t>(in.plan.chunks.size()), heads.value, heads.key_dim, heads.value_dim});
  memory.errors.resize_({v.size(0), heads.value * heads.value_dim});
  const int64_t context = layout.context_rows();
  for (const auto& [begin, end] : in.plan.idle)
    if (begin >= context) out.slice(0, begin - context, end - context).zero_();
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "gated_delta_rule", [&] {
    for_each_sequence<scalar_t>(
        in, [&](const auto& scratch, int64_t key_head, int64_t first, int64_t last) {
          forward_sequence(in, scratch, key_head, first, last, out, initial);
        });
  });
}

void gated_delta_rule_backward(const at::Tensor& d_out, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const at::Tensor& g, const at::Tensor& beta,
                               const at::Tensor& out, const DeltaRuleMemory& memory,
                               const BlockLayout& layout, const DeltaHeads& heads,
                               const at::Tensor& dq, const at::Tensor& dk, const at::Tensor& dv,
                               const at::Tensor& dg, const at::Tensor& dbeta,
                               const at::Tensor* initial) {
  if (!plain_rows({d_out, q, k, v, g, beta, out, dq, dk, dv, dg, dbeta}) ||
      (initial != nullptr && !plain_memory({*initial}))) {
    return plain_gated_delta_rule_backward(d_out, q, k, v, g, beta, layout, heads, dq, dk, dv, dg,
                                           dbeta, initial);
  }
  check_shapes(q, k, v, g, beta, out, layout, heads);
  check_shapes(dq, dk, dv, dg, dbeta, d_out, layout, heads);
  const Inputs in = {q, k, v, g, beta, memory, layout, heads, DeltaChunks(layout)};
  const int64_t context = layout.context_rows();
  for (const auto& [begin, end] : in.plan.idle) {
    for (const at::Tensor& x : {dk, dv, dg, dbeta}) x.slice(0, begin, end).zero_();
    if (begin >= context) dq.slice(0, begin - context, end - context).zero_();
  }
  const Outputs to = {d_out, out, dq, dk, dv, dg, dbeta};
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "gated_delta_rule_backward", [&] {
    for_each_sequence<scalar_t>(
        in, [&](const auto& scratch, int64_t key_head, int64_t first, int64_t last) {
          backward_sequence(in, scratch, key_head, first, last, to);
        });
  });
}

}  // namespace draftlab
