#pragma once

#include <cstddef>
#include <vector>

namespace draftlab {

// Which tasks run alone, one after the other with all threads inside, and which run side by side
// on one thread each.
struct Distribution {
  std::vector<size_t> alone;
  std::vector<std::vector<size_t>> by_thread;  // disjoint, one list a thread
};

// Shares out tasks of the given costs so that all threads finish early: the largest ones alone, as
// many as pay, the others in order of cost to the thread that is free first. Threads inside one
// task are counted as `efficiency` of themselves. A pure function, so that the bits of a step
// depend on the number of threads and on nothing else.
Distribution distribute(const std::vector<double>& costs, int threads, double efficiency = 0.88);

}  // namespace draftlab
