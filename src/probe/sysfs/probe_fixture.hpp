// Hand-written machines for the tests of this folder: paths and their content, nothing else exists.
// Test code only.
#pragma once

#include <map>
#include <string>

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe::test {

using Files = std::map<std::string, std::string>;

inline host::Recording recording_of(const Files& files) {
  host::Recording recording;
  for (const auto& [path, content] : files)
    recording[path].content = content;
  return recording;
}

using Probe = void (*)(const host::Root&, model::Machine&);

inline model::Machine machine_of(host::Recording recording, Probe probe, model::Machine machine = {}) {
  const auto root = host::make_memory_root(std::move(recording), host::Scope::kComplete);
  probe(*root, machine);
  return machine;
}

inline model::Machine machine_of(const Files& files, Probe probe, model::Machine machine = {}) {
  return machine_of(recording_of(files), probe, std::move(machine));
}

}  // namespace angio::probe::test
