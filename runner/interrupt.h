#pragma once

namespace draftlab {

// While one lives, the signals by which users, terminals and batch systems ask a program to stop
// (INT, TERM, HUP, USR1, USR2, XCPU) no longer end it but are counted; waiting system calls return
// early. Only a repeated INT, the impatient Ctrl-C, counts more than once: batch systems repeat the
// others on their own. One for a whole command: what is counted is not forgotten between its parts.
class InterruptCounter {
 public:
  InterruptCounter();
  ~InterruptCounter();
  InterruptCounter(const InterruptCounter&) = delete;
  InterruptCounter& operator=(const InterruptCounter&) = delete;
  static int count();
};

}  // namespace draftlab
