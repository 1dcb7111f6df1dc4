#include "probe/sysfs/iommu.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "probe/sysfs/pci_device.hpp"

namespace angio::probe {
namespace {

using model::IommuMode;

// Documentation/ABI/testing/sysfs-kernel-iommu_groups: DMA, DMA-FQ, identity, unmanaged, auto.
std::optional<IommuMode> parse_domain_type(std::string_view text) {
  if (text == "identity") return IommuMode::kPassthrough;
  if (text == "DMA" || text == "DMA-FQ") return IommuMode::kTranslated;
  return std::nullopt;
}

// One translated device is enough to say so: its transfers pay for it.
std::optional<IommuMode> mode_of_groups(const host::Root& root, const model::Pci& pci) {
  std::optional<IommuMode> mode;
  for (const model::PciDevice& device : pci.devices) {
    if (model::is_bridge(device) || !is_of_interest(device)) continue;
    const auto type = root.read("/sys/bus/pci/devices/" + to_string(device.address) + "/iommu_group/type");
    const auto of_device = type ? parse_domain_type(trim(*type)) : std::nullopt;
    if (of_device == IommuMode::kTranslated) return of_device;
    if (of_device) mode = of_device;
  }
  return mode;
}

}  // namespace

// Documentation/admin-guide/kernel-parameters.txt: iommu=, intel_iommu=, amd_iommu=, iommu.passthrough=.
std::optional<IommuMode> iommu_from_command_line(std::string_view command_line) {
  std::optional<IommuMode> mode;
  for (const std::string_view word : split_words(command_line)) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, equals);
    if (key != "iommu" && key != "intel_iommu" && key != "amd_iommu" && key != "iommu.passthrough") continue;
    const std::string_view values = equals < word.size() ? word.substr(equals + 1) : std::string_view();
    for (const std::string_view value : split(values, ',')) {
      if (key == "iommu.passthrough")
        mode = value == "1" ? IommuMode::kPassthrough : IommuMode::kTranslated;
      else if (value == "off")
        return IommuMode::kOff;
      else if (value == "pt")
        mode = IommuMode::kPassthrough;
      else if (value == "nopt" || (value == "on" && !mode))
        mode = IommuMode::kTranslated;
    }
  }
  return mode;
}

Observed<IommuMode> read_iommu(const host::Root& root, model::Machine& machine) {
  const Place kernel(root, machine, "/sys/kernel/iommu_groups");
  const Place units(root, machine, "/sys/class/iommu");
  const Observed<host::Names> groups = kernel.names("");
  const Observed<host::Names> iommus = units.names("");
  const auto some = [](const Observed<host::Names>& names) {
    return names.is_known() && !names.get()->empty();
  };
  const auto none = [](const Observed<host::Names>& names) {
    return names.is_known() && names.get()->empty();
  };
  if (none(groups) && none(iommus)) return Observed<IommuMode>::known(IommuMode::kOff, kernel.source(""));
  if (some(groups)) {
    if (const auto mode = mode_of_groups(root, machine.pci)) {
      return Observed<IommuMode>::known(*mode, kernel.source("*/type"));
    }
  }
  const Place proc(root, machine, "/proc");
  const Observed<std::string> line = proc.text("cmdline");
  const auto mode = iommu_from_command_line(line.value_or(""));
  // Switched on or not is seen above; the command line only says in which mode.
  const bool on = some(groups) || some(iommus);
  if (mode && (on || *mode == IommuMode::kOff)) return Observed<IommuMode>::known(*mode, line.source());
  if (!on && groups.is_absent() && iommus.is_absent()) return Observed<IommuMode>::absent(groups.source());
  if (groups.is_unreadable()) {
    return Observed<IommuMode>::unreadable(groups.reason(), groups.source(), groups.error());
  }
  return Observed<IommuMode>::unreadable(model::Reason::kNotCollected, kernel.source("*/type"));
}

}  // namespace angio::probe
