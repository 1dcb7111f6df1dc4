// The ways within a node: NVLink and peer access against host memory, and the topology file that decides
// them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/nccl.hpp"
#include "diagnose/rules/nccl_events.hpp"
#include "diagnose/rules/nccl_ways.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::nccl {
namespace {

using model::Machine;
using model::NcclCommunicator;
using model::NcclEventKind;
using model::NcclLog;
using model::NcclRank;
using model::NcclSetting;
using model::NcclTransportCount;

bool link_is_nvlink(const model::NcclSystem& system) {
  return std::ranges::any_of(system.nodes,
                             [](const model::NcclSystemNode& node) { return node.link == "NVL"; }) ||
         std::ranges::any_of(system.paths, [](const model::NcclPathRow& row) {
           return std::ranges::any_of(row.cells,
                                      [](const model::NcclPathCell& cell) { return cell.type == "NVL"; });
         });
}

// Bridges join pairs of GPUs only: a ring over all of them must leave NVLink, and that is no fault.
bool joins_all(const model::NcclSystem& system) {
  const auto is_switch = [](const model::NcclSystemNode& node) {
    return node.link == "NVL" && node.name.starts_with("NVS");
  };
  if (std::ranges::any_of(system.nodes, is_switch)) return true;
  bool any = false;
  for (const model::NcclPathRow& row : system.paths) {
    if (!row.from.starts_with("GPU")) continue;
    for (const model::NcclPathCell& cell : row.cells) {
      if (!cell.to.starts_with("GPU")) continue;
      if (cell.type != "NVL" && cell.type != "NVB" && cell.type != "LOC") return false;
      any = true;
    }
  }
  return any;
}

// Multicast is a matter of NVLink switches: a host that has it joins all of its GPUs. Only hosts count whose
// GPUs talk through host memory, and whose topology is not in the log: that says more.
const NcclRank* multicast_rank(const NcclLog& log) {
  std::set<std::string> hosts;
  each_transport(log, over_shm, [&](const auto&, const NcclRank& rank, const NcclTransportCount&) {
    hosts.insert(host_of(log, rank));
  });
  for (const model::NcclSystem& system : log.systems)
    hosts.erase(system.host);
  for (const NcclCommunicator& communicator : log.communicators)
    for (const NcclRank& rank : communicator.ranks)
      if (rank.nvls == true && hosts.contains(host_of(log, rank))) return &rank;
  return nullptr;
}

// What joins the GPUs of a node: NCCL's own topology says it, or the snapshot's links.
struct Nvlink {
  bool some = false;
  bool all = false;
};
std::optional<Nvlink> nvlink_of(const Machine& machine, const NcclLog& log,
                                std::vector<model::Evidence>& evidence) {
  for (const model::NcclSystem& system : log.systems) {
    if (!link_is_nvlink(system)) continue;
    evidence.push_back(seen(log, system.source, "NCCL's topology of " + system.host + " has NVLink"));
    return Nvlink{true, joins_all(system)};
  }
  constexpr int kRing = 4;  // a ring that NCCL planned over NVLink alone
  for (const NcclCommunicator& communicator : log.communicators) {
    for (const model::NcclPattern& pattern : communicator.patterns) {
      if (pattern.pattern != kRing || (pattern.type_intra != "NVL" && pattern.type_intra != "NVB")) continue;
      evidence.push_back(
          seen(log, pattern.source, "NCCL planned its ring over NVLink (type " + pattern.type_intra + ")"));
      return Nvlink{true, true};
    }
  }
  if (const NcclRank* rank = multicast_rank(log)) {
    evidence.push_back(seen(log, rank->nvls_source,
                            name_of(log, rank->process) + ": NVLS multicast support is available: NVLink"));
    return Nvlink{true, true};
  }
  for (const model::Gpu& gpu : machine.gpus) {
    const auto active = std::ranges::count(gpu.links, model::LinkState::kActive, &model::GpuLink::state);
    if (active == 0) continue;
    evidence.push_back(
        {fmt::format("{} has {} active NVLinks", gpu_label(gpu), active), "snapshot of " + machine.name});
    const bool by_switch = std::ranges::any_of(
        gpu.links, [](const model::GpuLink& link) { return link.peer_kind == model::PeerKind::kSwitch; });
    return Nvlink{true, by_switch};
  }
  if (!log.systems.empty() || !machine.gpus.empty()) return Nvlink{};
  return std::nullopt;
}

bool is_p2p_switch_off(const NcclSetting& setting) {
  if (setting.name == "NCCL_P2P_DISABLE") return is_on(setting);
  return setting.name == "NCCL_P2P_LEVEL" && (setting.value == "LOC" || setting.value == "0");
}

const NcclSetting* p2p_switch(const NcclLog& log) {
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"})
    for (const NcclSetting* setting : settings_of(log, name))
      if (is_p2p_switch_off(*setting)) return setting;
  return nullptr;
}

// A ring whose hops within the node are slower than NVLink: "type PIX/...".
const model::NcclPattern* slow_pattern(const NcclLog& log) {
  constexpr int kRing = 4;
  for (const NcclCommunicator& communicator : log.communicators) {
    if (communicator.nranks < 2) continue;
    for (const model::NcclPattern& pattern : communicator.patterns) {
      const std::string& type = pattern.type_intra;
      const bool slow = type == "PIX" || type == "PXB" || type == "PHB" || type == "SYS";
      if (pattern.pattern == kRing && slow) return &pattern;
    }
  }
  return nullptr;
}

void cite_shm(const NcclLog& log, Draft& draft) {
  std::size_t shown = 0;
  each_transport(log, over_shm, [&](const auto&, const NcclRank& rank, const NcclTransportCount& count) {
    if (shown++ < 2)
      draft.evidence.push_back(seen(log, count.source, name_of(log, rank.process) + ": via " + count.text));
  });
}

}  // namespace

void nvlink_unused(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const auto disabled = events_of(*log, {NcclEventKind::kP2pDisabled});
    const std::uint64_t shared = connections(*log, over_shm);
    const std::uint64_t peers = connections(*log, over_p2p);
    const model::NcclPattern* pattern = slow_pattern(*log);
    if (shared == 0 && pattern == nullptr && disabled.empty()) continue;
    std::vector<model::Evidence> evidence;
    const auto nvlink = disabled.empty() ? nvlink_of(machine, *log, evidence) : Nvlink{true, true};
    if (!nvlink) {
      if (p2p_switch(*log) == nullptr)
        outcome.undecided(
            "whether the GPUs have NVLink: they talk through host memory, and the log has no topology",
            "NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH, or angio collect on that node and angio log --snap");
      continue;
    }
    if (!nvlink->all && !(nvlink->some && p2p_switch(*log) != nullptr)) continue;
    Draft draft;
    draft.rank = shared == 0 ? 0.6 : static_cast<double>(shared) / static_cast<double>(shared + peers);
    draft.title = "NVLink is there, but NCCL sends data between the GPUs of a node another way";
    if (const NcclSetting* setting = p2p_switch(*log)) {
      draft.title =
          setting->name + "=" + setting->value + " switches NVLink off: GPUs talk through host memory";
      draft.evidence.push_back(seen(*log, *setting));
      draft.words["by_setting"] = "";
    } else {
      draft.words["by_visibility"] = "";
    }
    cite_shm(*log, draft);
    if (pattern != nullptr)
      draft.evidence.push_back(
          seen(*log, pattern->source, "the ring within the node is of type " + pattern->type_intra));
    std::ranges::move(evidence, std::back_inserter(draft.evidence));
    cite(*log, disabled, draft);
    outcome.fire(std::move(draft));
  }
}

namespace {

// The driver gives no peer access: by design on many boards, or by IOMMU and virtual machines.
void refused_peers(const NcclLog& log, Outcome& outcome) {
  const auto refused = events_of(log, {NcclEventKind::kPeerQuery});
  if (refused.empty() || connections(log, over_shm) == 0) return;
  Draft draft;
  draft.title = "The driver gives the GPUs of a node no access to each other: data goes through host memory";
  draft.severity = model::Severity::kInfo;
  draft.evidence.push_back(seen(log, *refused.front()));
  cite_shm(log, draft);
  draft.words["by_driver"] = "";
  outcome.fire(std::move(draft));
}

}  // namespace

// Peer access switched off where nothing says that the GPUs have NVLink.
void p2p_off(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const NcclSetting* setting = p2p_switch(*log);
    if (setting == nullptr) {
      refused_peers(*log, outcome);
      continue;
    }
    std::vector<model::Evidence> ignored;
    const auto nvlink = nvlink_of(machine, *log, ignored);
    if (nvlink && nvlink->some) continue;  // nvlink_unused says it
    const std::uint64_t shared = connections(*log, over_shm);
    if (shared == 0) {
      if (log->communicators.empty() || connections(*log, over_net) == 0)
        outcome.undecided(
            setting->name + " is set; whether GPUs of one node talk to each other is not in the log",
            kVerbose);
      continue;
    }
    Draft draft;
    draft.title =
        setting->name + "=" + setting->value + " sends data between GPUs of a node through host memory";
    draft.evidence.push_back(seen(*log, *setting));
    cite_shm(*log, draft);
    draft.words["by_setting"] = "";
    draft.rank = 0.5;
    outcome.fire(std::move(draft));
  }
}

void topology_file(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    for (const model::NcclTopologyFile& file : log->topology_files) {
      if (file.outcome != model::NcclTopologyOutcome::kFailed) continue;
      Draft draft;
      draft.title = "NCCL could not read its topology file and went on without it";
      draft.evidence.push_back(
          seen(*log, file.source, file.path + (file.error.empty() ? "" : ": " + file.error)));
      for (const NcclSetting* setting : settings_of(*log, "NCCL_TOPO_FILE"))
        draft.evidence.push_back(seen(*log, *setting));
      draft.words["by_path"] = "";
      outcome.fire(std::move(draft));
    }
    const auto loaded = std::ranges::find_if(log->topology_files, [](const model::NcclTopologyFile& file) {
      return file.outcome == model::NcclTopologyOutcome::kLoading && !file.path.empty();
    });
    if (loaded == log->topology_files.end()) continue;
    if (machine.software.virtual_machine.is_unreadable()) {
      outcome.undecided("whether " + loaded->path + " helps: on bare metal NCCL finds the topology itself",
                        "angio collect on that node, then angio log --snap");
      continue;
    }
    if (!is_bare_metal(machine)) continue;
    Draft draft;
    draft.title = "A topology file is loaded on bare metal, where NCCL would find the topology itself";
    draft.severity = model::Severity::kInfo;
    draft.evidence.push_back(seen(*log, loaded->source, "Loading topology file " + loaded->path));
    draft.words["by_need"] = "";
    outcome.fire(std::move(draft));
  }
}

}  // namespace angio::diagnose::nccl
