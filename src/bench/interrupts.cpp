#include "bench/interrupts.hpp"

#include <array>
#include <ctime>

namespace angio::bench {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

}  // namespace

Interrupts::Interrupts() {
  sigemptyset(&watched_);
  for (const int signal : kSignals)
    sigaddset(&watched_, signal);
  pthread_sigmask(SIG_BLOCK, &watched_, &before_);
}

Interrupts::~Interrupts() {
  const timespec no_time{};
  while (sigtimedwait(&watched_, nullptr, &no_time) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int Interrupts::pending() const {
  sigset_t waiting;
  if (sigpending(&waiting) != 0) return 0;
  for (const int signal : kSignals) {
    if (sigismember(&waiting, signal) == 1) return signal;
  }
  return 0;
}

}  // namespace angio::bench
