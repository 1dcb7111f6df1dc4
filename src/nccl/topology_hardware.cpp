#include "nccl/topology_hardware.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/cpu_set.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "nccl/system_graph.hpp"
#include "nccl/topology_generate.hpp"

namespace angio::nccl {
namespace {

struct InFile {
  const Element* element;
  const Element* cpu;
  const Element* pci;  // the element itself, or the one above a gpu or net
};

class Comparison {
 public:
  Comparison(const model::Machine& machine, Remarks& remarks) : machine_(machine), remarks_(remarks) {}

  void run(const Element& root) {
    collect(root, nullptr, nullptr);
    bare_metal(root);
    for (const InFile& each : pcis_)
      pci(each);
    for (const InFile& each : gpus_)
      gpu(each);
    for (const InFile& each : nets_)
      net(each);
    for (const Element* each : cpus_)
      cpu(*each);
    missing();
  }

 private:
  void say(Weight weight, std::string_view id, const Element& at, std::string text, std::string nccl,
           std::string instead) {
    remarks_.add({weight, std::string(id), at.place, std::move(text), std::move(nccl), std::move(instead)});
  }

  void collect(const Element& element, const Element* cpu, const Element* pci) {
    if (element.name == "cpu") {
      cpu = &element;
      cpus_.push_back(&element);
    }
    if (element.name == "pci") {
      pci = &element;
      pcis_.push_back({&element, cpu, &element});
    }
    if (element.name == "gpu") gpus_.push_back({&element, cpu, pci});
    if (element.name == "net") nets_.push_back({&element, cpu, pci});
    for (const Element& child : element.children)
      collect(child, cpu, pci);
  }

  [[nodiscard]] bool has_tree() const { return !machine_.pci.devices.empty(); }

  [[nodiscard]] std::optional<std::uint32_t> device_of(const Element* pci) const {
    if (pci == nullptr) return std::nullopt;
    const auto address = parse_pci_address(pci->get("busid"));
    if (!address) return std::nullopt;
    return machine_.pci.find(*address);
  }

  void bare_metal(const Element& root) {
    if (!machine_.software.virtual_machine.is_absent()) return;
    say(Weight::kWarning, "machine.bare-metal", root, "this machine is bare metal",
        "completes the file by detection, but never corrects it: a link, speed or place that the file states "
        "wrongly "
        "stays wrong",
        "unset NCCL_TOPO_FILE; it is for virtual machines, whose PCI tree is hidden");
  }

  void pci(const InFile& file) {
    const auto device = device_of(file.pci);
    if (!device) {
      absent(file);
      return;
    }
    link(file, *device);
    numa(file, *device);
  }

  void absent(const InFile& file) {
    if (!has_tree()) return;
    const std::string text = fmt::format("no device {} here", printable(file.element->get("busid")));
    const bool leaf = file.element->child("gpu") != nullptr || file.element->child("nic") != nullptr ||
                      !file.element->get("class").starts_with("0x0604");
    if (leaf) {
      say(Weight::kWarning, "machine.no-device", *file.element, text,
          "trims it, and puts the real device where /sys has it",
          "is the file of another machine type? compare with angio nccl-topo diff");
    } else {
      say(Weight::kNote, "machine.no-bridge", *file.element,
          fmt::format("no bridge {} here", printable(file.element->get("busid"))),
          "takes it as a bridge that the virtual machine hides",
          "right in a virtual machine, odd on bare metal");
    }
  }

  void link(const InFile& file, std::uint32_t device) {
    const auto real = usable_link(machine_.pci, device);
    if (!real) return;
    const std::string* speed = file.element->find("link_speed");
    if (speed != nullptr && !speed->empty()) {
      const auto stated = parse_double(std::string_view(*speed).substr(0, speed->find(' ')));
      // GT/s in the file; the kernels' spellings differ in the decimals only
      if (stated && std::abs(*stated - real->speed.value / 1e9) > 0.05) {
        say(Weight::kWarning, "machine.link-speed", *file.element,
            fmt::format("link_speed=\"{}\" of {}, here {}", printable(*speed),
                        printable(file.element->get("busid")), in_words(real->speed)),
            "believes the file", fmt::format("write \"{}\"", link_speed_text(real->speed)));
      }
    }
    const std::int64_t width = read_number(file.element->get("link_width"));
    if (width > 0 && width != real->lanes) {
      say(Weight::kWarning, "machine.link-width", *file.element,
          fmt::format("link_width=\"{}\" of {}, here x{}", width, printable(file.element->get("busid")),
                      real->lanes),
          "believes the file", fmt::format("write \"{}\"", real->lanes));
    }
  }

  void numa(const InFile& file, std::uint32_t device) {
    const NumaId* real = machine_.pci.devices[device].numa.get();
    if (real == nullptr || file.cpu == nullptr) return;
    const std::int64_t stated = read_number(file.cpu->get("numaid"));
    if (stated == -1 || stated == real->value) return;
    say(Weight::kWarning, "machine.numa", *file.element,
        fmt::format("{} below numaid={}, here it is on node {}", printable(file.element->get("busid")),
                    stated, real->value),
        "takes the paths and the CPUs of the wrong node",
        fmt::format("move it below <cpu numaid=\"{}\">", real->value));
  }

  [[nodiscard]] const model::Gpu* real_gpu(const InFile& file) const {
    const auto address = file.pci == nullptr ? std::nullopt : parse_pci_address(file.pci->get("busid"));
    if (!address) return nullptr;
    const auto found =
        std::ranges::find_if(machine_.gpus, [&](const model::Gpu& gpu) { return gpu.address.is(*address); });
    return found == machine_.gpus.end() ? nullptr : &*found;
  }

  void gpu(const InFile& file) {
    const model::Gpu* real = real_gpu(file);
    if (real == nullptr) return;
    const std::uint32_t* number = real->library_index.get();
    if (number != nullptr && file.element->find("dev") != nullptr &&
        read_number(file.element->get("dev")) != *number) {
      say(Weight::kWarning, "machine.gpu-number", *file.element,
          fmt::format("dev=\"{}\" of {}, here NVML counts it as {}", printable(file.element->get("dev")),
                      printable(file.pci->get("busid")), *number),
          "takes the file's number for the GPU of another rank", fmt::format("write dev=\"{}\"", *number));
    }
    const auto* capability = real->compute_capability.get();
    const std::int64_t sm = read_number(file.element->get("sm"));
    if (capability != nullptr && sm > 0 && sm != capability->major * 10 + capability->minor) {
      say(Weight::kWarning, "machine.gpu-sm", *file.element,
          fmt::format("sm=\"{}\", here {}.{}", sm, capability->major, capability->minor),
          "takes NVLink speed and search tables from the file",
          fmt::format("write sm=\"{}\"", capability->major * 10 + capability->minor));
    }
    nvlinks(file, *real);
  }

  void nvlinks(const InFile& file, const model::Gpu& real) {
    std::int64_t stated = 0;
    for (const Element& child : file.element->children)
      if (child.name == "nvlink") stated += read_number(child.get("count"));
    const auto active = std::ranges::count(real.links, model::LinkState::kActive, &model::GpuLink::state);
    if (stated == 0 || real.links.empty() || stated == active) return;
    say(Weight::kWarning, "machine.nvlinks", *file.element,
        fmt::format("{} NVLinks of {}, here {} are active", stated, printable(file.pci->get("busid")),
                    active),
        "plans with the file's links: it asks NVML only for GPUs without <nvlink>",
        "remove the <nvlink> elements, or correct count");
  }

  void net(const InFile& file) {
    if (machine_.rdma.empty()) return;
    const std::string_view name = file.element->get("name");
    const auto real = std::ranges::find(machine_.rdma, name, &model::RdmaDevice::name);
    if (real == machine_.rdma.end()) {
      const bool interface =
          std::ranges::find(machine_.networks, name, &model::NetDevice::name) != machine_.networks.end();
      if (interface || machine_.scrubbed) return;
      say(Weight::kWarning, "machine.no-nic", *file.element, fmt::format("no NIC {} here", printable(name)),
          "trims a NIC that its network plugin does not report",
          "the plugin's device name, e.g. of ibv_devices");
      return;
    }
    const std::int64_t port =
        file.element->find("port") == nullptr ? 1 : read_number(file.element->get("port"));
    const auto at =
        std::ranges::find_if(real->ports, [&](const model::RdmaPort& each) { return each.number == port; });
    const BitsPerSecond* rate = at == real->ports.end() ? nullptr : at->rate.get();
    const std::int64_t speed = read_number(file.element->get("speed"));
    if (rate == nullptr || speed <= 0 || speed == std::llround(rate->value / 1e6)) return;
    say(Weight::kWarning, "machine.nic-speed", *file.element,
        fmt::format("speed=\"{}\" of {}, here {}", speed, printable(name), in_words(*rate)),
        "plans with the file's speed", fmt::format("write speed=\"{}\"", std::llround(rate->value / 1e6)));
  }

  void cpu(const Element& element) {
    const auto stated = parse_cpu_mask(element.get("affinity"));
    const std::int64_t numa = read_number(element.get("numaid"));
    const auto& nodes = machine_.numa.nodes;
    const auto node =
        std::ranges::find_if(nodes, [&](const model::NumaNode& each) { return each.id.value == numa; });
    if (node == nodes.end()) {
      if (nodes.empty() || numa < 0) return;
      say(Weight::kWarning, "machine.no-numa", element,
          fmt::format("numaid={}: no such NUMA node here", numa),
          "keeps it, and binds to the CPUs that the file states",
          "the machine has other nodes: generate the file anew");
      return;
    }
    if (!stated || stated->empty() || node->cpus.empty() || *stated == node->cpus) return;
    say(Weight::kWarning, "machine.affinity", element,
        fmt::format("affinity of numaid={} is {}, here {}", numa, to_list(*stated), to_list(node->cpus)),
        "binds its threads to the file's CPUs as far as the job may use them",
        "remove affinity: NCCL reads it from /sys");
  }

  void missing() {
    const auto named = [&](const std::vector<InFile>& file, const PciAddress& address) {
      return std::ranges::any_of(file, [&](const InFile& each) {
        const auto stated = each.pci == nullptr ? std::nullopt : parse_pci_address(each.pci->get("busid"));
        return stated && *stated == address;
      });
    };
    std::vector<std::string> gpus;
    for (const model::Gpu& gpu : machine_.gpus) {
      const PciAddress* address = gpu.address.get();
      if (address != nullptr && !named(pcis_, *address)) gpus.push_back(to_string(*address));
    }
    std::vector<std::string> nics;
    for (const model::RdmaDevice& device : machine_.rdma) {
      const PciAddress* address = device.address.get();
      const bool there = std::ranges::any_of(
          nets_, [&](const InFile& net) { return net.element->get("name") == device.name; });
      if (address != nullptr && !there && !named(pcis_, *address)) nics.push_back(printable(device.name));
    }
    say_missing("machine.gpu-missing", "GPU", gpus);
    say_missing("machine.nic-missing", "NIC", nics);
  }

  void say_missing(std::string_view id, const std::string& kind, std::vector<std::string> names) {
    constexpr std::size_t kNamed = 4;
    if (names.empty()) return;
    const std::size_t count = names.size();
    names.resize(std::min(count, kNamed));
    const std::string more = count > kNamed ? fmt::format(" and {} more", count - kNamed) : "";
    say(Weight::kNote, id, Element{},
        fmt::format("{} of this machine not in the file: {}{}", count_of(count, kind), join(names, ", "),
                    more),
        "adds what it finds where /sys has it",
        "in a virtual machine put the pci elements under the right bridges");
  }

  const model::Machine& machine_;
  Remarks& remarks_;
  std::vector<InFile> pcis_;
  std::vector<InFile> gpus_;
  std::vector<InFile> nets_;
  std::vector<const Element*> cpus_;
};

}  // namespace

void check_hardware(const Element& root, const model::Machine& machine, Remarks& remarks) {
  Comparison(machine, remarks).run(root);
}

}  // namespace angio::nccl
