// Which ways NCCL took, against those it could have taken: the network and its adapters, GPUDirect RDMA,
// NVLink within a node. A way that was not needed (one node has no network) is no finding.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/nccl.hpp"
#include "diagnose/rules/nccl_events.hpp"
#include "diagnose/rules/nccl_ways.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"
#include "model/nccl_names.hpp"

namespace angio::diagnose::nccl {
namespace {

using model::Machine;
using model::NcclEvent;
using model::NcclEventKind;
using model::NcclLog;
using model::NcclNetDevice;
using model::NcclNetwork;
using model::NcclRank;
using model::NcclSetting;
using model::NcclTransportCount;

// ---------------------------------------------------------------- sockets

struct Cause {
  std::string title;
  std::vector<model::Evidence> evidence;
  model::Severity severity = model::Severity::kCritical;
  const char* word = nullptr;  // the fix that fits
};

// A variable that every process set to the same thing, by whom it was set.
std::optional<Cause> setting_cause(const NcclLog& log) {
  for (const NcclSetting* setting : settings_of(log, "NCCL_IB_DISABLE"))
    if (is_on(*setting))
      return Cause{"NCCL_IB_DISABLE=" + setting->value + " switches RDMA off: nodes talk over TCP sockets",
                   {seen(log, *setting)},
                   model::Severity::kCritical,
                   "by_ib_disable"};
  for (const char* name : {"NCCL_NET", "NCCL_NET_PLUGIN"})
    for (const NcclSetting* setting : settings_of(log, name))
      if (is_socket(setting->value))
        return Cause{fmt::format("{}={} asks for TCP sockets between nodes", name, setting->value),
                     {seen(log, *setting)},
                     model::Severity::kCritical,
                     "by_net"};
  return std::nullopt;
}

std::optional<Cause> library_cause(const NcclLog& log) {
  for (const NcclEvent& event : log.events)
    if (contains(event.text, "libibverbs"))
      return Cause{"The RDMA library is missing in the container: NCCL uses TCP sockets between nodes",
                   {seen(log, event)},
                   model::Severity::kCritical,
                   "by_library"};
  for (const model::NcclPlugin& plugin : log.plugins)
    if (contains(plugin.text, "libibverbs"))
      return Cause{"The RDMA library is missing in the container: NCCL uses TCP sockets between nodes",
                   {seen(log, plugin.source, plugin.text)},
                   model::Severity::kCritical,
                   "by_library"};
  return std::nullopt;
}

// Some hosts have adapters and others none: there something is missing, whatever it is.
std::optional<Cause> host_cause(const NcclLog& log) {
  std::map<std::string, std::size_t> with;
  std::map<std::string, const NcclNetwork*> without;
  for (const NcclNetwork& network : log.networks) {
    if (is_socket(network.plugin) || network.host.empty()) continue;
    if (network.none_found || network.devices.empty())
      without.emplace(network.host, &network);
    else
      with.emplace(network.host, network.devices.size());
  }
  std::vector<std::string> names;
  for (const auto& [host, network] : without)
    if (!with.contains(host)) names.push_back(host);
  if (names.empty() || with.empty()) return std::nullopt;
  const NcclNetwork& first = *without.at(names.front());
  Cause cause;
  cause.title = fmt::format("NCCL sees no RDMA adapter on {}, but {} on {}: TCP sockets there",
                            list_of(names), with.begin()->second, with.begin()->first);
  cause.evidence = {seen(log, first.source, "NET/" + first.plugin + ": no device found on " + first.host)};
  for (const NcclSetting* filter : settings_of(log, "NCCL_IB_HCA"))
    cause.evidence.push_back(seen(log, *filter));
  cause.word = "by_host";
  return cause;
}

std::size_t active_ports(const Machine& machine) {
  std::size_t active = 0;
  for (const model::RdmaDevice& device : machine.rdma)
    for (const model::RdmaPort& port : device.ports)
      active += port.state.is("ACTIVE") ? 1 : 0;
  return active;
}

// Ports of the node that the filter takes, in any state.
std::size_t fitting_ports(const Machine& machine, const NcclSetting& filter) {
  const model::NameList list = model::parse_names(filter.value);
  std::size_t fitting = 0;
  for (const model::RdmaDevice& device : machine.rdma)
    for (const model::RdmaPort& port : device.ports)
      fitting += model::takes(list, device.name, port.number) ? 1 : 0;
  return fitting;
}

// Whether the node has an active port that the filter takes: then the filter is not what stands in the way.
bool fits_active(const Machine& machine, const NcclSetting& filter) {
  const model::NameList list = model::parse_names(filter.value);
  for (const model::RdmaDevice& device : machine.rdma)
    for (const model::RdmaPort& port : device.ports)
      if (port.state.is("ACTIVE") && model::takes(list, device.name, port.number)) return true;
  return false;
}

// The causes asked before the one that was found, and what rules them out. Only what the sources show.
std::string excluded(const Machine& machine, const NcclLog& log, std::string_view found) {
  std::vector<std::string> out;
  const auto is = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, found) != words.end();
  };
  if (!is({"by_ib_disable", "by_net"}) && log.info_lines != 0)
    out.emplace_back("no line sets NCCL_IB_DISABLE or NCCL_NET");
  const bool asked = std::ranges::any_of(
      log.networks, [](const NcclNetwork& network) { return network.plugin == "IB" && network.none_found; });
  if (!is({"by_ib_disable", "by_net", "by_library"}) && asked)
    out.emplace_back("libibverbs loads, for NCCL asked it for devices");
  if (is({"by_container"}) && !settings_of(log, "NCCL_IB_HCA").empty())
    out.emplace_back("NCCL_IB_HCA takes active ports of the node");
  if (!is({"by_port"}) && active_ports(machine) != 0)
    out.push_back(count_of(active_ports(machine), "port") + " of " + machine.name +
                  (active_ports(machine) == 1 ? " is active" : " are active"));
  return join(out, "; ");
}

std::optional<Cause> device_cause(const Machine& machine, const NcclLog& log) {
  const auto none = std::ranges::find_if(log.networks, [](const NcclNetwork& network) {
    return !is_socket(network.plugin) && (network.none_found || network.devices.empty());
  });
  if (none == log.networks.end()) return std::nullopt;
  Cause cause;
  cause.evidence.push_back(
      seen(log, none->source,
           "NET/" + none->plugin + ": no device found" + (none->host.empty() ? "" : " on " + none->host)));
  const auto filters = settings_of(log, "NCCL_IB_HCA");
  const std::size_t active = active_ports(machine);
  if (!filters.empty() && !fits_active(machine, *filters.front())) {
    const std::size_t down = fitting_ports(machine, *filters.front());
    cause.title = "NCCL_IB_HCA=" + filters.front()->value +
                  (down != 0 ? " takes only ports that are not active: TCP sockets between nodes"
                             : " matches no usable adapter: TCP sockets between nodes");
    cause.evidence.push_back(seen(log, *filters.front()));
    if (down != 0)
      cause.evidence.push_back({count_of(down, "port") + " of that name on " + machine.name + ", none active",
                                place_of(machine, "/sys/class/infiniband")});
    cause.word = down != 0 ? "by_port" : "by_filter";
  } else if (active != 0) {
    cause.title =
        "NCCL saw none of the node's RDMA devices and uses TCP sockets: they are not in its container";
    cause.evidence.push_back({count_of(active, "active port") + " on " + machine.name, "snapshot"});
    cause.word = "by_container";
  } else if (!machine.rdma.empty()) {
    cause.title = "No port of the RDMA adapters is active: NCCL uses TCP sockets between nodes";
    cause.word = "by_port";
  } else {
    // From the log alone it may well be that there is no such hardware.
    cause.title = "NCCL found no RDMA device and uses TCP sockets between nodes";
    cause.severity = model::Severity::kWarning;
    cause.word = "by_none";
  }
  return cause;
}

std::optional<Cause> plugin_cause(const NcclLog& log) {
  for (const model::NcclPlugin& plugin : log.plugins) {
    if (plugin.kind != model::NcclPluginKind::kNet || plugin.outcome != model::NcclPluginOutcome::kFailed)
      continue;
    if (is_socket(plugin.name)) continue;
    return Cause{"Network plugin " + plugin.name + " did not start: NCCL uses TCP sockets between nodes",
                 {seen(log, plugin.source, plugin.text)},
                 model::Severity::kWarning,
                 "by_plugin"};
  }
  return std::nullopt;
}

// Processes that named sockets as their network, and where the first said so.
struct SocketUse {
  std::size_t processes = 0;
  std::size_t others = 0;
  const model::NcclProcess* first = nullptr;
};
SocketUse socket_use(const NcclLog& log) {
  SocketUse use;
  for (const model::NcclProcess& process : log.processes) {
    if (process.network.empty()) continue;
    if (!is_socket(process.network)) {
      ++use.others;
      continue;
    }
    if (use.processes++ == 0) use.first = &process;
  }
  return use;
}

}  // namespace

void network_socket(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const SocketUse use = socket_use(*log);
    const std::uint64_t wires = connections(*log, over_socket);
    const std::uint32_t nodes = nodes_of(*log);
    if (use.processes == 0 && wires == 0) {
      if (use.others == 0 && nodes > 1 && connections(*log, over_net) == 0 && log->info_lines != 0)
        outcome.undecided(
            "which network NCCL uses between " + std::to_string(nodes) + " nodes: no line says it",
            "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV");
      continue;
    }
    if (nodes <= 1 && wires == 0) continue;  // one node: no network is used
    auto cause = setting_cause(*log);
    if (!cause) cause = library_cause(*log);
    if (!cause) cause = host_cause(*log);
    if (!cause) cause = device_cause(machine, *log);
    if (!cause) cause = plugin_cause(*log);
    if (!cause)
      cause = Cause{"NCCL uses TCP sockets between nodes", {}, model::Severity::kWarning, "by_unknown"};
    Draft draft;
    draft.title = cause->title;
    draft.severity = cause->severity;
    draft.rank = 0.9;
    draft.evidence = std::move(cause->evidence);
    if (use.first != nullptr)
      draft.evidence.push_back(
          seen(*log, use.first->network_source, "Using network Socket, " + processes(use.processes)));
    std::size_t shown = 0;
    each_transport(
        *log, over_socket, [&](const auto&, const NcclRank& rank, const NcclTransportCount& count) {
          if (shown++ == 0)
            draft.evidence.push_back(
                seen(*log, count.source, "via " + count.text + ", " + name_of(*log, rank.process)));
        });
    if (const std::string out = excluded(machine, *log, cause->word); !out.empty())
      draft.evidence.push_back({"not the cause: " + out, "the lines of the log, and the node"});
    if (settings_of(*log, "NCCL_IB_HCA").empty() && cause->word == std::string_view("by_none"))
      draft.words["no_filter"] = "";
    draft.words[cause->word] = "";
    if (const auto named = settings_of(*log, "NCCL_IB_HCA"); !named.empty())
      draft.words["filter"] = named.front()->value;
    outcome.fire(std::move(draft));
  }
}

namespace {

// A warning; the cause of the failure when connections to that very address were given up.
void fire_inner(const NcclLog& log, const model::NcclProcess& process, Outcome& outcome) {
  Draft draft;
  draft.title = "NCCL starts over " + process.bootstrap_interface + ", which other nodes cannot reach";
  draft.severity = model::Severity::kWarning;
  const std::string address = process.bootstrap_address.substr(0, process.bootstrap_address.find('<'));
  const Events failed =
      only(events_of(log, {NcclEventKind::kConnectRefused, NcclEventKind::kConnectTimeout}),
           [&](const NcclEvent& event) { return !address.empty() && event.peer.starts_with(address + "<"); });
  if (!failed.empty()) {
    draft.severity = model::Severity::kCritical;
    draft.rank = 1;
  }
  const auto index = static_cast<model::NcclIndex>(&process - log.processes.data());
  draft.evidence.push_back(seen(log, process.bootstrap_source,
                                name_of(log, index) + ": Bootstrap: Using " + process.bootstrap_interface +
                                    ":" + process.bootstrap_address));
  if (!failed.empty()) draft.evidence.push_back(seen(log, *failed.front()));
  outcome.fire(std::move(draft));
}

}  // namespace

void bootstrap_interface(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const auto missing = events_of(*log, {NcclEventKind::kNoInterface, NcclEventKind::kNoSuchInterface});
    const auto names = settings_of(*log, "NCCL_SOCKET_IFNAME");
    if (!missing.empty()) {
      Draft draft;
      draft.title = names.empty() ? "NCCL found no network interface to start over"
                                  : "NCCL_SOCKET_IFNAME=" + names.front()->value +
                                        " names no interface that this node has: NCCL cannot start";
      draft.rank = rank_in_time(*log, missing);
      if (!names.empty()) draft.evidence.push_back(seen(*log, *names.front()));
      cite(*log, missing, draft);
      outcome.fire(std::move(draft));
      continue;
    }
    if (const model::NcclProcess* process = inner_bootstrap(*log)) fire_inner(*log, *process, outcome);
  }
}

namespace {

BitsPerSecond speed_of(const NcclNetDevice& device) {
  constexpr double kMega = 1e6;  // NCCL says Mb/s
  return BitsPerSecond{device.speed_mbps.value_or(0) * kMega};
}

// Adapters that collectives are not meant for, in software or for management, have no GPUDirect to lose. Null
// where one is fast or of a speed that the log does not tell.
const NcclNetDevice* slow_adapter(const NcclLog& log) {
  const NcclNetDevice* fastest = nullptr;
  for (const NcclNetwork& network : log.networks) {
    if (is_socket(network.plugin)) continue;
    for (const NcclNetDevice& device : network.devices) {
      if (!device.speed_mbps) return nullptr;
      if (fastest == nullptr || *device.speed_mbps > *fastest->speed_mbps) fastest = &device;
    }
  }
  const bool fast = fastest != nullptr && speed_of(*fastest).value >= knowledge::threshold("rdma.fast-port");
  return fast ? nullptr : fastest;
}

// Why GPUDirect RDMA is off, as far as lines say it.
void explain_gdr(const NcclLog& log, Draft& draft) {
  std::size_t shown = 0;
  for (const NcclNetwork& network : log.networks) {
    // Where NCCL made merged devices of them, its lines speak of those.
    for (const auto* list : {&network.devices, &network.virtual_devices}) {
      for (const NcclNetDevice& device : *list) {
        if (device.gdr != false || shown++ >= kMostEvidence) continue;
        draft.evidence.push_back(seen(log, device.gdr_source,
                                      "GPU Direct RDMA disabled for " + device.name +
                                          (device.gdr_reason.empty() ? "" : ": " + device.gdr_reason)));
        draft.words["by_module"] = "";
      }
    }
  }
  for (const model::NcclGdrPair& pair : log.gdr) {
    if (pair.enabled || shown++ >= kMostEvidence) continue;
    std::string why = pair.reason;
    if (pair.distance && pair.threshold) {
      why = fmt::format("distance {} > {}", *pair.distance, *pair.threshold);
      draft.words["by_distance"] = "";
    }
    draft.evidence.push_back(
        seen(log, pair.source,
             fmt::format("GPU {} / HCA {} on {}: disabled, {}", pair.gpu, pair.hca, pair.host, why)));
  }
  for (const char* name :
       {"NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_DMABUF_ENABLE", "NCCL_IB_CUDA_SUPPORT"})
    for (const NcclSetting* setting : settings_of(log, name))
      draft.evidence.push_back(seen(log, *setting));
}

}  // namespace

void gdr_off(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const std::uint64_t all = connections(*log, over_net);
    const std::uint64_t sockets = connections(*log, over_socket);
    const std::uint64_t direct = connections(*log, over_net_with_gdr);
    const std::uint64_t staged = all - sockets - direct;
    const bool rdma = std::ranges::any_of(log->processes, [](const model::NcclProcess& process) {
      return !process.network.empty() && !is_socket(process.network);
    });
    if (all == 0 && rdma && nodes_of(*log) > 1) {
      outcome.undecided("whether data goes straight between GPU and adapter: no connection is in the log",
                        kVerbose);
      continue;
    }
    if (staged == 0) continue;
    Draft draft;
    draft.rank = static_cast<double>(staged) / static_cast<double>(staged + direct);
    draft.title = direct == 0 ? "GPUDirect RDMA is off: data between nodes is copied through host memory"
                              : fmt::format("GPUDirect RDMA is off for {} of {} connections between nodes",
                                            staged, staged + direct);
    std::size_t shown = 0;
    const auto is_staged = [](const NcclTransportCount& count) {
      return over_net(count) && !is_socket(count.net) && !count.gdr;
    };
    each_transport(*log, is_staged, [&](const auto&, const NcclRank& rank, const NcclTransportCount& count) {
      if (shown++ < 2)
        draft.evidence.push_back(
            seen(*log, count.source, name_of(*log, rank.process) + ": via " + count.text));
    });
    explain_gdr(*log, draft);
    if (const NcclNetDevice* slow = slow_adapter(*log)) {
      draft.severity = model::Severity::kInfo;
      draft.rank = 0;
      draft.words.erase("by_module");
      draft.evidence.push_back(
          seen(*log, slow->source,
               fmt::format("no adapter is faster than {}, {}", slow->name, in_words(speed_of(*slow)))));
    }
    outcome.fire(std::move(draft));
  }
}

std::span<const Rule> fabric_rules() {
  static constexpr std::array kRules{
      Rule{"nccl.network.socket", network_socket},
      Rule{"nccl.bootstrap.interface", bootstrap_interface},
      Rule{"nccl.gdr.off", gdr_off},
      Rule{"nccl.nic.idle", nic_idle},
      Rule{"nccl.nic.mixed", nic_mixed},
      Rule{"nccl.plugin.unusable", plugin_unusable},
      Rule{"nccl.nvlink.unused", nvlink_unused},
      Rule{"nccl.p2p.off", p2p_off},
      Rule{"nccl.topology.file", topology_file},
  };
  return kRules;
}

}  // namespace angio::diagnose::nccl
