// The adapters that NCCL was offered against those that carry connections, and its plugins.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/nccl.hpp"
#include "diagnose/rules/nccl_ways.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::nccl {
namespace {

using model::Machine;
using model::NcclCommunicator;
using model::NcclEvent;
using model::NcclEventKind;
using model::NcclLog;
using model::NcclNetDevice;
using model::NcclNetwork;
using model::NcclRank;
using model::NcclSetting;
using model::NcclTransportCount;

// One host's adapters and which of them carry connections.
struct HostNics {
  std::vector<const NcclNetDevice*> devices;
  const NcclNetwork* network = nullptr;
  std::set<std::uint32_t> used;
  std::set<std::uint32_t> local_gpus;  // by CUDA or NVML number
  std::uint32_t ranks = 0;
  bool proxied = false;
  bool settled = true;  // every rank had made its connections when the log ended
};

// A log that is cut or still being written lacks connections that exist. Connections are made within the init
// (they stand before its end), or at the first collective: then only "Connected all ..." closes them.
bool is_settled(const NcclRank& rank) {
  if (rank.connected_rings || rank.connected_trees || rank.connected_nvls || rank.ended.line != 0)
    return true;
  return rank.completed.line != 0 && std::ranges::all_of(rank.transports, [&](const auto& count) {
           return count.source.place == rank.completed.place && count.source.line < rank.completed.line;
         });
}

std::map<std::string, HostNics> nics_by_host(const NcclLog& log) {
  std::map<std::string, HostNics> hosts;
  for (const NcclNetwork& network : log.networks) {
    if (is_socket(network.plugin) || network.devices.empty()) continue;
    HostNics& host = hosts[network.host];
    if (!host.devices.empty()) continue;
    host.network = &network;
    const auto& list = network.virtual_devices.empty() ? network.devices : network.virtual_devices;
    for (const NcclNetDevice& device : list)
      host.devices.push_back(&device);
  }
  for (const NcclCommunicator& communicator : log.communicators) {
    for (const NcclRank& rank : communicator.ranks) {
      const auto host = hosts.find(host_of(log, rank));
      if (host == hosts.end()) continue;
      ++host->second.ranks;
      host->second.settled = host->second.settled && is_settled(rank);
      if (const auto gpu = rank.nvml_device ? rank.nvml_device : rank.cuda_device; gpu && *gpu >= 0)
        host->second.local_gpus.insert(static_cast<std::uint32_t>(*gpu));
      for (const NcclTransportCount& count : rank.transports) {
        if (!over_net(count) || !count.net_device) continue;
        host->second.used.insert(*count.net_device);
        host->second.proxied = host->second.proxied || count.proxied;
      }
    }
  }
  return hosts;
}

std::string kind_of(const NcclNetDevice& device) {
  std::string kind = device.link;
  if (device.speed_mbps)
    kind += (kind.empty() ? "" : " ") + in_words(BitsPerSecond{*device.speed_mbps * 1e6});
  return kind;
}

}  // namespace

namespace {

// The adapters of the kind that a host has most of: those of the compute fabric.
std::vector<const NcclNetDevice*> main_kind(const HostNics& host) {
  std::map<std::string, std::vector<const NcclNetDevice*>> kinds;
  for (const NcclNetDevice* device : host.devices)
    kinds[kind_of(*device)].push_back(device);
  const auto most = std::ranges::max_element(kinds, {}, [](const auto& kind) { return kind.second.size(); });
  return most == kinds.end() ? std::vector<const NcclNetDevice*>{} : most->second;
}

struct Idle {
  std::vector<std::string> devices;
  std::size_t all = 0;
  std::size_t gpus = 0;
  std::vector<std::string> hosts;
  const NcclNetwork* network = nullptr;
};

}  // namespace

// A NIC that no connection uses although there are as many GPUs as NICs of its kind.
void nic_idle(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    if (nodes_of(*log) <= 1) continue;
    std::map<std::string, Idle> found;  // hosts that are alike are one finding
    bool gap = false;
    bool cut = false;
    for (const auto& [name, host] : nics_by_host(*log)) {
      const auto devices = main_kind(host);
      gap = gap || (host.used.empty() && devices.size() > 1);
      Idle idle{{}, devices.size(), host.local_gpus.size(), {}, host.network};
      for (const NcclNetDevice* device : devices)
        if (!host.used.contains(device->index)) idle.devices.push_back(device->name);
      // Fewer GPUs than adapters leave some without work; a kind of which none is used was not chosen.
      if (idle.devices.empty() || idle.devices.size() == devices.size() || idle.gpus < devices.size())
        continue;
      if (!host.settled) {
        cut = true;
        continue;
      }
      Idle& group = found.try_emplace(join(idle.devices, ","), std::move(idle)).first->second;
      group.hosts.push_back(name);
    }
    for (auto& [names, idle] : found) {
      Draft draft;
      draft.title = fmt::format("{} of {} adapters on {} carry nothing", idle.devices.size(), idle.all,
                                list_of(idle.hosts));
      draft.rank = static_cast<double>(idle.devices.size()) / static_cast<double>(idle.all);
      draft.evidence.push_back(
          seen(*log, idle.network->source,
               fmt::format("NCCL was offered {} of a kind; connections of {} use {} of them",
                           count_of(idle.all, "adapter"), count_of(idle.gpus, "GPU"),
                           idle.all - idle.devices.size())));
      draft.evidence.push_back({"without connections: " + join(idle.devices, ", "), ""});
      draft.devices = std::move(idle.devices);
      outcome.fire(std::move(draft));
    }
    if (cut && found.empty())
      outcome.undecided("which adapters carry connections: the log ends before every rank had made its own",
                        "the whole log, up to the first collective");
    else if (gap && found.empty())
      outcome.undecided("which adapters carry connections: none of them is in the log", kVerbose);
  }
}

void nic_mixed(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    if (nodes_of(*log) <= 1) continue;
    for (const auto& [name, host] : nics_by_host(*log)) {
      std::map<std::string, std::vector<const NcclNetDevice*>> kinds;
      for (const NcclNetDevice* device : host.devices)
        if (!kind_of(*device).empty()) kinds[kind_of(*device)].push_back(device);
      if (kinds.size() < 2) continue;
      const auto most =
          std::ranges::max_element(kinds, {}, [](const auto& kind) { return kind.second.size(); });
      Draft draft;
      bool used = false;
      std::vector<std::string> parts;
      for (const auto& [kind, devices] : kinds) {
        std::vector<std::string> names;
        for (const NcclNetDevice* device : devices) {
          names.push_back(device->name);
          if (&kinds.at(kind) == &most->second) continue;
          draft.devices.push_back(device->name);
          used = used || host.used.contains(device->index);
        }
        parts.push_back(list_of(names) + " " + kind);
      }
      draft.title = fmt::format("NCCL on {} uses adapters of different kinds as if they were alike", name);
      const bool known = !host.used.empty();
      if (known && !used) {
        draft.title = fmt::format(
            "NCCL on {} was offered adapters of different kinds; only one kind carries data", name);
        draft.severity = model::Severity::kInfo;
      }
      draft.evidence.push_back(seen(*log, host.network->source, join(parts, "; ")));
      std::vector<std::string> keep;
      for (const NcclNetDevice* device : most->second)
        keep.push_back(device->name);
      draft.words["keep"] = join(keep, ",");
      outcome.fire(std::move(draft));
      break;  // the other hosts of a job are set up alike
    }
  }
}

namespace {

// The number behind the last "_v" or "v" of a name: an interface version.
std::optional<std::uint32_t> interface_version(std::string_view text) {
  const std::size_t at = text.rfind('v');
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find_first_not_of("0123456789", at + 1);
  return parse_integer<std::uint32_t>(
      text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1));
}

// "Failed to find ncclNetPlugin_v10 symbol" and then "Loaded net plugin … (v6)": built for an NCCL of long
// ago.
void outdated_plugin(const NcclLog& log, Outcome& outcome) {
  constexpr std::uint32_t kFarBehind = 3;  // one or two versions are the rule between releases
  std::uint32_t newest = 0;
  for (const model::NcclPlugin& plugin : log.plugins) {
    const std::size_t at = plugin.text.find("ncclNetPlugin_v");
    if (at == std::string::npos) continue;
    newest = std::max(newest, interface_version(plugin.text.substr(at, 18)).value_or(0));
  }
  for (const model::NcclPlugin& plugin : log.plugins) {
    if (plugin.kind != model::NcclPluginKind::kNet || plugin.outcome != model::NcclPluginOutcome::kLoaded)
      continue;
    const auto spoken = interface_version(plugin.version);
    if (!spoken || newest < *spoken + kFarBehind) continue;
    Draft draft;
    draft.title =
        fmt::format("Network plugin {} speaks interface v{}, this NCCL v{}: it was built for an older one",
                    plugin.name, *spoken, newest);
    draft.severity = model::Severity::kInfo;
    draft.evidence.push_back(seen(log, plugin.source, plugin.text));
    outcome.fire(std::move(draft));
    return;
  }
}

}  // namespace

namespace {

// The library is there, but speaks none of the interfaces that this NCCL knows.
void foreign_plugin(const NcclLog& log, Outcome& outcome) {
  const model::NcclPlugin* last = nullptr;
  for (const model::NcclPlugin& plugin : log.plugins) {
    if (plugin.kind != model::NcclPluginKind::kNet) continue;
    if (plugin.outcome == model::NcclPluginOutcome::kLoaded) return;
    if (plugin.outcome == model::NcclPluginOutcome::kSymbolMissing && contains(plugin.text, "ncclNetPlugin"))
      last = &plugin;
  }
  // NCCL stops at the oldest symbol that it knows; only then was every one asked for.
  const bool all = last != nullptr && (contains(last->text, "lower are not supported") ||
                                       std::ranges::any_of(log.processes, [](const model::NcclProcess& one) {
                                         return one.network == "IB" || is_socket(one.network);
                                       }));
  if (!all) return;
  Draft draft;
  draft.title = "The network plugin has no interface that this NCCL knows: NCCL uses its own network";
  draft.evidence.push_back(seen(log, last->source, last->text));
  for (const char* name : {"NCCL_NET_PLUGIN", "NCCL_NET"})
    for (const NcclSetting* setting : settings_of(log, name))
      draft.evidence.push_back(seen(log, *setting));
  draft.words["by_network"] = "";
  outcome.fire(std::move(draft));
}

}  // namespace

void plugin_unusable(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    outdated_plugin(*log, outcome);
    foreign_plugin(*log, outcome);
    std::vector<model::Evidence> failed;
    bool tuner = false;
    for (const model::NcclPlugin& plugin : log->plugins) {
      // A missing library is the usual case: NCCL's own implementation serves. IB fails where there is none.
      if (plugin.outcome != model::NcclPluginOutcome::kFailed || plugin.name == "IB") continue;
      failed.push_back(seen(*log, plugin.source, plugin.text));
      tuner = tuner || plugin.kind == model::NcclPluginKind::kTuner;
    }
    for (const NcclEvent* event : events_of(*log, {NcclEventKind::kPlugin})) {
      failed.push_back(seen(*log, *event));
      tuner = tuner || contains(to_lower(event->text), "tuner");
    }
    if (failed.empty()) continue;
    Draft draft;
    draft.title = "A plugin of NCCL refuses to work";
    draft.rank = rank_in_time(*log, events_of(*log, {NcclEventKind::kPlugin}));
    for (const char* name : {"NCCL_PROTO", "NCCL_ALGO"})
      for (const NcclSetting* setting : settings_of(*log, name)) {
        if (tuner) draft.title = fmt::format("A tuner plugin refuses to work while {} is set", name);
        if (tuner) draft.words["by_setting"] = "";
        failed.push_back(seen(*log, *setting));
      }
    if (failed.size() > kMostEvidence) failed.resize(kMostEvidence);
    draft.evidence = std::move(failed);
    outcome.fire(std::move(draft));
  }
}

}  // namespace angio::diagnose::nccl
