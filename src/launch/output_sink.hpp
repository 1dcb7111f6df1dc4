// One of our output streams (standard output or error), written without ever blocking the supervisor: a slow
// reader must slow the ranks, not Ctrl-C.
// Not the place where lines are put together: output.hpp.
#pragma once

#include <cstddef>
#include <string>

#include "host/descriptor.hpp"

namespace angio::launch {

class Sink {
 public:
  enum class State {
    kReady,    // took all it was given
    kBlocked,  // took a part: wait until descriptor() is writable
    kClosed,   // nobody reads it any more
    kBroken,   // error() says why; what it is given now is thrown away
  };

  // fd stays the caller's.
  explicit Sink(int fd);
  // Writes from the front of text and removes what was written. Text for a closed or broken sink vanishes.
  State write(std::string& text);
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] int descriptor() const { return fd_; }
  // The two descriptors are the same file, terminal or pipe.
  [[nodiscard]] static bool same(int a, int b);

 private:
  enum class Way { kPlain, kNonblocking, kSocket };
  int fd_;
  host::Descriptor own_;  // of the same pipe or terminal, but non-blocking
  Way way_ = Way::kPlain;
  std::size_t most_ = 0;  // bytes in one write
  State state_ = State::kReady;
  int error_ = 0;
};

}  // namespace angio::launch
