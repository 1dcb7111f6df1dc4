#include "probe/process/process_facts.hpp"

#include "probe/process/process_parts.hpp"

namespace angio::probe::process {
namespace {

// Not collected when the file has no such line: the dead have no memory, old snapshots lack some lines.
template <typename T>
Observed<T> field(const Place& place, const host::Read<std::string>& status, const std::optional<T>& value) {
  if (value || !status) return value_or_reason(place, "status", value, status);
  return Observed<T>();
}

}  // namespace

GpusByProcess gpu_users(const host::Root& root, const model::Machine& machine) {
  GpusByProcess users;
  for (const model::Gpu& gpu : machine.gpus) {
    const std::uint32_t* index = gpu.library_index.get();
    if (index == nullptr) continue;
    const std::string list = root.read("/@nvml/gpu/" + std::to_string(*index) + "/processes").value_or("");
    for (const std::string_view line : split_lines(list)) {
      const auto id = parse_integer<std::uint32_t>(line.substr(0, line.find(' ')));
      if (!id) continue;
      std::vector<std::uint32_t>& gpus = users[*id];
      if (gpus.empty() || gpus.back() != gpu.index) gpus.push_back(gpu.index);
    }
  }
  return users;
}

void take_status(const Place& place, const host::Read<std::string>& status, model::Process& process) {
  const std::string text = status.value_or("");
  const auto parent = status_field(text, "PPid");
  process.parent = field(place, status, parent ? parse_integer<std::uint32_t>(*parent) : std::nullopt);
  process.pinned = field(place, status, status_bytes(text, "VmPin"));
  process.locked = field(place, status, status_bytes(text, "VmLck"));
  const auto nodes = status_field(text, "Mems_allowed_list");
  process.allowed_memory =
      value_or_reason(place, "status", nodes ? parse_cpu_list(*nodes) : std::nullopt, status);
}

void take_memory(const Place& place, model::Process& process) {
  using Nodes = std::map<std::uint32_t, std::uint64_t>;
  using Kinds = std::map<std::uint32_t, model::MemoryKinds>;
  using Policies = std::map<std::string, std::uint64_t>;
  const host::Read<std::string> text = place.root().read(place.path("numa_maps"));
  if (!text) {
    process.bytes_per_node = place.missing<Nodes>("numa_maps", text.error());
    process.memory = place.missing<Kinds>("numa_maps", text.error());
    process.policies = place.missing<Policies>("numa_maps", text.error());
    return;
  }
  MemoryUse use = parse_numa_maps(*text);
  const model::Source source = place.source("numa_maps");
  process.bytes_per_node = Observed<Nodes>::known(std::move(use.bytes_per_node), source);
  process.memory = Observed<Kinds>::known(std::move(use.kinds), source);
  process.policies = Observed<Policies>::known(std::move(use.policies), source);
}

}  // namespace angio::probe::process
