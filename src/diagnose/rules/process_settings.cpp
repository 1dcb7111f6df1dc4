// Settings that switch one of NCCL's ways off, and words of algorithms and protocols. RDMA devices' settings
// are in process_hca.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/process.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::process {

using model::Machine;
using model::Process;
using model::Setting;

std::vector<Use> uses_of(const Machine& machine, std::string_view name) {
  std::vector<Use> uses;
  std::set<std::string_view> values;
  const auto add = [&](const std::vector<Setting>& settings, const Process* process) {
    const Setting* setting = find_setting(settings, name);
    if (setting != nullptr && values.insert(setting->value).second) uses.push_back({setting, process});
  };
  for (const Process& process : machine.processes)
    add(process.settings, &process);
  add(machine.software.settings, nullptr);
  return uses;
}

std::string text_of(const Setting& setting) {
  const bool word =
      setting.value.find_first_not_of(
          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,:/-") == std::string::npos;
  return word ? setting.name + "=" + setting.value : setting.name + "=\"" + setting.value + "\"";
}

Draft draft_for(const Machine& machine, const Use& use, std::string title) {
  Draft draft{.title = std::move(title),
              .words = {{"value", use.setting->value}, {"setting", use.setting->name}}};
  std::string text = text_of(*use.setting);
  if (use.process != nullptr) text += " in " + process_label(*use.process);
  draft.evidence = {seen(machine, use.setting->source, std::move(text))};
  return draft;
}

const model::LibraryFile* nccl_of(const Machine& machine, const Process* process) {
  const auto first = [](const std::vector<model::LibraryFile>& libraries) -> const model::LibraryFile* {
    const auto found = std::ranges::find_if(libraries, [](const model::LibraryFile& library) {
      return library.name.starts_with("libnccl.so") && !library.version.empty();
    });
    return found != libraries.end() ? &*found : nullptr;
  };
  const model::LibraryFile* mapped = process != nullptr ? first(process->libraries) : nullptr;
  return mapped != nullptr ? mapped : first(machine.software.libraries);
}

namespace {

// NVIDIA/nccl src/misc/param.cc: a number, and any but 0 switches on. Words are not understood: the default.
bool is_on(const Use& use) {
  return parse_integer<std::int64_t>(trim(use.setting->value)).value_or(0) != 0;
}

// Path levels below which no two devices are: "LOC", or 0 as releases up to 2.4 numbered it.
bool is_loc(const Use& use) {
  return use.setting->value == "LOC" || use.setting->value == "0";
}

std::vector<Use> switched(const Machine& machine, std::string_view name, bool (*off)(const Use&)) {
  std::vector<Use> uses = uses_of(machine, name);
  std::erase_if(uses, [&](const Use& use) { return !off(use); });
  return uses;
}

void append(std::vector<Use>& uses, const std::vector<Use>& more) {
  uses.insert(uses.end(), more.begin(), more.end());
}

}  // namespace

bool has_nvlink(const Machine& machine) {
  return std::ranges::any_of(machine.gpus, [](const model::Gpu& gpu) {
    return std::ranges::any_of(gpu.links,
                               [](const auto& link) { return link.state == model::LinkState::kActive; });
  });
}

void p2p_disabled(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.size() < 2) return outcome.not_applicable();
  // NVIDIA/nccl src/graph/paths.cc, ncclGetLevel: unlike other switches, exactly 1 disables.
  std::vector<Use> uses = switched(machine, "NCCL_P2P_DISABLE", [](const Use& use) {
    return parse_integer<std::int64_t>(trim(use.setting->value)) == 1;
  });
  append(uses, switched(machine, "NCCL_P2P_LEVEL", is_loc));
  const bool unknown =
      std::ranges::all_of(machine.gpus, [](const model::Gpu& gpu) { return gpu.links.empty(); });
  for (const Use& use : uses) {
    const std::string text = text_of(*use.setting);
    if (unknown)
      return outcome.undecided("whether " + text + " costs NVLink: link states not collected",
                               "angio collect on the node", Asked::kNvml);
    Draft draft = draft_for(machine, use,
                            text + (has_nvlink(machine) ? " takes NVLink away from NCCL"
                                                        : " sends GPU traffic through host memory"));
    if (!has_nvlink(machine)) draft.severity = model::Severity::kInfo;
    draft.rank = 1;
    outcome.fire(std::move(draft));
  }
}

void shm_disabled(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.size() < 2) return outcome.not_applicable();
  for (const Use& use : switched(machine, "NCCL_SHM_DISABLE", is_on)) {
    Draft draft =
        draft_for(machine, use, text_of(*use.setting) + " leaves GPUs without peer access to the network");
    if (has_nvlink(machine)) draft.severity = model::Severity::kInfo;  // NVLink pairs do not need it
    outcome.fire(std::move(draft));
  }
}

std::size_t active_ports(const Machine& machine) {
  std::size_t count = 0;
  for (const model::RdmaDevice& device : machine.rdma)
    count += static_cast<std::size_t>(std::ranges::count_if(device.ports, rdma::is_active));
  return count;
}

void ib_disabled(const Machine& machine, Outcome& outcome) {
  if (machine.rdma.empty()) return outcome.not_applicable();
  std::vector<Use> uses = switched(machine, "NCCL_IB_DISABLE", is_on);
  append(uses, switched(machine, "NCCL_NET",
                        [](const Use& use) { return to_lower(use.setting->value) == "socket"; }));
  const std::size_t active = active_ports(machine);
  for (const Use& use : uses) {
    for (const model::RdmaDevice& device : machine.rdma) {
      for (const model::RdmaPort& port : device.ports) {
        if (port.state.is_unreadable() && active == 0)
          return gap(outcome, "state of " + device.name, port.state);
      }
    }
    if (active == 0) continue;
    Draft draft =
        draft_for(machine, use, text_of(*use.setting) + " with " + count_of(active, "active RDMA port"));
    draft.rank = 1;
    outcome.fire(std::move(draft));
  }
}

void gdr_level(const Machine& machine, Outcome& outcome) {
  if (machine.rdma.empty() || !has_nvidia_gpu(machine)) return outcome.not_applicable();
  for (const Use& use : switched(machine, "NCCL_NET_GDR_LEVEL", is_loc)) {
    Draft draft = draft_for(machine, use, text_of(*use.setting) + " switches GPUDirect RDMA off");
    if (active_ports(machine) == 0) draft.severity = model::Severity::kInfo;
    outcome.fire(std::move(draft));
  }
}

namespace {

// NCCL takes interfaces that are up and running (NCCL user guide 2.30, NCCL_SOCKET_IFNAME). Unknown counts as
// up.
bool is_down(const model::NetDevice& device) {
  return device.state.is("down") || device.state.is("lowerlayerdown") || device.state.is("notpresent") ||
         device.carrier.is(false);
}

std::string down_names(const Machine& machine, const rdma::NameList& list) {
  std::vector<std::string> names;
  for (const model::NetDevice& device : machine.networks) {
    if (rdma::takes(list, device.name) && is_down(device)) names.push_back(device.name);
  }
  return list_of(names);
}

}  // namespace

void socket_ifname(const Machine& machine, Outcome& outcome) {
  const std::vector<Use> uses = uses_of(machine, "NCCL_SOCKET_IFNAME");
  if (uses.empty()) return outcome.not_applicable();
  if (machine.networks.empty())
    return outcome.undecided("network interfaces: not collected", "angio collect on the node");
  std::vector<std::string> names;
  for (const model::NetDevice& device : machine.networks) {
    if (!device.kind.is("loopback") && !is_down(device)) names.push_back(device.name);
  }
  for (const Use& use : uses) {
    const rdma::NameList list = rdma::parse_names(use.setting->value);
    const bool any = std::ranges::any_of(machine.networks, [&](const auto& device) {
      return rdma::takes(list, device.name) && !is_down(device);
    });
    if (any || list.names.empty()) continue;
    const std::string down = down_names(machine, list);
    Draft draft =
        draft_for(machine, use,
                  text_of(*use.setting) +
                      (down.empty() ? " matches no interface" : " matches only interfaces that are down"));
    if (!down.empty()) draft.evidence.push_back({"down: " + down, "/sys/class/net"});
    draft.evidence.push_back({"interfaces: " + list_of(names), "/sys/class/net"});
    draft.words["interfaces"] = join(names, ", ");
    draft.cost.text = "NCCL does not start";
    draft.rank = 1;
    outcome.fire(std::move(draft));
  }
}

namespace {

// The words of an NCCL_ALGO or NCCL_PROTO value: "allreduce:tree,ring;^ll" → tree, ring (and ^ noted).
std::vector<std::pair<std::string, bool>> tokens_of(std::string_view value) {
  std::vector<std::pair<std::string, bool>> tokens;
  for (std::string_view part : split(value, ';')) {
    if (const std::size_t colon = part.find(':'); colon != std::string_view::npos)
      part.remove_prefix(colon + 1);
    part = trim(part);
    const bool exclude = part.starts_with('^');
    if (exclude) part.remove_prefix(1);
    for (const std::string_view word : split(part, ',')) {
      if (!trim(word).empty()) tokens.emplace_back(to_lower(trim(word)), exclude);
    }
  }
  return tokens;
}

}  // namespace

void ll128_forced(const Machine& machine, Outcome& outcome) {
  const std::vector<Use> uses = uses_of(machine, "NCCL_PROTO");
  if (uses.empty()) return outcome.not_applicable();
  for (const Use& use : uses) {
    const auto tokens = tokens_of(use.setting->value);
    const bool forced = std::ranges::any_of(
        tokens, [](const auto& token) { return token.first == "ll128" && !token.second; });
    if (forced) outcome.fire(draft_for(machine, use, text_of(*use.setting) + " forces LL128"));
  }
}

void algo_unknown(const Machine& machine, Outcome& outcome) {
  // NVIDIA/nccl 2.30 src/graph/tuning.cc, ncclAlgoStr; "collnet" as releases up to 2.13 called it.
  const std::set<std::string_view> known = {"ring",         "tree", "collnet",  "collnetdirect",
                                            "collnetchain", "nvls", "nvlstree", "pat"};
  const std::vector<Use> uses = uses_of(machine, "NCCL_ALGO");
  if (uses.empty()) return outcome.not_applicable();
  for (const Use& use : uses) {
    for (const auto& [token, exclude] : tokens_of(use.setting->value)) {
      if (known.contains(token)) continue;
      outcome.fire(draft_for(machine, use, "NCCL_ALGO: \"" + token + "\" is no algorithm"));
      break;
    }
  }
}

// Tree knows AllReduce only. Up to 2.23 Ring came back by itself for the rest.
void algo_narrow(const Machine& machine, Outcome& outcome) {
  const std::vector<Use> uses = uses_of(machine, "NCCL_ALGO");
  if (uses.empty()) return outcome.not_applicable();
  const knowledge::NcclFact* bare = knowledge::find_nccl_fact("no-ring-fallback");
  for (const Use& use : uses) {
    const auto first = split(use.setting->value, ';').front();
    const auto tokens = tokens_of(first);
    const bool tree_only =
        std::ranges::all_of(tokens, [](const auto& token) { return token.first == "tree" && !token.second; });
    if (tokens.empty() || !tree_only || contains(first, ":")) continue;
    const model::LibraryFile* nccl = nccl_of(machine, use.process);
    if (nccl == nullptr) {
      outcome.undecided("whether " + text_of(*use.setting) + " ends the job: NCCL's version is not known",
                        "angio collect on the node while the job runs");
      continue;
    }
    const bool fails = bare != nullptr && knowledge::holds(*bare, nccl->version);
    Draft draft =
        draft_for(machine, use,
                  text_of(*use.setting) + (fails ? " leaves AllGather and ReduceScatter without an algorithm"
                                                 : " takes NVLS and the other algorithms away"));
    draft.evidence.push_back(seen(machine, nccl->source, "NCCL " + nccl->version));
    if (fails) draft.cost.text = "collectives other than AllReduce end with an error";
    if (!fails) draft.severity = model::Severity::kInfo;
    outcome.fire(std::move(draft));
  }
}

void topo_file(const Machine& machine, Outcome& outcome) {
  const std::vector<Use> uses = uses_of(machine, "NCCL_TOPO_FILE");
  if (uses.empty() || is_virtual(machine)) return outcome.not_applicable();
  if (!is_bare_metal(machine))
    return gap(outcome, "whether this is a virtual machine", machine.software.virtual_machine);
  for (const Use& use : uses) {
    if (use.setting->value.empty()) continue;
    outcome.fire(
        draft_for(machine, use, "NCCL takes the topology from a file on a machine that shows its own"));
  }
}

}  // namespace angio::diagnose::process
