#include "dryrun/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "dryrun/reasons_case.hpp"

namespace angio::dryrun {

using nccl::kNone;
using nccl::NodeKind;

namespace {

constexpr std::string_view kDisplayClass = "0x03";  // PCI: GPUs

std::set<std::uint64_t> buses_of(const Case& one, std::string_view host) {
  std::set<std::uint64_t> buses;
  for (const model::NcclRank& rank : one.world->ranks)
    if (!rank.bus_id.empty() && model::host_of(*one.log, rank) == host)
      buses.insert(nccl::bus_number(rank.bus_id));
  return buses;
}

// GPUs without a rank: NCCL never sees them.
void keep_gpus(nccl::Element& root, const std::set<std::uint64_t>& buses) {
  std::erase_if(root.children, [&](nccl::Element& child) {
    const bool unranked = child.name == "pci" && child.child("gpu") != nullptr &&
                          !buses.contains(nccl::bus_number(child.get("busid")));
    if (unranked) std::erase_if(child.children, [](const nccl::Element& each) { return each.name == "gpu"; });
    return unranked && child.get("class").starts_with(kDisplayClass);
  });
  for (nccl::Element& child : root.children)
    keep_gpus(child, buses);
}

// NICs that the plugin does not report, which NCCL drops; those that are left have the plugin's numbers.
void keep_nets(nccl::Element& root, const std::map<std::uint32_t, std::string>& offered, std::size_t& kept) {
  const auto number_of = [&](const nccl::Element& net) {
    return std::ranges::find(offered, net.get("name"),
                             [](const auto& nic) -> std::string_view { return nic.second; });
  };
  std::erase_if(root.children, [&](const nccl::Element& child) {
    return child.name == "net" && number_of(child) == offered.end();
  });
  for (nccl::Element& child : root.children) {
    if (child.name == "net") {
      child.set("dev", std::to_string(number_of(child)->first));
      ++kept;
    }
    keep_nets(child, offered, kept);
  }
}

void put_nodes(Case& one) {
  if (one.log == nullptr || one.world == nullptr) return;
  for (const model::NcclRank& rank : one.world->ranks) {
    const std::string& host = model::host_of(*one.log, rank);
    if (host.empty() || std::ranges::find(one.nodes, host, &NodeNics::host) != one.nodes.end()) continue;
    NodeNics node{host, {}};
    for (const model::NcclNetwork& network : one.log->networks) {
      if (network.host != host) continue;
      const auto& list = network.virtual_devices.empty() ? network.devices : network.virtual_devices;
      for (const model::NcclNetDevice& device : list)
        if (!device.name.empty()) node.offered.try_emplace(device.index, device.name);
    }
    one.nodes.push_back(std::move(node));
  }
}

void put_system(Case& one) {
  nccl::Element seen = one.topology;
  if (!one.nodes.empty()) {
    const auto buses = buses_of(one, one.nodes.front().host);
    // A log of some ranks only tells nothing of the others' GPUs.
    if (!buses.empty() && one.world->ranks.size() == one.world->nranks) keep_gpus(seen, buses);
    std::size_t kept = 0;
    const auto& offered = one.nodes.front().offered;
    if (!offered.empty()) keep_nets(seen, offered, kept);
    if (!offered.empty() && kept == 0 && one.between_nodes) {
      one.no_system =
          "NCCL was offered " + printable(offered.begin()->second) + ", and the topology has no such NIC";
    }
  }
  auto system = nccl::make_system(seen, {one.release, one.between_nodes});
  if (system)
    one.system = std::move(*system);
  else
    one.no_system = system.error().message;
}

Case make_case(const model::DryRun& run, const nccl::Element& topology) {
  Case one{.run = run,
           .topology = topology,
           .log = nullptr,
           .world = nullptr,
           .release = {},
           .between_nodes = run.nodes > 1,
           .nodes = {},
           .system = {},
           .no_system = {},
           .ways = {}};
  one.release = release_of(run.nccl);
  if (run.evidence.log) one.log = &*run.evidence.log;
  if (one.log != nullptr) one.world = world_of(*one.log);
  if (one.world != nullptr) {
    one.ways = ways_of(*one.world);
    if (one.world->nodes) one.between_nodes = *one.world->nodes > 1;
  }
  put_nodes(one);
  put_system(one);
  return one;
}

// The digits behind the last '-' or '/': a bus id, or a device number, in hexadecimal.
std::optional<std::uint64_t> id_in(std::string_view name) {
  const std::size_t at = name.find_last_of("-/");
  if (at == std::string_view::npos) return std::nullopt;
  return parse_integer<std::uint64_t>(name.substr(at + 1), 16);
}

std::optional<NodeKind> kind_in(std::string_view name) {
  for (const NodeKind kind : {NodeKind::kGpu, NodeKind::kNet, NodeKind::kSwitch, NodeKind::kCpu,
                              NodeKind::kNic, NodeKind::kPci, NodeKind::kDevice})
    if (name.starts_with(nccl::label(kind)) && name.substr(nccl::label(kind).size()).starts_with("/"))
      return kind;
  return std::nullopt;
}

}  // namespace

std::uint32_t find_node(const nccl::System& system, std::string_view name) {
  const auto kind = kind_in(name);
  const auto id = id_in(name);
  if (!kind || !id) return kNone;
  std::uint32_t found = kNone;
  for (const std::uint32_t node : system.all(*kind)) {
    if (system.nodes[node].id != *id) continue;
    if (found != kNone) return kNone;  // several hosts in one system: which is not said
    found = node;
  }
  return found;
}

std::uint32_t gpu_of(const Case& one, std::uint32_t rank) {
  if (one.world == nullptr || !one.system) return kNone;
  const auto& ranks = one.world->ranks;
  const auto found = std::ranges::find_if(
      ranks, [&](const model::NcclRank& candidate) { return candidate.rank && *candidate.rank == rank; });
  if (found == ranks.end() || found->bus_id.empty()) return kNone;
  return find_node(*one.system, "GPU/" + found->bus_id);
}

const std::string& host_of_rank(const Case& one, std::uint32_t rank) {
  static const std::string kNoHost;
  if (one.world == nullptr || one.log == nullptr) return kNoHost;
  const auto found = std::ranges::find(one.world->ranks, std::optional(rank), &model::NcclRank::rank);
  return found == one.world->ranks.end() ? kNoHost : model::host_of(*one.log, *found);
}

std::pair<int, int> capabilities(const Case& one) {
  if (!one.system) return {0, 0};
  int least = 0;
  int most = 0;
  for (const std::uint32_t gpu : one.system->all(NodeKind::kGpu)) {
    const int sm = one.system->nodes[gpu].sm;
    least = least == 0 ? sm : std::min(least, sm);
    most = std::max(most, sm);
  }
  return {least, most};
}

bool same_word(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view text) {
    std::string word = to_lower(text);
    std::erase(word, '_');
    return word;
  };
  return plain(a) == plain(b);
}

bool excludes(const std::string& list, std::string_view word) {
  std::string_view text = trim(list);
  if (text.find_first_of(";:") != std::string_view::npos)
    return false;  // 2.24 and newer, by function: not judged
  const bool inverted = text.starts_with("^");
  if (inverted) text.remove_prefix(1);
  const auto parts = split(text, ',');
  const bool named =
      std::ranges::any_of(parts, [&](std::string_view part) { return same_word(trim(part), word); });
  return named == inverted;
}

std::string in_words(const nccl::SystemNode& node) {
  const bool gpu = node.kind == NodeKind::kGpu || node.kind == NodeKind::kDevice;
  if (gpu && node.device >= 0) return fmt::format("GPU {}", node.device);
  if (node.kind == NodeKind::kNet && !node.name.empty()) return printable(node.name);
  if (node.kind == NodeKind::kSwitch) return "NVSwitch";
  constexpr std::uint64_t kNoNuma = (std::uint64_t{1} << 56U) - 1;  // -1 in NCCL's 56 bits, src/graph/topo.h
  if (node.kind == NodeKind::kCpu)
    return node.id >= kNoNuma ? "a CPU of no NUMA node" : fmt::format("CPU {}", node.id);
  if (node.kind == NodeKind::kPci) return fmt::format("PCIe switch {}", nccl::nccl_name(node));
  return nccl::nccl_name(node);
}

const std::string* value_of(const Case& one, std::string_view name) {
  if (const std::string* value = find_setting(one.run.settings, name)) return value;
  if (one.log == nullptr) return nullptr;
  const model::NcclSetting* read = read_setting(*one.log, name);
  return read == nullptr ? nullptr : &read->value;
}

std::string Answers::cite(const model::Source& source, const std::string& text) const {
  if (case_.log == nullptr || source.line == 0) return printable(text);
  return printable(fmt::format("{}: {}", case_.log->places.text(source), text));
}

std::string Answers::cite_setting(std::string_view name) const {
  const model::NcclSetting* read = case_.log == nullptr ? nullptr : read_setting(*case_.log, name);
  if (read != nullptr) return cite(read->source, fmt::format("{} set to {}", name, read->value));
  const std::string* value = value_of(case_, name);
  return printable(fmt::format("{}={}, a setting of this run", name, value == nullptr ? "" : *value));
}

void Answers::add(std::string question, std::string answer, std::vector<std::string> evidence) {
  reasons_.push_back({std::move(question), std::move(answer), std::move(evidence)});
}

std::vector<Reason> explain(const model::DryRun& run, const nccl::Element& topology) {
  const Case one = make_case(run, topology);
  Answers answers(one);
  explain_bandwidth(one, answers);
  explain_channels(one, answers);
  explain_nvls(one, answers);
  explain_pairs(one, answers);
  explain_gdr(one, answers);
  explain_pxn(one, answers);
  explain_nics(one, answers);
  explain_protocols(one, answers);
  explain_choices(one, answers);
  explain_settings(one, answers);
  return answers.take();
}

}  // namespace angio::dryrun
