#include "runner/interrupt.h"

#include <signal.h>

#include <iterator>

namespace draftlab {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
constexpr size_t kCount = std::size(kSignals);

volatile sig_atomic_t interrupts = 0;
struct sigaction previous[kCount];

void on_signal(int number) {
  if (number == SIGINT || interrupts == 0) interrupts = interrupts + 1;
}

}  // namespace

InterruptCounter::InterruptCounter() {
  interrupts = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;  // without SA_RESTART, so that poll returns
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kCount; ++i) {
    ::sigaction(kSignals[i], &action, &previous[i]);
    // nohup's wish stands.
    if (previous[i].sa_handler == SIG_IGN) ::sigaction(kSignals[i], &previous[i], nullptr);
  }
}

InterruptCounter::~InterruptCounter() {
  for (size_t i = 0; i < kCount; ++i) ::sigaction(kSignals[i], &previous[i], nullptr);
}

int InterruptCounter::count() { return interrupts; }

}  // namespace draftlab
