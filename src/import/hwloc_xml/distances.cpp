#include "import/hwloc_xml/distances.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "import/hwloc_xml/words.hpp"

namespace angio::import::hwloc_xml {
namespace {

constexpr std::string_view kExportAgain = "run 'lstopo --of xml topology.xml' again and send the whole file";
constexpr std::size_t kMaxNodes = 1024;
constexpr std::size_t kMaxLinkEnds = 256;   // GPUs, NVSwitches and packages; a DGX-2 has 28
constexpr std::uint64_t kMostLinks = 1024;  // between two GPUs; NVLink 5 has 18, hostile text may say more
constexpr std::array kLinkMatrices{std::string_view("NVLinkBandwidth"), std::string_view("XGMIBandwidth")};

// hwloc_distances_kind_e
constexpr std::uint32_t kMeansLatency = 4;
constexpr std::uint32_t kMeansBandwidth = 8;

std::vector<std::uint64_t> numbers_in(const XmlElement& element, std::string_view child_name) {
  std::vector<std::uint64_t> numbers;
  for (const XmlElement& child : element.children) {
    if (child.name != child_name) continue;
    for (const std::string_view word : split_words(child.text)) {
      const auto number = parse_integer<std::uint64_t>(word);
      if (!number || numbers.size() >= kMaxNodes * kMaxNodes) return numbers;
      numbers.push_back(*number);
    }
  }
  return numbers;
}

// values: row by row, for the nodes in `order`.
void set_distances(Draft& draft, const XmlElement& element, const std::vector<std::uint32_t>& order,
                   const std::vector<std::uint32_t>& values) {
  std::map<std::uint32_t, std::size_t> place;
  for (std::size_t i = 0; i < order.size(); ++i)
    place.emplace(order[i], i);
  auto& nodes = draft.machine.numa.nodes;
  const bool complete =
      values.size() == order.size() * order.size() && place.size() == order.size() &&
      std::ranges::all_of(nodes, [&](const auto& node) { return place.contains(node.id.value); });
  if (!complete) {
    draft.note(
        "hwloc.distances-incomplete", element.line,
        [&] {
          return fmt::format("{} values for {} nodes of {}", values.size(), order.size(), nodes.size());
        },
        kExportAgain);
    return;
  }
  for (model::NumaNode& node : nodes) {
    std::vector<std::uint32_t> row;
    for (const model::NumaNode& other : nodes) {
      row.push_back(values[place[node.id.value] * order.size() + place[other.id.value]]);
    }
    node.distances = draft.known(std::move(row), element.line);
  }
}

void note_other_matrix(Draft& draft, const XmlElement& element, std::uint32_t kind) {
  std::string_view what = element.get("name").empty() ? element.get("type") : element.get("name");
  if (what.empty()) what = "a matrix without a name";
  const std::string name = printable(what);
  const bool bandwidth = (kind & kMeansBandwidth) != 0;
  draft.note(
      "hwloc.matrix-not-kept", element.line,
      [&] {
        return fmt::format("{}: {} between other things than NUMA nodes are not kept", name,
                           bandwidth ? "bandwidths" : "distances");
      },
      "nothing to do");
}

struct LinkMatrix {
  std::vector<std::optional<std::uint32_t>> gpu;  // in machine.gpus; none for switches and packages
  std::vector<std::uint64_t> values;              // row by row
  std::vector<bool> is_switch;
  [[nodiscard]] std::uint64_t between(std::size_t a, std::size_t b) const {
    return std::max(values[a * gpu.size() + b], values[b * gpu.size() + a]);
  }
};

LinkMatrix read_links(const Draft& draft, const XmlElement& element, const ObjectNames& objects) {
  const auto& gpus = draft.machine.gpus;
  LinkMatrix matrix;
  for (const XmlElement& child : element.children) {
    if (child.name != "indexes") continue;
    for (const std::string_view word : split_words(child.text)) {
      if (matrix.gpu.size() == kMaxLinkEnds) return {};
      const bool typed = word.find(':') != std::string_view::npos;
      const auto object =
          objects.find(typed ? std::string(word) : fmt::format("{}:{}", element.get("type"), word));
      const auto gpu =
          object == objects.end() ? gpus.end() : std::ranges::find_if(gpus, [&](const model::Gpu& each) {
            return each.address.is(object->second);
          });
      matrix.gpu.push_back(gpu != gpus.end() ? std::optional(gpu->index) : std::nullopt);
      matrix.is_switch.push_back(gpu == gpus.end() && word.starts_with("PCIDev:"));
    }
  }
  matrix.values = numbers_in(element, "u64values");
  return matrix;
}

// What hwloc writes for one NVLink: topology-nvml.c adds up 20000 MB/s for each of version 1 and 25000 for
// each later one. A GPU with version 1 has four links, so multiples of both are of the later ones.
// 0: the matrix holds something else.
std::uint64_t bandwidth_of_one_link(const LinkMatrix& matrix) {
  for (const std::uint64_t one : {std::uint64_t{25000}, std::uint64_t{20000}}) {
    const std::size_t size = matrix.gpu.size();
    bool fits = true;
    for (std::size_t i = 0; i < matrix.values.size(); ++i)
      fits = fits && (i / size == i % size || matrix.values[i] % one == 0);  // the diagonal is made up
    if (fits) return one;
  }
  return 0;
}

struct LinkedPair {
  std::uint32_t a;
  std::uint32_t b;
  std::uint32_t links;  // 0: not told
};

// Joined directly, or both to some NVSwitch: all switches of a board are one fabric.
std::vector<LinkedPair> linked_pairs(const LinkMatrix& matrix, std::uint64_t one_link) {
  const std::size_t size = matrix.gpu.size();
  std::vector<std::uint64_t> switched(size, 0);  // bandwidth to all switches
  for (std::size_t i = 0; i < size * size; ++i) {
    if (matrix.is_switch[i % size] && i / size != i % size)
      switched[i / size] += matrix.between(i / size, i % size);
  }
  std::vector<LinkedPair> pairs;
  for (std::size_t i = 0; i < size * size; ++i) {
    const std::size_t a = i / size;
    const std::size_t b = i % size;
    if (a >= b || !matrix.gpu[a] || !matrix.gpu[b] || matrix.gpu[a] == matrix.gpu[b]) continue;
    std::uint64_t bandwidth = matrix.between(a, b);
    if (bandwidth == 0) bandwidth = std::min(switched[a], switched[b]);
    if (bandwidth == 0) continue;
    const std::uint64_t links = one_link > 0 ? bandwidth / one_link : 0;
    pairs.push_back(
        {*matrix.gpu[a], *matrix.gpu[b], links <= kMostLinks ? static_cast<std::uint32_t>(links) : 0});
  }
  return pairs;
}

std::string name_pairs(const model::Machine& machine, const std::vector<LinkedPair>& pairs) {
  constexpr std::size_t kNamed = 6;
  std::vector<std::string> names;
  for (const LinkedPair& pair : pairs) {
    if (names.size() == kNamed) break;
    names.push_back(fmt::format("{}-{}", to_string(machine.gpus[pair.a].address.value_or({})),
                                to_string(machine.gpus[pair.b].address.value_or({}))));
  }
  const std::string more = pairs.size() > kNamed ? fmt::format(" and {} more", pairs.size() - kNamed) : "";
  return join(names, ", ") + more;
}

void add_link(model::Gpu& gpu, const model::Gpu& peer, std::uint32_t links) {
  const PciAddress address = peer.address.value_or({});
  if (std::ranges::find(gpu.linked, address) != gpu.linked.end()) return;
  gpu.linked.push_back(address);
  gpu.linked_counts.push_back(links);
}

void take_links(Draft& draft, const XmlElement& element, const ObjectNames& objects) {
  const LinkMatrix matrix = read_links(draft, element, objects);
  if (matrix.values.size() != matrix.gpu.size() * matrix.gpu.size()) {
    draft.note(
        "hwloc.link-matrix-incomplete", element.line,
        [&] {
          return fmt::format("{}: {} values for {} objects", element.get("name"), matrix.values.size(),
                             matrix.gpu.size());
        },
        kExportAgain);
    return;
  }
  const bool nvlink = element.get("name") == kLinkMatrices.front();
  const std::vector<LinkedPair> pairs = linked_pairs(matrix, nvlink ? bandwidth_of_one_link(matrix) : 0);
  auto& gpus = draft.machine.gpus;
  for (const LinkedPair& pair : pairs) {
    add_link(gpus[pair.a], gpus[pair.b], pair.links);
    add_link(gpus[pair.b], gpus[pair.a], pair.links);
  }
  const bool counted = std::ranges::all_of(pairs, [](const LinkedPair& pair) { return pair.links > 0; });
  if (counted && !pairs.empty()) return;  // the matrix is in the model, nothing is left to say
  draft.note(
      "hwloc.link-bandwidth-matrix", element.line,
      [&] {
        return pairs.empty()
                   ? fmt::format("{}: joins no two GPUs that are described here", element.get("name"))
                   : fmt::format("{}: links join {} {} of GPUs ({}); how many links is not in the file",
                                 element.get("name"), pairs.size(), pairs.size() == 1 ? "pair" : "pairs",
                                 name_pairs(draft.machine, pairs));
      },
      "run nvidia-smi topo -m on the node for the number of links");
}

}  // namespace

void take_distances2(Draft& draft, const XmlElement& element, const ObjectNames& objects) {
  const std::uint32_t kind = number_of(element, "kind").value_or(0);
  const bool numa =
      element.name == "distances2" && element.get("type") == "NUMANode" && (kind & kMeansLatency) != 0;
  const auto& nodes = draft.machine.numa.nodes;
  const bool links = std::ranges::find(kLinkMatrices, element.get("name")) != kLinkMatrices.end();
  if (links && (kind & kMeansBandwidth) != 0) return take_links(draft, element, objects);
  if (!numa || element.get("indexing") != "os") return note_other_matrix(draft, element, kind);
  if (!nodes.empty() && nodes.front().distances.is_known()) return note_other_matrix(draft, element, kind);
  std::vector<std::uint32_t> order;
  for (const std::uint64_t index : numbers_in(element, "indexes")) {
    if (index <= CpuSet::kMaxCpu && order.size() < kMaxNodes)
      order.push_back(static_cast<std::uint32_t>(index));
  }
  std::vector<std::uint32_t> values;
  for (const std::uint64_t value : numbers_in(element, "u64values")) {
    values.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xFFFFFFFF)));
  }
  set_distances(draft, element, order, values);
}

void take_distances1(Draft& draft, const XmlElement& element, const std::vector<std::uint32_t>& node_order) {
  const auto base = parse_double(element.get("latency_base"));
  const auto count = number_of(element, "nbobjs");
  if (!base || *base <= 0 || *base > 1e6 || count != node_order.size() || node_order.size() > kMaxNodes) {
    return note_other_matrix(draft, element, 0);
  }
  std::vector<std::uint32_t> values;
  for (const XmlElement& latency : element.children) {
    const auto value = parse_double(latency.get("value"));
    if (latency.name != "latency" || !value || *value < 0 || *value > 1000 * *base) continue;
    values.push_back(static_cast<std::uint32_t>(std::lround(*value * *base)));
  }
  set_distances(draft, element, node_order, values);
}

}  // namespace angio::import::hwloc_xml
