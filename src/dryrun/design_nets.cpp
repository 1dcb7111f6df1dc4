#include "dryrun/design_nets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include "base/ids.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "model/pci.hpp"
#include "nccl/system_graph.hpp"

namespace angio::dryrun {
namespace {

using nccl::Element;

constexpr std::string_view kInfiniBandClass = "0x0207";  // PCI Code and ID Assignment, class 02h
constexpr std::string_view kEthernetClass = "0x0200";
constexpr std::uint32_t kAmazon = 0x1d0f;      // EFA: rdma-core names it by bus and slot
constexpr std::int64_t kUnknownSpeed = 10000;  // Mb/s that NCCL takes for speed <= 0 (src/graph/topo.cc)
constexpr std::uint32_t kDefaultLanes = 16;    // and for a link without width
constexpr std::uint32_t kGuidShift = 40;       // a node's number above the serial part of a GUID
constexpr std::uint32_t kLanesOfPort = 4;      // of InfiniBand and of Ethernet of the same serdes

std::uint32_t fit(std::int64_t value, std::uint32_t least = 0) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(value, least, std::numeric_limits<std::uint32_t>::max()));
}

// Real clusters have no GUID twice. NCCL compares them within a node only, so this changes no decision.
std::uint64_t guid_on(std::uint64_t guid, std::uint32_t node) {
  return guid == 0 ? 0 : guid ^ (std::uint64_t{node} << kGuidShift);
}

std::string_view speed_word(std::string_view link_speed) {
  return link_speed.substr(0, link_speed.find(' '));
}

// Mb/s of the fastest port that this PCIe link can feed: of four lanes, in InfiniBand's generations, which
// Ethernet shares from 100 Gb/s on. A link that says nothing is Gen3 x16, as NCCL takes it.
std::uint32_t likely_speed(const Element& pci) {
  const double stated = parse_double(speed_word(pci.get("link_speed"))).value_or(0);
  model::PciLink link;
  link.speed.value =
      stated > 0 ? stated * 1e9 : knowledge::pcie_speed(3).value_or(TransfersPerSecond{}).value;
  const std::int64_t width = nccl::read_number(pci.get("link_width"));
  link.lanes = width > 0 && width <= kDefaultLanes ? static_cast<std::uint32_t>(width) : kDefaultLanes;
  const auto rate = knowledge::pcie_rate(link);
  double best = 0;
  for (const std::string_view name : {"SDR", "DDR", "QDR", "FDR", "EDR", "HDR", "NDR", "XDR"}) {
    const auto lane = knowledge::lane_rate(name);
    const double port = lane ? lane->value * kLanesOfPort : 0;
    if (rate && port <= rate->value * 8) best = std::max(best, port);
  }
  return best > 0 ? static_cast<std::uint32_t>(best / 1e6) : fit(kUnknownSpeed);
}

class NetDesigner {
 public:
  NetDesigner(const Scan& scan, std::uint32_t node, std::vector<std::string>& notes)
      : scan_(scan), node_(node), notes_(notes) {}

  Result<std::vector<DesignedNet>> run() {
    if (scan_.nets.size() > phantom::kMostDevices) return too_many(scan_.nets.size());
    for (const ScannedNet& each : scan_.nets)
      if (auto added = take(each); !added) return std::unexpected(std::move(added.error()));
    if (scan_.nets.empty()) place();
    if (drafts_.size() > phantom::kMostDevices) return too_many(drafts_.size());
    say_unnamed();
    say_ports();
    std::ranges::stable_sort(drafts_, {}, &Draft::number);
    std::vector<DesignedNet> nets;
    for (Draft& draft : drafts_)
      nets.push_back(std::move(draft.designed));
    return nets;
  }

 private:
  struct Draft {
    DesignedNet designed;
    std::int64_t number = 0;
  };

  Result<void> take(const ScannedNet& found) {
    const Element& element = *found.element;
    const std::string name(element.get("name"));
    if (name.empty()) {
      ++unnamed_;
      return {};
    }
    if (const auto odd = std::ranges::find_if(name, [](char each) { return each <= ' ' || each == '\x7f'; });
        odd != name.end())
      return fail(ErrorCode::kInvalidInput, fmt::format("NIC \"{}\" in the topology", printable(name)),
                  "A NIC's name is one word, e.g. mlx5_0");
    if (!names_.insert(name).second) {
      notes_.push_back(
          fmt::format("NIC {} stands twice: NCCL takes the first of that name", printable(name)));
      return {};
    }
    drafts_.push_back(draft_of(found, name));
    return {};
  }

  static std::unexpected<Error> too_many(std::size_t count) {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("{} NICs in one node; a phantom node has at most {}", count, phantom::kMostDevices),
        "Give the topology of one node");
  }

  void say_unnamed() {
    if (unnamed_ > 0)
      notes_.push_back(fmt::format("{} without name left out: NCCL finds NICs by their names",
                                   counted(unnamed_, "<net>")));
  }

  Draft draft_of(const ScannedNet& found, const std::string& name) const {
    const Element& element = *found.element;
    Draft draft;
    draft.number = element.find("dev") == nullptr ? std::numeric_limits<std::int64_t>::max()
                                                  : nccl::read_number(element.get("dev"));
    draft.designed.in_file = true;
    phantom::Net& net = draft.designed.net;
    net.name = name;
    place_at(found.pci, draft.designed);
    const std::int64_t speed = nccl::read_number(element.get("speed"));
    net.speed = fit(speed > 0 ? speed : kUnknownSpeed);
    if (element.find("port") != nullptr) net.port = fit(nccl::read_number(element.get("port")));
    net.guid = guid_on(parse_integer<std::uint64_t>(element.get("guid"), 16).value_or(0), node_);
    net.latency = std::clamp(parse_double(element.get("latency")).value_or(0), 0.0, 1e6);
    net.gdr =
        element.find("gdr") == nullptr ? found.pci.has_value() : nccl::read_number(element.get("gdr")) != 0;
    if (const std::int64_t most = nccl::read_number(element.get("maxconn")); most > 0)
      net.max_comms = fit(most);
    return draft;
  }

  void place_at(std::optional<std::size_t> pci, DesignedNet& designed) const {
    if (!pci) {
      designed.net.pci_path =
          "/sys/devices/virtual/net/" + designed.net.name;  // no PCI device, as the kernel has it
      return;
    }
    designed.bus = scan_.pcis[*pci].bus;
    designed.net.pci_path = scan_.pcis[*pci].path;
  }

  // A file without any <net>: adapters as the plugin would number them, by PCI address.
  void place() {
    std::vector<std::pair<PciAddress, std::size_t>> slots = slots_of(kInfiniBandClass);
    const auto ethernet = slots_of(kEthernetClass);
    if (slots.empty()) {
      slots = ethernet;
    } else if (!ethernet.empty()) {
      notes_.push_back(
          fmt::format("{} left out beside InfiniBand adapters", counted(ethernet.size(), "Ethernet device")));
    }
    for (std::size_t index = 0; index < slots.size(); ++index)
      drafts_.push_back(draft_at(slots[index].first, slots[index].second, index));
    if (!drafts_.empty()) say_placed();
  }

  [[nodiscard]] std::vector<std::pair<PciAddress, std::size_t>> slots_of(
      std::string_view device_class) const {
    std::vector<std::pair<PciAddress, std::size_t>> slots;
    for (std::size_t index = 0; index < scan_.pcis.size(); ++index) {
      const auto address = parse_pci_address(scan_.pcis[index].bus);
      if (address && scan_.pcis[index].device_class.starts_with(device_class))
        slots.emplace_back(*address, index);
    }
    std::ranges::sort(slots);
    return slots;
  }

  Draft draft_at(const PciAddress& address, std::size_t index, std::size_t number) const {
    const ScannedPci& pci = scan_.pcis[index];
    Draft draft;
    draft.number = static_cast<std::int64_t>(number);
    phantom::Net& net = draft.designed.net;
    net.name = pci.vendor == kAmazon ? fmt::format("rdmap{}s{}", address.bus, address.device)
                                     : fmt::format("mlx5_{}", number);
    place_at(index, draft.designed);
    net.speed = likely_speed(*pci.element);
    net.guid = guid_on(nccl::bus_number(pci.bus), node_);
    return draft;
  }

  void say_placed() {
    const phantom::Net& first = drafts_.front().designed.net;
    notes_.push_back(
        fmt::format("The topology has no <net>: {} placed on its network devices by bus id and named from {} "
                    "on, with GPUDirect "
                    "RDMA and {} Gb/s, the fastest port that their PCIe link feeds; both are assumptions",
                    counted(drafts_.size(), "NIC"), first.name, first.speed / 1000));
  }

  // Functions of one PCI device are ports of one adapter, as NCCL's NET/IB sees it.
  void say_ports() {
    std::map<std::string_view, std::size_t> adapters;
    for (const Draft& draft : drafts_)
      if (!draft.designed.bus.empty())
        ++adapters[std::string_view(draft.designed.bus).substr(0, draft.designed.bus.rfind('.'))];
    std::size_t ports = 0;
    std::size_t cards = 0;
    for (const auto& [bus, count] : adapters) {
      if (count < 2) continue;
      ports += count;
      ++cards;
    }
    if (cards > 0)
      notes_.push_back(
          fmt::format("{} are ports of {}: NCCL's own InfiniBand code joins such into one NIC "
                      "(NCCL_IB_MERGE_NICS), the phantom "
                      "network keeps them apart",
                      counted(ports, "NIC"), counted(cards, "adapter")));
  }

  const Scan& scan_;
  std::uint32_t node_;
  std::vector<std::string>& notes_;
  std::set<std::string> names_;
  std::size_t unnamed_ = 0;
  std::vector<Draft> drafts_;
};

Element net_element(const phantom::Net& net, std::size_t number) {
  Element element;
  element.name = "net";
  element.set("name", net.name);
  element.set("dev", std::to_string(number));
  element.set("latency", fmt::format("{:.6f}", net.latency));
  element.set("speed", std::to_string(net.speed));
  element.set("port", std::to_string(net.port));
  element.set("guid", fmt::format("0x{:x}", net.guid));
  element.set("maxconn", std::to_string(net.max_comms));
  element.set("gdr", net.gdr ? "1" : "0");
  return element;
}

// What the plugin says and the file must not contradict. A GUID that NCCL cannot read (no 0x) stays.
void align(const phantom::Net& net, Element& element) {
  if (element.find("speed") != nullptr && nccl::read_number(element.get("speed")) > 0)
    element.set("speed", std::to_string(net.speed));
  if (element.get("guid").starts_with("0x")) element.set("guid", fmt::format("0x{:x}", net.guid));
}

class TreeWriter {
 public:
  explicit TreeWriter(const std::vector<DesignedNet>& nets) {
    for (std::size_t index = 0; index < nets.size(); ++index) {
      if (nets[index].in_file) {
        stated_.emplace(nets[index].net.name, &nets[index].net);
      } else {
        missing_.emplace(nets[index].bus, net_element(nets[index].net, index));
      }
    }
  }

  void visit(Element& element) {
    for (Element& child : element.children)
      visit(child);
    if (element.name == "net") {
      if (const auto found = stated_.find(element.get("name")); found != stated_.end())
        align(*found->second, element);
    }
    if (element.name != "pci") return;
    const auto found = missing_.find(std::string(element.get("busid")));
    if (found == missing_.end()) return;
    Element nic;
    nic.name = "nic";
    nic.children.push_back(std::move(found->second));
    element.children.push_back(std::move(nic));
    missing_.erase(found);
  }

 private:
  std::map<std::string, const phantom::Net*, std::less<>> stated_;
  std::map<std::string, Element> missing_;
};

}  // namespace

Result<std::vector<DesignedNet>> design_nets(const Scan& scan, std::uint32_t node,
                                             std::vector<std::string>& notes) {
  return NetDesigner(scan, node, notes).run();
}

void add_to_tree(const std::vector<DesignedNet>& nets, Element& root) {
  TreeWriter(nets).visit(root);
}

}  // namespace angio::dryrun
