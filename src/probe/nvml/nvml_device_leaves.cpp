#include "probe/nvml/nvml_device_leaves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "base/cpu_set.hpp"

namespace angio::probe::nvml {
namespace {

using Text = host::Read<std::string>;

struct Leaf {
  std::string_view name;
  const char* symbol;
  Text (*answer)(const Calls&, Device, const char* symbol);
};

Text number(const Calls& calls, Device device, const char* symbol) {
  unsigned value = 0;
  return answered(calls.call<DeviceNumber>(symbol, device, &value), [&] { return std::to_string(value); });
}

// NVML types the node as unsigned and answers -1 for "none": print it as the kernel would.
Text signed_number(const Calls& calls, Device device, const char* symbol) {
  unsigned value = 0;
  return answered(calls.call<DeviceNumber>(symbol, device, &value),
                  [&] { return std::to_string(static_cast<int>(value)); });
}

Text text(const Calls& calls, Device device, const char* symbol) {
  std::array<char, 96> buffer{};  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, the largest of these
  const auto size = static_cast<unsigned>(buffer.size() - 1);  // the last byte stays NUL whatever happens
  return answered(calls.call<DeviceText>(symbol, device, buffer.data(), size),
                  [&] { return std::string(buffer.data()); });
}

Text pair(const Calls& calls, Device device, const char* symbol) {
  unsigned first = 0;
  unsigned second = 0;
  return answered(calls.call<DevicePair>(symbol, device, &first, &second),
                  [&] { return fmt::format("{} {}", first, second); });
}

Text compute_capability(const Calls& calls, Device device, const char* symbol) {
  unsigned major = 0;
  unsigned minor = 0;
  return answered(calls.call<DevicePair>(symbol, device, &major, &minor),
                  [&] { return fmt::format("{}.{}", major, minor); });
}

template <unsigned kWhich>
Text selected(const Calls& calls, Device device, const char* symbol) {
  unsigned value = 0;
  return answered(calls.call<DeviceSelected>(symbol, device, kWhich, &value),
                  [&] { return std::to_string(value); });
}

std::string bus_id(const PciInfo& info) {
  return {info.bus_id.data(), strnlen(info.bus_id.data(), info.bus_id.size())};
}

Text pci(const Calls& calls, Device device, const char* symbol) {
  PciInfo info{};
  return answered(calls.call<DevicePci>(symbol, device, &info), [&] { return bus_id(info); });
}

Text memory(const Calls& calls, Device device, const char* symbol) {
  Memory memory{};
  return answered(calls.call<DeviceMemory>(symbol, device, &memory),
                  [&] { return fmt::format("{} {} {}", memory.total, memory.used, memory.free); });
}

Text uncorrected_errors(const Calls& calls, Device device, const char* symbol) {
  unsigned long long count = 0;
  return answered(calls.call<DeviceEcc>(symbol, device, kUncorrectedErrors, kVolatileErrors, &count),
                  [&] { return std::to_string(count); });
}

Text remapped_rows(const Calls& calls, Device device, const char* symbol) {
  unsigned correctable = 0;
  unsigned uncorrectable = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  return answered(calls.call<DeviceRows>(symbol, device, &correctable, &uncorrectable, &pending, &failed),
                  [&] { return fmt::format("{} {} {} {}", correctable, uncorrectable, pending, failed); });
}

// Drivers before 535 know the same mask only by its old name.
Text throttle_reasons(const Calls& calls, Device device, const char* symbol) {
  unsigned long long mask = 0;
  const char* old = "nvmlDeviceGetCurrentClocksThrottleReasons";
  const char* name = calls.find<DeviceWide>(symbol) != nullptr ? symbol : old;
  return answered(calls.call<DeviceWide>(name, device, &mask), [&] { return fmt::format("{:#x}", mask); });
}

Text utilization(const Calls& calls, Device device, const char* symbol) {
  Utilization rates{};
  return answered(calls.call<DeviceUtilization>(symbol, device, &rates),
                  [&] { return fmt::format("{} {}", rates.gpu, rates.memory); });
}

Text memory_affinity(const Calls& calls, Device device, const char* symbol) {
  constexpr unsigned kBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, 16> words{};  // 1024 nodes, the kernel's largest configuration
  const auto size = static_cast<unsigned>(words.size());
  return answered(calls.call<DeviceAffinity>(symbol, device, size, words.data(), kScopeNode), [&] {
    CpuSet nodes;
    for (unsigned bit = 0; bit < size * kBits; ++bit) {
      if ((words[bit / kBits] >> (bit % kBits) & 1UL) != 0) nodes.insert(bit);
    }
    return to_list(nodes);
  });
}

Text c2c_mode(const Calls& calls, Device device, const char* symbol) {
  C2cMode mode{};
  return answered(calls.call<DeviceC2c>(symbol, device, &mode), [&] { return std::to_string(mode.enabled); });
}

Text addressing_mode(const Calls& calls, Device device, const char* symbol) {
  AddressingMode mode{struct_version(sizeof(AddressingMode), 1), 0};
  return answered(calls.call<DeviceAddressing>(symbol, device, &mode),
                  [&] { return std::to_string(mode.value); });
}

template <typename Info>
std::string fabric_text(const Calls& calls, const Info& info) {
  std::string cluster;
  for (std::size_t i = 0; i < info.cluster.size(); ++i) {
    cluster += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info.cluster[i]);
  }
  const std::string words = calls.words(static_cast<int>(info.status));
  return fmt::format("{} {} {} {} {}", info.state, info.status, cluster, info.clique, words);
}

Text fabric(const Calls& calls, Device device, const char* symbol) {
  if (calls.find<DeviceFabric>(symbol) != nullptr) {
    FabricInfo info{};
    info.version = struct_version(sizeof info, 2);
    return answered(calls.call<DeviceFabric>(symbol, device, &info),
                    [&] { return fabric_text(calls, info); });
  }
  FabricInfoV1 info{};
  return answered(calls.call<DeviceFabricV1>("nvmlDeviceGetGpuFabricInfo", device, &info),
                  [&] { return fabric_text(calls, info); });
}

// One line a process: pid and bytes, "-" where NVML does not know. The number may grow between two calls.
Text processes(const Calls& calls, Device device, const char* symbol) {
  const char* older = "nvmlDeviceGetComputeRunningProcesses_v2";
  const auto function =
      calls.find<DeviceProcesses>(calls.find<DeviceProcesses>(symbol) != nullptr ? symbol : older);
  if (function == nullptr)
    return std::unexpected(host::ReadError{ENOSYS, std::string(symbol) + " is missing"});
  constexpr unsigned kMost = 4096;
  std::vector<ProcessInfo> list(64);
  auto count = static_cast<unsigned>(list.size());
  int code = function(device, &count, list.data());
  while (code == kInsufficientSize && list.size() < kMost) {
    list.resize(list.size() * 4);
    count = static_cast<unsigned>(list.size());
    code = function(device, &count, list.data());
  }
  return answered(calls.checked(code), [&] {
    list.resize(std::min<std::size_t>(count, list.size()));
    std::string lines;
    for (const ProcessInfo& process : list) {
      const bool known = process.used_memory != ~std::uint64_t{0};
      lines += fmt::format("{} {}\n", process.pid, known ? std::to_string(process.used_memory) : "-");
    }
    return lines;
  });
}

constexpr Leaf kDeviceLeaves[] = {
    {"addressing_mode", "nvmlDeviceGetAddressingMode", addressing_mode},
    {"c2c_mode", "nvmlDeviceGetC2cModeInfoV", c2c_mode},
    {"clock/sm", "nvmlDeviceGetClockInfo", selected<kClockSm>},
    {"clock/sm_max", "nvmlDeviceGetMaxClockInfo", selected<kClockSm>},
    {"compute_capability", "nvmlDeviceGetCudaComputeCapability", compute_capability},
    {"compute_mode", "nvmlDeviceGetComputeMode", number},
    {"ecc_mode", "nvmlDeviceGetEccMode", pair},
    {"ecc_uncorrected_volatile", "nvmlDeviceGetTotalEccErrors", uncorrected_errors},
    {"fabric", "nvmlDeviceGetGpuFabricInfoV", fabric},
    {"memory", "nvmlDeviceGetMemoryInfo", memory},
    {"memory_affinity", "nvmlDeviceGetMemoryAffinity", memory_affinity},
    {"mig", "nvmlDeviceGetMigMode", pair},
    {"name", "nvmlDeviceGetName", text},
    {"numa_node_id", "nvmlDeviceGetNumaNodeId", signed_number},
    {"pci", "nvmlDeviceGetPciInfo_v3", pci},
    {"pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration", number},
    {"pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration", number},
    {"pcie_replays", "nvmlDeviceGetPcieReplayCounter", number},
    {"pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", number},
    {"pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth", number},
    {"persistence", "nvmlDeviceGetPersistenceMode", number},
    {"power_limit_default_mw", "nvmlDeviceGetPowerManagementDefaultLimit", number},
    {"power_limit_mw", "nvmlDeviceGetEnforcedPowerLimit", number},
    {"power_mw", "nvmlDeviceGetPowerUsage", number},
    {"processes", "nvmlDeviceGetComputeRunningProcesses_v3", processes},
    {"pstate", "nvmlDeviceGetPerformanceState", number},
    {"remapped_rows", "nvmlDeviceGetRemappedRows", remapped_rows},
    {"serial", "nvmlDeviceGetSerial", text},
    {"temperature", "nvmlDeviceGetTemperature", selected<kTemperatureGpu>},
    {"throttle_reasons", "nvmlDeviceGetCurrentClocksEventReasons", throttle_reasons},
    {"utilization", "nvmlDeviceGetUtilizationRates", utilization},
    {"uuid", "nvmlDeviceGetUUID", text},
};

struct LinkLeaf {
  std::string_view name;
  const char* symbol;
  Text (*answer)(const Calls&, Device, unsigned link, const char* symbol);
};

Text link_number(const Calls& calls, Device device, unsigned link, const char* symbol) {
  unsigned value = 0;
  return answered(calls.call<DeviceSelected>(symbol, device, link, &value),
                  [&] { return std::to_string(value); });
}

Text link_pci(const Calls& calls, Device device, unsigned link, const char* symbol) {
  PciInfo info{};
  return answered(calls.call<LinkPci>(symbol, device, link, &info), [&] { return bus_id(info); });
}

template <unsigned kCounter>
Text link_errors(const Calls& calls, Device device, unsigned link, const char* symbol) {
  unsigned long long count = 0;
  return answered(calls.call<LinkErrors>(symbol, device, link, kCounter, &count),
                  [&] { return std::to_string(count); });
}

constexpr LinkLeaf kLinkLeaves[] = {
    {"crc", "nvmlDeviceGetNvLinkErrorCounter", link_errors<kLinkCrcFlit>},
    {"recovery", "nvmlDeviceGetNvLinkErrorCounter", link_errors<kLinkRecovery>},
    {"remote_pci", "nvmlDeviceGetNvLinkRemotePciInfo_v2", link_pci},
    {"remote_type", "nvmlDeviceGetNvLinkRemoteDeviceType", link_number},
    {"replay", "nvmlDeviceGetNvLinkErrorCounter", link_errors<kLinkReplay>},
    {"state", "nvmlDeviceGetNvLinkState", link_number},
    {"version", "nvmlDeviceGetNvLinkVersion", link_number},
};

template <typename Leaves>
host::Names names_of(const Leaves& leaves) {
  host::Names names;
  for (const auto& leaf : leaves)
    names.emplace_back(leaf.name);
  return names;
}

}  // namespace

host::Read<std::string> read_device_leaf(const Calls& calls, Device device, std::string_view leaf) {
  const auto* found = std::ranges::find(kDeviceLeaves, leaf, &Leaf::name);
  if (found == std::end(kDeviceLeaves)) return std::unexpected(host::ReadError{ENOENT, {}});
  return found->answer(calls, device, found->symbol);
}

host::Names device_leaf_names() {
  return names_of(kDeviceLeaves);
}

host::Read<std::string> read_link_leaf(const Calls& calls, Device device, unsigned link,
                                       std::string_view leaf) {
  const auto* found = std::ranges::find(kLinkLeaves, leaf, &LinkLeaf::name);
  if (found == std::end(kLinkLeaves)) return std::unexpected(host::ReadError{ENOENT, {}});
  return found->answer(calls, device, link, found->symbol);
}

host::Names link_leaf_names() {
  return names_of(kLinkLeaves);
}

const char* device_leaf_function(std::string_view leaf) {
  const auto* found = std::ranges::find(kDeviceLeaves, leaf, &Leaf::name);
  return found != std::end(kDeviceLeaves) ? found->symbol : nullptr;
}

const char* link_leaf_function(std::string_view leaf) {
  const auto* found = std::ranges::find(kLinkLeaves, leaf, &LinkLeaf::name);
  return found != std::end(kLinkLeaves) ? found->symbol : nullptr;
}

// A link number the GPU lacks is an invalid argument or not supported, by generation; any other failure is
// a link that exists and is ill.
host::Read<host::Names> link_numbers(const Calls& calls, Device device) {
  const auto state = calls.find<DeviceSelected>("nvmlDeviceGetNvLinkState");
  if (state == nullptr)
    return std::unexpected(host::ReadError{ENOSYS, "nvmlDeviceGetNvLinkState is missing"});
  host::Names names;
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    unsigned active = 0;
    const int code = state(device, link, &active);
    if (code == kGpuIsLost) return std::unexpected(calls.checked(code).error());
    if (code != kNotSupported && code != kInvalidArgument) names.push_back(std::to_string(link));
  }
  if (names.empty()) return std::unexpected(calls.checked(kNotSupported).error());
  std::ranges::sort(names);
  return names;
}

}  // namespace angio::probe::nvml
