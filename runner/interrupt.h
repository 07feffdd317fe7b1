#pragma once

namespace draftlab {

// While one lives, SIGINT, SIGTERM and SIGHUP no longer end the program but are counted; waiting
// system calls return early. One at a time.
class InterruptCounter {
 public:
  InterruptCounter();
  ~InterruptCounter();
  InterruptCounter(const InterruptCounter&) = delete;
  InterruptCounter& operator=(const InterruptCounter&) = delete;
  static int count();
};

}  // namespace draftlab
