#pragma once

#include <cmath>
#include <cstdint>

namespace at {
class Tensor;  // declared only, so that adamw_step.cu needs no ATen
}

namespace draftlab {

// The constants of one AdamW step (Loshchilov and Hutter 2019, in the order of torch.optim.AdamW):
//   m <- beta1 m + (1 - beta1) g
//   v <- beta2 v + (1 - beta2) g^2
//   u = m / (1 - beta1^m_steps) / (sqrt(v) / sqrt(1 - beta2^v_steps) + epsilon)
//   w <- w (1 - learning_rate weight_decay) - learning_rate u
struct AdamWStep {
  double learning_rate = 0;  // of this step, schedule included
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  // Steps that m and v average over, this one included: 1, 2, ...
  int64_t m_steps = 1, v_steps = 1;
  // Only entries with u w >= 0 decay (Chen et al. 2025, arXiv 2510.12402), w before the step.
  bool cautious_decay = false;
  // C-AdamW (Liang et al. 2024, arXiv 2411.16085): u <- u mask / max(mean(mask), 1e-3) with
  // mask = [u g > 0].
  bool cautious = false;
};

// The same, computed in float64 and rounded once to the type of the tensors.
template <typename T>
struct AdamWConstants {
  explicit AdamWConstants(const AdamWStep& step)
      : decay(static_cast<T>(1 - step.learning_rate * step.weight_decay)),
        beta1(static_cast<T>(step.beta1)),
        rest1(static_cast<T>(1 - step.beta1)),
        beta2(static_cast<T>(step.beta2)),
        rest2(static_cast<T>(1 - step.beta2)),
        rate(static_cast<T>(step.learning_rate /
                            (1 - std::pow(step.beta1, static_cast<double>(step.m_steps))))),
        scale(static_cast<T>(
            1 / std::sqrt(1 - std::pow(step.beta2, static_cast<double>(step.v_steps))))),
        epsilon(static_cast<T>(step.epsilon)) {}

  T decay;         // 1 - learning_rate weight_decay
  T beta1, rest1;  // beta1, 1 - beta1
  T beta2, rest2;  // beta2, 1 - beta2
  T rate;          // learning_rate / (1 - beta1^m_steps)
  T scale;         // 1 / sqrt(1 - beta2^v_steps)
  T epsilon;
};

// The specification, one ATen operation after the other. w, g, m, v: same shape, floating dtype and
// device; updates w, m and v in place.
void adamw_step_plain(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                      const AdamWStep& step);

// The same in one pass over memory (two, where `cautious`) where the tensors are contiguous float32
// or float64 on the CPU, or contiguous float32 on a GPU (on the current stream; not the cautious
// forms); otherwise the plain version. Differs from it in rounding only. On the CPU the bits depend
// neither on the number of threads nor on the instruction set.
void adamw_step(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                const AdamWStep& step);

// The GPU's part: n floats each in device memory; `stream` is a cudaStream_t. Returns at once.
// Throws Error if the launch fails, and in a build without CUDA.
void adamw_step_cuda(float* w, const float* g, float* m, float* v, int64_t n, const AdamWStep& step,
                     void* stream);

}  // namespace draftlab
