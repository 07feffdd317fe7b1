#include "runner/interrupt.h"

#include <signal.h>

namespace draftlab {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile sig_atomic_t interrupts = 0;
struct sigaction previous[3];

void on_signal(int) { interrupts = interrupts + 1; }

}  // namespace

InterruptCounter::InterruptCounter() {
  interrupts = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;  // without SA_RESTART, so that poll returns
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 3; ++i) {
    ::sigaction(kSignals[i], &action, &previous[i]);
    // nohup's wish stands.
    if (previous[i].sa_handler == SIG_IGN) ::sigaction(kSignals[i], &previous[i], nullptr);
  }
}

InterruptCounter::~InterruptCounter() {
  for (int i = 0; i < 3; ++i) ::sigaction(kSignals[i], &previous[i], nullptr);
}

int InterruptCounter::count() { return interrupts; }

}  // namespace draftlab
