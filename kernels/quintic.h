#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace draftlab {

// One step of a Newton-Schulz chain: X <- a X + b (X X^T) X + c (X X^T)^2 X, that is
// p(x) = a x + b x^3 + c x^5 on singular values. c == 0 makes it a cubic, which needs no (X X^T)^2.
struct Quintic {
  double a, b, c;
  double operator()(double x) const { return x * (a + x * x * (b + x * x * c)); }
};

// The step k = 0, 1, ... of a chain: the table's, or its last one repeated. (Starting over, as some
// implementations do, is wrong for every table that varies: the first step is made for tiny
// singular values and undoes what the chain has reached.) REQUIRES: table not empty, k >= 0.
const Quintic& quintic(const std::vector<Quintic>& table, int64_t k);

// The published tables:
//   kj5       Keller Jordan's Muon, torch.optim.Muon, Moonlight, optax: one triple, any number of
//             steps; singular values end between .68 and 1.20
//   you5      Jiacheng You's, of dion and Emerging-Optimizers
//   aol4      flash-newton-schulz (Turbo-Muon), made for rows scaled by AOL
//   pe5_gns   Gram Newton-Schulz: Polar Express as in the paper (arXiv 2505.16932), the first five
//             of eight triples, divided by 1.05
//   cans5     CANS (Grishina et al.), as in Emerging-Optimizers; the matrix must have a spectral
//             norm of at most 1.0001: give it a safety of 1.01 or more
//   dsv4_10   DeepSeek-V4: eight steps of kj5 and two that converge
//   cubic5    five cubics (arXiv 2606.00371)
//   classic3, classic5   the Taylor polynomials 3/2, -1/2 and 15/8, -10/8, 3/8; any number of steps
// kj5, you5 and classic* may be cut at any length; the others only make sense whole. What a user
// chooses from are the orthogonalizers of record/orthogonalizer.h, which name these tables. Throws
// Error for an unknown name, with the known ones.
const std::vector<Quintic>& quintic_table(const std::string& name);
std::vector<std::string> quintic_table_names();

// Polar Express (Amsel et al., arXiv 2505.16932, and its authors' code): the composition of `steps`
// odd quintics that brings [lower_bound, 1] closest to 1, found greedily by Remez' algorithm. All
// but the last are shrunk by 1 + safety, so that rounding above 1 stays harmless. No interval
// reaches further down than `cushion` times its upper end: steeper polynomials would lift small
// singular values at the cost of the large ones. Throws Error unless 0 < lower_bound < 1,
// steps >= 1, safety >= 0 and 0 < cushion < 1.
std::vector<Quintic> polar_express_quintics(double lower_bound, int64_t steps, double safety,
                                            double cushion);

}  // namespace draftlab
