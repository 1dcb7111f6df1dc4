#include "probe/nvml/nvidia_gpus.hpp"

#include <algorithm>
#include <string>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "probe/names.hpp"
#include "probe/nvml/gpu_list.hpp"
#include "probe/nvml/nvidia_links.hpp"
#include "probe/nvml/nvml_abi.hpp"
#include "probe/place.hpp"
#include "probe/sysfs/locality.hpp"

namespace angio::probe {
namespace {

constexpr const char* kGpus = "/@nvml/gpu";
constexpr const char* kDriverGpus = "/proc/driver/nvidia/gpus";

std::string nvml_directory(std::uint32_t index) {
  return std::string(kGpus) + "/" + std::to_string(index);
}

// The word at position of a line of numbers, "1 0".
template <typename Number>
auto word(std::size_t position) {
  return [position](std::string_view text) -> std::optional<Number> {
    const std::vector<std::string_view> words = split_words(text);
    return position < words.size() ? parse_integer<Number>(words[position]) : std::nullopt;
  };
}

auto flag(std::size_t position) {
  return [position](std::string_view text) -> std::optional<bool> {
    const std::optional<unsigned> value = word<unsigned>(position)(text);
    return value ? std::optional(*value != 0) : std::nullopt;
  };
}

auto bytes(std::size_t position) {
  return [position](std::string_view text) -> std::optional<Bytes> {
    const std::optional<std::uint64_t> value = word<std::uint64_t>(position)(text);
    return value ? std::optional(Bytes{*value}) : std::nullopt;
  };
}

template <typename Unit>
auto scaled(double factor) {
  return [factor](std::string_view text) -> std::optional<Unit> {
    const std::optional<std::uint32_t> value = parse_integer<std::uint32_t>(text);
    return value ? std::optional(Unit{*value * factor}) : std::nullopt;
  };
}

std::optional<model::ComputeCapability> parse_capability(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto major = parse_integer<std::uint32_t>(text.substr(0, dot));
  const auto minor = parse_integer<std::uint32_t>(text.substr(dot + 1));
  if (!major || !minor) return std::nullopt;
  return model::ComputeCapability{*major, *minor};
}

// NVML_PSTATE_0 … 15; 32 is NVML_PSTATE_UNKNOWN.
std::optional<std::string> parse_pstate(std::string_view text) {
  const auto number = parse_integer<std::uint32_t>(text);
  if (!number || *number > 15) return std::nullopt;
  return "P" + std::to_string(*number);
}

// nvmlComputeMode_t; 1 (exclusive thread) left NVML years ago.
std::optional<std::string> parse_compute_mode(std::string_view text) {
  if (text == "0") return "default";
  if (text == "2") return "prohibited";
  if (text == "3") return "exclusive process";
  return std::nullopt;
}

// "3 0 <uuid> 0 Success": state, status, cluster, clique and NVML's words for the status.
std::optional<model::FabricState> parse_fabric(std::string_view text) {
  // nvmlGpuFabricState_t
  constexpr std::string_view kStates[] = {"not supported", "not started", "in progress", "completed"};
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() < 4) return std::nullopt;
  const auto state = parse_integer<std::uint32_t>(words[0]);
  const auto status = parse_integer<std::uint32_t>(words[1]);
  const auto clique = parse_integer<std::uint32_t>(words[3]);
  if (!state || *state >= std::size(kStates) || !status || !clique) return std::nullopt;
  model::FabricState fabric;
  fabric.state = kStates[*state];
  fabric.cluster = words[2];
  fabric.clique = *clique;
  for (std::size_t i = 4; i < words.size(); ++i)
    fabric.status.append(i > 4 ? " " : "").append(words[i]);
  if (fabric.status.empty()) fabric.status = "NVML code " + std::string(words[1]);
  return fabric;
}

// One node is an answer; several mean that the driver does not know.
std::optional<NumaId> parse_affinity(std::string_view text) {
  const std::optional<CpuSet> nodes = parse_cpu_list(text);
  if (!nodes || nodes->size() != 1) return std::nullopt;
  return NumaId{*nodes->first()};
}

void describe_identity(const Place& nvml, model::Gpu& gpu) {
  gpu.name = nvml.text("name");
  gpu.uuid = nvml.text("uuid");
  gpu.serial = nvml.text("serial");
  gpu.compute_capability = nvml.parsed("compute_capability", parse_capability);
  gpu.memory = nvml.parsed("memory", bytes(0));
  gpu.memory_used = nvml.parsed("memory", bytes(1));
  gpu.mig = nvml.parsed("mig", flag(0));
  gpu.persistence = nvml.parsed("persistence", flag(0));
  gpu.compute_mode = nvml.parsed("compute_mode", parse_compute_mode);
}

void describe_health(const Place& nvml, model::Gpu& gpu) {
  gpu.ecc = nvml.parsed("ecc_mode", flag(0));
  gpu.ecc_uncorrected = nvml.integer<std::uint64_t>("ecc_uncorrected_volatile");
  gpu.remapped_rows = nvml.parsed("remapped_rows", word<std::uint64_t>(1));
  gpu.remap_pending = nvml.parsed("remapped_rows", flag(2));
  gpu.remap_failed = nvml.parsed("remapped_rows", flag(3));
}

void describe_speed(const Place& nvml, model::Gpu& gpu) {
  gpu.sm_clock = nvml.parsed("clock/sm", scaled<Hertz>(1e6));
  gpu.sm_clock_max = nvml.parsed("clock/sm_max", scaled<Hertz>(1e6));
  gpu.throttle_reasons = nvml.integer<std::uint64_t>("throttle_reasons", 16);
  gpu.performance_state = nvml.parsed("pstate", parse_pstate);
  gpu.power = nvml.parsed("power_mw", scaled<Watts>(1e-3));
  gpu.power_limit = nvml.parsed("power_limit_mw", scaled<Watts>(1e-3));
  gpu.power_limit_default = nvml.parsed("power_limit_default_mw", scaled<Watts>(1e-3));
  gpu.temperature = nvml.parsed("temperature", scaled<Celsius>(1));
  gpu.utilization = nvml.parsed("utilization", word<std::uint32_t>(0));
}

void describe_pcie(const Place& nvml, model::Gpu& gpu) {
  gpu.pcie_generation = nvml.integer<std::uint32_t>("pcie_generation");
  gpu.pcie_generation_max = nvml.integer<std::uint32_t>("pcie_generation_max");
  gpu.pcie_width = nvml.integer<std::uint32_t>("pcie_width");
  gpu.pcie_width_max = nvml.integer<std::uint32_t>("pcie_width_max");
  gpu.pcie_replays = nvml.integer<std::uint64_t>("pcie_replays");
}

void describe_locality(const Place& nvml, model::Gpu& gpu) {
  gpu.numa = nvml.parsed("memory_affinity", parse_affinity);
  gpu.memory_numa = own_numa(nvml, "numa_node_id");
  gpu.coherent_link = nvml.parsed("c2c_mode", flag(0));
  gpu.fabric = nvml.parsed("fabric", parse_fabric);
}

// "Model:  NVIDIA H100 80GB HBM3", "GPU UUID:  GPU-…"; the UUID is all question marks until the driver has
// woken the GPU up.
Observed<std::string> driver_field(const Observed<std::string>& information, std::string_view key) {
  if (!information.is_known()) return information;
  for (const std::string_view line : split_lines(*information.get())) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != key) continue;
    const std::string_view value = trim(line.substr(colon + 1));
    if (!value.empty() && !contains(value, "?")) {
      return Observed<std::string>::known(std::string(value), information.source());
    }
  }
  return Observed<std::string>::absent(information.source());
}

// Without NVML the driver still names its GPUs.
void describe_from_driver(const host::Root& root, model::Machine& machine, model::Gpu& gpu) {
  const PciAddress* address = gpu.address.get();
  if (address == nullptr) return;
  const Place place(root, machine, std::string(kDriverGpus) + "/" + to_string(*address));
  const Observed<std::string> information = place.text("information");
  if (!information.is_known()) return;  // NVML's reason, if any, says more
  if (!gpu.name.is_known()) gpu.name = driver_field(information, "Model");
  if (!gpu.uuid.is_known()) gpu.uuid = driver_field(information, "GPU UUID");
}

bool is_nvml_up(const host::Root& root) {
  const host::Read<std::string> init = root.read("/@nvml/init");
  return init && trim(*init) == "0";
}

// A GPU that fell off the bus does not tell its address. When one answer and one PCI device are left
// over, they belong together; otherwise nothing is guessed.
void pair_the_lost(const host::Root& root, model::Machine& machine, const std::vector<std::uint32_t>& lost) {
  std::vector<model::Gpu*> left;
  for (model::Gpu& gpu : machine.gpus) {
    if (gpu.vendor == model::GpuVendor::kNvidia && !gpu.library_index.is_known()) left.push_back(&gpu);
  }
  const bool certain = lost.size() == 1 && left.size() == 1;
  const bool unplaced = left.empty();
  for (const std::uint32_t index : lost) {
    const Place place(root, machine, nvml_directory(index));
    const Observed<std::uint32_t> number = Observed<std::uint32_t>::known(index, place.source(""));
    if (certain) left.front()->library_index = number;
    if (unplaced)
      gpu_at(machine, place.parsed("pci", parse_pci_address), model::GpuVendor::kNvidia).library_index =
          number;
  }
}

bool knows_gpu(const model::Machine& machine, const Observed<PciAddress>& address) {
  const PciAddress* at = address.get();
  return at != nullptr &&
         std::ranges::any_of(machine.gpus, [&](const model::Gpu& gpu) { return gpu.address.is(*at); });
}

void add_nvml_gpus(const host::Root& root, model::Machine& machine) {
  const host::Read<host::Names> names = root.list(kGpus);
  if (!names) return;
  if (names->size() >= nvml::kMostDevices)
    machine.notes.push_back({"gpu.nvml-many",
                             "NVML counts " + std::to_string(nvml::kMostDevices) +
                                 " GPUs or more, which no node has; it was not asked about more",
                             1, "nvidia-smi -L shows what the driver has"});
  std::vector<std::uint32_t> lost;
  for (const std::uint32_t index : numbers_of(*names)) {
    const Place place(root, machine, nvml_directory(index));
    const Observed<PciAddress> address = place.parsed("pci", parse_pci_address);
    if (!knows_gpu(machine, address) && !has_room_for_gpu(machine, lost.size())) break;
    if (!address.is_known()) {
      lost.push_back(index);
      continue;
    }
    model::Gpu& gpu = gpu_at(machine, address, model::GpuVendor::kNvidia);
    gpu.library_index = Observed<std::uint32_t>::known(index, place.source(""));
  }
  pair_the_lost(root, machine, lost);
}

void add_driver_gpus(const host::Root& root, model::Machine& machine) {
  const Place place(root, machine, kDriverGpus);
  const Observed<host::Names> names = place.names("");
  for (const std::string& name : names.value_or({})) {
    const std::optional<PciAddress> address = parse_pci_address(name);
    if (!address) continue;
    const auto at = Observed<PciAddress>::known(*address, place.source(""));
    if (knows_gpu(machine, at) || has_room_for_gpu(machine)) gpu_at(machine, at, model::GpuVendor::kNvidia);
  }
}

}  // namespace

void add_nvidia_gpus(const host::Root& root, model::Machine& machine) {
  add_driver_gpus(root, machine);
  if (is_nvml_up(root)) add_nvml_gpus(root, machine);
}

void describe_nvidia_gpus(const host::Root& root, model::Machine& machine) {
  for (model::Gpu& gpu : machine.gpus) {
    if (gpu.vendor != model::GpuVendor::kNvidia) continue;
    if (const std::uint32_t* index = gpu.library_index.get()) {
      const Place nvml(root, machine, nvml_directory(*index));
      describe_identity(nvml, gpu);
      describe_health(nvml, gpu);
      describe_speed(nvml, gpu);
      describe_pcie(nvml, gpu);
      describe_locality(nvml, gpu);
      describe_nvlinks(nvml, machine, gpu);
      describe_peers(nvml, machine, gpu);
    }
    if (!gpu.name.is_known() || !gpu.uuid.is_known()) describe_from_driver(root, machine, gpu);
  }
}

}  // namespace angio::probe
