// The words of the topology views: names of devices, what a PCIe link does and could do, lists of
// numbers. One place, so that text, picture and page say the same. No layout here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "report/document.hpp"

namespace angio::views {

// "GPU 0", "mlx5_0", "eth0".
std::string device_name(const model::Machine& machine, model::DeviceRef device);

// A GPU's name without the words of its vendor: "H100 80GB HBM3".
std::string board_name(std::string_view name);

std::string in_words(const model::PciLink& link);  // "32 GT/s x16"

struct LinkView {
  std::string text;   // "32 GT/s x8, could be x16"; empty: nothing is known
  std::string brief;  // "x8 of x16"; empty unless degraded
  report::Tone tone = report::Tone::kQuiet;
  [[nodiscard]] bool degraded() const { return !brief.empty(); }
};
// Against what both ends can: the device and the port above it. A slower speed counts only where links do
// not slow down when idle, so never for GPUs.
LinkView view_link(const model::Machine& machine, std::uint32_t pci);

// "InfiniBand 400 Gb/s NDR", "Ethernet 100 Gb/s, down"; tone is critical when the port is not active.
report::Span view_port(const model::RdmaDevice& device);

std::string number_ranges(std::vector<std::uint32_t> numbers);  // "0-3,8"

// "GPUs 0-3, mlx5_0-3, eth0": names with numbers in ranges.
std::string name_list(const model::Machine& machine, const std::vector<model::DeviceRef>& devices);

struct NvLinkCount {
  std::uint32_t active = 0;
  std::uint32_t total = 0;
  std::uint32_t to_switch = 0;
  bool fewer_than_alike = false;  // than another GPU of the same name: the only yardstick in one machine
};
NvLinkCount count_nvlinks(const model::Machine& machine, std::uint32_t gpu);

// "NVLink", "xGMI": what the vendor calls the links between its GPUs.
std::string_view link_family(const model::Machine& machine);

// NICs of the matrices: RDMA devices; without any, network interfaces on PCI or in a stated matrix.
std::vector<model::DeviceRef> matrix_nics(const model::Machine& machine);

}  // namespace angio::views
