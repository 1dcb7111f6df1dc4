#include "import/nccl_topology/nccl_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "import/nccl_topology/words.hpp"
#include "import/pci_words.hpp"
#include "import/xml.hpp"

namespace angio::import::nccl_topology {
namespace {

constexpr std::string_view kDumpAgain =
    "set NCCL_TOPO_DUMP_FILE=topo.xml, run the job again and send the whole file";
constexpr std::uint32_t kMaxLinks = 1024;  // of one element; NVLink 5 has 18, hostile text may say more
constexpr std::size_t kMaxDevices = 65536;

// Where in the tree an element stands.
struct Place {
  std::optional<NumaId> numa;
  bool numa_unknown = false;         // numaid="-1"
  std::optional<std::uint32_t> pci;  // nearest pci element above
};

class TopologyImport {
 public:
  explicit TopologyImport(Draft& draft) : draft_(draft) {}

  void take_all(const std::vector<XmlElement>& elements, const Place& place) {
    for (const XmlElement& element : elements)
      take(element, place);
  }

  bool finish() {
    model::Machine& machine = draft_.machine;
    for (auto& [id, node] : nodes_) {
      machine.cpus.online |= node.cpus;
      machine.numa.nodes.push_back(std::move(node));
    }
    add_gpus_without_element();
    note_nameless_networks();
    const bool any = !machine.numa.nodes.empty() || !machine.pci.devices.empty() || cpus_seen_ ||
                     !machine.rdma.empty() || !machine.networks.empty();
    order_by_address(machine);
    return any;
  }

 private:
  void take(const XmlElement& element, const Place& place) {
    if (element.name == "system") {
      take_system(element, place);
    } else if (element.name == "cpu") {
      take_cpu(element);
    } else if (element.name == "pci") {
      take_pci(element, place);
    } else if (element.name == "gpu") {
      take_gpu(element, place);
    } else if (element.name == "nic") {
      take_all(element.children, place);
    } else if (element.name == "net") {
      take_net(element, place);
    } else if (element.name == "pcilink") {
      draft_.note("nccl.pcilink", element.line, "links between Broadcom switches are not kept",
                  "nothing to do");
    } else {
      draft_.note(
          "nccl.unknown-element", element.line,
          [&] { return fmt::format("<{}> here is not understood", element.name); }, kDumpAgain);
      take_all(element.children, place);
    }
  }

  void take_system(const XmlElement& element, const Place& place) {
    const std::string_view version = element.get("version");
    if (version != "1" && version != "2") {  // 2 is RCCL's
      draft_.note(
          "nccl.version", element.line,
          [&] { return fmt::format("version {} is not known; NCCL writes 1, RCCL 2", quoted(version)); },
          kDumpAgain);
    }
    if (const std::string* name = element.find("name"))
      draft_.machine.software.product = draft_.known(printable(*name), element.line);
    take_all(element.children, place);
  }

  void take_cpu(const XmlElement& element) {
    cpus_seen_ = true;
    read_model(element);
    Place place;
    const auto id = parse_number(element.get("numaid"));
    place.numa_unknown = !id || *id < 0;
    std::optional<CpuSet> cpus;
    if (const std::string* affinity = element.find("affinity")) {
      cpus = parse_cpu_mask(*affinity);
      if (!cpus) note_bad(element, "affinity");
      check_length(element, affinity->size());
    } else {
      draft_.note("nccl.affinity-missing", element.line, "the CPUs of a NUMA node are not in the file",
                  kDumpAgain);
    }
    if (!place.numa_unknown && *id <= CpuSet::kMaxCpu) {
      place.numa = NumaId{static_cast<std::uint32_t>(*id)};
      model::NumaNode& node = nodes_[place.numa->value];
      node.id = *place.numa;
      if (cpus) node.cpus |= *cpus;
    } else {
      draft_.note(
          "nccl.numa-unknown", element.line,
          [&] { return fmt::format("numaid {}: the NUMA node is not known", quoted(element.get("numaid"))); },
          "common in virtual machines; run angio collect on the bare-metal host");
      if (cpus) draft_.machine.cpus.online |= *cpus;
    }
    take_all(element.children, place);
  }

  // The kernel prints all masks of a machine equally long: a shorter one lost a digit, and CPUs with it.
  void check_length(const XmlElement& element, std::size_t length) {
    if (mask_length_ == 0) mask_length_ = length;
    if (mask_length_ == length) return;
    draft_.note(
        "nccl.affinity-length", element.line,
        [&] {
          return fmt::format("affinity {} has {} characters, the first one {}: digits may be missing",
                             quoted(element.get("affinity")), length, mask_length_);
        },
        "compare with /sys/devices/system/node/node*/cpumap");
  }

  void read_model(const XmlElement& element) {
    model::CpuModel& cpu = draft_.machine.cpus.model;
    const auto text = [&](model::Observed<std::string>& member, std::string_view name) {
      const std::string* value = element.find(name);
      if (value != nullptr && !value->empty() && !member.is_known())
        member = draft_.known(printable(trim(*value)), element.line);
    };
    const auto number = [&](model::Observed<std::uint32_t>& member, std::string_view name) {
      const auto value = parse_integer<std::uint32_t>(element.get(name));
      if (value && !member.is_known()) {
        member = draft_.known(name == "familyid" ? real_family(*value) : *value, element.line);
      }
    };
    text(cpu.architecture, "arch");
    text(cpu.vendor, "vendor");
    number(cpu.family, "familyid");
    number(cpu.model, "modelid");
  }

  void note_bad(const XmlElement& element, std::string_view attribute) {
    draft_.note(
        "nccl.value-unreadable", element.line,
        [&] { return fmt::format("<{}> {}={}", element.name, attribute, quoted(element.get(attribute))); },
        kDumpAgain);
  }

  void take_pci(const XmlElement& element, const Place& place) {
    Place below = place;
    const auto address = parse_pci_address(element.get("busid"));
    if (!address) {
      note_bad(element, "busid");
    } else if (const auto known = by_address_.find(*address); known != by_address_.end()) {
      draft_.note(
          "nccl.device-twice", element.line,
          [&] { return fmt::format("{} stands in the file twice", to_string(*address)); }, kDumpAgain);
      below.pci = known->second;
    } else if (draft_.machine.pci.devices.size() < kMaxDevices) {
      below.pci = add_device(element, *address, place);
    }
    take_all(element.children, below);
  }

  std::uint32_t add_device(const XmlElement& element, const PciAddress& address, const Place& place) {
    model::PciDevice device;
    device.address = address;
    device.parent = place.pci;
    if (const std::string* code = element.find("class")) {
      const auto value = parse_hex(*code);
      if (value && *value <= 0xFFFFFF) device.class_code = *value;
      if (!value) note_bad(element, "class");
    } else {
      draft_.note(
          "nccl.class-missing", element.line,
          [&] {
            return fmt::format("{}: what the device is stands nowhere; NCCL fills it in on the node",
                               to_string(address));
          },
          kDumpAgain);
    }
    device.vendor = read_word(element, "vendor");
    device.device = read_word(element, "device");
    device.subsystem_vendor = read_word(element, "subsystem_vendor");
    device.subsystem_device = read_word(element, "subsystem_device");
    if (device.class_code == kPciBridge) device.port = model::PciPort::kSwitchUpstream;
    device.link_max = read_link(element);
    if (place.numa) device.numa = draft_.known(*place.numa, element.line);
    if (place.numa_unknown) device.numa = draft_.absent<NumaId>(element.line);
    const auto index = static_cast<std::uint32_t>(draft_.machine.pci.devices.size());
    by_address_.emplace(address, index);
    lines_.push_back(element.line);
    draft_.machine.pci.devices.push_back(std::move(device));
    return index;
  }

  std::uint16_t read_word(const XmlElement& element, std::string_view attribute) {
    const std::string* text = element.find(attribute);
    if (text == nullptr || text->empty()) return 0;
    const auto value = parse_hex(*text);
    if (!value || *value > 0xFFFF) note_bad(element, attribute);
    return value && *value < 0xFFFF ? static_cast<std::uint16_t>(*value)
                                    : 0;  // 0xffff: made up for virtual switches
  }

  // NCCL writes the smaller of what the device and the port above it can do.
  model::Observed<model::PciLink> read_link(const XmlElement& element) {
    const std::string* speed = element.find("link_speed");
    const std::string* width = element.find("link_width");
    if (speed == nullptr && width == nullptr) return {};
    const auto rate = parse_link_speed(element.get("link_speed"));
    const auto lanes = parse_integer<std::uint32_t>(element.get("link_width"));
    if (rate && lanes && *lanes > 0) return draft_.known(model::PciLink{*rate, *lanes}, element.line);
    const bool empty = element.get("link_speed").empty() || (lanes && *lanes == 0);
    draft_.note(
        empty ? "nccl.link-unknown" : "nccl.value-unreadable", element.line,
        [&] {
          return fmt::format("{}: link_speed={} link_width={}; NCCL then assumes 8 GT/s and 16 lanes",
                             element.get("busid"), quoted(element.get("link_speed")),
                             quoted(element.get("link_width")));
        },
        "common in virtual machines; write the real link into the file");
    return draft_.unreadable<model::PciLink>(model::Reason::kUnsupported, element.line);
  }

  model::Gpu& add_gpu(std::uint32_t pci) {
    const model::PciDevice& device = draft_.machine.pci.devices[pci];
    model::Gpu gpu;
    gpu.index = static_cast<std::uint32_t>(draft_.machine.gpus.size());
    gpu.pci = pci;
    gpu.vendor = gpu_vendor(device.vendor);
    gpu.address = draft_.known(device.address, lines_[pci]);
    gpu.numa = device.numa;
    has_gpu_.emplace(pci, gpu.index);
    draft_.machine.gpus.push_back(std::move(gpu));
    return draft_.machine.gpus.back();
  }

  void take_gpu(const XmlElement& element, const Place& place) {
    if (!place.pci || has_gpu_.contains(*place.pci)) {
      draft_.note("nccl.gpu-skipped", element.line,
                  place.pci ? "a second <gpu> of one device (a partition) is not kept"
                            : "<gpu> without a <pci> around it",
                  kDumpAgain);
      return;
    }
    if (!draft_.has_room_for_gpu(element.line)) return;
    model::Gpu& gpu = add_gpu(*place.pci);
    const bool amd = element.find("gcn") != nullptr;
    const auto sm = parse_integer<std::uint32_t>(element.get("sm"));
    if (gpu.vendor == model::GpuVendor::kUnknown && amd) gpu.vendor = model::GpuVendor::kAmd;
    if (gpu.vendor == model::GpuVendor::kUnknown && sm) gpu.vendor = model::GpuVendor::kNvidia;
    if (sm && !amd)
      gpu.compute_capability = draft_.known(model::ComputeCapability{*sm / 10, *sm % 10}, element.line);
    const auto dev = parse_number(element.get("dev"));
    if (dev && *dev >= 0 && *dev <= CpuSet::kMaxCpu)
      gpu.library_index = draft_.known(static_cast<std::uint32_t>(*dev), element.line);
    for (const XmlElement& child : element.children)
      take_link(child, gpu);
  }

  void take_link(const XmlElement& element, model::Gpu& gpu) {
    if (element.name == "c2c") {
      gpu.coherent_link = draft_.known(true, element.line);
    } else if (element.name == "nvlink" || element.name == "xgmi") {
      add_links(element, gpu);
    } else {
      draft_.note(
          "nccl.unknown-element", element.line,
          [&] { return fmt::format("<{}> here is not understood", element.name); }, kDumpAgain);
    }
  }

  void add_links(const XmlElement& element, model::Gpu& gpu) {
    const auto count = parse_integer<std::uint32_t>(element.get("count"));
    if (!count || *count > kMaxLinks || gpu.links.size() + *count > kMaxLinks)
      return note_bad(element, "count");
    model::GpuLink link;
    link.state = model::LinkState::kActive;  // NCCL lists active links only
    link.peer_kind = peer_kind(element.get("tclass"));
    const std::string_view target = element.get("target");
    if (const auto address = parse_pci_address(target); address && !target.starts_with("fffffff")) {
      link.peer = draft_.known(*address, element.line);
      if (gpu.address.is(*address)) {
        draft_.note(
            "nccl.link-to-itself", element.line,
            [&] { return fmt::format("{} has links to itself", target); },
            "correct the target by hand: NCCL ignores such links");
      }
    } else {
      link.peer = draft_.unreadable<PciAddress>(model::Reason::kUnsupported, element.line);
      if (!target.starts_with("fffffff")) note_bad(element, "target");  // fffffff:ffff:ff: hidden in a VM
    }
    for (std::uint32_t i = 0; i < *count; ++i) {
      link.index = static_cast<std::uint32_t>(gpu.links.size());
      gpu.links.push_back(link);
    }
  }

  // A device is known to be a GPU by its class when the file was written by hand and has no <gpu>.
  void add_gpus_without_element() {
    for (std::uint32_t i = 0; i < draft_.machine.pci.devices.size(); ++i) {
      const model::PciDevice& device = draft_.machine.pci.devices[i];
      const bool display = base_class(device) == 0x03 && device.vendor == 0;
      const bool gpu = display || is_gpu_class(device.class_code, device.vendor);
      if (gpu && !has_gpu_.contains(i) && draft_.has_room_for_gpu(lines_[i])) add_gpu(i);
    }
  }

  // A file of a virtual machine's vendor often ends at the PCI device: NCCL adds <nic> on the node.
  void note_nameless_networks() {
    constexpr std::uint32_t kNetworkController = 0x02;  // base class
    std::set<std::uint32_t> named;
    for (const model::RdmaDevice& device : draft_.machine.rdma)
      named.insert(device.pci.value_or(kMaxDevices));
    for (const model::NetDevice& device : draft_.machine.networks)
      named.insert(device.pci.value_or(kMaxDevices));
    std::vector<std::uint32_t> nameless;
    for (std::uint32_t i = 0; i < draft_.machine.pci.devices.size(); ++i) {
      const bool network = base_class(draft_.machine.pci.devices[i]) == kNetworkController;
      if (network && !named.contains(i)) nameless.push_back(i);
    }
    if (nameless.empty()) return;
    draft_.note("nccl.network-without-name", lines_[nameless[0]],
                fmt::format("network devices without <nic>, so their names and speeds are not known: {}",
                            list_addresses(nameless)),
                kDumpAgain);
  }

  std::string list_addresses(const std::vector<std::uint32_t>& devices) const {
    constexpr std::size_t kNamed = 16;
    std::vector<std::string> names;
    for (const std::uint32_t index : devices) {
      if (names.size() < kNamed) names.push_back(to_string(draft_.machine.pci.devices[index].address));
    }
    const std::string more =
        devices.size() > kNamed ? fmt::format(" and {} more", devices.size() - kNamed) : "";
    return join(names, ", ") + more;
  }

  // port="0" is NCCL's socket transport: an interface of the kernel. Otherwise an RDMA device.
  void take_net(const XmlElement& element, const Place& place) {
    const std::string name = printable(element.get("name"));
    const auto speed = parse_integer<std::int64_t>(element.get("speed"));
    const auto rate = speed && *speed > 0
                          ? draft_.known(BitsPerSecond{static_cast<double>(*speed) * 1e6}, element.line)
                          : draft_.unreadable<BitsPerSecond>(model::Reason::kUnparsable, element.line);
    if (name.empty() || !speed || *speed <= 0) note_bad(element, name.empty() ? "name" : "speed");
    if (name.empty() || !draft_.has_room_for_network(element.line)) return;
    if (element.get("port") == "0") {
      model::NetDevice device;
      device.name = name;
      device.speed = rate;
      locate(device, place, element.line);
      draft_.machine.networks.push_back(std::move(device));
    } else {
      add_rdma(element, place, name, rate);
    }
  }

  void add_rdma(const XmlElement& element, const Place& place, const std::string& name,
                const model::Observed<BitsPerSecond>& rate) {
    model::RdmaDevice device;
    device.name = name;
    locate(device, place, element.line);
    if (auto guid = parse_guid(element.get("guid")))
      device.system_guid = draft_.known(std::move(*guid), element.line);
    model::RdmaPort port;
    port.number = parse_integer<std::uint32_t>(element.get("port")).value_or(1);
    port.rate = rate;
    device.ports.push_back(std::move(port));
    draft_.machine.rdma.push_back(std::move(device));
  }

  template <typename Device>
  void locate(Device& device, const Place& place, std::uint32_t line) {
    device.pci = place.pci;
    if (place.pci) device.address = draft_.known(draft_.machine.pci.devices[*place.pci].address, line);
    if (place.numa) device.numa = draft_.known(*place.numa, line);
    if (place.numa_unknown) device.numa = draft_.absent<NumaId>(line);
  }

  Draft& draft_;
  std::map<std::uint32_t, model::NumaNode> nodes_;
  std::map<PciAddress, std::uint32_t> by_address_;
  std::map<std::uint32_t, std::uint32_t> has_gpu_;  // pci → gpu
  std::vector<std::uint32_t> lines_;                // of pci.devices
  std::size_t mask_length_ = 0;
  bool cpus_seen_ = false;
};

}  // namespace

Result<model::Machine> import_topology(std::string_view text, Draft draft) {
  const std::vector<XmlElement> top = read_xml(text, draft);
  if (!top.empty() && top.front().name != "system") {
    draft.note(
        "nccl.start-missing", top.front().line,
        [&] { return fmt::format("the file starts with <{}> instead of <system>", top.front().name); },
        kDumpAgain);
  }
  TopologyImport topology(draft);
  topology.take_all(top, {});
  if (!topology.finish()) {
    return draft.nothing_read("<cpu> and <pci> elements inside <system version=\"1\">", kDumpAgain);
  }
  return std::move(draft.machine);
}

std::unexpected<Error> refuse_graph(const std::string& name) {
  return fail(ErrorCode::kUnsupported,
              printable(name) + ": a NCCL graph file holds search results (rings and trees), not a machine",
              "give the topology instead: set NCCL_TOPO_DUMP_FILE=topo.xml and run the job again");
}

}  // namespace angio::import::nccl_topology
