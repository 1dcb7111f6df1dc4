// Signals of the supervisor as messages to read, and the state before them for its children.
#pragma once

#include <signal.h>

#include <optional>

#include "host/descriptor.hpp"

namespace angio::launch {

// While it lives, the signals that a group cares about wait in descriptor() instead of acting. A signal that
// was ignored when angio started (nohup, a background job of sh) stays ignored.
class SignalInbox {
 public:
  SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;
  ~SignalInbox();
  [[nodiscard]] int descriptor() const { return inbox_.get(); }
  // The next signal; none waits: empty.
  [[nodiscard]] std::optional<int> next() const;
  // In a child before exec: the mask and SIGPIPE as they came.
  void restore() const;

 private:
  sigset_t before_{};
  struct sigaction pipe_before_{};
  struct sigaction child_before_{};
  host::Descriptor inbox_;
};

}  // namespace angio::launch
