// Stands in for the .cu files where CUDA is off.
#include "base/error.h"
#include "kernels/adamw_step.h"

namespace draftlab {

void adamw_step_cuda(float*, const float*, float*, float*, int64_t, const AdamWStep&, void*) {
  throw Error("adamw_step_cuda", "built without CUDA; configure with the preset cuda");
}

}  // namespace draftlab
