// The words and lines NCCL prints for its system graph (ncclTopoPrint, ncclTopoPrintPaths of src/graph).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "knowledge/nccl_topology.hpp"
#include "nccl/system_graph.hpp"

namespace angio::nccl {
namespace {

constexpr std::array<std::string_view, kNodeKinds> kNodeWords{"GPU", "PCI", "NVS", "CPU",
                                                              "NIC", "NET", "DEV"};
constexpr std::array<std::string_view, 6> kLinkWords{"LOC", "NVL", "C2C", "PCI", "SYS", "NET"};
constexpr std::array<std::string_view, 12> kPathWords{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                      "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};

// The printed tree of one CPU, as NCCL's recursion prints it: the text so far is blanked out for what is
// below.
class TreePrinter {
 public:
  TreePrinter(const System& system, std::vector<std::string>& lines) : system_(system), lines_(lines) {}

  void print(std::uint32_t index, std::uint32_t from, std::string line, std::size_t offset) {
    const SystemNode& node = system_.nodes[index];
    lines_.push_back(line + words(node));
    line.assign(offset, ' ');
    for (const std::uint32_t each : node.links) {
      const SystemLink& link = system_.links[each];
      if (link.kind == LinkKind::kPci && link.to == from) continue;
      const std::string start = fmt::format("{}+ {}[{:2.1f}] - ", line, label(link.kind), link.bandwidth);
      if (link.kind == LinkKind::kPci) {
        print(link.to, index, start, start.size());
      } else {
        lines_.push_back(start + end_words(system_.nodes[link.to]));
      }
    }
  }

 private:
  static std::string words(const SystemNode& node) {
    const std::string name = nccl_name(node);
    switch (node.kind) {
      case NodeKind::kGpu:
        return fmt::format("{} ({})", name, node.rank);
      case NodeKind::kCpu:
        return fmt::format("{} ({}/{}/{})", name, node.arch, node.vendor, node.model);
      case NodeKind::kPci:
      case NodeKind::kDevice:
        return fmt::format("{} ({:x})", name, node.pci_device);
      default:
        return name;
    }
  }

  static std::string end_words(const SystemNode& node) {
    if (node.kind != NodeKind::kNet) return nccl_name(node);
    return fmt::format("{} ({}/{:x}/{}/{:f})", nccl_name(node), node.collective, node.asic, node.port,
                       node.bandwidth);
  }

  const System& system_;
  std::vector<std::string>& lines_;
};

void path_line(const System& system, std::uint32_t from, std::vector<std::string>& lines) {
  std::string line = nccl_name(system.nodes[from]) + " :";
  for (std::size_t kind = 0; kind < kNodeKinds; ++kind) {
    // Kinds of which nothing was reached are not printed.
    if (std::ranges::none_of(system.of_kind[kind],
                             [&](std::uint32_t to) { return system.path(from, to).bandwidth > 0; }))
      continue;
    for (const std::uint32_t to : system.of_kind[kind]) {
      const Path& path = system.path(from, to);
      line += fmt::format("{} ({}/{:.1f}/{}) ", nccl_name(system.nodes[to]), path.hops.size(), path.bandwidth,
                          label(path.type));
    }
  }
  lines.push_back(std::move(line));
}

}  // namespace

std::string_view label(NodeKind kind) {
  return kNodeWords[static_cast<std::size_t>(kind)];
}
std::string_view label(LinkKind kind) {
  return kLinkWords[static_cast<std::size_t>(kind)];
}
std::string_view label(PathType type) {
  return kPathWords[static_cast<std::size_t>(type)];
}

bool parse_path_type(std::string_view word, PathType& type) {
  for (std::size_t index = 0; index < kPathWords.size(); ++index) {
    if (kPathWords[index] != word) continue;
    type = static_cast<PathType>(index);
    return true;
  }
  return false;
}

std::string nccl_name(const SystemNode& node) {
  return fmt::format("{}/{:x}-{:x}", label(node.kind), node.host, node.id);
}

std::vector<std::string> nccl_lines(const System& system) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("=== System : maxBw {:2.1f} totalBw {:2.1f} ===", system.max_bandwidth,
                              system.total_bandwidth));
  TreePrinter printer(system, lines);
  for (const std::uint32_t cpu : system.all(NodeKind::kCpu))
    printer.print(cpu, kNone, "", 0);
  lines.emplace_back("==========================================");
  for (const std::uint32_t gpu : system.all(NodeKind::kGpu))
    path_line(system, gpu, lines);
  for (const std::uint32_t net : system.all(NodeKind::kNet))
    path_line(system, net, lines);
  return lines;
}

double lane_value(std::string_view link_speed, std::string_view version) {
  constexpr std::string_view kLane = "lane ";
  for (const knowledge::NcclTopologyFigure& figure : knowledge::nccl_topology_figures()) {
    if (!figure.name.starts_with(kLane)) continue;
    if (link_speed.starts_with(figure.name.substr(kLane.size())))
      return knowledge::nccl_topology_value(figure.name, version);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::uint64_t bus_number(std::string_view text) {
  std::uint64_t number = 0;
  for (const char c : text) {
    int digit = 0;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else if (c == ':' || c == '.') {
      continue;
    } else {
      break;
    }
    number = (number << 4U) | static_cast<std::uint64_t>(digit);
  }
  return number;
}

std::int64_t read_number(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\n\r");
  if (start == std::string_view::npos) return 0;
  text.remove_prefix(start);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with('0')) {
    base = 8;
  }
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return negative ? -number : number;
}

}  // namespace angio::nccl
