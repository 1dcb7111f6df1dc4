#include "launch/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "host/system_roots.hpp"

namespace angio::launch {
namespace {

using Entries = std::span<const std::string>;

bool is_named(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

VariableChange add_unless_set(Entries environment, const char* name, std::string value, std::string why) {
  VariableChange change{name, std::move(value), host::find_set_variable(environment, name), false,
                        std::move(why)};
  if (!change.before) return change;
  change.kept = true;
  change.why =
      fmt::format("it is set to \"{}\" already and stays; the plan says {}", *change.before, change.value);
  return change;
}

// '=': without it NCCL takes each name for a prefix, and mlx5_1 is mlx5_10 as well (NCCL env.rst,
// NCCL_IB_HCA).
std::string adapter_list(const model::Machine& machine, const model::RankPlacement& placement) {
  std::string list;
  for (const std::uint32_t index : placement.rdma) {
    if (index < machine.rdma.size()) list.append(list.empty() ? "=" : ",").append(machine.rdma[index].name);
  }
  return list;
}

// The variable that the user chooses devices with, or the one of the GPU's maker.
const char* device_variable(const model::Machine& machine, std::uint32_t gpu, Entries environment) {
  if (machine.gpus[gpu].vendor != model::GpuVendor::kAmd) return "CUDA_VISIBLE_DEVICES";
  if (host::find_set_variable(environment, "ROCR_VISIBLE_DEVICES")) return "ROCR_VISIBLE_DEVICES";
  return host::find_set_variable(environment, "HIP_VISIBLE_DEVICES") ? "HIP_VISIBLE_DEVICES"
                                                                     : "ROCR_VISIBLE_DEVICES";
}

Result<VariableChange> narrow_devices(const model::Machine& machine, const model::RankPlacement& placement,
                                      Entries environment) {
  if (!placement.gpu || *placement.gpu >= machine.gpus.size() || placement.device.empty()) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("--devices own: rank {} has no GPU of its own", placement.local_rank),
                "leave the option away");
  }
  const char* name = device_variable(machine, *placement.gpu, environment);
  return VariableChange{name, placement.device, host::find_set_variable(environment, name), false,
                        "--devices own: the rank sees its own GPU only, as device 0"};
}

}  // namespace

Result<std::vector<VariableChange>> plan_environment(const model::Machine& machine,
                                                     const model::RankPlacement& placement,
                                                     const EnvironmentOptions& options, Entries environment) {
  std::vector<VariableChange> changes;
  if (placement.threads > 0) {
    changes.push_back(add_unless_set(environment, "OMP_NUM_THREADS", std::to_string(placement.threads),
                                     "one thread for each core that the rank's own work has"));
  }
  if (options.adapters) {
    std::string list = adapter_list(machine, placement);
    if (!list.empty()) {
      changes.push_back(add_unless_set(environment, "NCCL_IB_HCA", std::move(list),
                                       "--nics: only the adapters nearest to this rank"));
    }
  }
  if (options.own_device) {
    auto change = narrow_devices(machine, placement, environment);
    if (!change) return std::unexpected(std::move(change).error());
    changes.push_back(*std::move(change));
  }
  return changes;
}

std::vector<std::string> apply_changes(Entries environment, std::span<const VariableChange> changes) {
  std::vector<std::string> entries(environment.begin(), environment.end());
  for (const VariableChange& change : changes) {
    if (change.kept) continue;
    std::erase_if(entries, [&](const std::string& entry) { return is_named(entry, change.name); });
    entries.push_back(change.name + "=" + change.value);
  }
  return entries;
}

}  // namespace angio::launch
