// Settings about RDMA devices: which ones NCCL takes, which GID, how many queue pairs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/process.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::process {

using model::Gid;
using model::Machine;
using model::Process;
using rdma::NameList;
using rdma::PortRef;

namespace {

std::vector<std::string> device_names(const Machine& machine) {
  std::vector<std::string> names;
  for (const model::RdmaDevice& device : machine.rdma)
    names.push_back(device.name);
  return names;
}

struct Judged {
  std::vector<std::string> here;     // parts of the list that fit a device
  std::vector<std::string> missing;  // and those that fit none
};

Judged judge(const Machine& machine, const NameList& list) {
  Judged judged;
  for (const std::string_view part : list.names) {
    const NameList alone{.exclude = false, .exact = list.exact, .names = {part}};
    const bool fits = std::ranges::any_of(
        machine.rdma, [&](const model::RdmaDevice& device) { return rdma::takes(alone, device.name); });
    (fits ? judged.here : judged.missing).emplace_back(part);
  }
  return judged;
}

void fire_hca(const Machine& machine, const Use& use, const std::string& trouble, std::string exact,
              std::optional<model::Severity> severity, Outcome& outcome) {
  Draft draft = draft_for(machine, use, text_of(*use.setting) + trouble);
  draft.evidence.push_back({"RDMA devices: " + list_of(device_names(machine)), "/sys/class/infiniband"});
  draft.words["exact"] = std::move(exact);
  draft.severity = severity;
  outcome.fire(std::move(draft));
}

void judge_hca(const Machine& machine, const Use& use, Outcome& outcome) {
  const NameList list = rdma::parse_names(use.setting->value);
  if (list.names.empty()) return;
  const bool any = std::ranges::any_of(
      machine.rdma, [&](const model::RdmaDevice& device) { return rdma::takes(list, device.name); });
  const Judged judged = judge(machine, list);
  if (!any) {
    return fire_hca(machine, use, list.exclude ? " leaves no RDMA device" : " matches no RDMA device",
                    "=" + join(device_names(machine), ","), std::nullopt, outcome);
  }
  const std::vector<std::string> extra = rdma::covered_beside(machine, list);
  if (!extra.empty()) {
    fire_hca(machine, use, (list.exclude ? " also leaves out " : " also takes ") + list_of(extra),
             (list.exclude ? "^=" : "=") + join(judged.here, ","), model::Severity::kWarning, outcome);
  }
  if (list.exclude || judged.missing.empty()) return;
  fire_hca(machine, use, " names " + list_of(judged.missing) + ", which fits no device here",
           "=" + join(judged.here, ","), list.exact ? model::Severity::kWarning : model::Severity::kInfo,
           outcome);
}

}  // namespace

void ib_hca(const Machine& machine, Outcome& outcome) {
  const std::vector<Use> uses = uses_of(machine, "NCCL_IB_HCA");
  if (uses.empty()) return outcome.not_applicable();
  if (machine.rdma.empty())
    return outcome.undecided("RDMA devices: none seen, so NCCL_IB_HCA cannot be judged",
                             "angio collect on the node");
  for (const Use& use : uses)
    judge_hca(machine, use, outcome);
}

namespace {

struct Split {
  std::vector<std::string> taken;
  std::vector<std::string> left;
};

// Of a job whose list means another device: process.setting.ib-hca tells.
bool taken_by_prefix(const Machine& machine, const PortRef& ref) {
  return std::ranges::any_of(rdma::jobs_of(machine, {"NCCL_IB_HCA"}),
                             [&](const Process* job) { return rdma::taken_by_prefix(machine, job, ref); });
}

// Active ports by board, port number, link layer and rate: what one job would use together.
std::map<std::string, Split> by_use(const Machine& machine, Gaps& gaps) {
  std::map<std::string, Split> kinds;
  for (const PortRef& ref : rdma::hardware_ports(machine)) {
    if (!ref.port->state.is_known()) gaps.add(rdma::port_label(ref), ref.port->state);
    if (!rdma::is_active(*ref.port) || taken_by_prefix(machine, ref)) continue;
    Split& split = kinds[fmt::format("{}/{}", rdma::kind_of(ref), ref.port->rate.value_or({}).value)];
    (rdma::left_out(machine, ref) ? split.left : split.taken).push_back(rdma::port_label(ref));
  }
  return kinds;
}

// Several processes that together hold every GPU: nobody else is there to use the other ports.
bool has_all_gpus(const Machine& machine) {
  std::set<std::uint32_t> gpus;
  for (const Process& process : machine.processes)
    gpus.insert(process.gpus.begin(), process.gpus.end());
  return gpus.size() > 1 && gpus.size() >= machine.gpus.size();
}

}  // namespace

void hca_few(const Machine& machine, Outcome& outcome) {
  const std::vector<Use> uses = uses_of(machine, "NCCL_IB_HCA");
  if (uses.empty() || rdma::hardware_ports(machine).empty()) return outcome.not_applicable();
  Gaps gaps("port state");
  for (const auto& [kind, split] : by_use(machine, gaps)) {
    if (split.taken.empty() || split.left.empty()) continue;
    const std::size_t all = split.taken.size() + split.left.size();
    const double share = static_cast<double>(split.left.size()) / static_cast<double>(all);
    Draft draft =
        draft_for(machine, uses.front(),
                  fmt::format("NCCL_IB_HCA takes {} of {} like active ports", split.taken.size(), all));
    draft.evidence.push_back({"left out: " + list_of(split.left), "/sys/class/infiniband"});
    draft.devices = split.left;
    draft.cost = {fmt::format("{} of {} ports", split.left.size(), all), "count-share"};
    draft.rank = share;
    draft.words["all"] = join(split.taken, ",") + "," + join(split.left, ",");
    if (share >= knowledge::threshold("process.hca-left-out") && has_all_gpus(machine))
      draft.severity = model::Severity::kWarning;
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

namespace {

// Active RoCE ports the process's NCCL takes.
std::vector<PortRef> roce_ports(const Machine& machine, const Process* process) {
  std::vector<PortRef> ports;
  for (const model::RdmaDevice& device : machine.rdma) {
    for (const model::RdmaPort& port : device.ports) {
      const PortRef ref{&device, &port};
      if (rdma::is_active(port) && port.link_layer == model::LinkLayer::kEthernet &&
          rdma::uses_port(machine, process, ref))
        ports.push_back(ref);
    }
  }
  return ports;
}

const char* trouble_with_gid(const model::RdmaPort& port, std::uint32_t index) {
  const auto gid = std::ranges::find(port.gids, index, &Gid::index);
  if (gid == port.gids.end()) return "is empty";
  if (gid->type.is_known() && !gid->type.is("RoCE v2")) return "is not RoCE v2";
  if (to_lower(gid->gid).starts_with("fe80")) return "is link-local";
  return nullptr;
}

bool is_good_everywhere(const std::vector<PortRef>& ports, std::uint32_t index) {
  return std::ranges::all_of(ports, [&](const PortRef& ref) {
    const auto gid = std::ranges::find(ref.port->gids, index, &Gid::index);
    return gid != ref.port->gids.end() && rdma::is_routable_v2(*gid);
  });
}

// The index that is RoCE v2 with an IP address on every port; IPv4 first, which is NCCL's own preference.
std::optional<std::uint32_t> common_index(const std::vector<PortRef>& ports) {
  std::optional<std::uint32_t> common;
  for (const Gid& gid : ports.front().port->gids) {
    if (!is_good_everywhere(ports, gid.index)) continue;
    if (contains(gid.gid, ":ffff:")) return gid.index;
    if (!common) common = gid.index;
  }
  return common;
}

bool finds_gid_itself(const model::LibraryFile& nccl) {
  const knowledge::NcclFact* fact = knowledge::find_nccl_fact("dynamic-gid");
  return fact != nullptr && knowledge::holds(*fact, nccl.version);
}

// Words that choose the fixes: what releases with and without a choice of their own need.
void add_gid_words(const model::LibraryFile* nccl, const std::vector<PortRef>& ports, Draft& draft) {
  if (nccl == nullptr || finds_gid_itself(*nccl)) draft.words["dynamic_gid"] = "";
  if (nccl != nullptr && finds_gid_itself(*nccl)) return;
  if (const auto index = common_index(ports)) {
    draft.words["common_gid"] = std::to_string(*index);
  } else {
    draft.words["no_common_gid"] = "";
  }
}

// No entry serves, whatever the index: rdma.roce.no-v2-gid tells, and another index would not help.
bool serves_nowhere(const Machine& machine, const model::RdmaPort& port) {
  return !machine.gpus.empty() && std::ranges::none_of(port.gids, [](const Gid& gid) {
    return rdma::is_routable_v2(gid) || gid.type.is_unreadable();
  });
}

// Trouble → ports that have it at this index. None when a port's table was not read (noted as a gap).
std::map<std::string, std::vector<std::string>> gid_troubles(const Machine& machine,
                                                             const std::vector<PortRef>& ports,
                                                             std::uint32_t index, Gaps& gaps) {
  std::map<std::string, std::vector<std::string>> troubles;
  for (const PortRef& ref : ports) {
    if (ref.port->gids.empty()) {
      gaps.note(rdma::port_label(ref), model::Reason::kNotCollected, 0);
    } else if (serves_nowhere(machine, *ref.port)) {
      continue;
    } else if (const char* trouble = trouble_with_gid(*ref.port, index)) {
      troubles[trouble].push_back(rdma::port_label(ref));
    }
  }
  return troubles;
}

}  // namespace

void gid_index(const Machine& machine, Outcome& outcome) {
  const std::vector<Use> uses = uses_of(machine, "NCCL_IB_GID_INDEX");
  if (uses.empty() || machine.rdma.empty()) return outcome.not_applicable();
  Gaps gaps("GID table");
  for (const Use& use : uses) {
    const auto index = parse_integer<std::uint32_t>(use.setting->value);
    if (!index) continue;  // -1: automatic
    const std::vector<PortRef> ports = roce_ports(machine, use.process);
    for (const auto& [trouble, names] : gid_troubles(machine, ports, *index, gaps)) {
      Draft draft = draft_for(machine, use,
                              fmt::format("GID {} {} on {}", use.setting->value, trouble, list_of(names)));
      draft.devices = names;
      draft.severity = model::Severity::kCritical;
      add_gid_words(nccl_of(machine, use.process), ports, draft);
      outcome.fire(std::move(draft));
    }
    if (!ports.empty() || active_ports(machine) == 0) continue;
    Draft draft = draft_for(machine, use, "NCCL_IB_GID_INDEX is set, InfiniBand ignores it");
    draft.severity = model::Severity::kInfo;
    draft.words["dynamic_gid"] = "";
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

// Up to 2.20 the default is index 0: on mlx5 the link-local RoCE v1 entry.
void gid_unset(const Machine& machine, Outcome& outcome) {
  std::set<std::string> versions;
  bool any = false;
  Gaps gaps("GID table");
  for (const Process& process : machine.processes) {
    const bool mapped = std::ranges::any_of(
        process.libraries, [](const auto& library) { return library.name.starts_with("libnccl.so"); });
    const bool set = find_setting(process.settings, "NCCL_IB_GID_INDEX") != nullptr ||
                     find_setting(machine.software.settings, "NCCL_IB_GID_INDEX") != nullptr;
    const model::LibraryFile* nccl = nccl_of(machine, &process);
    const std::vector<PortRef> ports = roce_ports(machine, &process);
    if (process.gpus.empty() || !mapped || nccl == nullptr || ports.empty()) continue;
    any = true;
    if (set || finds_gid_itself(*nccl) || !versions.insert(nccl->version).second) continue;
    for (const auto& [trouble, names] : gid_troubles(machine, ports, 0, gaps)) {
      Draft draft{
          .title = fmt::format("NCCL {} takes GID 0, which {} on {}", nccl->version, trouble, list_of(names)),
          .devices = names,
          .evidence = {seen(machine, nccl->source, "NCCL " + nccl->version + " in " + process_label(process)),
                       {"NCCL_IB_GID_INDEX is not set", "environment"}}};
      add_gid_words(nccl, ports, draft);
      outcome.fire(std::move(draft));
    }
  }
  if (!any) return outcome.not_applicable();
  gaps.report(outcome);
}

// One queue pair a connection keeps to one member of a bond.
void bond_qps(const Machine& machine, Outcome& outcome) {
  std::vector<std::string> bonds;
  for (const model::RdmaDevice& device : machine.rdma) {
    const bool used = std::ranges::any_of(device.ports, [&](const model::RdmaPort& port) {
      return rdma::is_active(port) && !rdma::left_out(machine, {&device, &port});
    });
    if (used && (device.bond || contains(device.name, "bond"))) bonds.push_back(device.name);
  }
  const auto job = std::ranges::find_if(machine.processes, [&](const Process& process) {
    if (process.gpus.empty()) return false;
    const model::Setting* own = find_setting(process.settings, "NCCL_IB_QPS_PER_CONNECTION");
    if (own == nullptr) own = find_setting(machine.software.settings, "NCCL_IB_QPS_PER_CONNECTION");
    return own == nullptr || parse_integer<std::uint32_t>(own->value).value_or(1) < 2;
  });
  const bool jobs =
      std::ranges::any_of(machine.processes, [](const Process& process) { return !process.gpus.empty(); });
  if (bonds.empty() || !jobs) return outcome.not_applicable();
  if (job == machine.processes.end()) return;
  outcome.fire(
      {.title = list_of(bonds) + (bonds.size() == 1 ? " is a bond" : " are bonds") +
                " and NCCL uses one queue pair a connection",
       .devices = bonds,
       .evidence = {{process_label(*job) + ": NCCL_IB_QPS_PER_CONNECTION is not above 1", "environment"}}});
}

}  // namespace angio::diagnose::process
