// Peer access between GPUs, and the NVSwitch fabric.
#include <algorithm>
#include <map>
#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/gpu.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"
#include "model/path.hpp"

namespace angio::diagnose::gpu {

using model::Gpu;
using model::Machine;
using model::P2pStatus;

namespace {

const char* words_of(P2pStatus status) {
  switch (status) {
    case P2pStatus::kChipsetNotSupported:
      return "the chipset does not support it";
    case P2pStatus::kDisabledByRegkey:
      return "disabled by a driver setting";
    case P2pStatus::kGpuNotSupported:
      return "the GPU does not support it";
    case P2pStatus::kTopologyNotSupported:
      return "the topology does not support it";
    case P2pStatus::kNotSupported:
      return "not supported";
    default:
      return "";
  }
}

const knowledge::GpuModel* model_of(const Gpu& gpu) {
  const std::string* name = gpu.name.get();
  return name != nullptr ? knowledge::find_gpu(*name) : nullptr;
}

bool is_fault(const Gpu& gpu, P2pStatus status) {
  const knowledge::GpuModel* built = model_of(gpu);
  if (built == nullptr || !built->data_centre) return status == P2pStatus::kDisabledByRegkey;
  if (status == P2pStatus::kChipsetNotSupported || status == P2pStatus::kDisabledByRegkey) return true;
  return built->nvswitch && status != P2pStatus::kOk && status != P2pStatus::kUnknown;
}

// The pairs that one answer of the driver is about.
struct Pairs {
  std::vector<std::string> words;  // "0-3"
  const model::Source* source = nullptr;
  bool all_apart = true;  // each across sockets, between boards without NVSwitch
};

bool is_apart(const Machine& machine, const Gpu& a, const Gpu& b) {
  const knowledge::GpuModel* built = model_of(a);
  return (built == nullptr || !built->nvswitch) &&
         in_different_sockets(machine, model::nearest_node(machine, {model::DeviceKind::kGpu, a.index}),
                              model::nearest_node(machine, {model::DeviceKind::kGpu, b.index})) == true;
}

std::map<P2pStatus, Pairs> failing_pairs(const Machine& machine, Gaps& gaps) {
  std::map<P2pStatus, Pairs> found;
  for (const Gpu& gpu : machine.gpus) {
    if (!is_nvidia(gpu) || gpu.mig.is(true) || is_unlisted(machine, gpu)) continue;
    if (gpu.p2p.empty()) gaps.note(gpu_label(gpu), model::Reason::kNotCollected, 0);
    for (std::size_t i = gpu.index + 1; i < std::min(gpu.p2p.size(), machine.gpus.size()); ++i) {
      const P2pStatus* status = gpu.p2p[i].get();
      const Gpu& other = machine.gpus[i];
      if (status == nullptr || !is_fault(gpu, *status) || other.mig.is(true)) continue;
      Pairs& pairs = found[*status];
      pairs.words.push_back(std::to_string(gpu.index) + "-" + std::to_string(i));
      pairs.source = &gpu.p2p[i].source();
      pairs.all_apart = pairs.all_apart && is_apart(machine, gpu, other);
    }
  }
  return found;
}

bool redirects_peers(const Machine& machine) {
  return std::ranges::any_of(machine.pci.devices, [](const model::PciDevice& device) {
    const model::AccessControl* acs = device.acs.get();
    return acs != nullptr && (acs->request_redirect || acs->completion_redirect);
  });
}

// Which of the possible causes can be seen here, and how much it matters.
void judge_chipset(const Machine& machine, const Pairs& pairs, Draft& draft) {
  const bool translated = machine.pci.iommu.is(model::IommuMode::kTranslated);
  if (is_virtual(machine)) {
    draft.words["in_guest"] = "yes";
    draft.severity = model::Severity::kInfo;
  } else if (translated || redirects_peers(machine)) {
    draft.words["chipset"] = "yes";
  } else {
    draft.words[pairs.all_apart ? "apart" : "unseen"] = "yes";
  }
  if (pairs.all_apart) draft.severity = model::Severity::kInfo;
  if (translated) draft.evidence.push_back(seen(machine, machine.pci.iommu.source(), "the IOMMU translates"));
}

}  // namespace

void p2p_disabled(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.size() < 2 || !has_nvidia_gpu(machine)) return outcome.not_applicable();
  Gaps gaps("peer access", Asked::kNvml);
  const double all = static_cast<double>(machine.gpus.size() * (machine.gpus.size() - 1)) / 2;
  for (const auto& [status, pairs] : failing_pairs(machine, gaps)) {
    Draft draft{
        .title = count_of(pairs.words.size(), "GPU pair") + " without peer access: " + words_of(status),
        .evidence = {seen(machine, *pairs.source, "GPU pairs " + list_of(pairs.words))},
        .rank = static_cast<double>(pairs.words.size()) / all};
    if (status == P2pStatus::kChipsetNotSupported) judge_chipset(machine, pairs, draft);
    if (status == P2pStatus::kDisabledByRegkey) draft.words["regkey"] = "yes";
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

// ---- fabric

namespace {

bool is_success(const std::string& status) {
  // nvml.h: NVML_SUCCESS is 0. Without an answer there is nothing to judge.
  const std::string word = to_lower(status);
  return word.empty() || word == "success" || word == "nvml code 0" || word == "n/a" || word == "unknown";
}

bool is_registered(const model::FabricState& fabric) {
  return fabric.state == "completed" && is_success(fabric.status);
}

// "is not started", "is in progress", "failed"; empty when nothing is wrong.
std::string trouble_of(const model::FabricState& fabric) {
  if (fabric.state == "not started" || fabric.state == "in progress") return "is " + fabric.state;
  return fabric.state == "completed" && !is_success(fabric.status) ? "failed: " + fabric.status : "";
}

// GPUs by what is wrong with their registration: one finding each.
void judge_registration(const Machine& machine, Outcome& outcome) {
  std::map<std::string, std::vector<const Gpu*>> waiting;
  for (const Gpu& gpu : machine.gpus) {
    const model::FabricState* fabric = gpu.fabric.get();
    const std::string trouble = fabric != nullptr ? trouble_of(*fabric) : "";
    if (!trouble.empty()) waiting[trouble].push_back(&gpu);
  }
  for (const auto& [trouble, gpus] : waiting) {
    std::vector<std::string> labels;
    for (const Gpu* gpu : gpus)
      labels.push_back(gpu_label(*gpu));
    const Gpu& first = *gpus.front();
    const model::FabricState& fabric = *first.fabric.get();
    Draft draft{.title = "Fabric registration of " + list_of(labels) + " " + trouble,
                .devices = labels,
                .evidence = {seen(machine, first.fabric.source(),
                                  gpu_label(first) + ": " + fabric.state + ", " + fabric.status)},
                .cost = {"CUDA does not start on these GPUs, or NVLink is unused", ""},
                .rank = 1};
    draft.words[has_own_nvswitch(machine) ? "own_manager" : "rack_manager"] = "yes";
    outcome.fire(std::move(draft));
  }
}

}  // namespace

void fabric_not_ready(const Machine& machine, Outcome& outcome) {
  const bool registers = std::ranges::any_of(machine.gpus, [](const Gpu& gpu) {
    return gpu.fabric.is_known() && gpu.fabric.get()->state != "not supported";
  });
  const bool own_switch = has_own_nvswitch(machine);
  if (!registers && !own_switch) return outcome.not_applicable();
  judge_registration(machine, outcome);
  const bool sees_services = is_bare_metal(machine) && machine.software.container.is_absent();
  if (!outcome.drafts.empty() || !sees_services || !own_switch) return;
  const auto& running = machine.software.fabric_manager_running;
  if (running.is_unreadable()) return gap(outcome, "whether the fabric manager runs", running);
  if (running.value_or(false)) return;
  Draft draft{.title = "The fabric manager does not run on this NVSwitch machine",
              .evidence = {seen(machine, running.source(), "no nv-fabricmanager process")},
              .cost = {"CUDA does not start, or NVLink is unused", ""},
              .rank = 1,
              .words = {{"own_manager", "yes"}}};
  const bool all_registered = std::ranges::all_of(machine.gpus, [](const Gpu& gpu) {
    return !is_nvidia(gpu) || (gpu.fabric.is_known() && is_registered(*gpu.fabric.get()));
  });
  if (all_registered) {
    const Gpu& first = machine.gpus.front();
    draft.evidence.push_back(seen(machine, first.fabric.source(), "all GPUs are registered with the fabric"));
    draft.cost.text = "GPU resets and link failures are not handled";
    draft.rank = 0;
    draft.severity = model::Severity::kWarning;
  }
  outcome.fire(std::move(draft));
}

}  // namespace angio::diagnose::gpu
