#include "dryrun/node_design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/design_gpus.hpp"
#include "dryrun/design_nets.hpp"
#include "dryrun/design_scan.hpp"
#include "knowledge/versions.hpp"

namespace angio::dryrun {
namespace {

using nccl::Element;

constexpr std::size_t kLongestPath = 4095;  // PATH_MAX of Linux; NCCL copies paths into such buffers

std::string node_words(const NodeChange& change) {
  return fmt::format("node {}", change.node);
}

std::vector<std::string> names_of(const std::vector<DesignedNet>& nets) {
  std::vector<std::string> names;
  for (const DesignedNet& each : nets)
    names.push_back(printable(each.net.name));
  return names;
}

std::unexpected<Error> no_such_nic(const NodeChange& change, std::string_view name,
                                   const std::vector<DesignedNet>& nets) {
  return fail(ErrorCode::kNotFound, fmt::format("{} has no NIC {}", node_words(change), printable(name)),
              nets.empty() ? std::string("It has no NIC at all") : "There is " + listed(names_of(nets)));
}

// "gpu:5"; false for a NIC.
bool is_gpu(std::string_view name, std::uint32_t& device) {
  if (!name.starts_with("gpu:")) return false;
  device = parse_integer<std::uint32_t>(name.substr(4)).value_or(~0U);
  return true;
}

// Links to GPUs that are gone are down.
void cut_links(std::vector<DesignedGpu>& gpus, const std::set<std::string>& gone) {
  for (DesignedGpu& each : gpus) {
    std::erase_if(each.gpu.links, [&](const phantom::Link& link) { return gone.contains(link.remote); });
    std::erase_if(each.added, [&](const AddedLinks& links) { return gone.contains(links.target); });
  }
}

Result<void> remove_devices(const NodeChange& change, std::vector<DesignedGpu>& gpus,
                            std::vector<DesignedNet>& nets, std::set<std::string>& gone,
                            std::vector<std::string>& notes) {
  std::set<std::uint32_t> lost;
  for (const std::string& name : change.without) {
    if (std::uint32_t device = 0; is_gpu(name, device)) {
      if (device >= gpus.size())
        return fail(ErrorCode::kNotFound,
                    fmt::format("{} has no GPU {}", node_words(change), printable(name.substr(4))),
                    fmt::format("It has GPUs 0 to {}", gpus.size() - 1));
      if (lost.insert(device).second) gone.insert(gpus[device].gpu.bus);
    } else if (std::erase_if(nets, [&](const DesignedNet& each) { return each.net.name == name; }) > 0) {
      gone.insert(name);
    } else if (!gone.contains(name)) {
      return no_such_nic(change, name, nets);
    }
    notes.push_back(fmt::format("{} is without {}", node_words(change), printable(name)));
  }
  std::erase_if(gpus, [&](const DesignedGpu& each) { return gone.contains(each.gpu.bus); });
  cut_links(gpus, gone);
  if (gpus.empty())
    return fail(ErrorCode::kInvalidInput, fmt::format("{} is left without any GPU", node_words(change)),
                "Use fewer nodes instead (--nodes)");
  return {};
}

Result<void> slow_down(const NodeChange& change, std::vector<DesignedNet>& nets,
                       std::vector<std::string>& notes) {
  constexpr std::uint32_t kMegabits = 1000;  // in a gigabit
  for (const auto& [name, speed] : change.speed) {
    const auto found =
        std::ranges::find_if(nets, [&](const DesignedNet& each) { return each.net.name == name; });
    if (found == nets.end()) return no_such_nic(change, name, nets);
    notes.push_back(fmt::format("{}: {} at {} Gb/s in place of {}", node_words(change), printable(name),
                                speed, found->net.speed / kMegabits));
    found->net.speed = speed * kMegabits;
  }
  return {};
}

// The elements of devices that are gone: a GPU's PCI device by bus id and the links to it, a NIC by name.
void erase_gone(Element& element, const std::set<std::string>& gone) {
  std::erase_if(element.children, [&](const Element& child) {
    return (child.name == "pci" && gone.contains(to_lower(child.get("busid")))) ||
           (child.name == "net" && gone.contains(std::string(child.get("name")))) ||
           (child.name == "nvlink" && gone.contains(to_lower(child.get("target"))));
  });
  for (Element& child : element.children)
    erase_gone(child, gone);
  std::erase_if(element.children,
                [](const Element& child) { return child.name == "nic" && child.children.empty(); });
}

// NVML counts the GPUs that are there.
void renumber(Element& element, const std::vector<DesignedGpu>& gpus) {
  for (Element& child : element.children) {
    renumber(child, gpus);
    if (child.name != "gpu") continue;
    const std::string bus = to_lower(element.get("busid"));
    const auto own = std::ranges::find_if(gpus, [&](const DesignedGpu& each) { return each.gpu.bus == bus; });
    if (own != gpus.end()) child.set("dev", std::to_string(own - gpus.begin()));
  }
}

Result<std::vector<std::uint32_t>> choose_devices(std::size_t gpus, const DesignOptions& options,
                                                  const NodeChange* change) {
  std::vector<std::uint32_t> devices(gpus);
  std::iota(devices.begin(), devices.end(), 0U);
  if (change != nullptr && !change->order.empty()) {
    for (const std::uint32_t device : change->order)
      if (device >= gpus)
        return fail(ErrorCode::kNotFound,
                    fmt::format("order: {} has no CUDA device {}", node_words(*change), device),
                    fmt::format("It has devices 0 to {}", gpus - 1));
    devices = change->order;
  }
  const auto ranks = change != nullptr && change->ranks ? change->ranks : options.ranks;
  if (!ranks) return devices;
  if (*ranks == 0 || *ranks > devices.size())
    return fail(ErrorCode::kInvalidInput,
                fmt::format("{} on a node of {}", counted(*ranks, "rank"), counted(devices.size(), "GPU")),
                "One rank drives one GPU, and each node has at least one");
  devices.resize(*ranks);
  return devices;
}

// 13020 of toolkit "13.2.2", as cudaDriverGetVersion counts; 0: no version.
std::uint32_t driver_number(const knowledge::CudaToolkit& toolkit) {
  const auto parts = split(toolkit.version, '.');
  if (parts.size() < 2) return 0;
  return parse_integer<std::uint32_t>(parts[0]).value_or(0) * 1000 +
         parse_integer<std::uint32_t>(parts[1]).value_or(0) * 10;
}

// The newest toolkit of that CUDA; where there is none the one before it, else the first of its major
// version. Null: none of that major version.
const knowledge::CudaToolkit* toolkit_of(std::uint32_t driver) {
  const knowledge::CudaToolkit* found = nullptr;
  for (const knowledge::CudaToolkit& each : knowledge::cuda_toolkits()) {  // the newest comes last
    if (driver_number(each) / 1000 != driver / 1000) continue;
    if (found == nullptr || driver_number(each) <= driver) found = &each;
  }
  return found;
}

// The driver that came with the toolkit: new enough for every feature of its CUDA.
void set_driver(std::uint32_t wanted, phantom::Hardware& hardware, std::vector<std::string>& notes) {
  const knowledge::CudaToolkit& newest = knowledge::cuda_toolkits().back();
  if (wanted == 0) wanted = driver_number(newest);
  hardware.cuda_driver = wanted;
  const knowledge::CudaToolkit* toolkit = toolkit_of(wanted);
  hardware.driver_version = toolkit != nullptr ? toolkit->driver : newest.driver;
  if (toolkit != nullptr && driver_number(*toolkit) == wanted) return;
  const std::string version = fmt::format("{}.{}", wanted / 1000, wanted / 10 % 100);
  notes.push_back(
      toolkit != nullptr
          ? fmt::format("No toolkit of CUDA {} is known: the driver says {} and calls itself {}, "
                        "that of toolkit {}",
                        version, version, hardware.driver_version, toolkit->version)
          : fmt::format("No toolkit of CUDA {} is known, nor any of its major version: the driver "
                        "says {}, and its own number {} is made up",
                        version, version, hardware.driver_version));
}

// What the stand-ins can read.
Result<void> check_size(const phantom::Hardware& hardware) {
  const std::size_t size = phantom::write_hardware(hardware).size();
  if (size <= phantom::kMostText) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the devices of a node take {} in words; the stand-ins read {}",
                          in_words(Bytes{size}), in_words(Bytes{phantom::kMostText})),
              "Names and paths that long are of no real node");
}

Result<void> check_paths(const std::vector<DesignedNet>& nets) {
  for (const DesignedNet& each : nets)
    if (each.net.pci_path.size() > kLongestPath)
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("NIC {} lies too deep in the PCI tree", printable(each.net.name)),
                  "No real PCI tree is that deep");
  return {};
}

}  // namespace

Result<NodeDesign> design_node(const Element& root, const DesignOptions& options, const NodeChange* change) {
  NodeDesign design;
  const auto scan = scan_topology(root);
  if (!scan) return std::unexpected(scan.error());
  auto gpus = design_gpus(*scan, options.gpu, design.notes);
  if (!gpus) return std::unexpected(std::move(gpus.error()));
  design.needs_model = std::ranges::any_of(*gpus, [](const DesignedGpu& each) {
    return !each.in_file || each.sm_of_model || !each.added.empty();
  });
  auto nets = design_nets(*scan, options.node, design.notes);
  if (!nets) return std::unexpected(std::move(nets.error()));
  if (auto fit = check_paths(*nets); !fit) return std::unexpected(std::move(fit.error()));
  if (scan->unnamed_cpu)
    design.notes.emplace_back(
        "The topology does not name its CPU: NCCL takes the one of the machine that runs it, and its "
        "bandwidth "
        "between NUMA nodes");
  design.tree = root;
  if (change != nullptr) {
    const std::size_t before = gpus->size();
    std::set<std::string> gone;
    if (auto removed = remove_devices(*change, *gpus, *nets, gone, design.notes); !removed)
      return std::unexpected(std::move(removed.error()));
    if (auto slowed = slow_down(*change, *nets, design.notes); !slowed)
      return std::unexpected(std::move(slowed.error()));
    erase_gone(design.tree, gone);
    if (gpus->size() < before) renumber(design.tree, *gpus);
  }
  auto devices = choose_devices(gpus->size(), options, change);
  if (!devices) return std::unexpected(std::move(devices.error()));
  design.devices = *std::move(devices);
  add_to_tree(*nets, design.tree);
  Element file = design.tree;
  add_to_tree(*gpus, true, file);
  design.topology = nccl::write_topology_xml(file);
  add_to_tree(*gpus, false, design.tree);
  set_driver(options.cuda_driver, design.hardware, design.notes);
  for (DesignedGpu& each : *gpus)
    design.hardware.gpus.push_back(std::move(each.gpu));
  for (DesignedNet& each : *nets)
    design.hardware.nets.push_back(std::move(each.net));
  if (auto fit = check_size(design.hardware); !fit) return std::unexpected(std::move(fit.error()));
  return design;
}

}  // namespace angio::dryrun
