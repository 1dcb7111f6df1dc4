// Where GPUs and RDMA cards sit: cards on the other socket, no common switch, GPUs spread unevenly.
#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "diagnose/rules/pcie.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::pcie {
namespace {

using model::DeviceKind;
using model::Gpu;
using model::Machine;
using model::PathClass;
using model::RdmaDevice;

// Software devices (rxe, siw) have no place and are nobody's near card.
std::vector<std::uint32_t> real_nics(const Machine& machine) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < machine.rdma.size(); ++i) {
    if (!machine.rdma[i].address.is_absent()) found.push_back(i);
  }
  return found;
}

// GPUs on a coherent link reach NICs through their CPU's memory system: SYS and PHB are healthy there.
bool is_coherent(const Gpu& gpu) {
  if (gpu.coherent_link.is(true) || gpu.memory_numa.is_known()) return true;
  const knowledge::GpuModel* known = knowledge::find_gpu(gpu.name.value_or(""));
  return known != nullptr && known->c2c;
}

// For a SYS path: unknown nodes are in different sockets too when there are no more than two.
std::optional<bool> across_sockets(const Machine& machine, const std::optional<NumaId>& a,
                                   const std::optional<NumaId>& b) {
  if (a && b && *a != *b) return in_different_sockets(machine, a, b);
  const auto nodes = std::ranges::count_if(machine.numa.nodes,
                                           [](const model::NumaNode& node) { return !node.cpus.empty(); });
  if (a && b && package_of(machine, *a)) return false;
  if (nodes > 2) return std::nullopt;
  return true;
}

struct Nearest {
  const Gpu* gpu = nullptr;
  PathClass kind = PathClass::kUnknown;
  std::uint32_t nic = 0;
  std::string why;
};

bool same_socket(const Machine& machine, std::uint32_t gpu, std::uint32_t nic) {
  return across_sockets(machine, model::nearest_node(machine, {DeviceKind::kGpu, gpu}),
                        model::nearest_node(machine, {DeviceKind::kRdma, nic})) == false;
}

Nearest nearest_nic(const Machine& machine, const Gpu& gpu, const std::vector<std::uint32_t>& nics) {
  Nearest best{&gpu, PathClass::kUnknown, 0, {}};
  for (const std::uint32_t nic : nics) {
    const model::Path path = path_between(machine, {DeviceKind::kGpu, gpu.index}, {DeviceKind::kRdma, nic});
    if (path.kind == PathClass::kUnknown) {
      if (best.why.empty()) best.why = path.why;
    } else if (path.kind < best.kind || (path.kind == PathClass::kSys && best.kind == PathClass::kSys &&
                                         same_socket(machine, gpu.index, nic))) {
      best.kind = path.kind;
      best.nic = nic;
    }
  }
  return best;
}

struct Pairing {
  std::vector<Nearest> switched;   // PIX, PXB
  std::vector<Nearest> near;       // PHB, NODE, and SYS within a socket of several nodes
  std::vector<Nearest> far;        // SYS
  bool sockets_known = true;       // false: some of the far ones may be in the same socket
  std::vector<Nearest> same_node;  // how near exactly is not known, but not SYS
  std::vector<Nearest> unknown;
};

// A card on the GPU's own node, where the source does not say what lies between them.
bool shares_node(const Machine& machine, const Gpu& gpu, const std::vector<std::uint32_t>& nics) {
  const auto node = model::nearest_node(machine, {DeviceKind::kGpu, gpu.index});
  return node && std::ranges::any_of(nics, [&](std::uint32_t nic) {
           return model::nearest_node(machine, {DeviceKind::kRdma, nic}) == node;
         });
}

Pairing pair_up(const Machine& machine, const std::vector<std::uint32_t>& nics) {
  Pairing pairing;
  for (const Gpu& gpu : machine.gpus) {
    if (is_coherent(gpu)) continue;
    const Nearest nearest = nearest_nic(machine, gpu, nics);
    // An unknown pair hides a near card only where nothing nearer than SYS is known.
    if (nearest.kind == PathClass::kUnknown || (nearest.kind == PathClass::kSys && !nearest.why.empty())) {
      (shares_node(machine, gpu, nics) ? pairing.same_node : pairing.unknown).push_back(nearest);
    } else if (nearest.kind == PathClass::kSys) {
      const auto across = across_sockets(machine, model::nearest_node(machine, {DeviceKind::kGpu, gpu.index}),
                                         model::nearest_node(machine, {DeviceKind::kRdma, nearest.nic}));
      pairing.sockets_known = pairing.sockets_known && across.has_value();
      (across.value_or(true) ? pairing.far : pairing.near).push_back(nearest);
    } else if (nearest.kind == PathClass::kPhb || nearest.kind == PathClass::kNode) {
      pairing.near.push_back(nearest);
    } else {
      pairing.switched.push_back(nearest);
    }
  }
  return pairing;
}

std::vector<std::string> labels_of(const std::vector<Nearest>& pairs) {
  std::vector<std::string> labels;
  for (const Nearest& pair : pairs)
    labels.push_back(gpu_label(*pair.gpu));
  return labels;
}

void report_unknown(const std::vector<Nearest>& unknown, Outcome& outcome) {
  if (unknown.empty()) return;
  std::string why = unknown.front().why.empty() ? "not in this source" : unknown.front().why;
  outcome.undecided("the way from " + list_of(labels_of(unknown)) + " to the RDMA cards: " + why,
                    "angio collect on the node");
}

std::set<std::uint32_t> nodes_of_gpus(const Machine& machine) {
  std::set<std::uint32_t> nodes;
  for (const Gpu& gpu : machine.gpus) {
    if (const auto node = model::nearest_node(machine, {DeviceKind::kGpu, gpu.index}))
      nodes.insert(node->value);
  }
  return nodes;
}

// Cards, not ports: two functions of one card count once, and so do two devices right beside each other.
std::size_t count_cards(const Machine& machine, const std::vector<std::uint32_t>& nics) {
  std::vector<std::uint32_t> cards;
  for (const std::uint32_t nic : nics) {
    const bool beside = std::ranges::any_of(cards, [&](std::uint32_t card) {
      const PathClass kind = path_between(machine, {DeviceKind::kRdma, nic}, {DeviceKind::kRdma, card}).kind;
      return kind == PathClass::kPix || kind == PathClass::kUnknown;
    });
    if (!beside) cards.push_back(nic);
  }
  return cards.size();
}

// NCCL's figure for the link between the sockets of this CPU, in bytes a second.
std::optional<BytesPerSecond> socket_link(const model::CpuModel& cpu) {
  const std::string vendor = cpu.vendor.value_or("");
  const char* id = nullptr;
  if (vendor == "AuthenticAMD") id = "nccl.socket-link.amd";
  if (vendor == "GenuineIntel" && cpu.family.is(6) && cpu.model.is_known()) {
    const double number = *cpu.model.get();
    id = number >= knowledge::threshold("nccl.intel-model.emerald-rapids") ? "nccl.socket-link.emerald-rapids"
         : number >= knowledge::threshold("nccl.intel-model.sapphire-rapids")
             ? "nccl.socket-link.sapphire-rapids"
         : number >= knowledge::threshold("nccl.intel-model.skylake") ? "nccl.socket-link.skylake"
                                                                      : "nccl.socket-link.broadwell";
  }
  if (id == nullptr) return std::nullopt;
  return BytesPerSecond{knowledge::threshold(id) * 1e9};
}

BytesPerSecond rate_of(const RdmaDevice& nic) {
  BytesPerSecond sum{};
  for (const model::RdmaPort& port : nic.ports)
    sum = sum + to_bytes(port.rate.value_or({}));
  return sum;
}

// What the far GPUs' cards could carry, against what the sockets' link gives them together.
model::Cost far_cost(const Machine& machine, const std::vector<Nearest>& far) {
  const auto link = socket_link(machine.cpus.model);
  std::set<std::uint32_t> nics;
  BytesPerSecond wanted{};
  for (const Nearest& pair : far) {
    if (nics.insert(pair.nic).second) wanted = wanted + rate_of(machine.rdma[pair.nic]);
  }
  if (!link || wanted.value <= link->value) return {};
  return {"at most " + in_words(*link) + " between the sockets, as NCCL counts it, for " + in_words(wanted) +
              " of network",
          "socket-link"};
}

model::Evidence far_evidence(const Machine& machine, const Nearest& pair) {
  const RdmaDevice& nic = machine.rdma[pair.nic];
  const auto gpu_node = model::nearest_node(machine, {DeviceKind::kGpu, pair.gpu->index});
  const auto nic_node = model::nearest_node(machine, {DeviceKind::kRdma, pair.nic});
  std::string text = gpu_label(*pair.gpu);
  if (gpu_node) text += " on node " + std::to_string(gpu_node->value);
  text += ", nearest card " + nic.name;
  if (nic_node) text += " on node " + std::to_string(nic_node->value);
  text += ": SYS";
  const model::Source& source = machine.stated_paths ? machine.stated_paths->source : nic.numa.source();
  return seen(machine, source, std::move(text));
}

// True when a wrong or missing node of the card is the likelier story: no card can be far from every socket.
bool far_from_all(const Machine& machine, const Pairing& pairing) {
  if (pairing.far.size() < machine.gpus.size() || nodes_of_gpus(machine).size() < 2) return false;
  return std::ranges::none_of(pairing.far,
                              [&](const Nearest& pair) { return machine.rdma[pair.nic].numa.is_known(); });
}

// Worth moving hardware: more GPUs are far than near, or several cards crowd one socket.
bool worth_moving(const Machine& machine, const Pairing& pairing, const std::vector<std::uint32_t>& nics) {
  if (!pairing.sockets_known) return false;
  const std::size_t near = pairing.near.size() + pairing.switched.size() + pairing.same_node.size();
  return pairing.far.size() > near || count_cards(machine, nics) > 1;
}

}  // namespace

void nic_far(const Machine& machine, Outcome& outcome) {
  const std::vector<std::uint32_t> nics = real_nics(machine);
  if (nics.empty() || std::ranges::all_of(machine.gpus, is_coherent)) return outcome.not_applicable();
  const Pairing pairing = pair_up(machine, nics);
  report_unknown(pairing.unknown, outcome);
  if (pairing.far.empty()) return;
  if (far_from_all(machine, pairing)) {
    return outcome.undecided("NUMA node of " + machine.rdma[pairing.far.front().nic].name +
                                 ": the source puts it far from GPUs of every node",
                             "angio collect on the node");
  }
  const std::vector<std::string> gpus = labels_of(pairing.far);
  Draft draft;
  const std::string way =
      pairing.sockets_known ? "only over the link between the sockets" : "only on another NUMA node";
  draft.title = pairing.far.size() == machine.gpus.size()
                    ? "Every GPU reaches its nearest RDMA card " + way
                    : list_of(gpus) + (gpus.size() == 1 ? " reaches" : " reach") + " an RDMA card " + way;
  draft.devices = gpus;
  for (const Nearest& pair : pairing.far)
    draft.evidence.push_back(far_evidence(machine, pair));
  if (pairing.sockets_known) draft.cost = far_cost(machine, pairing.far);
  draft.rank = static_cast<double>(pairing.far.size()) / static_cast<double>(machine.gpus.size());
  const bool move = !is_virtual(machine) && worth_moving(machine, pairing, nics);
  draft.severity = move ? model::Severity::kWarning : model::Severity::kInfo;
  draft.words.emplace(is_virtual(machine) ? "in_guest" : move ? "movable" : "fixed", "yes");
  outcome.fire(std::move(draft));
}

void nic_not_below_switch(const Machine& machine, Outcome& outcome) {
  const std::vector<std::uint32_t> nics = real_nics(machine);
  if (nics.empty() || std::ranges::all_of(machine.gpus, is_coherent)) return outcome.not_applicable();
  const Pairing pairing = pair_up(machine, nics);
  report_unknown(pairing.unknown, outcome);
  report_unknown(pairing.same_node, outcome);
  if (pairing.near.empty()) return;
  Draft draft;
  draft.devices = labels_of(pairing.near);
  draft.title = list_of(draft.devices) + (draft.devices.size() == 1 ? " shares" : " share") +
                " no PCIe switch with an RDMA card";
  for (const Nearest& pair : pairing.near) {
    const RdmaDevice& nic = machine.rdma[pair.nic];
    const model::Source& source = machine.stated_paths ? machine.stated_paths->source : nic.address.source();
    draft.evidence.push_back(seen(
        machine, source, gpu_label(*pair.gpu) + " to " + nic.name + ": " + model::label({pair.kind, 0, {}})));
  }
  draft.rank = static_cast<double>(pairing.near.size()) / static_cast<double>(machine.gpus.size());
  // A machine built with a card for each GPU, where most GPUs have theirs.
  const bool odd_one_out = !is_virtual(machine) && nics.size() >= machine.gpus.size() &&
                           pairing.switched.size() > pairing.near.size();
  if (odd_one_out) {
    draft.title += "; the other " + count_of(pairing.switched.size(), "GPU") +
                   (pairing.switched.size() == 1 ? " does" : " do");
    draft.severity = model::Severity::kWarning;
  }
  draft.words.emplace(is_virtual(machine) ? "in_guest" : odd_one_out ? "odd_one_out" : "by_design", "yes");
  outcome.fire(std::move(draft));
}

// ---- GPUs over sockets

void unbalanced_gpus(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.size() < 2) return outcome.not_applicable();
  Gaps gaps("NUMA node");
  std::map<std::string, std::vector<std::string>> sockets;
  const auto cpu_nodes = std::ranges::count_if(
      machine.numa.nodes, [](const model::NumaNode& node) { return !node.cpus.empty(); });
  bool sockets_hidden = false;
  std::vector<model::Evidence> evidence;
  for (const Gpu& gpu : machine.gpus) {
    const auto node = model::nearest_node(machine, {DeviceKind::kGpu, gpu.index});
    if (!node) {
      gaps.add(gpu_label(gpu), gpu.numa);
      continue;
    }
    const auto package = package_of(machine, *node);
    sockets_hidden = sockets_hidden || (!package && cpu_nodes > 2);
    sockets[package ? "socket " + std::to_string(*package) : "node " + std::to_string(node->value)].push_back(
        gpu_label(gpu));
    evidence.push_back(
        seen(machine, gpu.numa.source(), gpu_label(gpu) + " on node " + std::to_string(node->value)));
  }
  if (!gaps.empty()) return gaps.report(outcome);
  if (sockets_hidden) {
    return outcome.undecided("which NUMA nodes share a socket: not in this source",
                             "angio collect on the node");
  }
  const auto fewer = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto [least, most] = std::minmax_element(sockets.begin(), sockets.end(), fewer);
  if (sockets.size() < 2 || least->second.size() == most->second.size()) return;
  std::string spread;
  for (const auto& [socket, gpus] : sockets) {
    spread += (spread.empty() ? "" : ", ") + std::to_string(gpus.size()) + " on " + socket;
  }
  outcome.fire({.title = "GPUs are spread unevenly: " + spread,
                .devices = most->second,
                .evidence = std::move(evidence),
                .rank = static_cast<double>(most->second.size() - least->second.size()) /
                        static_cast<double>(machine.gpus.size())});
}

}  // namespace angio::diagnose::pcie
