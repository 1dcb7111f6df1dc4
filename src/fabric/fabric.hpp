// The judge of fabrics: structure, faults, and what changed between two scans. Pure: reads model::Fabric and
// knowledge, never a file or a network. Findings take their words from data/rules/fabric.toml.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/fabric.hpp"
#include "model/fabric_report.hpp"
#include "model/machine.hpp"

namespace angio::fabric {

// What the caller knows beside the scan; all of it may be empty.
struct Surroundings {
  const std::vector<model::Machine>* machines =
      nullptr;  // snapshots of hosts: names, rails, GPUs of adapters
  std::map<std::string, std::vector<std::string>> jobs = {};  // host name → jobs that run there
  const model::Fabric* expected = nullptr;                    // a plan or an earlier scan that was good
};

model::FabricReport analyse(const model::Fabric& fabric, const Surroundings& surroundings = {});

// Why the fabric is only a part of what is there (a scan that was stopped, a text that is cut); nothing where
// nobody says so. What is not in a part is not missing.
std::optional<std::string> why_not_whole(const model::Fabric& fabric);

// 16,000 ports each in well under 50 ms. Nodes are matched by GUID, cables by both ends.
model::FabricDiff compare(const model::Fabric& before, const model::Fabric& now);

// RoCE from the hosts' own facts: their adapters, joined by the IP subnets of their addresses. For where LLDP
// is not spoken. Errors: no RoCE port.
Result<model::Fabric> make_host_fabric(std::span<const model::Machine> machines);

// Scans of several ports or planes as one: nodes by GUID, ports by number, the later counters win.
model::Fabric merge(std::vector<model::Fabric> scans);

// The text of ibnetdiscover, which its readers (ibsim, opensm's tools, Slurm's helpers) take.
std::string render_ibnetdiscover(const model::Fabric& fabric);
// Slurm's topology.conf (topology/tree): SwitchName= lines, hosts and switches as ranges where that is
// shorter. Fails where the fabric has no tree to describe: the error says why.
Result<std::string> render_slurm_topology(const model::Fabric& fabric, const model::FabricReport& report);

}  // namespace angio::fabric
