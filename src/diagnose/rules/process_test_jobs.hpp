// Jobs on the test machines, for tests of process rules: healthy ones that a test then binds or sets wrong.
#pragma once

#include <map>
#include <string>

#include "diagnose/test_machines.hpp"

namespace angio::test {

inline model::Process rank(std::uint32_t index, CpuSet cpus) {
  model::Process process;
  process.id = 1000 + index;
  process.command = "python";
  process.gpus = {index};
  process.threads = {{process.id, "python", known(std::move(cpus), "Cpus_allowed_list"), known(0U, "stat")}};
  process.bytes_per_node =
      known(std::map<std::uint32_t, std::uint64_t>{{index / 4, 8ULL << 30U}}, "numa_maps");
  return process;
}

// Eight ranks, each on its own seven CPUs of the right node.
inline Machine training() {
  Machine machine = dgx_h100();
  for (std::uint32_t i = 0; i < 8; ++i)
    machine.processes.push_back(rank(i, cpu_range(i * 14, 14)));
  return machine;
}

inline Machine with(const std::string& name, const std::string& value) {
  Machine machine = training();
  for (model::Process& process : machine.processes)
    process.settings.push_back({name, value, at("environ")});
  return machine;
}

inline std::string title_of(const Machine& machine, const std::string& rule) {
  return findings_of(machine, rule).at(0).title;
}

inline model::Gid gid(std::uint32_t index, const std::string& text, const std::string& type = "RoCE v2") {
  model::Gid one;
  one.index = index;
  one.gid = text;
  one.type = known(type, "types");
  return one;
}

inline const std::string kLinkLocal = "fe80:0000:0000:0000:0000:0000:0000:0001";
inline const std::string kRoutable = "0000:0000:0000:0000:0000:ffff:0a00:0001";

// As mlx5 fills it: 0 and 1 link-local, 3 the IPv4 address as RoCE v2.
inline void make_roce(Machine& machine) {
  for (auto& device : machine.rdma) {
    device.ports[0].link_layer = model::LinkLayer::kEthernet;
    device.ports[0].gids = {gid(0, kLinkLocal, "IB/RoCE v1"), gid(1, kLinkLocal), gid(3, kRoutable)};
  }
}

inline void map_nccl(Machine& machine, const std::string& version) {
  for (model::Process& process : machine.processes) {
    process.libraries = {{"libnccl.so.2", "/opt/nccl/libnccl.so." + version, version, at("maps")}};
  }
}

}  // namespace angio::test
