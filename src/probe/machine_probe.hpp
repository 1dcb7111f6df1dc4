// The whole machine from one Root: runs every probe in the order that later ones need.
// Missing data is never an error here; the machine says what is unknown and why.
#pragma once

#include <cstdint>
#include <vector>

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

struct ProbeOptions {
  std::vector<std::uint32_t> processes;  // besides those that use a GPU
  bool with_processes = true;
};

model::Machine probe_machine(const host::Root& root, const ProbeOptions& options);

}  // namespace angio::probe
