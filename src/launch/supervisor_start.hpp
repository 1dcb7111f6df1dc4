// From a command to a running process: fork, standard streams, the hook, exec; and the error if that fails.
#pragma once

#include <sys/resource.h>

#include <cstddef>

#include "base/error.hpp"
#include "launch/supervisor.hpp"
#include "launch/supervisor_signals.hpp"

namespace angio::launch {

// What the child gets as 0, 1 and 2; -1: what this process has.
struct Streams {
  int in = -1;
  int out = -1;
  int err = -1;
};

// The soft limit of open files, raised for the supervisor while this lives. A rank gets it as it was:
// select(2) breaks above 1024.
class DescriptorLimit {
 public:
  DescriptorLimit();
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  ~DescriptorLimit() { restore(); }
  // Room for so many descriptors more than the usual few.
  Result<void> make_room(std::size_t more) const;
  void restore() const;

 private:
  rlimit before_{};
};

// What the supervisor changed of its own process and a child must not inherit.
struct Changed {
  const SignalInbox& signals;
  const DescriptorLimit& descriptors;
};

// The pid of a process that runs the command, as leader of a process group of its own.
Result<int> start_rank(const RankCommand& command, const Streams& streams, const Changed& changed,
                       const ChildHook& before_exec);

}  // namespace angio::launch
