// Test support: one line that says what an import gave. Header only; product code does not use it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "import/import.hpp"

namespace angio::import {

inline std::string facts_of(std::string_view bytes, const std::string& name) {
  const Result<model::Machine> machine = import_machine(bytes, name);
  if (!machine)
    return "refused: " +
           machine.error().message.substr(std::min(name.size() + 2, machine.error().message.size()));
  std::string facts =
      fmt::format("{}: {} gpu, {} rdma, {} net, {} node, {} cpu, {} pci", name_of(recognise(bytes)),
                  machine->gpus.size(), machine->rdma.size(), machine->networks.size(),
                  machine->numa.nodes.size(), machine->cpus.online.size(), machine->pci.devices.size());
  if (machine->stated_paths) facts += fmt::format(", matrix {}", machine->stated_paths->devices.size());
  for (const model::Note& note : machine->notes)
    facts += fmt::format("; {} {}", note.id, note.count);
  return facts;
}

}  // namespace angio::import
