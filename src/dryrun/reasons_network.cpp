// Why a NIC carries nothing, for each node by itself: nodes may have other NICs, and the plugin numbers those
// that it reports.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/reasons_case.hpp"
#include "model/nccl_names.hpp"

namespace angio::dryrun {
namespace {

using nccl::Element;
using nccl::kNone;
using nccl::NodeKind;
using nccl::PathType;
using nccl::System;

struct Nic {
  std::string name;
  std::optional<std::uint32_t> device;  // the plugin's number; none: not offered
  std::uint32_t port = 1;
};

void collect_nets(const Element& element, std::vector<Nic>& nics) {
  if (element.name == "net")
    nics.push_back({std::string(element.get("name")), std::nullopt,
                    parse_integer<std::uint32_t>(element.get("port")).value_or(1)});
  for (const Element& child : element.children)
    collect_nets(child, nics);
}

// Those of the topology, which is node 0's, and those that the node was offered.
std::vector<Nic> nics_of(const Case& one, const NodeNics& node) {
  std::vector<Nic> nics;
  collect_nets(one.topology, nics);
  for (const auto& [device, name] : node.offered) {
    const auto known = std::ranges::find(nics, name, &Nic::name);
    if (known == nics.end())
      nics.push_back({name, device});
    else
      known->device = device;
  }
  return nics;
}

std::set<std::uint32_t> used_by(const Case& one, const std::string& host) {
  std::set<std::uint32_t> used;
  for (const model::NcclRank& rank : one.world->ranks) {
    if (model::host_of(*one.log, rank) != host) continue;
    for (const model::NcclConnection& connection : rank.connections)
      if (connection.transport == model::NcclTransport::kNet && connection.net_device)
        used.insert(*connection.net_device);
  }
  return used;
}

// ---- near a GPU or not

std::optional<std::uint32_t> net_number(std::string_view name) {
  if (!name.starts_with("NET/")) return std::nullopt;
  return parse_integer<std::uint32_t>(name.substr(name.find_last_of("-/") + 1), 16);
}

// The NICs that a GPU takes for its own: the most bandwidth, then the nearest class (src/graph/topo.cc,
// ncclTopoGetLocal).
std::set<std::uint32_t> nearest(const model::NcclPathRow& row) {
  std::set<std::uint32_t> found;
  double most = 0;
  PathType least = PathType::kDis;
  for (const model::NcclPathCell& cell : row.cells) {
    const auto number = net_number(cell.to);
    PathType type{};
    if (!number || !nccl::parse_path_type(cell.type, type)) continue;
    if (cell.bandwidth > most || (cell.bandwidth == most && type < least)) {
      found.clear();
      most = cell.bandwidth;
      least = type;
    }
    if (cell.bandwidth == most && type == least) found.insert(*number);
  }
  return found;
}

const model::NcclSystem* system_of(const Case& one, const std::string& host) {
  const auto found = std::ranges::find_if(one.log->systems, [&](const model::NcclSystem& system) {
    return system.host == host && !system.paths.empty();
  });
  return found == one.log->systems.end() ? nullptr : &*found;
}

std::set<std::uint32_t> near_by_log(const model::NcclSystem& system) {
  std::set<std::uint32_t> near;
  for (const model::NcclPathRow& row : system.paths)
    if (row.from.starts_with("GPU/")) near.merge(nearest(row));
  return near;
}

bool is_near(const System& system, const std::string& name) {
  for (const std::uint32_t gpu : system.all(NodeKind::kGpu))
    for (const std::uint32_t net : system.nodes[gpu].near_nets)
      if (system.node(NodeKind::kNet, net).name == name) return true;
  return false;
}

// GPUs of node 0 that have the NIC as their nearest, those without a rank too.
std::vector<std::string> gpus_near(const Case& one, const std::string& name) {
  std::vector<std::string> gpus;
  const auto whole = nccl::make_system(one.topology, {one.release, one.between_nodes});
  if (!whole) return gpus;
  for (const std::uint32_t gpu : whole->all(NodeKind::kGpu))
    for (const std::uint32_t net : whole->nodes[gpu].near_nets)
      if (whole->node(NodeKind::kNet, net).name == name) gpus.push_back(in_words(whole->nodes[gpu]));
  return gpus;
}

// ---- reasons

// What one node alone was given, else what all were.
const std::string* hca_of(const Case& one, std::size_t node, std::string& own) {
  const std::string start = fmt::format("node {} alone has NCCL_IB_HCA=", node);
  for (const std::string& note : one.run.notes)
    if (note.starts_with(start)) {
      own = note.substr(start.size());
      return &own;
    }
  return value_of(one, "NCCL_IB_HCA");
}

std::optional<Answer> why_not_offered(const Case& one, std::size_t node, const Nic& nic,
                                      const Answers& answers) {
  std::string own;
  if (const std::string* list = hca_of(one, node, own); list != nullptr) {
    const model::NameList names = model::parse_names(*list);
    if (!names.names.empty() && !model::takes(names, nic.name, nic.port))
      return Answer{"Not offered to NCCL: NCCL_IB_HCA chooses the NICs.",
                    {own.empty() ? answers.cite_setting("NCCL_IB_HCA")
                                 : printable(fmt::format("node {}: NCCL_IB_HCA={}", node, own))}};
  }
  if (node > 0) return std::nullopt;  // its own topology is not known here: it may not have that NIC
  return Answer{"Not offered to NCCL: the network plugin does not report such a NIC.", {}};
}

// Where no GPU with a rank has it as its nearest; none: one has, or it cannot be told.
std::optional<Answer> why_far(const Case& one, std::size_t node, const Nic& nic, const Answers& answers) {
  const NodeNics& own = one.nodes[node];
  const model::NcclSystem* system = system_of(one, own.host);
  const auto near = system == nullptr ? std::set<std::uint32_t>() : near_by_log(*system);
  if (near.contains(*nic.device)) return std::nullopt;
  if (near.empty() && (node > 0 || !one.system || !one.no_system.empty() || is_near(*one.system, nic.name)))
    return std::nullopt;
  std::string seen = near.empty() ? "topology: paths from the GPUs to the NICs"
                                  : answers.cite(system->source, "paths from GPUs to NICs as NCCL sees them");
  const auto gpus = gpus_near(one, nic.name);
  const std::size_t ranked = one.system ? one.system->all(NodeKind::kGpu).size() : 0;
  const bool left_out = std::ranges::none_of(gpus, [&](const std::string& gpu) {
    return one.system && std::ranges::any_of(one.system->all(NodeKind::kGpu), [&](std::uint32_t known) {
             return in_words(one.system->nodes[known]) == gpu;
           });
  });
  if (!gpus.empty() && left_out && ranked > 0)
    return Answer{fmt::format("The nearest GPUs have no rank: {} of the node {}.", count_of(ranked, "GPU"),
                              ranked == 1 ? "has one" : "have one"),
                  {std::move(seen)}};
  return Answer{
      "Not the nearest NIC of any GPU in this run (the most bandwidth, then the nearest path): NCCL's search "
      "begins with the nearest.",
      {std::move(seen)}};
}

// The channels that NCCL searched are copied to make those of the communicator: copies share their NICs.
std::optional<Answer> why_few_channels(const Case& one, std::size_t nics, const Answers& answers) {
  const auto ring = used_graph(*one.world, GraphKind::kRing);
  const auto tree = used_graph(*one.world, GraphKind::kTree);
  if (!ring) return std::nullopt;
  const std::uint32_t searched =
      tree ? std::min(ring->graph.channels, tree->graph.channels) : ring->graph.channels;
  const auto made = most(*one.world, &model::NcclRank::coll_channels);
  const std::uint32_t channels = std::min(searched, made.value_or(searched));
  if (channels == 0 || channels >= nics) return std::nullopt;
  const std::string copies =
      made && *made > channels ? fmt::format(" (and copies of them, {} in all)", *made) : std::string();
  Answer answer{
      fmt::format("There {} {}{} for {}: a channel has one NIC at each end.", channels == 1 ? "is" : "are",
                  count_of(channels, "channel"), copies, count_of(nics, "NIC")),
      {}};
  for (const auto& [used, name] : {std::pair{&ring, "ring"}, std::pair{&tree, "tree"}})
    if (*used)
      for (const model::NcclPattern* found : (*used)->found)
        answer.evidence.push_back(
            answers.cite(found->source, fmt::format("{}: {}", name, graph_in_words(*found, true))));
  return answer;
}

std::optional<Answer> why_idle(const Case& one, std::size_t node, const Nic& nic, const Answers& answers) {
  const NodeNics& own = one.nodes[node];
  if (!nic.device) return why_not_offered(one, node, nic, answers);
  if (auto far = why_far(one, node, nic, answers)) return far;
  if (auto few = why_few_channels(one, own.offered.size(), answers)) return few;
  return Answer{kCannotTell + std::string("near a GPU, and there are as many channels as NICs. The search "
                                          "took others; --log keeps the NICs of each channel."),
                {}};
}

// NICs of one node that are idle for one reason.
struct Idle {
  std::vector<std::string> names;
  std::vector<std::string> evidence;
  std::vector<std::size_t> nodes;
};

void add_node(const Case& one, std::size_t node, const Answers& answers,
              std::map<std::pair<std::string, std::vector<std::string>>, Idle>& found) {
  const auto used = used_by(one, one.nodes[node].host);
  if (used.empty()) return;
  std::map<std::string, Idle> of_node;
  for (const Nic& nic : nics_of(one, one.nodes[node])) {
    if (nic.device && used.contains(*nic.device)) continue;
    auto answer = why_idle(one, node, nic, answers);
    if (!answer) continue;
    Idle& idle = of_node[answer->text];
    idle.names.push_back(nic.name);
    if (idle.evidence.empty()) idle.evidence = std::move(answer->evidence);
  }
  for (auto& [text, idle] : of_node) {
    Idle& all = found[{text, idle.names}];
    if (all.nodes.empty()) all = std::move(idle);
    all.nodes.push_back(node);
  }
}

std::string where(const Case& one, const std::vector<std::size_t>& nodes) {
  if (nodes.size() == one.nodes.size()) return {};
  std::vector<std::string> numbers;
  for (const std::size_t node : nodes)
    numbers.push_back(std::to_string(node));
  return fmt::format(" on node{} {}", nodes.size() == 1 ? "" : "s", join(numbers, " "));
}

}  // namespace

void explain_nics(const Case& one, Answers& answers) {
  if (one.world == nullptr || !one.between_nodes || one.ways.nics.empty() || !one.ways.complete) return;
  if (one.world->ranks.size() != one.world->nranks) return;  // others may use it
  if (to_lower(network_of(*one.log)) == "socket") return;    // interfaces, not the topology's NICs
  // Without the plugin's list its numbers mean nothing here.
  if (std::ranges::any_of(one.nodes, [](const NodeNics& node) { return node.offered.empty(); })) return;
  std::map<std::pair<std::string, std::vector<std::string>>, Idle> found;
  for (std::size_t node = 0; node < one.nodes.size(); ++node)
    add_node(one, node, answers, found);
  for (auto& [key, idle] : found)
    answers.add(
        fmt::format("Why {} idle{}: {}?",
                    idle.names.size() == 1 ? "is a NIC" : fmt::format("are {} NICs", idle.names.size()),
                    where(one, idle.nodes), printable(join(idle.names, " "))),
        key.first, std::move(idle.evidence));
}

}  // namespace angio::dryrun
