#include "import/lspci/lspci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "import/lspci/details.hpp"
#include "import/lspci/heading.hpp"
#include "import/pci_words.hpp"

namespace angio::import::lspci {
namespace {

constexpr std::string_view kRunAgain =
    "run 'sudo lspci -vvv -nn -D > lspci.txt' again and send the whole file";
constexpr std::size_t kMaxDevices = 65536;

using Bus = std::pair<std::uint32_t, std::uint8_t>;  // domain, bus

class PciImport {
 public:
  explicit PciImport(Draft& draft) : draft_(draft) {}

  void take(const Line& line) {
    if (is_blank(line.text)) return;
    if (const auto heading = parse_heading(line.text)) {
      open_device(*heading, line.number);
    } else if (indentation(line.text) > 0 && open_) {
      take_detail(draft_, line, draft_.machine.pci.devices.back(), details_.back());
    } else if (indentation(line.text) == 0 || !skipping_) {
      if (!contains(line.text, "lspci")) draft_.note_unknown_line("lspci", line.number, line.text);
    }
  }

  bool finish() {
    note_denied();
    settle_drivers();
    build_tree();
    for (std::uint32_t i = 0; i < draft_.machine.pci.devices.size(); ++i)
      add_gpu(i);
    order_by_address(draft_.machine);
    return !draft_.machine.pci.devices.empty();
  }

 private:
  void open_device(const Heading& heading, std::uint32_t line) {
    open_ = false;
    skipping_ = true;
    if (!known_.emplace(heading.address, line).second) {
      draft_.note(
          "lspci.device-twice", line,
          [&] { return fmt::format("{} is listed twice; the first counts", to_string(heading.address)); },
          "give one file per node");
      return;
    }
    auto& devices = draft_.machine.pci.devices;
    if (devices.size() == kMaxDevices)
      return draft_.note("lspci.too-many-devices", line, "more devices than PCI allows", kRunAgain);
    if (!heading.class_known) {
      draft_.note(
          "lspci.class-word-unknown", line,
          [&] {
            return fmt::format("{}: its class is told in a word not known here", to_string(heading.address));
          },
          "run lspci with -nn");
    }
    model::PciDevice device;
    device.address = heading.address;
    device.class_code = heading.class_code;
    device.vendor = heading.vendor;
    device.device = heading.device;
    devices.push_back(std::move(device));
    details_.emplace_back();
    lines_.push_back(line);
    names_.emplace_back(heading.name);
    open_ = true;
  }

  void note_denied() {
    for (std::size_t i = 0; i < details_.size(); ++i) {
      if (!details_[i].denied) continue;
      draft_.note("lspci.denied", lines_[i], "capabilities: access denied, so no links, no ACS",
                  "run lspci with sudo");
    }
  }

  // lspci names the driver of every device that has one; silence means none, if it names any.
  void settle_drivers() {
    if (std::ranges::none_of(details_, &Details::driver_told)) return;
    for (std::size_t i = 0; i < details_.size(); ++i) {
      if (details_[i].driver_told || !details_[i].verbose) continue;
      draft_.machine.pci.devices[i].driver = draft_.absent<std::string>(lines_[i]);
    }
  }

  void build_tree() {
    std::map<Bus, std::uint32_t> bridge_of;  // by secondary bus
    std::size_t silent = 0;
    auto& devices = draft_.machine.pci.devices;
    for (std::uint32_t i = 0; i < devices.size(); ++i) {
      const auto& buses = details_[i].buses;
      if (is_bridge(devices[i]) && !buses) ++silent;
      // A bridge's second bus has a higher number than its own: no rings, whatever the text says.
      if (buses && buses->secondary > devices[i].address.bus) {
        bridge_of.emplace(Bus{devices[i].address.domain, buses->secondary}, i);
      }
    }
    if (silent > 0 || bridge_of.empty()) {
      draft_.note(
          "lspci.no-tree", 0,
          "the bridges do not say which buses lie behind them: which devices share a switch is not known",
          kRunAgain);
    }
    for (model::PciDevice& device : devices) {
      const auto bridge = bridge_of.find({device.address.domain, device.address.bus});
      if (bridge != bridge_of.end()) device.parent = bridge->second;
    }
    if (silent == 0 && !bridge_of.empty()) name_host_bridges(bridge_of);
  }

  void name_host_bridges(const std::map<Bus, std::uint32_t>& bridge_of) {
    auto& devices = draft_.machine.pci.devices;
    for (model::PciDevice& device : devices) {
      Bus bus{device.address.domain, device.address.bus};
      for (auto bridge = bridge_of.find(bus); bridge != bridge_of.end(); bridge = bridge_of.find(bus)) {
        bus.second = devices[bridge->second].address.bus;
      }
      if (!is_inside(bus, bridge_of))
        device.root_complex = fmt::format("pci{:04x}:{:02x}", bus.first, bus.second);
    }
  }

  // A bus that some bridge covers without being right behind it: the bridge between is missing.
  bool is_inside(const Bus& bus, const std::map<Bus, std::uint32_t>& bridge_of) const {
    auto next = bridge_of.lower_bound(bus);
    while (next != bridge_of.begin()) {
      --next;
      if (next->first.first != bus.first) return false;
      if (details_[next->second].buses->subordinate >= bus.second) return true;
    }
    return false;
  }

  void add_gpu(std::uint32_t index) {
    const model::PciDevice& device = draft_.machine.pci.devices[index];
    if (!is_gpu_class(device.class_code, device.vendor) || !draft_.has_room_for_gpu(lines_[index])) return;
    model::Gpu gpu;
    gpu.vendor = gpu_vendor(device.vendor);
    gpu.pci = index;
    gpu.address = draft_.known(device.address, lines_[index]);
    gpu.name = draft_.known(printable(names_[index]), lines_[index]);
    gpu.numa = device.numa;
    draft_.machine.gpus.push_back(std::move(gpu));
  }

  Draft& draft_;
  bool open_ = false;      // indented lines belong to the last device
  bool skipping_ = false;  // or to one that is left out
  std::map<PciAddress, std::uint32_t> known_;
  std::vector<Details> details_;         // as machine.pci.devices
  std::vector<std::uint32_t> lines_;     // as machine.pci.devices
  std::vector<std::string_view> names_;  // as machine.pci.devices
};

}  // namespace

bool looks_like(const std::vector<Line>& lines) {
  return std::ranges::any_of(lines, [](const Line& line) {
    const auto heading = parse_heading(line.text);
    return heading && heading->class_known;
  });
}

Result<model::Machine> import_lspci(const std::vector<Line>& lines, Draft draft) {
  PciImport pci(draft);
  for (const Line& line : lines)
    pci.take(line);
  if (!pci.finish()) {
    return draft.nothing_read("lines such as '1b:00.0 3D controller [0302]: NVIDIA … [10de:2330]'",
                              kRunAgain);
  }
  return std::move(draft.machine);
}

}  // namespace angio::import::lspci
