#include "model/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/text.hpp"

namespace angio::model {
namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxParts = 4096;  // of one description, whatever their kind
constexpr std::uint32_t kMaxCount = 1024;

constexpr std::array<std::string_view, 8> kKinds{"node",   "package", "numa", "bridge",
                                                 "switch", "gpu",     "hca",  "nvme"};
constexpr std::array<std::string_view, 11> kOptions{"nvlink", "c2c",  "name", "edr",   "hdr", "ndr",
                                                    "xdr",    "roce", "pcie", "cores", "mem"};

struct Option {
  std::string_view key;
  std::string_view value;
  std::size_t column = 0;
};

struct Item {
  std::uint32_t count = 1;
  std::string_view kind;
  std::size_t column = 0;
  std::vector<Option> options;
  std::vector<Item> children;
};

std::unexpected<Error> wrong(std::size_t column, const std::string& message, std::string hint = {}) {
  return fail(ErrorCode::kInvalidInput, fmt::format("topology: column {}: {}", column, message),
              std::move(hint));
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  const auto nearest = did_you_mean(word, known);
  return nearest ? fmt::format("did you mean \"{}\"?", *nearest) : std::string();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<Item>> parse() {
    auto items = parse_items(0);
    if (items && !peek().empty()) return wrong(column(), fmt::format("unexpected \"{}\"", peek()));
    return items;
  }

 private:
  [[nodiscard]] std::size_t column() const { return position_ + 1; }

  // The next word or mark, left where it is; empty at the end.
  std::string_view peek() {
    position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size());
    if (position_ == text_.size()) return {};
    if (std::string_view("{};").find(text_[position_]) != std::string_view::npos)
      return text_.substr(position_, 1);
    return text_.substr(position_, text_.find_first_of(" \t\r\n{};", position_) - position_);
  }

  std::string_view take() {
    const std::string_view word = peek();
    position_ += word.size();
    return word;
  }

  Result<std::vector<Item>> parse_items(std::size_t depth) {
    if (depth > kMaxDepth) return wrong(column(), fmt::format("more than {} levels", kMaxDepth));
    std::vector<Item> items;
    while (!peek().empty() && peek() != "}") {
      auto item = parse_item(depth);
      if (!item) return std::unexpected(std::move(item.error()));
      items.push_back(std::move(*item));
      if (peek() != ";") break;
      take();
    }
    return items;
  }

  Result<Item> parse_item(std::size_t depth) {
    Item item;
    if (const auto count = parse_integer<std::uint32_t>(peek())) {
      if (*count == 0 || *count > kMaxCount)
        return wrong(column(), fmt::format("counts go from 1 to {}", kMaxCount));
      item.count = *count;
      take();
    }
    std::string_view kind = peek();
    item.column = column();
    if (kind == "nic") kind = "hca";
    if (kind.empty()) return wrong(column(), "the description ends where a kind should stand");
    if (std::ranges::find(kKinds, kind) == kKinds.end()) {
      return wrong(column(), fmt::format("\"{}\" is no kind", kind), suggestion(kind, kKinds));
    }
    item.kind = kind;
    take();
    while (!peek().empty() && std::string_view("{};").find(peek().front()) == std::string_view::npos) {
      if (auto option = parse_option()) {
        item.options.push_back(*option);
      } else {
        return std::unexpected(std::move(option.error()));
      }
    }
    if (peek() != "{") return item;
    return parse_children(std::move(item), depth);
  }

  Result<Item> parse_children(Item item, std::size_t depth) {
    const std::size_t open = column();
    take();
    auto children = parse_items(depth + 1);
    if (!children) return std::unexpected(std::move(children.error()));
    if (peek() != "}")
      return wrong(column(), fmt::format("\"}}\" is missing for the \"{{\" of column {}", open));
    take();
    item.children = std::move(*children);
    return item;
  }

  Result<Option> parse_option() {
    Option option;
    option.column = (static_cast<void>(peek()), column());
    const std::string_view word = take();
    const std::size_t colon = std::min(word.find(':'), word.size());
    option.key = word.substr(0, colon);
    if (colon < word.size()) option.value = word.substr(colon + 1);
    if (std::ranges::find(kOptions, option.key) == kOptions.end()) {
      return wrong(option.column, fmt::format("\"{}\" is no option", option.key),
                   suggestion(option.key, kOptions));
    }
    return option;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

// Per lane and direction, in transfers a second: PCI Express Base Specification, generations 1 to 6.
constexpr std::array<double, 6> kTransferRates{2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};

struct NamedRate {
  std::string_view option;
  const char* name;  // as the kernel prints it in sysfs `rate`: "400 Gb/sec (4X NDR)"
  double rate;
};
constexpr std::array<NamedRate, 5> kRates{{{"edr", "EDR", 100e9},
                                           {"hdr", "HDR", 200e9},
                                           {"ndr", "NDR", 400e9},
                                           {"xdr", "XDR", 800e9},
                                           {"roce", "", 100e9}}};

// Where a device is put: below which bridge, on which host bridge and node.
struct Spot {
  std::optional<std::uint32_t> numa;  // index in numa.nodes
  std::optional<std::uint32_t> package;
  std::string root_complex;
  PciAddress root_bus;
  std::optional<std::uint32_t> parent;  // a switch's upstream port
};

struct NvLinkPlan {
  enum class Kind : std::uint8_t { kSwitch, kMesh, kPairs } kind = Kind::kSwitch;
  std::uint32_t links = 0;
  std::vector<std::uint32_t> gpus;
};

class Builder {
 public:
  Result<Machine> build(const std::vector<Item>& items) {
    source_.place = machine_.places.add("topology");
    machine_.name = "synthetic";
    machine_.origin = "synthetic";
    Spot top;
    if (auto done = add_all(items, top); !done) return std::unexpected(std::move(done.error()));
    for (const NvLinkPlan& plan : plans_)
      join_gpus(plan);
    finish_numa();
    sort_pci();
    return std::move(machine_);
  }

 private:
  template <typename T>
  Observed<T> known(T value) const {
    return Observed<T>::known(std::move(value), source_);
  }

  // Spot& because the first device directly in a numa node opens the node's shared host bridge.
  Result<void> add_all(const std::vector<Item>& items, Spot& spot) {
    for (const Item& item : items) {
      for (std::uint32_t i = 0; i < item.count; ++i) {
        if (auto done = add(item, spot); !done) return done;
      }
    }
    return {};
  }

  Result<void> add(const Item& item, Spot& spot) {
    if (++parts_ > kMaxParts) return wrong(item.column, fmt::format("more than {} parts", kMaxParts));
    if (item.kind == "node") return add_node(item, spot);
    if (item.kind == "package") return add_package(item, spot);
    if (item.kind == "numa") return add_numa(item, spot);
    if (!spot.numa) {
      if (auto done = open_numa(item, {}, spot); !done) return done;
    }
    if (item.kind == "bridge") {
      Spot inside = spot;
      open_bridge(inside);
      return add_all(item.children, inside);
    }
    if (item.kind == "switch") return add_switch(item, spot);
    return add_endpoint(item, spot);
  }

  Result<void> add_node(const Item& item, Spot& spot) {
    if (item.count > 1 || spot.package || spot.numa) {
      return wrong(item.column, "one machine is one node", "describe each node by itself");
    }
    return add_all(item.children, spot);
  }

  Result<void> add_package(const Item& item, const Spot& spot) {
    if (spot.package) return wrong(item.column, "a package stands inside a package or a numa node");
    Spot inside;
    inside.package = static_cast<std::uint32_t>(machine_.cpus.packages.size());
    machine_.cpus.packages.push_back({*inside.package, {}});
    if (item.children.empty()) return open_numa(item, item.options, inside);
    return add_all(item.children, inside);
  }

  Result<void> add_numa(const Item& item, const Spot& spot) {
    if (spot.numa) return wrong(item.column, "a numa node stands inside a numa node");
    Spot inside;
    inside.package = spot.package;
    if (auto done = open_numa(item, item.options, inside); !done) return done;
    return add_all(item.children, inside);
  }

  Result<void> open_numa(const Item& item, const std::vector<Option>& options, Spot& spot) {
    std::uint32_t cores = 8;
    Bytes memory{std::uint64_t{64} << 30U};
    for (const Option& option : options) {
      if (option.key == "cores") {
        const auto number = parse_integer<std::uint32_t>(option.value);
        if (!number || *number > 1024 || machine_.cpus.cores.size() + *number > CpuSet::kMaxCpu) {
          return wrong(option.column, "cores: a number up to 1024, 65535 in all");
        }
        cores = *number;
      } else if (option.key == "mem") {
        const auto size = parse_byte_count(option.value);
        if (!size) return wrong(option.column, "mem: a size such as 512GiB");
        memory = Bytes{*size};
      } else {
        return wrong(option.column, fmt::format("\"{}\" is no option of {}", option.key, item.kind));
      }
    }
    if (!spot.package) {
      spot.package = static_cast<std::uint32_t>(machine_.cpus.packages.size());
      machine_.cpus.packages.push_back({*spot.package, {}});
    }
    NumaNode node;
    spot.numa = static_cast<std::uint32_t>(machine_.numa.nodes.size());
    node.id = NumaId{*spot.numa};
    node.memory = known(memory);
    if (cores == 0) node.kind = NumaKind::kMemoryOnly;
    for (std::uint32_t i = 0; i < cores; ++i)
      add_core(*spot.package, node.cpus);
    machine_.numa.nodes.push_back(std::move(node));
    package_of_.push_back(*spot.package);
    return {};
  }

  void add_core(std::uint32_t package, CpuSet& cpus) {
    Core core;
    core.package = package;
    core.id = static_cast<std::uint32_t>(machine_.cpus.cores.size());
    core.cpus.insert(core.id);
    cpus.insert(core.id);
    machine_.cpus.online.insert(core.id);
    machine_.cpus.packages[package].cpus.insert(core.id);
    machine_.cpus.cores.push_back(std::move(core));
  }

  PciAddress next_bus() {
    const std::uint32_t bus = next_bus_++;
    return {bus >> 8U, static_cast<std::uint8_t>(bus & 0xFFU), 0, 0};
  }

  void open_bridge(Spot& spot) {
    spot.root_bus = next_bus();
    spot.root_complex = fmt::format("pci{:04x}:{:02x}", spot.root_bus.domain, spot.root_bus.bus);
    spot.parent.reset();
  }

  std::uint32_t add_pci(PciDevice device, const Spot& spot, std::optional<std::uint32_t> parent) {
    device.parent = parent;
    device.root_complex = spot.root_complex;
    device.numa = known(NumaId{*spot.numa});
    device.local_cpus = known(machine_.numa.nodes[*spot.numa].cpus);
    machine_.pci.devices.push_back(std::move(device));
    return static_cast<std::uint32_t>(machine_.pci.devices.size() - 1);
  }

  // The port a new device hangs off: a root port of the host bridge or a downstream port of the switch.
  std::uint32_t add_port(Spot& spot, const PciDevice& below) {
    if (spot.root_complex.empty()) open_bridge(spot);
    PciDevice port;
    port.class_code = 0x060400;
    port.port = spot.parent ? PciPort::kSwitchDownstream : PciPort::kRootPort;
    port.link = below.link;
    port.link_max = below.link_max;
    if (spot.parent) {
      port.address = next_bus();
    } else {
      port.address = spot.root_bus;
      port.address.device = static_cast<std::uint8_t>(1 + ports_[spot.root_complex] % 31);
      port.address.function = static_cast<std::uint8_t>((ports_[spot.root_complex]++ / 31) & 7U);
    }
    return add_pci(port, spot, spot.parent);
  }

  Result<void> add_switch(const Item& item, Spot& spot) {
    Spot inside = spot;
    if (!spot.parent) inside.root_complex.clear();  // a host bridge of its own
    PciDevice upstream;
    upstream.class_code = 0x060400;
    upstream.port = PciPort::kSwitchUpstream;
    if (auto done = set_link(item, upstream); !done) return done;
    const std::uint32_t port = add_port(inside, upstream);
    upstream.address = next_bus();
    inside.parent = add_pci(upstream, inside, port);
    return add_all(item.children, inside);
  }

  Result<void> set_link(const Item& item, PciDevice& device) {
    PciLink link{{kTransferRates[4]}, 16};
    PciLink now = link;
    for (const Option& option : item.options) {
      if (option.key != "pcie") continue;
      const std::size_t cross = option.value.find('x');
      if (cross == std::string_view::npos) return wrong(option.column, "pcie: GENERATIONxLANES such as 5x16");
      const std::string_view lanes = option.value.substr(cross + 1);
      const std::size_t slash = std::min(lanes.find('/'), lanes.size());
      const auto generation = parse_integer<std::uint32_t>(option.value.substr(0, cross));
      const auto most = parse_integer<std::uint32_t>(lanes.substr(0, slash));
      const auto used = slash < lanes.size() ? parse_integer<std::uint32_t>(lanes.substr(slash + 1)) : most;
      if (!generation || *generation < 1 || *generation > kTransferRates.size() || !most || !used) {
        return wrong(option.column, "pcie: GENERATIONxLANES such as 5x16");
      }
      link = {{kTransferRates[*generation - 1]}, *most};
      now = {link.speed, *used};
    }
    device.link_max = known(link);
    device.link = known(now);
    return {};
  }

  Result<void> add_endpoint(const Item& item, Spot& spot) {
    if (!item.children.empty()) return wrong(item.column, fmt::format("nothing goes into a {}", item.kind));
    PciDevice device;
    device.port = PciPort::kEndpoint;
    if (auto done = set_link(item, device); !done) return done;
    const std::uint32_t port = add_port(spot, device);
    device.address = next_bus();
    if (item.kind == "gpu") return add_gpu(item, spot, device, port);
    if (item.kind == "hca") return add_hca(item, spot, device, port);
    device.class_code = 0x010802;
    add_pci(device, spot, port);
    return {};
  }

  Result<void> add_gpu(const Item& item, const Spot& spot, PciDevice device, std::uint32_t port) {
    device.class_code = 0x030200;
    device.vendor = 0x10DE;
    Gpu gpu;
    gpu.index = static_cast<std::uint32_t>(machine_.gpus.size());
    gpu.vendor = GpuVendor::kNvidia;
    gpu.address = known(device.address);
    gpu.numa = known(NumaId{*spot.numa});
    gpu.pci = add_pci(device, spot, port);
    machine_.gpus.push_back(gpu);
    for (const Option& option : item.options) {
      if (auto done = apply_gpu_option(item, option, gpu.index); !done) return done;
    }
    return {};
  }

  Result<void> apply_gpu_option(const Item& item, const Option& option, std::uint32_t gpu) {
    if (option.key == "pcie") return {};
    if (option.key == "c2c") {
      machine_.gpus[gpu].coherent_link = known(true);
    } else if (option.key == "name") {
      machine_.gpus[gpu].name = known(std::string(option.value));
    } else if (option.key == "nvlink") {
      return plan_nvlink(item, option, gpu);
    } else {
      return wrong(option.column, fmt::format("\"{}\" is no option of gpu", option.key));
    }
    return {};
  }

  // GPUs described alike are joined with one another, wherever they are.
  Result<void> plan_nvlink(const Item& item, const Option& option, std::uint32_t gpu) {
    static constexpr std::array<std::string_view, 3> kPlans{"full", "mesh", "pairs"};
    const std::vector<std::string_view> parts = split(option.value, ':');
    const auto kind = std::ranges::find(kPlans, parts.front());
    if (kind == kPlans.end()) {
      return wrong(option.column, "nvlink: full, mesh:links or pairs:links",
                   suggestion(parts.front(), kPlans));
    }
    // 18: what the fourth generation of NVLink has at most per GPU; a test that cares says its own.
    const auto links = parts.size() > 1 ? parse_integer<std::uint32_t>(parts[1]) : 18U;
    if (!links || *links == 0 || *links > 64) return wrong(option.column, "nvlink: 1 to 64 links");
    const auto wanted = static_cast<NvLinkPlan::Kind>(kind - kPlans.begin());
    auto plan = std::ranges::find_if(plans_, [&](const NvLinkPlan& each) {
      return each.kind == wanted && each.links == *links &&
             (wanted == NvLinkPlan::Kind::kSwitch || last_ == &item);
    });
    if (plan == plans_.end()) plan = plans_.insert(plans_.end(), NvLinkPlan{wanted, *links, {}});
    last_ = &item;
    plan->gpus.push_back(gpu);
    return {};
  }

  void add_links(std::uint32_t from, std::optional<std::uint32_t> to, std::uint32_t count) {
    Gpu& gpu = machine_.gpus[from];
    for (std::uint32_t i = 0; i < count; ++i) {
      GpuLink link;
      link.index = static_cast<std::uint32_t>(gpu.links.size());
      link.state = LinkState::kActive;
      link.peer_kind = to ? PeerKind::kGpu : PeerKind::kSwitch;
      if (to) link.peer = machine_.gpus[*to].address;
      gpu.links.push_back(link);
    }
  }

  void join_gpus(const NvLinkPlan& plan) {
    for (std::size_t i = 0; i < plan.gpus.size(); ++i) {
      if (plan.kind == NvLinkPlan::Kind::kSwitch) add_links(plan.gpus[i], {}, plan.links);
      if (plan.kind == NvLinkPlan::Kind::kPairs && (i ^ 1U) < plan.gpus.size()) {
        add_links(plan.gpus[i], plan.gpus[i ^ 1U], plan.links);
      }
      for (std::size_t j = 0; plan.kind == NvLinkPlan::Kind::kMesh && j < plan.gpus.size(); ++j) {
        if (i != j) add_links(plan.gpus[i], plan.gpus[j], plan.links);
      }
    }
  }

  Result<void> add_hca(const Item& item, const Spot& spot, PciDevice device, std::uint32_t port) {
    const NamedRate* rate = &kRates[3 - 1];
    for (const Option& option : item.options) {
      if (option.key == "pcie") continue;
      const auto named = std::ranges::find(kRates, option.key, &NamedRate::option);
      if (named == kRates.end())
        return wrong(option.column, fmt::format("\"{}\" is no option of hca", option.key));
      rate = &*named;
    }
    const bool ethernet = rate->option == "roce";
    device.class_code = ethernet ? 0x020000 : 0x020700;
    device.vendor = 0x15B3;
    RdmaPort rdma_port;
    rdma_port.state = known(std::string("ACTIVE"));
    rdma_port.physical_state = known(std::string("LinkUp"));
    rdma_port.rate = known(BitsPerSecond{rate->rate});
    rdma_port.lanes = known(4U);
    if (!ethernet) rdma_port.speed_name = known(std::string(rate->name));
    rdma_port.link_layer = ethernet ? LinkLayer::kEthernet : LinkLayer::kInfiniBand;
    RdmaDevice rdma;
    rdma.name = fmt::format("mlx5_{}", machine_.rdma.size());
    rdma.address = known(device.address);
    rdma.numa = known(NumaId{*spot.numa});
    rdma.ports.push_back(std::move(rdma_port));
    rdma.pci = add_pci(device, spot, port);
    machine_.rdma.push_back(std::move(rdma));
    return {};
  }

  // Distances as firmware often states them: 10 local by definition, 12 within a package, 21 beyond.
  void finish_numa() {
    for (std::size_t i = 0; i < machine_.numa.nodes.size(); ++i) {
      std::vector<std::uint32_t> distances;
      for (std::size_t j = 0; j < machine_.numa.nodes.size(); ++j) {
        distances.push_back(i == j ? 10 : package_of_[i] == package_of_[j] ? 12 : 21);
      }
      machine_.numa.nodes[i].distances = known(std::move(distances));
    }
  }

  void sort_pci() {
    std::vector<PciDevice>& devices = machine_.pci.devices;
    std::vector<std::uint32_t> order(devices.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return devices[i].address; });
    std::vector<std::uint32_t> place(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
      place[order[i]] = i;
    std::vector<PciDevice> sorted;
    sorted.reserve(devices.size());
    for (const std::uint32_t old : order) {
      sorted.push_back(std::move(devices[old]));
      if (sorted.back().parent) sorted.back().parent = place[*sorted.back().parent];
    }
    devices = std::move(sorted);
    for (Gpu& gpu : machine_.gpus)
      gpu.pci = place[*gpu.pci];
    for (RdmaDevice& rdma : machine_.rdma)
      rdma.pci = place[*rdma.pci];
  }

  Machine machine_;
  Source source_;
  std::vector<std::uint32_t> package_of_;  // of each NUMA node
  std::map<std::string, std::uint32_t> ports_;
  std::vector<NvLinkPlan> plans_;
  const Item* last_ = nullptr;
  std::uint32_t next_bus_ = 1;
  std::size_t parts_ = 0;
};

}  // namespace

Result<Machine> topology(std::string_view description) {
  auto items = Parser(description).parse();
  if (!items) return std::unexpected(std::move(items.error()));
  if (items->empty()) return wrong(1, "nothing is described");
  return Builder().build(*items);
}

}  // namespace angio::model
