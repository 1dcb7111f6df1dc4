#include "probe/procfs/software_probe.hpp"

#include <algorithm>

#include "probe/procfs/software_parts.hpp"

namespace angio::probe {
namespace {

using model::Software;

// PRETTY_NAME="Ubuntu 22.04.4 LTS" of os-release(5).
std::optional<std::string> parse_distribution(std::string_view text) {
  std::string_view name;
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with("PRETTY_NAME=")) return std::string(trim(line.substr(12)).substr(0, 256));
    if (line.starts_with("NAME=")) name = trim(line.substr(5));
  }
  if (name.empty()) return std::nullopt;
  return std::string(name.substr(0, 256));
}

std::string without_quotes(std::string text) {
  std::erase(text, '"');
  return text;
}

void probe_kernel(const host::Root& root, model::Machine& machine) {
  Software& software = machine.software;
  const Place proc(root, machine, "/proc");
  software.hostname = proc.text("sys/kernel/hostname");
  software.kernel = proc.text("sys/kernel/osrelease");
  if (!software.kernel.is_known()) {
    const Place identity(root, machine, "/@uname");
    if (auto release = identity.text("release"); release.is_known()) software.kernel = std::move(release);
  }
  software.kernel_command_line = proc.text("cmdline");
  software.modules = proc.parsed("modules", [](std::string_view text) {
    std::vector<std::string> names;
    for (const std::string_view line : split_lines(text)) {
      if (!line.empty()) names.emplace_back(line.substr(0, line.find(' ')));
    }
    std::ranges::sort(names);
    return std::optional(std::move(names));
  });
  const Place clocks(root, machine, "/sys/devices/system/clocksource/clocksource0");
  software.clock_source = clocks.text("current_clocksource");
}

void probe_distribution(const host::Root& root, model::Machine& machine) {
  const auto read = [&](const char* directory) {
    const Place place(root, machine, directory);
    auto found = place.parsed("os-release", parse_distribution);
    if (const std::string* name = found.get()) {
      found = Observed<std::string>::known(without_quotes(*name), found.source());
    }
    return found;
  };
  machine.software.distribution = read("/etc");
  if (machine.software.distribution.is_known()) return;
  if (auto fallback = read("/usr/lib"); fallback.is_known())
    machine.software.distribution = std::move(fallback);
}

void probe_firmware(const host::Root& root, model::Machine& machine) {
  Software& software = machine.software;
  const Place dmi(root, machine, "/sys/class/dmi/id");
  const auto vendor = dmi.text("sys_vendor");
  software.product = dmi.text("product_name");
  software.bios_version = dmi.text("bios_version");
  const std::string* product = software.product.get();
  if (product == nullptr || !vendor.is_known() || product->starts_with(*vendor.get())) return;
  software.product = Observed<std::string>::known(*vendor.get() + " " + *product, software.product.source());
}

}  // namespace

void probe_software(const host::Root& root, model::Machine& machine) {
  probe_kernel(root, machine);
  probe_distribution(root, machine);
  probe_firmware(root, machine);
  software::probe_virtualization(root, machine);
  software::probe_drivers(root, machine);
  software::probe_settings(root, machine);  // before libraries: they look along LD_LIBRARY_PATH
  software::probe_libraries(root, machine);
  software::probe_fabric_manager(root, machine);
  if (machine.name.empty()) machine.name = machine.software.hostname.value_or("");
}

}  // namespace angio::probe
