// The recurrence row by row: the specification of kernels/gated_delta_rule.h.
#include <ATen/ATen.h>

#include <vector>

#include "kernels/gated_delta_rule.h"

namespace draftlab {
namespace {

// Rows [*, heads*dim] with one line a value head, [*, nv, dim].
at::Tensor by_value_head(const at::Tensor& x, int64_t heads, int64_t value_heads) {
  return x.unflatten(1, {heads, -1}).repeat_interleave(value_heads / heads, 1);
}
// The other way: the sum over the value heads that share a head, [*, nv, dim] to [*, heads*dim].
at::Tensor by_head(const at::Tensor& x, int64_t heads) {
  return x.unflatten(1, {heads, -1}).sum(2).flatten(1);
}

// S^T x for every head: [nv, dk, dv] and [nv, dk] give [nv, dv].
at::Tensor read(const at::Tensor& state, const at::Tensor& x) {
  return (state * x.unsqueeze(2)).sum(1);
}
at::Tensor outer_product(const at::Tensor& x, const at::Tensor& y) {
  return x.unsqueeze(2) * y.unsqueeze(1);
}

// All rows by value head: q [N*B, nv, dk], k [T + N*B, nv, dk], v [T + N*B, nv, dv], gates [T +
// N*B, nv].
struct Rows {
  at::Tensor q, k, v, decay, beta;

  Rows(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& g,
       const at::Tensor& beta, const DeltaHeads& heads)
      : q(by_value_head(q, heads.key, heads.value)),
        k(by_value_head(k, heads.key, heads.value)),
        v(by_value_head(v, heads.value, heads.value)),
        decay(g.exp()),
        beta(beta) {}

  at::Tensor decayed(const at::Tensor& state, int64_t row) const {
    return state * decay[row].view({-1, 1, 1});
  }
  at::Tensor error(const at::Tensor& decayed, int64_t row) const {
    return v[row] - read(decayed, k[row]);
  }
  // The state behind a row from the state before it.
  at::Tensor next(const at::Tensor& state, int64_t row) const {
    const at::Tensor before = decayed(state, row);
    return before + outer_product(k[row], beta[row].unsqueeze(1) * error(before, row));
  }
};

// The states before and behind the rows [begin, end): one more than rows.
std::vector<at::Tensor> states_over(const Rows& rows, int64_t begin, int64_t end,
                                    at::Tensor state) {
  std::vector<at::Tensor> states = {state};
  for (int64_t row = begin; row < end; ++row) states.push_back(rows.next(states.back(), row));
  return states;
}

struct Gradients {
  Rows d;

  // From the gradient of the state behind `row`, that of the state before; the row's own are
  // written.
  at::Tensor back(const Rows& rows, const at::Tensor& state, const at::Tensor& d_next,
                  int64_t row) {
    const at::Tensor k = rows.k[row], step = rows.beta[row].unsqueeze(1);
    const at::Tensor before = rows.decayed(state, row), error = rows.error(before, row);
    const at::Tensor along = read(d_next, k);  // [nv, dv]
    const at::Tensor d_error = step * along;
    d.beta[row].copy_((along * error).sum(1));
    d.v[row].copy_(d_error);
    d.k[row].copy_((d_next * (step * error).unsqueeze(1)).sum(2) -
                   (before * d_error.unsqueeze(1)).sum(2));
    const at::Tensor d_before = d_next - outer_product(k, d_error);
    d.decay[row].copy_((d_before * before).sum(at::IntArrayRef{1, 2}));  // of g = log(decay)
    return rows.decayed(d_before, row);
  }
};

// work(n, first row, states) for every block of every sequence that has some, where `states` are
// those before and behind the sequence's context rows; then done(sequence, states).
template <typename Block, typename Done>
void for_each_sequence(const Rows& rows, const BlockLayout& layout, const DeltaHeads& heads,
                       const at::Tensor* initial, const Block& block, const Done& done) {
  const int64_t blocks = static_cast<int64_t>(layout.block_anchor.size());
  for (int64_t n = 0; n < blocks;) {
    const int64_t sequence = layout.block_sequence[n];
    const int64_t begin = layout.sequence_begin[sequence];
    const at::Tensor start =
        initial == nullptr
            ? at::zeros({heads.value, heads.key_dim, heads.value_dim}, rows.v.options())
            : (*initial)[sequence];
    const std::vector<at::Tensor> states =
        states_over(rows, begin, layout.sequence_begin[sequence + 1], start);
    for (; n < blocks && layout.block_sequence[n] == sequence; ++n) {
      TORCH_CHECK(layout.block_anchor[n] < static_cast<int64_t>(states.size()),
                  "gated_delta_rule: anchor ", layout.block_anchor[n],
                  " lies behind the end of sequence ", sequence);
      if (layout.block_anchor[n] >= 0) block(n, states);
    }
    done(sequence, states);
  }
}

}  // namespace

void plain_gated_delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& g, const at::Tensor& beta, const BlockLayout& layout,
                            const DeltaHeads& heads, const at::Tensor& out,
                            const at::Tensor* initial) {
  const Rows rows(q, k, v, g, beta, heads);
  out.zero_();
  for_each_sequence(
      rows, layout, heads, initial,
      [&](int64_t n, const std::vector<at::Tensor>& states) {
        at::Tensor state = states[layout.block_anchor[n]];
        for (int64_t r = n * layout.block_size; r < (n + 1) * layout.block_size; ++r) {
          state = rows.next(state, layout.context_rows() + r);
          out[r].copy_(read(state, rows.q[r]).flatten());
        }
      },
      [](int64_t, const std::vector<at::Tensor>&) {});
}

void plain_gated_delta_rule_backward(const at::Tensor& d_out, const at::Tensor& q,
                                     const at::Tensor& k, const at::Tensor& v, const at::Tensor& g,
                                     const at::Tensor& beta, const BlockLayout& layout,
                                     const DeltaHeads& heads, const at::Tensor& dq,
                                     const at::Tensor& dk, const at::Tensor& dv,
                                     const at::Tensor& dg, const at::Tensor& dbeta,
                                     const at::Tensor* initial) {
  const Rows rows(q, k, v, g, beta, heads);
  Gradients to = {rows};
  for (at::Tensor* x : {&to.d.q, &to.d.k, &to.d.v, &to.d.decay, &to.d.beta})
    *x = at::zeros_like(*x);
  const at::Tensor d_read = d_out.unflatten(1, {heads.value, -1});
  std::vector<at::Tensor> d_states;  // what the blocks at each anchor add
  for_each_sequence(
      rows, layout, heads, initial,
      [&](int64_t n, const std::vector<at::Tensor>& context) {
        const int64_t anchor = layout.block_anchor[n], first = n * layout.block_size;
        const int64_t row = layout.context_rows() + first;
        const std::vector<at::Tensor> states =
            states_over(rows, row, row + layout.block_size, context[anchor]);
        at::Tensor d_state = at::zeros_like(context[anchor]);
        for (int64_t o = layout.block_size - 1; o >= 0; --o) {
          to.d.q[first + o].copy_((states[o + 1] * d_read[first + o].unsqueeze(1)).sum(2));
          d_state = to.back(rows, states[o],
                            d_state + outer_product(rows.q[first + o], d_read[first + o]), row + o);
        }
        d_states.resize(context.size());
        d_states[anchor] = d_states[anchor].defined() ? d_states[anchor] + d_state : d_state;
      },
      [&](int64_t sequence, const std::vector<at::Tensor>& states) {
        d_states.resize(states.size());
        at::Tensor d_state = at::zeros_like(states[0]);
        for (int64_t j = static_cast<int64_t>(states.size()) - 1; j > 0; --j) {
          if (d_states[j].defined()) d_state = d_state + d_states[j];
          d_state = to.back(rows, states[j - 1], d_state, layout.sequence_begin[sequence] + j - 1);
        }
        d_states.clear();
      });
  dq.copy_(by_head(to.d.q, heads.key));
  dk.copy_(by_head(to.d.k, heads.key));
  dv.copy_(to.d.v.flatten(1));
  dg.copy_(to.d.decay);
  dbeta.copy_(to.d.beta);
}

}  // namespace draftlab
