// Fills machine.processes: those that use a GPU and those named, with threads, pages and mapped libraries.
#pragma once

#include <cstdint>
#include <vector>

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

void probe_processes(const host::Root& root, const std::vector<std::uint32_t>& named,
                     model::Machine& machine);

}  // namespace angio::probe
