#include "dryrun/topology_sketch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "dryrun/node_design.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/phantom_gpus.hpp"
#include "knowledge/versions.hpp"
#include "nccl/topology_generate.hpp"

namespace angio::dryrun {
namespace {

constexpr std::string_view kForm =
    "Write <GPUs>x<model>[+<NICs>x<Gb/s>g][/<NUMA nodes>]: 8xh100-sxm+8x400g/2";

// A device of the sketch and what it hangs on: devices of one switch and NUMA node stand below one bridge.
struct Place {
  std::uint32_t numa = 0;
  std::uint32_t upper = 0;  // bridges that join several switches
  std::uint32_t bridge = 0;
};
struct Nic {
  std::string name;
  Place place;
};
struct Wire {
  std::string target;  // bus id, or that of a hidden NVSwitch
  std::uint32_t count = 0;
};
struct Plan {
  const knowledge::PhantomGpu* model = nullptr;
  std::vector<Place> gpus;
  std::vector<Nic> nics;
  std::uint32_t nic_gbits = 0;
  std::map<std::uint32_t, std::string> affinity;  // by NUMA node, as the kernel's cpumap
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> wires;  // by GPU: peer and links
};

// ---------------------------------------------------------------- the plan as elements

std::string bus_id(std::uint32_t numa, std::uint32_t bus) {
  return fmt::format("{:04x}:{:02x}:00.0", numa, bus);
}

class Drawing {
 public:
  explicit Drawing(const Plan& plan) : plan_(plan) {
    const knowledge::GpuModel* built = knowledge::find_gpu(plan.model->product);
    const std::uint32_t generation =
        built != nullptr && built->pcie_generation != 0 ? built->pcie_generation : 4;
    for (const knowledge::PcieGeneration& pcie : knowledge::pcie_generations())
      if (pcie.generation == generation)
        speed_ = nccl::link_speed_text(TransfersPerSecond{pcie.transfers_per_second});
    width_ = built != nullptr && built->pcie_width != 0 ? built->pcie_width : 16;
  }

  nccl::Element draw() {
    nccl::Element root;
    root.name = "system";
    root.set("version", "1");
    for (const std::uint32_t numa : nodes())
      root.children.push_back(cpu(numa));
    return root;
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> nodes() const {
    std::vector<std::uint32_t> found;
    for (const Place& place : plan_.gpus)
      found.push_back(place.numa);
    for (const Nic& nic : plan_.nics)
      found.push_back(nic.place.numa);
    std::ranges::sort(found);
    const auto rest = std::ranges::unique(found);
    found.erase(rest.begin(), rest.end());
    return found;
  }

  // Any server CPU: NCCL asks the vendor for the speed between sockets and for nothing else that matters
  // here.
  nccl::Element cpu(std::uint32_t numa) {
    nccl::Element element;
    element.name = "cpu";
    const auto affinity = plan_.affinity.find(numa);
    element.set("numaid", std::to_string(numa));
    element.set("affinity", affinity != plan_.affinity.end() ? affinity->second : "ffffffff");
    element.set("arch", "x86_64");
    element.set("vendor", "GenuineIntel");
    element.set("familyid", "6");
    element.set("modelid", "143");
    bus_ = 1;
    std::map<std::uint32_t, std::map<std::uint32_t, std::vector<nccl::Element>>> below;
    for (std::uint32_t i = 0; i < plan_.gpus.size(); ++i)
      if (plan_.gpus[i].numa == numa) below[plan_.gpus[i].upper][plan_.gpus[i].bridge].push_back(gpu(i));
    for (std::uint32_t i = 0; i < plan_.nics.size(); ++i) {
      const Place& place = plan_.nics[i].place;
      if (place.numa == numa) below[place.upper][place.bridge].push_back(nic(i));
    }
    for (auto& [upper, switches] : below)
      element.children.push_back(tree(numa, std::move(switches)));
    return element;
  }

  // Several switches below one bridge are far from each other: each stays a bridge, with one device too.
  nccl::Element tree(std::uint32_t numa, std::map<std::uint32_t, std::vector<nccl::Element>> switches) {
    if (switches.size() == 1) return joined(numa, std::move(switches.begin()->second));
    std::vector<nccl::Element> bridges;
    for (auto& [number, devices] : switches)
      bridges.push_back(bridge(numa, std::move(devices)));
    return bridge(numa, std::move(bridges));
  }
  nccl::Element joined(std::uint32_t numa, std::vector<nccl::Element> devices) {
    return devices.size() == 1 ? std::move(devices.front()) : bridge(numa, std::move(devices));
  }
  nccl::Element bridge(std::uint32_t numa, std::vector<nccl::Element> below) {
    nccl::Element element = pci(bus_id(numa, bus_++), "0x060400", "0x1000", "0xc030");
    element.children = std::move(below);
    return element;
  }

  [[nodiscard]] nccl::Element pci(const std::string& bus, std::string_view kind, std::string_view vendor,
                                  std::string_view device) const {
    nccl::Element element;
    element.name = "pci";
    element.set("busid", bus);
    element.set("class", kind);
    element.set("vendor", vendor);
    element.set("device", device);
    element.set("subsystem_vendor", vendor);
    element.set("subsystem_device", "0x0000");
    element.set("link_speed", speed_);
    element.set("link_width", std::to_string(width_));
    return element;
  }

  nccl::Element gpu(std::uint32_t index) {
    const auto devices = plan_.model->devices;
    nccl::Element element = pci(gpu_bus(index), "0x030200", "0x10de",
                                fmt::format("0x{:04x}", devices.empty() ? 0U : devices.front()));
    if (plan_.wires.empty()) return element;  // the model of the GPU tells its links: design_node places it
    nccl::Element inner;
    inner.name = "gpu";
    inner.set("dev", std::to_string(index));
    std::string sm(knowledge::capability_of(plan_.model->product));
    std::erase(sm, '.');
    inner.set("sm", sm);
    inner.set("gdr", "1");
    for (const Wire& wire : wires(index))
      inner.children.push_back(nvlink(wire));
    element.children.push_back(std::move(inner));
    return element;
  }
  // Addresses of GPUs are fixed, for their peers name them before they are drawn.
  [[nodiscard]] std::string gpu_bus(std::uint32_t index) const {
    return bus_id(plan_.gpus[index].numa, 0x80 + index);
  }
  // More links than the model was built with can only be one NVSwitch seen once for each peer.
  [[nodiscard]] std::vector<Wire> wires(std::uint32_t index) const {
    const knowledge::GpuModel* built = knowledge::find_gpu(plan_.model->product);
    std::uint32_t sum = 0;
    std::uint32_t most = 0;
    for (const auto& [peer, links] : plan_.wires[index]) {
      sum += links;
      most = std::max(most, links);
    }
    if (built != nullptr && sum > built->nvlinks) return {{"fffffff:ffff:ff", most}};
    std::vector<Wire> direct;
    for (const auto& [peer, links] : plan_.wires[index])
      direct.push_back({gpu_bus(peer), links});
    return direct;
  }
  static nccl::Element nvlink(const Wire& wire) {
    nccl::Element element;
    element.name = "nvlink";
    element.set("target", wire.target);
    element.set("count", std::to_string(wire.count));
    element.set("tclass", wire.target.starts_with("fffffff") ? "0x068000" : "0x030200");
    return element;
  }

  nccl::Element nic(std::uint32_t index) {
    const Nic& drawn = plan_.nics[index];
    nccl::Element element = pci(bus_id(drawn.place.numa, 0xc0 + index), "0x020700", "0x15b3", "0x1021");
    nccl::Element net;
    net.name = "net";
    net.set("name", drawn.name);
    net.set("dev", std::to_string(index));
    net.set("latency", "0");
    net.set("speed", std::to_string(plan_.nic_gbits * 1000));  // Mb/s
    net.set("port", "1");
    net.set("guid", fmt::format("0x{:x}", 0x1000 + index));
    net.set("maxconn", "131072");
    net.set("gdr", "1");
    nccl::Element middle;
    middle.name = "nic";
    middle.children.push_back(std::move(net));
    element.children.push_back(std::move(middle));
    return element;
  }

  const Plan& plan_;
  std::string speed_;
  std::uint32_t width_ = 16;
  std::uint32_t bus_ = 1;
};

std::string made_up(const Plan& plan) {
  return fmt::format(
      "PCI addresses, switches and Intel CPUs are made up; NICs as wide and fast on PCIe as {}",
      plan.model->name);
}

Result<const knowledge::PhantomGpu*> model_named(std::string_view name) {
  if (const auto* found = knowledge::find_phantom_gpu(name)) return found;
  std::vector<std::string> known = gpu_models();
  std::vector<std::string_view> words(known.begin(), known.end());
  const auto near = did_you_mean(name, words);
  return fail(ErrorCode::kInvalidInput, "no GPU model \"" + printable(name) + "\"",
              (near ? "Did you mean " + *near + "? " : "") + "Known: " + join(known, ", "));
}

// ---------------------------------------------------------------- from words

struct Words {
  std::uint32_t gpus = 0;
  std::string_view model;
  std::uint32_t nics = 0;
  std::uint32_t gbits = 0;
  std::optional<std::uint32_t> numa;
};

// "8x…": the number, and the rest behind the x.
std::optional<std::uint32_t> take_count(std::string_view& text) {
  const std::size_t x = text.find('x');
  if (x == std::string_view::npos) return std::nullopt;
  const auto count = parse_integer<std::uint32_t>(text.substr(0, x));
  text.remove_prefix(x + 1);
  return count;
}

std::optional<Words> split_sketch(std::string_view text) {
  Words words;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    words.numa = parse_integer<std::uint32_t>(text.substr(slash + 1));
    if (!words.numa) return std::nullopt;
    text = text.substr(0, slash);
  }
  const std::size_t plus = text.find('+');
  std::string_view gpus = text.substr(0, plus);
  const auto count = take_count(gpus);
  if (!count || gpus.empty()) return std::nullopt;
  words.gpus = *count;
  words.model = gpus;
  if (plus == std::string_view::npos) return words;
  std::string_view nics = text.substr(plus + 1);
  const auto nic_count = take_count(nics);
  if (!nic_count || !nics.ends_with('g')) return std::nullopt;
  const auto gbits = parse_integer<std::uint32_t>(nics.substr(0, nics.size() - 1));
  if (!gbits) return std::nullopt;
  words.nics = *nic_count;
  words.gbits = *gbits;
  return words;
}

Result<void> check(const Words& words, std::uint32_t numa) {
  const auto wrong = [](std::string text, std::string hint) {
    return fail(ErrorCode::kInvalidInput, std::move(text), std::move(hint));
  };
  if (words.gpus == 0 || words.gpus > kMostGpus || words.nics > kMostGpus)
    return wrong(fmt::format("{} GPUs and {} NICs cannot be one node", words.gpus, words.nics),
                 fmt::format("1 to {} GPUs, up to {} NICs", kMostGpus, kMostGpus));
  if (words.nics != 0 && (words.gbits == 0 || words.gbits > 3200))
    return wrong(fmt::format("a NIC of {} Gb/s", words.gbits), "Name the speed of one NIC in Gb/s: 8x400g");
  if (words.nics != 0 && std::max(words.gpus, words.nics) % std::min(words.gpus, words.nics) != 0)
    return wrong(fmt::format("{} NICs cannot be dealt evenly to {} GPUs", words.nics, words.gpus),
                 "Use a topology file for such a node: angio nccl-topo generate");
  if (numa == 0 || std::max(words.gpus, words.nics) % numa != 0)
    return wrong(fmt::format("{} GPUs cannot be dealt evenly to {} NUMA nodes", words.gpus, numa),
                 std::string(kForm));
  return {};
}

// The place of device i of count: so many bridges in all, so many NUMA nodes.
Place dealt(std::uint32_t i, std::uint32_t count, std::uint32_t bridges, std::uint32_t numa) {
  const std::uint32_t bridge = i * bridges / count;
  return {bridge * numa / bridges, bridge, bridge};
}

// ---------------------------------------------------------------- from a matrix

// Devices joined by cells of certain classes: a number for each group.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i)
      i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    parent_[std::max(find(a), find(b))] = std::min(find(a), find(b));
  }

 private:
  std::vector<std::uint32_t> parent_;
};

Groups grouped(const model::StatedPaths& stated, model::PathClass up_to) {
  const std::size_t count = stated.devices.size();
  Groups groups(count);
  for (std::uint32_t a = 0; a < count; ++a)
    for (std::uint32_t b = a + 1; b < count; ++b) {
      const model::PathClass kind = stated.cells[a * count + b].kind;
      if (kind >= model::PathClass::kPix && kind <= up_to) groups.join(a, b);
    }
  return groups;
}

// The NUMA node of each device: what the table says, else that of a neighbour, else a number of its own.
std::vector<std::uint32_t> numa_nodes(const model::Machine& machine, std::vector<std::string>& notes) {
  const model::StatedPaths& stated = *machine.stated_paths;
  Groups groups = grouped(stated, model::PathClass::kNode);
  std::map<std::uint32_t, std::uint32_t> known;
  for (std::uint32_t i = 0; i < stated.devices.size(); ++i)
    if (const auto node = model::nearest_node(machine, stated.devices[i]))
      known.emplace(groups.find(i), node->value);
  std::uint32_t next = 0;
  for (const auto& [group, node] : known)
    next = std::max(next, node + 1);
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < stated.devices.size(); ++i) {
    const auto [place, is_new] = known.emplace(groups.find(i), next);
    if (is_new) {
      ++next;
      notes.push_back(fmt::format("the table tells no NUMA node of {}; it got one of its own",
                                  i < machine.gpus.size() ? fmt::format("GPU {}", i) : "a NIC"));
    }
    nodes.push_back(place->second);
  }
  return nodes;
}

std::string nic_name(const model::Machine& machine, model::DeviceRef device) {
  return device.kind == model::DeviceKind::kRdma ? machine.rdma[device.index].name
                                                 : machine.networks[device.index].name;
}

Plan plan_of(const model::Machine& machine, std::vector<std::string>& notes) {
  const model::StatedPaths& stated = *machine.stated_paths;
  const std::vector<std::uint32_t> nodes = numa_nodes(machine, notes);
  Groups switches = grouped(stated, model::PathClass::kPix);
  Groups uppers = grouped(stated, model::PathClass::kPxb);
  Plan plan;
  std::vector<std::uint32_t> gpu_of(stated.devices.size(), 0);
  for (std::uint32_t i = 0; i < stated.devices.size(); ++i) {
    const Place place{nodes[i], uppers.find(i), switches.find(i)};
    if (stated.devices[i].kind == model::DeviceKind::kGpu) {
      gpu_of[i] = static_cast<std::uint32_t>(plan.gpus.size());
      plan.gpus.push_back(place);
    } else if (stated.devices[i].kind == model::DeviceKind::kRdma) {
      plan.nics.push_back({nic_name(machine, stated.devices[i]), place});
    }
  }
  plan.wires.resize(plan.gpus.size());
  for (std::uint32_t a = 0; a < stated.devices.size(); ++a)
    for (std::uint32_t b = 0; b < stated.devices.size(); ++b) {
      const model::Path& cell = stated.cells[a * stated.devices.size() + b];
      if (cell.kind == model::PathClass::kNvLink && a != b &&
          stated.devices[a].kind == model::DeviceKind::kGpu &&
          stated.devices[b].kind == model::DeviceKind::kGpu)
        plan.wires[gpu_of[a]].emplace_back(gpu_of[b], cell.links);
    }
  return plan;
}

}  // namespace

bool looks_like_words(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && text[digits] == 'x' && digits + 1 < text.size() &&
         text.find_first_of(". ") == std::string_view::npos;
}

Result<Sketch> sketch_words(std::string_view text) {
  const auto words = split_sketch(text);
  if (!words)
    return fail(ErrorCode::kInvalidInput, "\"" + printable(text) + "\" is no topology", std::string(kForm));
  const auto model = model_named(words->model);
  if (!model) return std::unexpected(model.error());
  const std::uint32_t numa = words->numa.value_or(words->gpus >= 4 ? 2 : 1);
  if (auto checked = check(*words, numa); !checked) return std::unexpected(std::move(checked.error()));
  Plan plan;
  plan.model = *model;
  plan.nic_gbits = words->gbits;
  const std::uint32_t bridges = words->nics == 0 ? words->gpus : std::min(words->gpus, words->nics);
  for (std::uint32_t i = 0; i < words->gpus; ++i)
    plan.gpus.push_back(dealt(i, words->gpus, bridges, std::min(numa, bridges)));
  for (std::uint32_t i = 0; i < words->nics; ++i)
    plan.nics.push_back({fmt::format("mlx5_{}", i), dealt(i, words->nics, bridges, std::min(numa, bridges))});
  return Sketch{Drawing(plan).draw(), std::string((*model)->name), {made_up(plan)}};
}

Result<Sketch> sketch_matrix(const model::Machine& machine, std::string_view gpu, std::uint32_t nic_gbits) {
  if (!machine.stated_paths || machine.stated_paths->devices.empty())
    return fail(ErrorCode::kNotFound, "no matrix of GPUs in " + printable(machine.name));
  if (gpu.empty())
    return fail(ErrorCode::kInvalidInput, "the matrix of nvidia-smi topo -m does not say which GPUs they are",
                "Name the model: --gpu " + join(gpu_models(), "|"));
  const auto model = model_named(gpu);
  if (!model) return std::unexpected(model.error());
  Sketch sketch;
  Plan plan = plan_of(machine, sketch.notes);
  if (plan.gpus.empty())
    return fail(ErrorCode::kNotFound, "no GPU in the matrix of " + printable(machine.name));
  if (plan.gpus.size() > kMostGpus || plan.nics.size() > kMostGpus)
    return fail(ErrorCode::kUnsupported, fmt::format("more than {} GPUs or NICs in one node", kMostGpus));
  plan.model = *model;
  plan.nic_gbits = nic_gbits;
  sketch.gpu = (*model)->name;
  if (!plan.nics.empty())
    sketch.notes.push_back(
        fmt::format("the matrix tells no speed of NICs: {} Gb/s each (--nic-speed)", nic_gbits));
  sketch.notes.push_back(made_up(plan));
  sketch.root = Drawing(plan).draw();
  return sketch;
}

}  // namespace angio::dryrun
