#pragma once

#include <stdexcept>
#include <string>

namespace draftlab {

// The one error type. Its text says where (file, key or run), what is wrong and what to do, e.g.
//   sweeps/quick.json: arms[1].optimizer.learning_rate: must be above 0, is -1; give a positive
//   number
// Thrown for what a user or the machine can cause; caught in `main` and around one segment. Our own
// mistakes are asserts.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  Error(const std::string& where, const std::string& what) : runtime_error(where + ": " + what) {}
};

}  // namespace draftlab
