// The table of this process: read once, at the first communicator, and kept until NCCL unloads the plugin. A
// file that is replaced meanwhile changes nothing, so that communicators of one job do not differ.
#pragma once

#include <memory>
#include <string>

#include "tuner/table.hpp"

namespace angio::tuner {

struct Loaded {
  std::string path;
  std::shared_ptr<const Table> table;  // null: problem says why
  std::string problem;
};

struct Load {
  std::shared_ptr<const Loaded> loaded;
  bool first = false;  // this call read it: the one that logs
};

// The table that the process holds already, else that of path (null: none is named).
Load load_table(const char* path);

}  // namespace angio::tuner
