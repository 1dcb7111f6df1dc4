#include "views/topology_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/topology_matrix.hpp"
#include "views/topology_words.hpp"

namespace angio::views {
namespace {

using model::DeviceKind;
using model::DeviceRef;
using model::Machine;
using model::Observed;

// PCI Code and ID Assignment: base classes, and NVMe.
std::string_view class_words(const model::PciDevice& device) {
  if ((device.class_code >> 8U) == 0x0108) return "NVMe drives";
  switch (model::base_class(device)) {
    case 0x01:
      return "storage controllers";
    case 0x02:
      return "network controllers";
    case 0x03:
      return "GPUs and displays";
    case 0x06:
      return "bridges";
    case 0x12:
      return "accelerators";
    default:
      return "other devices";
  }
}

// What people call the device at an address.
std::map<PciAddress, std::string> names_on_pci(const Machine& machine) {
  std::map<PciAddress, std::string> names;
  const auto name = [&](std::optional<std::uint32_t> pci, std::string text) {
    if (pci && *pci < machine.pci.devices.size())
      names.try_emplace(machine.pci.devices[*pci].address, std::move(text));
  };
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i)
    name(machine.gpus[i].pci, fmt::format("GPU {}", i));
  for (const model::RdmaDevice& device : machine.rdma)
    name(device.pci, device.name);
  for (const model::NetDevice& device : machine.networks)
    name(device.pci, device.name);
  return names;
}

class Comparer {
 public:
  Comparer(const Machine& left, const Machine& right) : left_(left), right_(right) {}

  TopologyComparison run() {
    compare_counts();
    compare_nodes();
    compare_gpus();
    compare_nics();
    compare_pci();
    compare_paths();
    return std::move(result_);
  }

 private:
  void note(const std::string& subject, std::string left, std::string right) {
    if (left != right) result_.differences.push_back({subject, std::move(left), std::move(right)});
  }

  template <typename T, typename Words>
  void note(const std::string& subject, const Observed<T>& left, const Observed<T>& right, Words words) {
    if (left.is_unreadable() && right.is_unreadable()) return;
    if (left.is_unreadable() || right.is_unreadable()) {
      result_.incomparable.push_back(subject);
      return;
    }
    note(subject, left.is_known() ? words(*left.get()) : std::string("none"),
         right.is_known() ? words(*right.get()) : std::string("none"));
  }

  void note_count(const char* what, std::size_t left, std::size_t right) {
    if ((left == 0) != (right == 0)) {
      result_.incomparable.emplace_back(what);
    } else {
      note(what, fmt::format("{}", left), fmt::format("{}", right));
    }
  }

  void compare_counts() {
    note_count("packages", left_.cpus.packages.size(), right_.cpus.packages.size());
    note_count("cores", left_.cpus.cores.size(), right_.cpus.cores.size());
    note_count("CPUs online", left_.cpus.online.size(), right_.cpus.online.size());
    note_count("NUMA nodes", left_.numa.nodes.size(), right_.numa.nodes.size());
    // No GPU and no NIC is an answer, not a gap.
    note("GPUs", fmt::format("{}", left_.gpus.size()), fmt::format("{}", right_.gpus.size()));
    note("RDMA devices", fmt::format("{}", left_.rdma.size()), fmt::format("{}", right_.rdma.size()));
  }

  void compare_nodes() {
    for (const model::NumaNode& node : left_.numa.nodes) {
      const std::string subject = fmt::format("NUMA node {}", node.id.value);
      const auto other = std::ranges::find(right_.numa.nodes, node.id, &model::NumaNode::id);
      if (other == right_.numa.nodes.end()) {
        if (!right_.numa.nodes.empty()) note(subject, "present", "none");
        continue;
      }
      note(subject + " CPUs", to_list(node.cpus), to_list(other->cpus));
      // Kernels keep a little for themselves: whole GiB are compared.
      note(subject + " memory", node.memory, other->memory,
           [](Bytes size) { return fmt::format("{} GiB", (size.value + (1U << 29U)) >> 30U); });
      note(subject + " distances", node.distances, other->distances,
           [](const std::vector<std::uint32_t>& distances) {
             return fmt::format("{}", fmt::join(distances, " "));
           });
    }
    for (const model::NumaNode& node : right_.numa.nodes) {
      const auto other = std::ranges::find(left_.numa.nodes, node.id, &model::NumaNode::id);
      if (other == left_.numa.nodes.end() && !left_.numa.nodes.empty()) {
        note(fmt::format("NUMA node {}", node.id.value), "none", "present");
      }
    }
  }

  // GPUs by place in the order of addresses; a missing one is then seen by its address.
  void compare_gpus() {
    const std::size_t both = std::min(left_.gpus.size(), right_.gpus.size());
    const auto node_words = [](NumaId node) { return fmt::format("{}", node.value); };
    const auto same = [](const std::string& text) { return text; };
    for (std::size_t i = 0; i < both; ++i) {
      const model::Gpu& a = left_.gpus[i];
      const model::Gpu& b = right_.gpus[i];
      const std::string subject = fmt::format("GPU {}", i);
      note(subject + " address", a.address, b.address,
           [](const PciAddress& address) { return to_string(address); });
      note(subject + " name", a.name, b.name, same);
      note(subject + " NUMA node", a.numa, b.numa, node_words);
      const NvLinkCount links_a = count_nvlinks(left_, static_cast<std::uint32_t>(i));
      const NvLinkCount links_b = count_nvlinks(right_, static_cast<std::uint32_t>(i));
      if (links_a.total > 0 && links_b.total > 0) {
        note(subject + " active NVLinks", fmt::format("{}", links_a.active),
             fmt::format("{}", links_b.active));
      } else if (links_a.total != links_b.total) {
        result_.incomparable.push_back(subject + " NVLinks");
      }
    }
  }

  void compare_nics() {
    std::map<std::string, std::pair<const model::RdmaDevice*, const model::RdmaDevice*>> nics;
    for (const model::RdmaDevice& device : left_.rdma)
      nics[device.name].first = &device;
    for (const model::RdmaDevice& device : right_.rdma)
      nics[device.name].second = &device;
    for (const auto& [name, pair] : nics) {
      if (pair.first == nullptr || pair.second == nullptr) {
        note(name, pair.first != nullptr ? "present" : "none", pair.second != nullptr ? "present" : "none");
        continue;
      }
      note(name + " address", pair.first->address, pair.second->address,
           [](const PciAddress& address) { return to_string(address); });
      note(name + " NUMA node", pair.first->numa, pair.second->numa,
           [](NumaId node) { return fmt::format("{}", node.value); });
      compare_ports(name, *pair.first, *pair.second);
    }
  }

  void compare_ports(const std::string& name, const model::RdmaDevice& a, const model::RdmaDevice& b) {
    for (std::size_t i = 0; i < std::min(a.ports.size(), b.ports.size()); ++i) {
      const std::string subject = fmt::format("{} port {}", name, a.ports[i].number);
      note(subject + " state", a.ports[i].state, b.ports[i].state,
           [](const std::string& state) { return state; });
      note(subject + " rate", a.ports[i].rate, b.ports[i].rate,
           [](BitsPerSecond rate) { return angio::in_words(rate); });
    }
  }

  // By address: what is missing, and what runs with fewer lanes. Speed now is left out: idle links slow down.
  void compare_pci() {
    if (left_.pci.devices.empty() || right_.pci.devices.empty()) {
      if (left_.pci.devices.size() != right_.pci.devices.size())
        result_.incomparable.emplace_back("PCI devices");
      return;
    }
    const std::map<PciAddress, std::string> names = names_on_pci(left_);
    std::map<std::string_view, std::pair<std::size_t, std::size_t>> alone;  // left only, right only
    for (const model::PciDevice& device : left_.pci.devices) {
      if (const auto other = right_.pci.find(device.address)) {
        const auto name = names.find(device.address);
        compare_links(name != names.end() ? name->second + " PCIe" : "PCI " + to_string(device.address),
                      device, right_.pci.devices[*other]);
      } else {
        ++alone[class_words(device)].first;
      }
    }
    for (const model::PciDevice& device : right_.pci.devices) {
      if (!left_.pci.find(device.address)) ++alone[class_words(device)].second;
    }
    for (const auto& [what, counts] : alone) {
      result_.differences.push_back({fmt::format("PCI addresses only here: {}", what),
                                     fmt::format("{}", counts.first), fmt::format("{}", counts.second)});
    }
  }

  void compare_links(const std::string& subject, const model::PciDevice& a, const model::PciDevice& b) {
    note(subject + " lanes", a.link, b.link,
         [](const model::PciLink& link) { return fmt::format("x{}", link.lanes); });
    note(subject + " maximum link", a.link_max, b.link_max,
         [](const model::PciLink& link) { return in_words(link); });
    note(subject + " class", fmt::format("{:06x}", a.class_code), fmt::format("{:06x}", b.class_code));
  }

  static std::map<std::string, DeviceRef> devices_of(const Machine& machine) {
    std::map<std::string, DeviceRef> devices;
    for (std::uint32_t i = 0; i < machine.gpus.size(); ++i)
      devices[fmt::format("GPU {}", i)] = {DeviceKind::kGpu, i};
    for (const DeviceRef nic : matrix_nics(machine))
      devices[device_name(machine, nic)] = nic;
    return devices;
  }

  void compare_paths() {
    if (!model::has_paths(left_) || !model::has_paths(right_)) return;
    const auto here = devices_of(left_);
    const auto there = devices_of(right_);
    for (const auto& [name_a, a] : here) {
      if (a.kind != DeviceKind::kGpu || !there.contains(name_a)) continue;
      for (const auto& [name_b, b] : here) {
        const bool twice = b.kind == DeviceKind::kGpu && b.index <= a.index;
        if (twice || !there.contains(name_b)) continue;
        const model::Path left = model::path_between(left_, a, b);
        const model::Path right = model::path_between(right_, there.at(name_a), there.at(name_b));
        const std::string subject = fmt::format("path {} to {}", name_a, name_b);
        const bool unknown =
            left.kind == model::PathClass::kUnknown || right.kind == model::PathClass::kUnknown;
        if (unknown && !(left == right)) {
          result_.incomparable.push_back(subject);
        } else {
          note(subject, cell_text(left_, left), cell_text(right_, right));
        }
      }
    }
  }

  const Machine& left_;
  const Machine& right_;
  TopologyComparison result_;
};

}  // namespace

TopologyComparison compare_topologies(const Machine& left, const Machine& right) {
  return Comparer(left, right).run();
}

report::Document comparison_document(const TopologyComparison& comparison, const std::string& left,
                                     const std::string& right) {
  report::Document document;
  document.title = left + " against " + right;
  const std::size_t count = comparison.differences.size();
  document.blocks.emplace_back(report::Paragraph{report::plain(
      count == 0 ? std::string("the topologies are the same") : count_of(count, "difference"))});
  if (count > 0) {
    report::Table table;
    table.columns = {
        {"what", report::Align::kLeft}, {left, report::Align::kLeft}, {right, report::Align::kLeft}};
    for (const TopologyDifference& difference : comparison.differences) {
      table.rows.push_back({report::plain(difference.subject), report::plain(difference.left),
                            report::plain(difference.right)});
    }
    document.blocks.emplace_back(std::move(table));
  }
  if (!comparison.incomparable.empty()) {
    constexpr std::size_t kShown = 8;
    std::vector<std::string> shown = comparison.incomparable;
    if (shown.size() > kShown) {
      shown.resize(kShown);
      shown.push_back(fmt::format("and {} more", comparison.incomparable.size() - kShown));
    }
    document.blocks.emplace_back(
        report::Paragraph{{{"not compared, one side does not know: ", report::Tone::kUnknown},
                           {join(shown, ", "), report::Tone::kPlain}}});
  }
  return document;
}

}  // namespace angio::views
