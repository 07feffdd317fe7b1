#include "kernels/delta_head.h"

#include <algorithm>

#include "kernels/gemm.h"
#include "kernels/lanes.h"

// In a chunk with the state S before it, let d[i] be the decay from the chunk's start to behind row
// i, and d[i, j] that from behind row j. They are products of numbers in [0, 1], never differences
// of long sums. The recurrence over the chunk's rows is
//   e_i = v_i - (d[i] S^T k_i + sum over j < i of d[i, j] (k_i . k_j) u_j),  u_j = beta_j e_j.
// The bracket is what k_i reads. A block's keys and queries read the chunk in the same way from
// behind the last row that they see; then they read the block's own slots, by the same formula once
// more. So all that read a chunk are one matrix Z of rows: its keys, and each block's keys and
// queries. Z S and Z K^T are single products, and so is the sum over j for the rows of the blocks;
// only the chunk's own rows wait for each other.
//
// Backward, let p be the gradient of what a row of Z reads, y_i that of u_i, G that of the state
// behind the chunk. y is solved for from the last row to the first, and then
//   dv_i = beta_i y_i,  p_i = -dv_i (d_out for a query),  dbeta_i = y_i . e_i,
//   dS = d[last] G + sum over Z of d z p^T,  dz = d S p + what the products of z and K add.
// log d[i, j] has the gradient of g_i + .. + g_{j+1}. Row i lengthens all decays that end at it and
// shortens all that begin there, so it adds d_out . out - p . (what it reads) - u . y, which is
// d_out . out - dv . v, to the gradient of every g up to its own.
namespace draftlab {
namespace {

// Below this a decay is 0, so that no loop runs into denormal numbers.
constexpr float kForgotten = 1e-30f;

// sum[c] += weight[j] * rows[j][c] over j < count; weights lie `step` apart.
template <typename T>
DRAFTLAB_INLINE void add_weighted(const T* weight, int64_t step, int64_t count, const T* rows,
                                  int64_t stride, int64_t n, T* sum) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= n; c += 4 * kLanes) {
    Lanes<T> total[4];
    for (int part = 0; part < 4; ++part) total[part] = lanes(sum + c + part * kLanes);
    for (int64_t j = 0; j < count; ++j) {
      const T w = weight[j * step];
      for (int part = 0; part < 4; ++part)
        total[part] += w * lanes(rows + j * stride + c + part * kLanes);
    }
    for (int part = 0; part < 4; ++part) lanes(sum + c + part * kLanes) = total[part];
  }
  for (int64_t j = 0; c < n && j < count; ++j)
    for (int64_t rest = c; rest < n; ++rest)
      sum[rest] += weight[j * step] * rows[j * stride + rest];
}

template <typename T>
DRAFTLAB_INLINE T kept(T decay) {
  return decay < T(kForgotten) ? 0 : decay;
}

// between[i, j] = d[i, j] for j <= i, rows `stride` apart; since[i] = d[i]. From g of n rows.
template <typename T>
DRAFTLAB_INLINE void decays(HeadRows<const T> g, int64_t n, int64_t stride, T* between, T* since) {
  for (int64_t i = 0; i < n; ++i) {
    const T factor = exponential(*g[i]);
    T* row = between + i * stride;
    for (int64_t j = 0; j < i; ++j) row[j] = kept(row[j - stride] * factor);
    row[i] = 1;
    since[i] = i == 0 ? factor : kept(since[i - 1] * factor);
  }
}

// Decays and weights of all rows of Z.
template <typename T>
DRAFTLAB_INLINE void weigh(const DeltaTask<T>& task) {
  const DeltaScratch<T>& s = task.scratch;
  const int64_t rows = task.rows(), size = task.block_size;
  decays(task.g.from(task.chunk.first_row), rows, kChunkRows, s.decay, s.since);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < i; ++j)
      s.weights[i * kChunkRows + j] = s.decay[i * kChunkRows + j] * s.gram[i * kChunkRows + j];
  for (int64_t b = 0; b < task.blocks(); ++b) {
    const int64_t keys = task.z_row(b), queries = keys + size, seen = task.chunk.visible[b];
    T *between = s.slot_decay + b * size * size, *since = s.since + keys;
    decays(task.g.from(task.row(b)), size, size, between, since);
    const T* products = s.slots + b * 2 * size * size;
    T* slot_weights = s.slot_weights + b * 2 * size * size;
    for (int64_t o = 0; o < size; ++o) {
      for (int64_t j = 0; j <= o; ++j) {
        const int64_t key = o * size + j, query = (size + o) * size + j;
        slot_weights[key] = between[key] * products[key];
        slot_weights[query] = between[key] * products[query];
      }
      T* key_decay = s.decay + (keys + o) * kChunkRows;
      T* query_decay = s.decay + (queries + o) * kChunkRows;
      for (int64_t j = 0; j < rows; ++j) {
        key_decay[j] = j < seen ? kept(since[o] * s.decay[(seen - 1) * kChunkRows + j]) : 0;
        query_decay[j] = key_decay[j];
      }
    }
    for (int64_t o = 0; o < size; ++o) {
      if (seen > 0) since[o] = kept(since[o] * s.since[seen - 1]);
      since[size + o] = since[o];
    }
  }
  const int64_t own = rows * kChunkRows;
  for (int64_t i = own; i < task.z_rows() * kChunkRows; ++i) s.weights[i] = s.decay[i] * s.gram[i];
}

// Rows of n numbers behind each other, each times its factor.
template <typename T>
DRAFTLAB_INLINE void scale_rows(const T* factor, int64_t rows, int64_t n, T* x) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < n; ++c) x[r * n + c] *= factor[r];
}

// The chunk's own rows, from the first to the last.
template <typename T>
DRAFTLAB_INLINE void forward_rows(const DeltaTask<T>& task, HeadRows<T> errors) {
  const DeltaScratch<T>& s = task.scratch;
  const int64_t dv = task.dv;
  for (int64_t i = 0; i < task.rows(); ++i) {
    const int64_t row = task.chunk.first_row + i;
    const T *value = task.v[row], *read = s.reads + i * dv, beta = *task.beta[row];
    T *error = errors[row], *update = s.updates + i * dv;
    std::fill_n(update, dv, T(0));
    add_weighted<T>(s.weights + i * kChunkRows, 1, i, s.updates, dv, dv, update);
#pragma GCC ivdep
    for (int64_t c = 0; c < dv; ++c) {
      error[c] = value[c] - s.since[i] * read[c] - update[c];
      update[c] = beta * error[c];
    }
  }
}

template <typename T>
DRAFTLAB_INLINE void forward_block(const DeltaTask<T>& task, int64_t b, HeadRows<T> errors,
                                   HeadRows<T> out) {
  const DeltaScratch<T>& s = task.scratch;
  const int64_t size = task.block_size, dv = task.dv;
  const T *weights = s.slot_weights + b * 2 * size * size, *query_weights = weights + size * size;
  const T *reads = s.reads + task.z_row(b) * dv, *query_reads = reads + size * dv;
  for (int64_t o = 0; o < size; ++o) {
    const int64_t row = task.row(b) + o;
    const T *value = task.v[row], *read = reads + o * dv, beta = *task.beta[row];
    T *error = errors[row], *update = s.slot_updates + o * dv;
    std::fill_n(update, dv, T(0));
    add_weighted<T>(weights + o * size, 1, o, s.slot_updates, dv, dv, update);
#pragma GCC ivdep
    for (int64_t c = 0; c < dv; ++c) {
      error[c] = value[c] - read[c] - update[c];
      update[c] = beta * error[c];
    }
    T* answer = out[task.query_row(b) + o];
    std::copy_n(query_reads + o * dv, dv, answer);
    add_weighted<T>(query_weights + o * size, 1, o + 1, s.slot_updates, dv, dv, answer);
  }
}

template <typename T>
DRAFTLAB_INLINE void forward_chunk_of(const DeltaTask<T>& task, HeadRows<T> errors, HeadRows<T> out,
                                      T* next) {
  const DeltaScratch<T>& s = task.scratch;
  const int64_t rows = task.rows(), dk = task.dk, dv = task.dv;
  const int64_t block_rows = task.z_rows() - rows;
  weigh(task);
  gemm(false, false, task.z_rows(), dv, dk, T(1), s.z, dk, task.state, dv, T(0), s.reads, dv);
  forward_rows(task, errors);

  T* block_reads = s.reads + rows * dv;
  scale_rows<T>(s.since + rows, block_rows, dv, block_reads);
  if (rows > 0) {
    gemm(false, false, block_rows, dv, rows, T(1), s.weights + rows * kChunkRows, kChunkRows,
         s.updates, dv, T(1), block_reads, dv);
  }
  for (int64_t b = 0; b < task.blocks(); ++b) forward_block(task, b, errors, out);

  if (next == nullptr) return;
  scale_rows<T>(s.decay + (rows - 1) * kChunkRows, rows, dv, s.updates);
  std::copy_n(task.state, dk * dv, next);
  gemm(true, false, dk, dv, rows, T(1), s.z, dk, s.updates, dv, s.since[rows - 1], next, dv);
}

// From a row's y: writes its dv and dbeta, u and p, and returns dv . v.
template <typename T>
DRAFTLAB_INLINE T write_row(const DeltaTask<T>& task, const DeltaGradients<T>& to, int64_t row,
                            const T* d_update, T* update, T* p) {
  const T *error = to.errors[row], beta = *task.beta[row];
  T* d_value = to.dv[row];
  *to.dbeta[row] = dot(d_update, error, task.dv);
#pragma GCC ivdep
  for (int64_t c = 0; c < task.dv; ++c) {
    d_value[c] = beta * d_update[c];
    p[c] = -d_value[c];
    update[c] = beta * error[c];
  }
  return dot<T>(d_value, task.v[row], task.dv);
}

// dg[i] = the sum of slope[j] over j >= i.
template <typename T>
DRAFTLAB_INLINE T sum_up(const T* slope, int64_t n, HeadRows<T> dg) {
  T sum = 0;
  for (int64_t i = n - 1; i >= 0; --i) {
    sum += slope[i];
    *dg[i] = sum;
  }
  return sum;
}

template <typename T>
DRAFTLAB_INLINE void backward_block(const DeltaTask<T>& task, const DeltaGradients<T>& to,
                                    int64_t b) {
  const DeltaScratch<T>& s = task.scratch;
  const int64_t size = task.block_size, dv = task.dv;
  const T *weights = s.slot_weights + b * 2 * size * size, *query_weights = weights + size * size;
  T *p = s.reads + task.z_row(b) * dv, *query_p = p + size * dv;
  for (int64_t o = size - 1; o >= 0; --o) {
    const int64_t query_row = task.query_row(b) + o;
    const T* d_answer = to.d_out[query_row];
    std::copy_n(d_answer, dv, query_p + o * dv);
    std::fill_n(s.d_update, dv, T(0));
    add_weighted<T>(query_weights + o * size + o, size, size - o, query_p + o * dv, dv, dv,
                    s.d_update);
    add_weighted<T>(weights + (o + 1) * size + o, size, size - 1 - o, p + (o + 1) * dv, dv, dv,
                    s.d_update);
    s.slopes[o] =
        dot(d_answer, to.out[query_row], dv) -
        write_row(task, to, task.row(b) + o, s.d_update, s.slot_updates + o * dv, p + o * dv);
  }
  const T sum = sum_up<T>(s.slopes, size, to.dg.from(task.row(b)));
  if (task.chunk.visible[b] > 0) s.from_anchors[task.chunk.visible[b] - 1] += sum;

  gemm(false, true, 2 * size, size, dv, T(1), p, dv, s.slot_updates, dv, T(0), s.d_weights, size);
  T* d_slots = s.d_slots + b * 2 * size * size;
  const T* between = s.slot_decay + b * size * size;
  for (int64_t o = 0; o < size; ++o) {
    for (int64_t j = 0; j <= o; ++j) {
      const int64_t key = o * size + j, query = (size + o) * size + j;
      if (j < o) d_slots[key] += between[key] * s.d_weights[key];
      d_slots[query] += between[key] * s.d_weights[query];
    }
  }
}

// The chunk's own rows, from the last to the first: y from `d_updates`, which has what the blocks
// and the state behind the chunk add to it.
template <typename T>
DRAFTLAB_INLINE void backward_rows(const DeltaTask<T>& task, const DeltaGradients<T>& to) {
  const DeltaScratch<T>& s = task.scratch;
  const int64_t rows = task.rows(), dv = task.dv;
  for (int64_t i = rows - 1; i >= 0; --i) {
    T* d_update = s.d_updates + i * dv;
    add_weighted<T>(s.weights + (i + 1) * kChunkRows + i, kChunkRows, rows - 1 - i,
                    s.reads + (i + 1) * dv, dv, dv, d_update);
    s.slopes[i] = s.from_anchors[i] - write_row(task, to, task.chunk.first_row + i, d_update,
                                                s.updates + i * dv, s.reads + i * dv);
  }
  if (to.next != nullptr) s.slopes[rows - 1] += dot<T>(to.d_state, to.next, task.dk * dv);
  sum_up<T>(s.slopes, rows, to.dg.from(task.chunk.first_row));
}

template <typename T>
DRAFTLAB_INLINE void backward_chunk_of(const DeltaTask<T>& task, const DeltaGradients<T>& to) {
  const DeltaScratch<T>& s = task.scratch;
  const int64_t rows = task.rows(), dk = task.dk, dv = task.dv, z_rows = task.z_rows();
  const bool last = to.next == nullptr;
  weigh(task);
  std::fill_n(s.from_anchors, rows, T(0));
  for (int64_t b = 0; b < task.blocks(); ++b) backward_block(task, to, b);

  const T* to_end = last ? nullptr : s.decay + (rows - 1) * kChunkRows;
  if (last) {
    std::fill_n(s.d_updates, rows * dv, T(0));
  } else {
    gemm(false, false, rows, dv, dk, T(1), s.z, dk, to.d_state, dv, T(0), s.d_updates, dv);
    scale_rows<T>(to_end, rows, dv, s.d_updates);
  }
  if (z_rows > rows) {
    gemm(true, false, rows, dv, z_rows - rows, T(1), s.weights + rows * kChunkRows, kChunkRows,
         s.reads + rows * dv, dv, T(1), s.d_updates, dv);
  }
  backward_rows(task, to);

  gemm(false, true, z_rows, rows, dv, T(1), s.reads, dv, s.updates, dv, T(0), s.d_weights,
       kChunkRows);
  for (int64_t z = 0; z < z_rows; ++z) {
    const int64_t begin = z * kChunkRows, end = begin + (z < rows ? z : rows);
    for (int64_t i = begin; i < end; ++i) s.d_gram[i] += s.decay[i] * s.d_weights[i];
  }

  scale_rows<T>(s.since, z_rows, dv, s.reads);
  gemm(false, true, z_rows, dk, dv, T(1), s.reads, dv, task.state, dv, T(1), s.dz, dk);
  if (!last) {
    scale_rows<T>(to_end, rows, dv, s.updates);
    gemm(false, true, rows, dk, dv, T(1), s.updates, dv, to.d_state, dv, T(1), s.dz, dk);
  }
  gemm(true, false, dk, dv, z_rows, T(1), s.z, dk, s.reads, dv, last ? T(0) : s.since[rows - 1],
       to.d_state, dv);
}

}  // namespace

DRAFTLAB_CLONES void forward_chunk(const DeltaTask<float>& task, HeadRows<float> errors,
                                   HeadRows<float> out, float* next) {
  forward_chunk_of(task, errors, out, next);
}
DRAFTLAB_CLONES void forward_chunk(const DeltaTask<double>& task, HeadRows<double> errors,
                                   HeadRows<double> out, double* next) {
  forward_chunk_of(task, errors, out, next);
}
DRAFTLAB_CLONES void backward_chunk(const DeltaTask<float>& task, const DeltaGradients<float>& to) {
  backward_chunk_of(task, to);
}
DRAFTLAB_CLONES void backward_chunk(const DeltaTask<double>& task,
                                    const DeltaGradients<double>& to) {
  backward_chunk_of(task, to);
}

}  // namespace draftlab
