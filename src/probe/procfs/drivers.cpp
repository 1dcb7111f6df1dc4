#include <algorithm>
#include <array>

#include "probe/procfs/software_parts.hpp"

namespace angio::probe::software {
namespace {

// "570.86.15", "550.54": the form of NVIDIA's driver versions.
bool is_driver_version(std::string_view word) {
  const std::vector<std::string_view> parts = split(word, '.');
  return (parts.size() == 2 || parts.size() == 3) && parts[0].size() == 3 &&
         std::ranges::all_of(
             parts, [](std::string_view part) { return parse_integer<std::uint32_t>(part).has_value(); });
}

void probe_loaded_driver(const host::Root& root, model::Machine& machine) {
  model::Software& software = machine.software;
  const Place place(root, machine, "/proc/driver/nvidia");
  const auto loaded = place.parsed("version", parse_loaded_driver);
  if (const LoadedDriver* driver = loaded.get()) {
    software.nvidia_loaded = Observed<std::string>::known(driver->version, loaded.source());
    software.nvidia_open = Observed<bool>::known(driver->open, loaded.source());
    return;
  }
  const Place module(root, machine, "/sys/module/nvidia");
  software.nvidia_loaded = module.text("version");
  if (software.nvidia_loaded.is_absent())
    software.nvidia_open = Observed<bool>::absent(module.source("version"));
}

// DKMS keeps /var/lib/dkms/<module>/<version>/<kernel release>/ for every module built: dkms(8).
bool probe_dkms(const host::Root& root, model::Machine& machine, const std::string& release) {
  for (const std::string directory : {"/var/lib/dkms/nvidia", "/var/lib/dkms/nvidia-open"}) {
    const host::Read<host::Names> versions = root.list(directory);
    if (!versions) continue;
    for (auto version = versions->rbegin(); version != versions->rend(); ++version) {
      if (!is_driver_version(*version) || !root.exists(directory + "/" + *version + "/" + release)) continue;
      const Place place(root, machine, directory + "/" + *version);
      machine.software.nvidia_on_disk = Observed<std::string>::known(*version, place.source(""));
      return true;
    }
  }
  return false;
}

// Where packages put nvidia.ko; the file itself does not say its version without unpacking it.
void probe_module_file(const host::Root& root, model::Machine& machine, const std::string& release) {
  const std::string modules = "/lib/modules/" + release;
  const Place place(root, machine, modules);
  std::vector<std::string> directories{
      "updates/dkms", "updates", "extra", "extra/nvidia", "kernel/drivers/video", "weak-updates/nvidia"};
  const host::Read<host::Names> kernel = root.list(modules + "/kernel");
  for (const std::string& name : kernel.value_or(host::Names{})) {
    if (name.starts_with("nvidia-"))
      directories.push_back("kernel/" + name);  // Ubuntu: linux-modules-nvidia-535
  }
  for (const std::string& directory : directories) {
    const host::Read<host::Names> files = root.list(modules + "/" + directory);
    const auto is_module = [](const std::string& name) { return name.starts_with("nvidia.ko"); };
    if (files && std::ranges::any_of(*files, is_module)) {
      machine.software.nvidia_on_disk =
          Observed<std::string>::unreadable(model::Reason::kUnsupported, place.source(""));
      return;
    }
  }
  if (kernel) {
    machine.software.nvidia_on_disk = Observed<std::string>::absent(place.source(""));
  } else {
    machine.software.nvidia_on_disk = place.missing<std::string>("kernel", kernel.error());
  }
}

void probe_nvml(const host::Root& root, model::Machine& machine) {
  model::Software& software = machine.software;
  const Place nvml(root, machine, "/@nvml");
  const auto init = nvml.text("init");
  if (const std::string* answer = init.get()) {
    const std::string_view words =
        trim(std::string_view(*answer).substr(std::min(answer->find(' '), answer->size())));
    software.nvml_error = *answer == "0" ? Observed<std::string>::absent(init.source())
                                         : Observed<std::string>::known(
                                               std::string(words.empty() ? *answer : words), init.source());
  } else {
    software.nvml_error = init.is_absent()
                              ? init
                              : Observed<std::string>::unreadable(init.reason(), init.source(), init.error());
  }
  software.nvml_driver = nvml.text("driver_version");
  software.cuda_driver = nvml.integer<std::uint32_t>("cuda_driver_version");
}

// "MLNX_OFED_LINUX-5.8-1.0.1.1" and its kin in a line of the ofed_info script.
std::optional<std::string> parse_ofed_info(std::string_view text) {
  constexpr std::array<std::string_view, 4> kMarks{"MLNX_OFED_LINUX-", "OFED-internal-", "DOCA-OFED-",
                                                   "DOCA_OFED-"};
  for (const std::string_view mark : kMarks) {
    const std::size_t begin = text.find(mark);
    if (begin == text.npos) continue;
    const std::string_view rest = text.substr(begin);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n\"':;)", mark.size()));
    if (word.size() > mark.size()) return std::string(word.substr(0, 128));
  }
  return std::nullopt;
}

void probe_ofed(const host::Root& root, model::Machine& machine) {
  model::Software& software = machine.software;
  const Place bin(root, machine, "/usr/bin");
  software.ofed = bin.parsed("ofed_info", parse_ofed_info);
  if (software.ofed.is_known()) return;
  // Out-of-tree modules carry "24.10-0.7.0"; the kernel's own "5.0-0" (to 5.10) or no version at all.
  const Place module(root, machine, "/sys/module/mlx5_core");
  const auto version = module.text("version");
  const std::string* text = version.get();
  if (text != nullptr && std::ranges::count(*text, '.') >= 2) {
    software.ofed = Observed<std::string>::known("MLNX_OFED or DOCA " + *text, version.source());
  } else if (text != nullptr || (version.is_absent() && root.exists(module.directory()))) {
    software.ofed = Observed<std::string>::known("inbox", version.source());
  } else {
    software.ofed = version;
  }
}

}  // namespace

std::optional<LoadedDriver> parse_loaded_driver(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  for (const std::string_view word : split_words(line)) {
    if (is_driver_version(word)) return LoadedDriver{std::string(word), contains(line, "Open Kernel Module")};
  }
  return std::nullopt;
}

void probe_drivers(const host::Root& root, model::Machine& machine) {
  probe_loaded_driver(root, machine);
  if (const std::string* release = machine.software.kernel.get();
      release != nullptr && !contains(*release, "/")) {
    if (!probe_dkms(root, machine, *release)) probe_module_file(root, machine, *release);
  }
  const Place amdgpu(root, machine, "/sys/module/amdgpu");
  machine.software.amdgpu_loaded = amdgpu.text("version");
  if (machine.software.amdgpu_loaded.is_absent() && root.exists(amdgpu.directory())) {
    machine.software.amdgpu_loaded = Observed<std::string>::known("inbox", amdgpu.source(""));
  }
  probe_nvml(root, machine);
  probe_ofed(root, machine);
}

}  // namespace angio::probe::software
