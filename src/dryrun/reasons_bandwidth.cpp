// How many channels of which bandwidth, and what stopped the search from more: the link that the channels of
// NCCL's ring fill, by NCCL's own figures for the same topology.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/reasons_case.hpp"
#include "knowledge/nccl_topology.hpp"

namespace angio::dryrun {
namespace {

using model::NcclPattern;
using nccl::kNone;
using nccl::LinkKind;
using nccl::NodeKind;
using nccl::PathType;
using nccl::System;
using nccl::SystemLink;
using nccl::SystemNode;

using Chain = std::vector<std::uint32_t>;  // nodes of one channel, from NIC to NIC or from GPU to GPU

// Up to 2.21 a chain names ranks and device numbers, "NET/0 GPU/8 GPU/9": ranks count from the node's first.
Chain read_numbered_chain(const System& system, const std::vector<std::string_view>& words) {
  std::vector<std::pair<NodeKind, int>> numbers;
  int first = std::numeric_limits<int>::max();
  for (const std::string_view word : words) {
    const std::size_t slash = word.find('/');
    const auto number =
        slash == std::string_view::npos ? std::nullopt : parse_integer<int>(word.substr(slash + 1));
    const bool gpu = word.starts_with("GPU/");
    if (!number || (!gpu && !word.starts_with("NET/"))) return {};
    numbers.emplace_back(gpu ? NodeKind::kGpu : NodeKind::kNet, *number);
    if (gpu) first = std::min(first, *number);
  }
  Chain chain;
  for (const auto& [kind, number] : numbers) {
    const auto& nodes = system.all(kind);
    const bool gpu = kind == NodeKind::kGpu;
    const int wanted = gpu ? number - first : number;
    const auto found = std::ranges::find_if(nodes, [&](std::uint32_t node) {
      return (gpu ? system.nodes[node].rank : system.nodes[node].device) == wanted;
    });
    if (found == nodes.end()) return {};
    chain.push_back(*found);
  }
  return chain;
}

// "NET/0-0 GPU/0-1b000 GPU/0-43000 NET/0-1", with or without "0 :" before it; empty: a name that is not in
// the topology.
Chain read_chain(const System& system, std::string_view text) {
  const std::size_t colon = text.find(" : ");
  const auto words = split_words(colon == std::string_view::npos ? text : text.substr(colon + 2));
  const auto is_name = [](std::string_view word) { return word.find('-') != std::string_view::npos; };
  if (std::ranges::none_of(words, is_name)) return read_numbered_chain(system, words);
  Chain chain;
  for (const std::string_view word : words) {
    const std::uint32_t node = find_node(system, word);
    if (node == kNone) return {};
    chain.push_back(node);
  }
  return chain;
}

std::vector<Chain> chains_of(const System& system, const NcclPattern& ring) {
  std::vector<Chain> chains;
  for (const std::string& text : ring.chains) {
    chains.push_back(read_chain(system, text));
    if (chains.back().empty()) return {};
  }
  return chains;
}

class Loads {
 public:
  explicit Loads(const System& system)
      : system_(system),
        intel_(knowledge::nccl_topology_list("intel-p2p", system.options.version)),
        flow_(system.links.size(), 0) {}

  void add(const Chain& chain, const NcclPattern& ring) {
    for (std::size_t at = 0; at + 1 < chain.size(); ++at)
      follow(chain[at], chain[at + 1], ring);
    if (chain.size() > 1 && system_.nodes[chain.front()].kind == NodeKind::kGpu)
      follow(chain.back(), chain.front(), ring);
  }

  // The link with the least left for its bandwidth; kNone: nothing was added.
  [[nodiscard]] std::uint32_t busiest() const {
    std::uint32_t found = kNone;
    for (std::uint32_t link = 0; link < flow_.size(); ++link)
      if (flow_[link] > 0 && (found == kNone || share(link) > share(found))) found = link;
    return found;
  }
  [[nodiscard]] double flow(std::uint32_t link) const { return flow_[link]; }
  [[nodiscard]] double share(std::uint32_t link) const {
    return flow_[link] / static_cast<double>(system_.links[link].bandwidth);
  }
  [[nodiscard]] bool counted_intel() const { return counted_intel_; }
  // The worst classes of paths that the channels take, as NCCL prints them.
  [[nodiscard]] PathType worst_inside() const { return worst_inside_; }
  [[nodiscard]] PathType worst_outside() const { return worst_outside_; }

 private:
  void follow(std::uint32_t from, std::uint32_t to, const NcclPattern& ring) {
    const bool inside =
        system_.nodes[from].kind == NodeKind::kGpu && system_.nodes[to].kind == NodeKind::kGpu;
    const nccl::Path& path = system_.path(from, to);
    const double bandwidth = inside ? ring.bw_intra : ring.bw_inter;
    PathType& worst = inside ? worst_inside_ : worst_outside_;
    worst = std::max(worst, path.type);
    const double factor = through_intel(from, path) ? intel_[0] / intel_[1] : 1;
    if (factor > 1) counted_intel_ = true;
    for (const std::uint32_t link : path.hops)
      flow_[link] += bandwidth * (system_.links[link].kind == LinkKind::kPci ? factor : 1);
  }

  // NCCL counts what GPUs send through an Intel host bridge higher (src/graph/search.cc, followPath).
  [[nodiscard]] bool through_intel(std::uint32_t from, const nccl::Path& path) const {
    constexpr int kX86 = 1, kIntel = 1;  // NCCL's numbers, src/include/graph.h
    if (path.type != PathType::kPhb || system_.nodes[from].kind != NodeKind::kGpu || intel_.size() < 2)
      return false;
    return std::ranges::any_of(path.hops, [&](std::uint32_t hop) {
      const SystemNode& node = system_.nodes[system_.links[hop].to];
      return node.kind == NodeKind::kCpu && node.arch == kX86 && node.vendor == kIntel;
    });
  }

  const System& system_;
  std::span<const double> intel_;
  std::vector<double> flow_;
  bool counted_intel_ = false;
  PathType worst_inside_ = PathType::kLoc;
  PathType worst_outside_ = PathType::kLoc;
};

std::string_view class_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::kNvlink:
      return "NVLink";
    case LinkKind::kC2c:
      return "the chip-to-chip link";
    case LinkKind::kPci:
      return "PCIe";
    case LinkKind::kSys:
      return "the link between CPU sockets";
    case LinkKind::kNet:
      return "the NIC's own speed";
    case LinkKind::kLocal:
      break;
  }
  return "a link inside a device";
}

std::string link_in_words(const System& system, const SystemLink& link) {
  return fmt::format("{} to {}", in_words(system.nodes[link.from]), in_words(system.nodes[link.to]));
}

std::string question_of(const NcclPattern& ring, bool between_nodes) {
  const std::string count = count_of(ring.channels, "channel");
  if (!between_nodes || number(ring.bw_intra) == number(ring.bw_inter))
    return fmt::format("Why {} of {} GB/s in the ring?", count, number(ring.bw_intra));
  return fmt::format("Why {} of {} GB/s, {} between nodes, in the ring?", count, number(ring.bw_intra),
                     number(ring.bw_inter));
}

// The speeds NCCL tries, as far as one further up: what the next would have taken.
std::string next_speed(const Case& one, const NcclPattern& ring) {
  const int sm = capabilities(one).first;
  std::string name = one.between_nodes ? "speeds-inter" : "speeds-intra";
  if (sm >= 100)  // the generations that have lists of their own, src/graph/search.cc
    name += "-sm100";
  else if (sm >= 90)
    name += "-sm90";
  const double now = one.between_nodes ? ring.bw_inter : ring.bw_intra;
  const double* above = nullptr;
  const auto speeds = knowledge::nccl_topology_list(name, one.release);
  for (const double& speed : speeds)  // descending
    if (speed > now) above = &speed;
  return above == nullptr ? std::string()
                          : fmt::format(" The next higher speed that NCCL tries is {} GB/s.", number(*above));
}

// Settings and the driver can make NCCL take other paths than the topology alone gives (no GPUDirect RDMA, no
// P2P): then its figures for links are not ours.
std::string other_paths(const Case& one, const NcclPattern& ring, const Loads& loads) {
  const std::string_view inside = nccl::label(loads.worst_inside());
  const std::string_view outside = nccl::label(loads.worst_outside());
  if (inside == ring.type_intra && (!one.between_nodes || outside == ring.type_inter)) return {};
  const auto both = [&](std::string_view first, std::string_view second) {
    return one.between_nodes ? fmt::format("{}/{}", first, second) : std::string(first);
  };
  const char* why = one.run.settings.empty()
                        ? ", and this run has no settings: the driver, or another node, changed them."
                        : ": a setting or the driver changed them. The same run without settings would tell.";
  return printable(fmt::format("NCCL took paths {} where the topology of node 0 alone gives {}{}",
                               both(ring.type_intra, ring.type_inter), both(inside, outside), why));
}

void bound_by(const Case& one, const NcclPattern& ring, const Loads& loads, std::uint32_t busiest,
              Answers& answers) {
  const System& system = *one.system;
  const SystemLink& link = system.links[busiest];
  const auto bandwidth = static_cast<double>(link.bandwidth);
  const double each = one.between_nodes ? std::min(ring.bw_intra, ring.bw_inter) : ring.bw_intra;
  const double left = bandwidth - loads.flow(busiest);
  const std::string carries =
      fmt::format("the busiest link, {}, carries {} of the {} GB/s that NCCL counts for it",
                  link_in_words(system, link), number(loads.flow(busiest)), number(bandwidth));
  std::vector<std::string> evidence = {
      answers.cite(ring.source, "ring: " + graph_in_words(ring, one.between_nodes)),
      fmt::format("topology: {} {} GB/s ({})",
                  nccl::nccl_name(system.nodes[link.from]) + " - " + nccl::nccl_name(system.nodes[link.to]),
                  number(bandwidth), nccl::label(link.kind))};
  if (loads.counted_intel())
    evidence.emplace_back(
        "what GPUs send through an Intel host bridge counts 6/5 on PCIe (NCCL, src/graph/search.cc)");
  // NCCL compares single-precision figures: a rest below a thousandth is none.
  if (left < each * 0.999)
    return answers.add(question_of(ring, one.between_nodes),
                       fmt::format("Bound by {}: {}; another channel of {} does not fit.{}",
                                   class_of(link.kind), carries, number(each), next_speed(one, ring)),
                       std::move(evidence));
  answers.add(
      question_of(ring, one.between_nodes),
      fmt::format("{}no link of node 0 is full; {}. The order of GPUs, the limit of channels or another "
                  "node may have ended the search; a dump of the graphs (NCCL_GRAPH_DUMP_FILE) shows "
                  "what it found.",
                  kCannotTell, carries),
      std::move(evidence));
}

// What was asked for on one node alone, as the notes of the run have it.
std::vector<std::string> notes_of_nodes(const Case& one) {
  std::vector<std::string> notes;
  for (const std::string& note : one.run.notes)
    if (note.starts_with("node ")) notes.push_back(printable(note));
  return notes;
}

void nodes_differ(const Case& one, const UsedGraph& used, Answers& answers) {
  std::vector<std::string> evidence;
  for (const NcclPattern* found : used.found)
    evidence.push_back(answers.cite(found->source, "ring: " + graph_in_words(*found, one.between_nodes)));
  for (std::string& note : notes_of_nodes(one))
    evidence.push_back(std::move(note));
  answers.add(question_of(used.graph, one.between_nodes),
              fmt::format("The nodes differ: their ranks found {} rings, and NCCL takes the least of each "
                          "figure for all. What bounds the weaker one is told by a dry run in which every "
                          "node is as that one.",
                          used.found.size()),
              std::move(evidence));
}

// The line of each graph, and in words which of them are NCCL's last resort; empty: none.
std::string cite_graphs(const Case& one, const UsedGraph& used, GraphKind kind,
                        std::vector<std::string>& evidence, const Answers& answers) {
  std::string said;
  for (const NcclPattern* found : used.found) {
    const std::string channels = count_of(found->channels, "channel");
    const auto no_path = cite_no_path(one, *found, answers);
    evidence.push_back(no_path ? *no_path
                               : answers.cite(found->source, fmt::format("{}: {}", label(kind), channels)));
    if (!no_path) continue;
    said = fmt::format(" The {} has {} because NCCL found no path for it and took the ranks in order.",
                       label(kind), channels);
  }
  return said;
}

}  // namespace

void explain_bandwidth(const Case& one, Answers& answers) {
  if (one.world == nullptr) return;
  const auto used = used_graph(*one.world, GraphKind::kRing);
  if (!used || used->graph.channels == 0) return;
  if (used->found.size() > 1) return nodes_differ(one, *used, answers);
  const NcclPattern* ring = &used->graph;
  const std::string cited = answers.cite(ring->source, "ring: " + graph_in_words(*ring, one.between_nodes));
  if (const auto line = cite_no_path(one, *ring, answers))
    return answers.add(question_of(*ring, one.between_nodes),
                       "NCCL found no path for its ring and took the ranks in order, with one channel.",
                       {*line, cited});
  if (!one.system || !one.no_system.empty())
    return answers.add(question_of(*ring, one.between_nodes),
                       fmt::format("{}the topology gives no graph: {}.", kCannotTell, one.no_system),
                       {cited});
  const std::vector<Chain> chains = chains_of(*one.system, *ring);
  Loads loads(*one.system);
  for (const Chain& chain : chains)
    loads.add(chain, *ring);
  const std::uint32_t busiest = loads.busiest();
  if (busiest == kNone)
    return answers.add(
        question_of(*ring, one.between_nodes),
        kCannotTell + std::string(ring->chains.empty()
                                      ? "the log does not name the GPUs of the channels; "
                                        "NCCL_DEBUG_SUBSYS=GRAPH shows them."
                                      : "the log does not name the GPUs and NICs of the channels as the "
                                        "topology of node 0 does."),
        {cited});
  if (const std::string other = other_paths(one, *ring, loads); !other.empty())
    return answers.add(question_of(*ring, one.between_nodes), kCannotTell + other, {cited});
  bound_by(one, *ring, loads, busiest, answers);
}

void explain_channels(const Case& one, Answers& answers) {
  if (one.world == nullptr) return;
  const auto channels = most(*one.world, &model::NcclRank::coll_channels);
  if (!channels) return;
  const auto ring = used_graph(*one.world, GraphKind::kRing);
  const auto tree = used_graph(*one.world, GraphKind::kTree);
  const std::string question = fmt::format("Why {} in the communicator?", count_of(*channels, "channel"));
  std::vector<std::string> evidence;
  for (const model::NcclRank& rank : one.world->ranks)
    if (rank.coll_channels == channels) {
      evidence.push_back(answers.cite(rank.channels_source, fmt::format("{} coll channels", *channels)));
      break;
    }
  for (const char* name : {"NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS"}) {
    const std::string* value = value_of(one, name);
    if (value == nullptr || parse_integer<std::uint32_t>(trim(*value)) != channels) continue;
    evidence.push_back(answers.cite_setting(name));
    return answers.add(question, fmt::format("{} says so.", name), std::move(evidence));
  }
  if (!ring || !tree)
    return answers.add(
        question, kCannotTell + std::string("the log has no graphs; NCCL_DEBUG_SUBSYS=GRAPH shows them."),
        std::move(evidence));
  const std::uint32_t rings = ring->graph.channels;
  const std::uint32_t trees = tree->graph.channels;
  const std::uint32_t least = std::min(rings, trees);
  std::string no_path = cite_graphs(one, *ring, GraphKind::kRing, evidence, answers);
  no_path += cite_graphs(one, *tree, GraphKind::kTree, evidence, answers);
  std::string way;
  if (*channels == 2 * least) way = "doubled, as NCCL does with every graph";
  if (*channels == 4 * least) way = "doubled twice, as NCCL does with few fast rings between nodes";
  if (*channels == least) way = "as they are";
  const bool differ = ring->found.size() > 1 || tree->found.size() > 1;
  if (way.empty())
    return answers.add(question,
                       fmt::format("{}the graphs have {}, and nothing in the log says how they became {}.{}",
                                   kCannotTell, count_of(least, "channel"), *channels, no_path),
                       std::move(evidence));
  answers.add(question,
              fmt::format("The smaller of the ring's {} and the tree's {}{}, {}.{}", rings, trees,
                          differ ? " (the least of nodes that differ)" : "", way, no_path),
              std::move(evidence));
}

}  // namespace angio::dryrun
