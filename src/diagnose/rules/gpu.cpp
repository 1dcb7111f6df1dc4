// The table of GPU rules and what their checks share.
#include "diagnose/rules/gpu.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose {

namespace gpu {

std::string address_of(const model::Gpu& gpu) {
  const PciAddress* address = gpu.address.get();
  return address != nullptr ? to_string(*address) : std::to_string(gpu.index);
}

std::string smi_index(const model::Gpu& gpu) {
  const std::uint32_t* index = gpu.library_index.get();
  return index != nullptr ? std::to_string(*index) : address_of(gpu);
}

Draft draft_for(const model::Gpu& gpu, std::string title) {
  Draft draft{.title = std::move(title), .devices = {gpu_label(gpu)}};
  if (gpu.address.is_known()) draft.devices.push_back(address_of(gpu));
  draft.words = {{"index", smi_index(gpu)}, {"address", address_of(gpu)}};
  return draft;
}

bool is_unlisted(const model::Machine& machine, const model::Gpu& gpu) {
  return gpu.library_index.is_absent() && std::ranges::any_of(machine.gpus, [](const model::Gpu& other) {
           return other.library_index.is_known();
         });
}

bool is_c2c(const model::Gpu& gpu) {
  if (gpu.coherent_link.is(true)) return true;
  const std::string* name = gpu.name.get();
  const knowledge::GpuModel* built = name != nullptr ? knowledge::find_gpu(*name) : nullptr;
  return built != nullptr && built->c2c;
}

bool has_own_nvswitch(const model::Machine& machine) {
  // PCI class 0680 of NVIDIA: an NVSwitch (bridge, other).
  const bool on_bus = std::ranges::any_of(machine.pci.devices, [](const model::PciDevice& device) {
    return device.vendor == 0x10de && (device.class_code >> 8U) == 0x0680;
  });
  const bool behind_links = std::ranges::any_of(machine.gpus, [](const model::Gpu& gpu) {
    return !is_c2c(gpu) && std::ranges::any_of(gpu.links, [](const auto& link) {
      return link.peer_kind == model::PeerKind::kSwitch;
    });
  });
  return on_bus || behind_links;
}

std::vector<Draft> group(std::vector<Trouble> troubles) {
  std::vector<Draft> drafts;
  std::map<std::string, std::size_t> seen_before;
  std::vector<std::vector<const Trouble*>> members;
  for (Trouble& trouble : troubles) {
    const auto [place, is_new] = seen_before.emplace(trouble.many, drafts.size());
    if (is_new) {
      drafts.push_back(trouble.draft);
      members.emplace_back();
    } else {
      Draft& draft = drafts[place->second];
      draft.evidence.insert(draft.evidence.end(), trouble.draft.evidence.begin(),
                            trouble.draft.evidence.end());
      draft.rank = std::max(draft.rank, trouble.draft.rank);
    }
    members[place->second].push_back(&trouble);
  }
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    std::vector<std::string> labels;
    std::vector<std::string> indices;
    for (const Trouble* trouble : members[i]) {
      labels.push_back(gpu_label(*trouble->gpu));
      indices.push_back(smi_index(*trouble->gpu));
    }
    const Trouble& first = *members[i].front();
    drafts[i].title = list_of(labels) + (labels.size() == 1 ? first.one : first.many);
    drafts[i].devices = labels;
    if (labels.size() == 1 && first.gpu->address.is_known())
      drafts[i].devices.push_back(address_of(*first.gpu));
    drafts[i].words.emplace("index", join(indices, ","));
    drafts[i].words.emplace("address", address_of(*first.gpu));
  }
  return drafts;
}

}  // namespace gpu

std::span<const Rule> gpu_rules() {
  static constexpr std::array kRules = {
      Rule{"gpu.pcie.replays-high", gpu::pcie_replays},
      Rule{"gpu.nvlink.inactive", gpu::nvlink_inactive},
      Rule{"gpu.nvlink.errors", gpu::nvlink_errors},
      Rule{"gpu.p2p.disabled", gpu::p2p_disabled},
      Rule{"gpu.fabric.not-ready", gpu::fabric_not_ready},
      Rule{"gpu.clock.throttled", gpu::clock_throttled},
      Rule{"gpu.clock.locked-low", gpu::clock_locked_low},
      Rule{"gpu.ecc.uncorrected", gpu::ecc_uncorrected},
      Rule{"gpu.memory.row-remap", gpu::row_remap},
      Rule{"gpu.power.limit-low", gpu::power_limit_low},
      Rule{"gpu.count.missing", gpu::count_missing},
      Rule{"gpu.driver.unbound", gpu::driver_unbound},
      Rule{"gpu.driver.nvml-failed", gpu::nvml_failed},
      Rule{"gpu.mode.mig", gpu::mode_mig},
      Rule{"gpu.mode.compute", gpu::mode_compute},
      Rule{"gpu.mode.persistence-off", gpu::persistence_off},
      Rule{"gpu.model.mixed", gpu::model_mixed},
      Rule{"gpu.ecc.mixed", gpu::ecc_mixed},
  };
  return kRules;
}

}  // namespace angio::diagnose
