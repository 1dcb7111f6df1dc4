// Ctrl-C without a signal handler: while this lives, SIGINT, SIGTERM and SIGHUP wait, and whoever works asks
// now and then whether one has come. Threads made meanwhile inherit the blocked mask; children must not
// (child.hpp).
#pragma once

#include <csignal>

namespace angio::bench {

class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();  // takes what came, so that the program ends as it decided to

  // The signal that came; 0: none.
  [[nodiscard]] int pending() const;
  [[nodiscard]] const sigset_t& watched() const { return watched_; }
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t watched_{};
  sigset_t before_{};
};

}  // namespace angio::bench
