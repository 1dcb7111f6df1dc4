#include "import/hwloc_xml/hwloc_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "import/hwloc_xml/distances.hpp"
#include "import/hwloc_xml/os_devices.hpp"
#include "import/hwloc_xml/words.hpp"
#include "import/pci_words.hpp"
#include "import/xml.hpp"

namespace angio::import::hwloc_xml {
namespace {

constexpr std::string_view kExportAgain = "run 'lstopo --of xml topology.xml' again and send the whole file";

class TopologyImport {
 public:
  explicit TopologyImport(Draft& draft) : draft_(draft) {}

  void take_all(const std::vector<XmlElement>& elements, const Place& place) {
    for (const XmlElement& element : elements)
      take(element, place);
  }

  bool finish() {
    model::Machine& machine = draft_.machine;
    add_nodes();
    for (const XmlElement* matrix : matrices1_)
      take_distances1(draft_, *matrix, node_order_);
    for (const XmlElement* matrix : matrices2_)
      take_distances2(draft_, *matrix, names_);
    std::ranges::stable_sort(machine.cpus.packages, {}, &model::Package::id);
    std::ranges::stable_sort(machine.cpus.cores, {},
                             [](const model::Core& core) { return core.cpus.first(); });
    std::ranges::stable_sort(machine.cpus.caches, {}, [](const model::Cache& cache) {
      return std::pair(cache.level, cache.cpus.first());
    });
    order_by_address(machine);
    return objects_ > 0;
  }

 private:
  void take(const XmlElement& element, const Place& place) {
    static constexpr std::array kLeftOut{
        std::string_view("info"),      std::string_view("support"),  std::string_view("cpukind"),
        std::string_view("memattr"),   std::string_view("memtier"),  std::string_view("pci_locality"),
        std::string_view("page_type"), std::string_view("userdata"), std::string_view("horizontal")};
    if (element.name == "topology") {
      version3_ = element.get("version").starts_with("3");
      take_infos(element);
      take_all(element.children, place);
    } else if (element.name == "object") {
      ++objects_;
      take_object(element, place);
    } else if (element.name == "distances2" || element.name == "distances2hetero") {
      matrices2_.push_back(&element);
    } else if (element.name == "distances") {
      matrices1_.push_back(&element);
    } else if (std::ranges::find(kLeftOut, std::string_view(element.name)) == kLeftOut.end()) {
      draft_.note(
          "hwloc.unknown-element", element.line,
          [&] { return fmt::format("<{}> is not understood", element.name); }, kExportAgain);
    }
  }

  void take_object(const XmlElement& object, Place place) {
    const std::string_view type = object.get("type");
    if (type == "PCIDev") return take_pci_device(object, place);
    if (type == "OSDev") return take_os_device(object, place);
    if (type == "Bridge") {
      take_bridge(object, place);
    } else {
      take_cpu_object(object, type, place);
      locate(object, place);
    }
    take_all(object.children, place);
  }

  // A device belongs to a node when the object it hangs off spans exactly one.
  void locate(const XmlElement& object, Place& place) const {
    if (object.find("nodeset") == nullptr) return;
    const CpuSet nodes = bitmap_of(object, "nodeset");
    place.numa = nodes.size() == 1 ? draft_.known(NumaId{*nodes.first()}, object.line)
                                   : draft_.absent<NumaId>(object.line);
  }

  void take_cpu_object(const XmlElement& object, std::string_view type, Place& place) {
    if (type == "Machine") {
      take_machine(object);
    } else if (type == "Package" || type == "Socket") {
      take_package(object, place);
    } else if (type == "Core") {
      take_core(object, place);
    } else if (type == "PU") {
      if (const auto cpu = number_of(object, "os_index")) draft_.machine.cpus.online.insert(*cpu);
    } else if (type == "NUMANode") {
      nodes_.push_back(&object);
    } else if (type == "Cache" || (type.starts_with('L') && type.ends_with("Cache"))) {
      take_cache(object);
    } else if (type != "Group" && type != "Die" && type != "MemCache" && type != "Misc" && type != "System") {
      draft_.note(
          "hwloc.unknown-type", object.line,
          [&] { return fmt::format("objects of type {} are not kept", quoted(type)); }, "nothing to do");
    }
  }

  void take_infos(const XmlElement& object) {
    model::Software& software = draft_.machine.software;
    keep(object, "HostName", software.hostname);
    keep(object, "OSRelease", software.kernel);
    keep(object, "DMIProductName", software.product);
    keep(object, "DMIBIOSVersion", software.bios_version);
    keep(object, "Architecture", draft_.machine.cpus.model.architecture);
    take_cpu_model(object);
  }

  void keep(const XmlElement& object, std::string_view name, model::Observed<std::string>& member) {
    const std::string_view value = info_of(object, name);
    if (!value.empty() && !member.is_known()) member = draft_.known(printable(value), object.line);
  }

  void take_cpu_model(const XmlElement& object) {
    model::CpuModel& cpu = draft_.machine.cpus.model;
    keep(object, "CPUVendor", cpu.vendor);
    keep(object, "CPUModel", cpu.name);
    const std::pair<std::string_view, model::Observed<std::uint32_t>*> kNumbers[] = {
        {"CPUFamilyNumber", &cpu.family}, {"CPUModelNumber", &cpu.model}, {"CPUStepping", &cpu.stepping}};
    for (const auto& [name, member] : kNumbers) {
      const auto value = parse_integer<std::uint32_t>(info_of(object, name));
      if (value && !member->is_known()) *member = draft_.known(*value, object.line);
    }
  }

  void take_machine(const XmlElement& object) {
    if (machine_seen_) {
      draft_.note("hwloc.further-machine", object.line,
                  "a further machine in the file is mixed with the first", "give one file per node");
    }
    machine_seen_ = true;
    take_infos(object);
    if (object.find("complete_cpuset") != nullptr) {
      draft_.machine.cpus.present = draft_.known(bitmap_of(object, "complete_cpuset"), object.line);
    }
    if (object.find("allowed_cpuset") != nullptr) {
      draft_.machine.cpus.allowed = draft_.known(bitmap_of(object, "allowed_cpuset"), object.line);
    }
    memory_of_machine_ = parse_integer<std::uint64_t>(object.get("local_memory"));
    machine_line_ = object.line;
  }

  void take_package(const XmlElement& object, Place& place) {
    model::Package package;
    package.id = number_of(object, "os_index")
                     .value_or(static_cast<std::uint32_t>(draft_.machine.cpus.packages.size()));
    package.cpus = bitmap_of(object, "cpuset");
    place.package = package.id;
    draft_.machine.cpus.packages.push_back(std::move(package));
    take_cpu_model(object);
  }

  void take_core(const XmlElement& object, const Place& place) {
    model::Core core;
    core.package = place.package.value_or(0);
    core.id =
        number_of(object, "os_index").value_or(static_cast<std::uint32_t>(draft_.machine.cpus.cores.size()));
    core.cpus = bitmap_of(object, "cpuset");
    draft_.machine.cpus.cores.push_back(std::move(core));
  }

  void take_cache(const XmlElement& object) {
    const auto size = parse_integer<std::uint64_t>(object.get("cache_size"));
    const auto type = number_of(object, "cache_type");  // hwloc_obj_cache_type_e: unified, data, instruction
    model::Cache cache;
    cache.level = number_of(object, "depth").value_or(0);
    if (type == 1U) cache.kind = model::CacheKind::kData;
    if (type == 2U) cache.kind = model::CacheKind::kInstruction;
    if (size && *size > 0) cache.size = draft_.known(Bytes{*size}, object.line);
    cache.cpus = bitmap_of(object, "cpuset");
    draft_.machine.cpus.caches.push_back(std::move(cache));
  }

  // hwloc gives memory without CPUs (HBM, CXL) the CPUs it is near to; the kernel's CPUs of a node do not
  // overlap.
  void add_nodes() {
    std::map<std::uint32_t, const XmlElement*> by_id;
    for (const XmlElement* object : nodes_) {
      const auto id = number_of(*object, "os_index");
      if (!id || *id > CpuSet::kMaxCpu || !by_id.emplace(*id, object).second) {
        draft_.note("hwloc.node-unreadable", object->line, "a NUMA node without a number of its own",
                    kExportAgain);
        continue;
      }
      node_order_.push_back(*id);
    }
    CpuSet taken;
    for (const auto& [id, object] : by_id)
      add_node(id, *object, taken);
    if (!by_id.empty() || draft_.machine.cpus.online.empty()) return;
    model::NumaNode only;  // version 1 of a machine without NUMA has no node object
    only.cpus = draft_.machine.cpus.online;
    if (memory_of_machine_) only.memory = draft_.known(Bytes{*memory_of_machine_}, machine_line_);
    draft_.machine.numa.nodes.push_back(std::move(only));
  }

  void add_node(std::uint32_t id, const XmlElement& object, CpuSet& taken) {
    model::NumaNode node;
    node.id = NumaId{id};
    const CpuSet cpus = bitmap_of(object, "cpuset");
    const auto memory = parse_integer<std::uint64_t>(object.get("local_memory"));
    node.memory = draft_.known(Bytes{memory.value_or(0)}, object.line);  // hwloc leaves zero out
    const bool own = !cpus.empty() && !cpus.intersects(taken);
    if (own) node.cpus = cpus;
    taken |= cpus;
    node.kind = kind_of(object, own, memory.value_or(0) > 0);
    draft_.machine.numa.nodes.push_back(std::move(node));
  }

  static model::NumaKind kind_of(const XmlElement& object, bool cpus, bool memory) {
    using model::NumaKind;
    const std::string_view subtype =
        object.get("subtype").empty() ? info_of(object, "Type") : object.get("subtype");
    if (cpus) return memory ? NumaKind::kOrdinary : NumaKind::kCpuOnly;
    if (subtype == "GPUMemory") return NumaKind::kGpuMemory;
    if (subtype == "HBM" || subtype == "MCDRAM") return NumaKind::kHighBandwidth;
    if (subtype.starts_with("CXL")) return NumaKind::kCxl;
    return memory ? NumaKind::kMemoryOnly : NumaKind::kEmpty;
  }

  void take_bridge(const XmlElement& object, Place& place) {
    const std::string_view type = object.get("bridge_type");
    if (type == "0-1") {
      place.bridge.reset();
      place.root_complex = host_bridge(object.get("bridge_pci")).value_or("");
    } else if (const auto index = add_device(object, place)) {
      place.bridge = index;
    }
    place.device.reset();
  }

  std::optional<std::uint32_t> add_device(const XmlElement& object, const Place& place) {
    model::PciDevice device;
    const auto address = parse_pci_address(object.get("pci_busid"));
    if (!address || !read_pci_type(object.get("pci_type"), device)) {
      draft_.note(
          "hwloc.device-unreadable", object.line,
          [&] {
            return fmt::format("pci_busid={} pci_type={}", quoted(object.get("pci_busid")),
                               quoted(object.get("pci_type")));
          },
          kExportAgain);
      return std::nullopt;
    }
    device.address = *address;
    device.parent = place.bridge;
    device.root_complex = place.root_complex;
    device.numa = place.numa;
    if (const auto speed = parse_double(object.get("pci_link_speed")); speed && *speed > 0) {
      device.link = draft_.unreadable<model::PciLink>(model::Reason::kUnsupported, object.line);
      draft_.note(
          "hwloc.link-bandwidth", object.line,
          [&] {
            return fmt::format("{}: {} GB/s; hwloc keeps the bandwidth of a link, not its speed and lanes",
                               to_string(*address), object.get("pci_link_speed"));
          },
          "run angio collect, or lspci -vvv, on the node");
    }
    draft_.machine.pci.devices.push_back(std::move(device));
    return static_cast<std::uint32_t>(draft_.machine.pci.devices.size() - 1);
  }

  void take_pci_device(const XmlElement& object, Place place) {
    const auto index = add_device(object, place);
    place.device = index;
    name_object(object, place);
    facts_ = GpuFacts{};
    take_all(object.children, place);
    if (!index) return;
    const model::PciDevice& device = draft_.machine.pci.devices[*index];
    const bool gpu = facts_.seen || is_gpu_class(device.class_code, device.vendor);
    if (gpu) add_gpu(device, *index, object.line);
    facts_ = GpuFacts{};
  }

  void add_gpu(const model::PciDevice& device, std::uint32_t index, std::uint32_t line) {
    if (!draft_.has_room_for_gpu(line)) return;
    model::Gpu gpu = std::move(facts_.gpu);
    gpu.index = static_cast<std::uint32_t>(draft_.machine.gpus.size());
    gpu.vendor = gpu_vendor(device.vendor);
    gpu.pci = index;
    gpu.address = draft_.known(device.address, line);
    gpu.numa = device.numa;
    draft_.machine.gpus.push_back(std::move(gpu));
  }

  // Matrices name objects by type and gp_index.
  void name_object(const XmlElement& object, const Place& place) {
    const std::string_view number = object.get("gp_index");
    if (number.empty() || !place.device) return;
    names_.emplace(fmt::format("{}:{}", object.get("type"), number),
                   draft_.machine.pci.devices[*place.device].address);
  }

  void take_os_device(const XmlElement& object, const Place& place) {
    name_object(object, place);
    switch (os_device(number_of(object, "osdev_type").value_or(0), version3_)) {
      case OsDevice::kGpu:
        take_gpu_facts(draft_, object, facts_);
        break;
      case OsDevice::kNetwork:
        if (draft_.has_room_for_network(object.line)) take_interface(draft_, object, place);
        break;
      case OsDevice::kOpenFabrics:
        if (draft_.has_room_for_network(object.line)) take_rdma(draft_, object, place);
        break;
      case OsDevice::kOther:
        break;
    }
  }

  Draft& draft_;
  bool version3_ = false;
  bool machine_seen_ = false;
  std::size_t objects_ = 0;
  std::vector<const XmlElement*> nodes_;
  std::vector<const XmlElement*> matrices1_;
  std::vector<const XmlElement*> matrices2_;
  std::vector<std::uint32_t> node_order_;
  ObjectNames names_;
  std::optional<std::uint64_t> memory_of_machine_;
  std::uint32_t machine_line_ = 0;
  GpuFacts facts_;  // of the PCI device that is being read
};

}  // namespace

Result<model::Machine> import_topology(std::string_view text, Draft draft) {
  const std::vector<XmlElement> top = read_xml(text, draft);
  TopologyImport topology(draft);
  topology.take_all(top, {});
  if (!topology.finish()) {
    return draft.nothing_read("<object type=\"Machine\"> inside <topology>", kExportAgain);
  }
  return std::move(draft.machine);
}

}  // namespace angio::import::hwloc_xml
