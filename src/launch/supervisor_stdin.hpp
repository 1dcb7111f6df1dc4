// Standard input for rank 0. A file or pipe is handed over as it is. A terminal is not: the ranks are no
// foreground group, so reading would stop rank 0; its lines are passed on through a pipe instead.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "host/descriptor.hpp"

namespace angio::launch {

class Input {
 public:
  // What rank 0 gets as its standard input, to be closed here once it runs; -1: the one of this process.
  Result<host::Descriptor> open();
  void watch(std::vector<pollfd>& wanted) const;
  // Passes on what can be read now.
  void pump();

 private:
  host::Descriptor to_rank_;
  std::string held_;
};

// For the other ranks.
Result<host::Descriptor> open_nothing();

}  // namespace angio::launch
