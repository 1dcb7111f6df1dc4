#include "dryrun/design_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "nccl/system_graph.hpp"
#include "nccl/topology_check.hpp"

namespace angio::dryrun {
namespace {

using nccl::Element;

constexpr std::string_view kGpuClass = "0x0302";  // 3D controller; PCI Code and ID Assignment, class 03h
constexpr std::string_view kVgaClass = "0x0300";  // also of a display chip of the board
constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::uint32_t kAmd = 0x1002;

std::uint32_t hexadecimal(std::string_view text) {
  return parse_integer<std::uint32_t>(text, 16).value_or(0);
}

class Scanner {
 public:
  void walk(const Element& element, std::optional<std::size_t> pci, std::uint32_t numa) {
    if (element.name == "cpu") {
      numa = numa_of(element);
      const std::string_view arch = element.get("arch");
      scan_.unnamed_cpu |= arch.empty() || (arch == "x86_64" && element.get("vendor").empty());
    }
    if (element.name == "pci") pci = add_pci(element, pci, numa);
    if (element.name == "gpu" && pci) add_gpu(element, *pci);
    if (element.name == "net") scan_.nets.push_back({&element, pci});
    for (const Element& child : element.children)
      walk(child, pci, numa);
  }

  Scan take() {
    const auto bare = bare_slots();
    if (scan_.gpus.empty()) {
      scan_.gpus = bare;
      scan_.placed = true;
    } else {
      scan_.bare_slots = bare.size();
    }
    return std::move(scan_);
  }

 private:
  static std::uint32_t numa_of(const Element& cpu) {
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(nccl::read_number(cpu.get("numaid")), 0, 4095));
  }

  std::size_t add_pci(const Element& element, std::optional<std::size_t> parent, std::uint32_t numa) {
    ScannedPci pci{&element,
                   std::string(element.get("busid")),
                   {},
                   numa,
                   element.get("class"),
                   hexadecimal(element.get("vendor")),
                   hexadecimal(element.get("device"))};
    // The root complex goes by the bus it begins with: any name serves, nothing looks below it.
    pci.path = parent ? scan_.pcis[*parent].path
                      : "/sys/devices/pci" + pci.bus.substr(0, std::min<std::size_t>(pci.bus.rfind(':'), 16));
    pci.path += "/" + pci.bus;
    if (pci.device_class.empty()) ++scan_.classless;
    scan_.pcis.push_back(std::move(pci));
    return scan_.pcis.size() - 1;
  }

  void add_gpu(const Element& element, std::size_t pci) {
    if (const std::string* number = element.find("dev");
        number != nullptr && nccl::read_number(*number) == -1)
      return;  // NCCL drops it
    scan_.gpus.push_back({&element, pci});
    scan_.states_links |= element.child("nvlink") != nullptr || element.child("c2c") != nullptr;
  }

  [[nodiscard]] std::vector<ScannedGpu> bare_slots() const {
    std::vector<ScannedGpu> slots;
    for (std::size_t index = 0; index < scan_.pcis.size(); ++index) {
      const ScannedPci& pci = scan_.pcis[index];
      const bool gpu = pci.device_class.starts_with(kGpuClass) ||
                       (pci.device_class.starts_with(kVgaClass) && pci.vendor == kNvidia);
      if (gpu && pci.element->child("gpu") == nullptr) slots.push_back({nullptr, index});
    }
    return slots;
  }

  Scan scan_;
};

std::vector<std::string> hosts_of(const Element& root) {
  std::set<std::string> hashes;
  for (const Element& cpu : root.children)
    if (cpu.name == "cpu" && !cpu.get("host_hash").empty()) hashes.emplace(printable(cpu.get("host_hash")));
  return {hashes.begin(), hashes.end()};
}

std::unexpected<Error> refuse_amd(std::string message) {
  return fail(ErrorCode::kUnsupported, std::move(message),
              "A dry run runs NVIDIA's NCCL; RCCL is another library, and its search differs");
}

std::unexpected<Error> no_gpu(const Scan& scan) {
  return fail(ErrorCode::kNotFound, "no GPU in the topology: no <gpu>, and no PCI device of class 0x0302",
              scan.classless == 0
                  ? std::string("It is about NICs or switches only: give the topology of a GPU node")
                  : fmt::format("{} without class: say which are GPUs, e.g. angio nccl-topo set FILE "
                                "pci:{} class=0x030200, and NICs class=0x020000",
                                counted(scan.classless, "PCI device"), printable(scan.pcis.front().bus)));
}

}  // namespace

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 8;
  if (names.size() <= kNamed) return join(names, ", ");
  return fmt::format("{} and {} more", join(std::span(names).first(kNamed), ", "), names.size() - kNamed);
}

Result<Scan> scan_topology(const Element& root) {
  if (root.name != "system") {
    return fail(ErrorCode::kInvalidInput, fmt::format("<{}> is no topology of NCCL", printable(root.name)),
                "Its root element is <system version=\"1\">");
  }
  if (nccl::is_rccl(root)) return refuse_amd("the topology is RCCL's: it has AMD GPUs (xgmi links or gcn)");
  if (const auto hosts = hosts_of(root); hosts.size() > 1) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("the topology holds {} hosts (host_hash {})", hosts.size(), listed(hosts)),
                "Give the topology of one node, and how many such nodes there are with --nodes");
  }
  Scanner scanner;
  scanner.walk(root, std::nullopt, 0);
  Scan scan = scanner.take();
  if (scan.gpus.empty()) return no_gpu(scan);
  const auto amd = [&](const ScannedGpu& gpu) { return scan.pcis[gpu.pci].vendor == kAmd; };
  if (std::ranges::any_of(scan.gpus, amd)) return refuse_amd("the topology has AMD GPUs (PCI vendor 0x1002)");
  return scan;
}

}  // namespace angio::dryrun
