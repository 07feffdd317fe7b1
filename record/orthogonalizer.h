#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace draftlab {

// What planning and reporting must know of a way to orthogonalize a matrix; its mathematics is in
// `kernels` (newton_schulz.h, quintic.h).
struct OrthogonalizerKind {
  std::string name;        // "kj5"
  std::string summary;     // one sentence
  std::string source;      // paper or project
  std::string normalizer;  // what bounds the singular values by 1: "frobenius", "schatten4", "aol";
                           // "": nothing
  std::string table;       // of kernels/quintic.h; "generated": Polar Express; "": exact
  int64_t steps = 0;       // by default
  int64_t fewest_steps = 0;  // a table that makes sense only as a whole has its length here
  double safety = 0;         // the norm is multiplied by 1 + safety
  // The source's own floor, for "epsilon": "published": norm + epsilon, or max(norm, epsilon).
  double epsilon = 0;
  bool at_least = false;
  bool cubic = false;  // x^5 is absent: two products a step instead of three
  int64_t restart =
      -1;  // Gram form with X formed anew before this step (0: never); -1: no Gram form
};

const std::vector<OrthogonalizerKind>& orthogonalizer_kinds();
// Throws Error listing the known ones. "aol4_old" is refused with the reason.
const OrthogonalizerKind& orthogonalizer_kind(const std::string& name, const std::string& where);

// Matrix products of one orthogonalization of a rows x cols matrix as its source states it, without
// using symmetry, and their operations (2 a multiply-add). `restart` as above, for the Gram form
// where the matrix is not square. The SVD of "exact" counts as 4 m^2 n + 22 m^3, m <= n.
struct ProductCount {
  int64_t products = 0;
  double flop = 0;
};
ProductCount count_products(const OrthogonalizerKind& kind, int64_t steps, int64_t restart,
                            int64_t rows, int64_t cols);

}  // namespace draftlab
