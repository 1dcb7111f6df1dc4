// Are all GPUs there, has each its driver, which modes are on, are they alike.
#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/gpu.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::gpu {

using model::Gpu;
using model::Machine;

namespace {

const knowledge::GpuModel* model_of(const Gpu& gpu) {
  const std::string* name = gpu.name.get();
  return name != nullptr ? knowledge::find_gpu(*name) : nullptr;
}

bool is_data_centre(const Gpu& gpu) {
  const knowledge::GpuModel* built = model_of(gpu);
  return built != nullptr && built->data_centre;
}

const model::PciDevice* device_of(const Machine& machine, const Gpu& gpu) {
  return gpu.pci && *gpu.pci < machine.pci.devices.size() ? &machine.pci.devices[*gpu.pci] : nullptr;
}

// Containers and batch systems hide GPUs from NVML on purpose.
bool may_hide_gpus(const Machine& machine) {
  if (!machine.software.container.is_absent()) return true;
  const auto from_batch = [](const model::Setting& setting) { return setting.name.starts_with("SLURM_JOB"); };
  return std::ranges::any_of(machine.software.settings, from_batch);
}

void judge_board(const Machine& machine, Outcome& outcome) {
  std::size_t on_board = 0;
  const Gpu* sample = nullptr;
  for (const Gpu& gpu : machine.gpus) {
    const knowledge::GpuModel* built = model_of(gpu);
    if (built == nullptr || !built->nvswitch || built->c2c) continue;
    ++on_board;
    sample = &gpu;
  }
  // HGX boards carry 4 or 8 GPUs, DGX-2 16: NVIDIA HGX and DGX user guides.
  const std::set<std::size_t> boards = {4, 8, 16};
  if (on_board < 3 || boards.contains(on_board)) return;
  const std::size_t full = *boards.upper_bound(std::min<std::size_t>(on_board, 15));
  outcome.fire(
      {.title = std::to_string(on_board) + " of " + std::to_string(full) + " GPUs of the board are there",
       .evidence = {seen(
           machine, sample->name.source(),
           std::to_string(on_board) + " x " + *sample->name.get() + "; boards carry 4, 8 or 16")},
       .cost = {std::to_string(full - on_board) + " of " + std::to_string(full) + " GPUs", "count-share"},
       .rank = static_cast<double>(full - on_board) / static_cast<double>(full)});
}

}  // namespace

void count_missing(const Machine& machine, Outcome& outcome) {
  if (!has_nvidia_gpu(machine)) return outcome.not_applicable();
  std::vector<std::string> missing;
  const Gpu* first = nullptr;
  std::size_t known = 0;
  for (const Gpu& gpu : machine.gpus) {
    const model::PciDevice* device = device_of(machine, gpu);
    if (gpu.library_index.is_known()) ++known;
    if (!is_nvidia(gpu) || !gpu.library_index.is_absent() || device == nullptr ||
        !device->driver.is("nvidia"))
      continue;
    missing.push_back(gpu_label_with_address(gpu));
    if (first == nullptr) first = &gpu;
  }
  if (known == 0) {
    if (machine.software.nvml_error.is_known()) return;  // no list at all: another rule's finding
    return outcome.undecided("NVML's list of GPUs: not collected", "angio collect on the node", Asked::kNvml);
  }
  if (first != nullptr && may_hide_gpus(machine)) {
    return outcome.undecided(
        count_of(missing.size(), "GPU") + " not in NVML's list: hidden by a container or batch job?",
        "angio collect on the host, outside any job");
  }
  if (first != nullptr) {
    return outcome.fire(
        {.title = list_of(missing) + (missing.size() == 1 ? " is" : " are") +
                  " on the bus but not in the driver's list",
         .devices = missing,
         .evidence = {seen(machine, first->address.source(),
                           count_of(machine.gpus.size(), "NVIDIA GPU") + " on the bus"),
                      seen(machine, first->library_index.source(),
                           count_of(known, "GPU") + " in NVML's list")},
         .cost = {std::to_string(missing.size()) + " of " + std::to_string(machine.gpus.size()) + " GPUs",
                  "count-share"},
         .rank = static_cast<double>(missing.size()) / static_cast<double>(machine.gpus.size())});
  }
  if (is_bare_metal(machine) && !may_hide_gpus(machine)) judge_board(machine, outcome);
}

void driver_unbound(const Machine& machine, Outcome& outcome) {
  bool any = false;
  bool sibling_bound = false;
  for (const Gpu& gpu : machine.gpus) {
    const model::PciDevice* device = device_of(machine, gpu);
    if (device != nullptr && device->driver.is("nvidia")) sibling_bound = true;
  }
  Gaps gaps("PCI driver");
  for (const Gpu& gpu : machine.gpus) {
    const model::PciDevice* device = device_of(machine, gpu);
    if (!is_nvidia(gpu) || device == nullptr) continue;
    any = true;
    if (device->driver.is_unreadable()) gaps.add(gpu_label(gpu), device->driver);
    const bool unbound = device->driver.is_absent() || device->driver.is("nouveau");
    const bool no_display = (device->class_code >> 8U) == 0x0302;  // PCI class 03 02: 3D controller
    if (!unbound || !(no_display || sibling_bound) || gpu.library_index.is_known()) continue;
    const std::string driver = device->driver.value_or("no driver");
    Draft draft = draft_for(gpu, gpu_label_with_address(gpu) + " has " + driver);
    draft.evidence = {seen(machine, device->driver.source(), driver)};
    draft.cost = {"the GPU cannot be used", ""};
    outcome.fire(std::move(draft));
  }
  if (!any) return outcome.not_applicable();
  gaps.report(outcome);
}

void nvml_failed(const Machine& machine, Outcome& outcome) {
  const auto& error = machine.software.nvml_error;
  if (!has_nvidia_gpu(machine)) return outcome.not_applicable();
  if (error.is_unreadable()) {
    if (!machine.software.nvml_driver.is_known()) gap(outcome, "NVML's answer", error);
    return;
  }
  const std::string* words = error.get();
  if (words == nullptr || contains(to_lower(*words), "mismatch")) return;
  const bool no_library =
      contains(to_lower(*words), "not found") || contains(to_lower(*words), "no such file");
  if (no_library && !machine.software.nvidia_loaded.is_known()) return;  // no driver wanted here
  outcome.fire({.title = "NVML does not start: " + *words,
                .evidence = {seen(machine, error.source(), *words)},
                .cost = {"no GPU can be used, or none can be watched", ""},
                .rank = 1});
}

void mode_mig(const Machine& machine, Outcome& outcome) {
  if (!has_nvidia_gpu(machine)) return outcome.not_applicable();
  std::vector<std::string> cut;
  std::vector<std::string> indices;
  const Gpu* first = nullptr;
  Gaps gaps("MIG mode", Asked::kNvml);
  for (const Gpu& gpu : machine.gpus) {
    if (is_unlisted(machine, gpu)) continue;
    if (gpu.mig.is_unreadable() && gpu.mig.reason() != model::Reason::kUnsupported)
      gaps.add(gpu_label(gpu), gpu.mig);
    if (!gpu.mig.is(true)) continue;
    cut.push_back(gpu_label(gpu));
    indices.push_back(smi_index(gpu));
    if (first == nullptr) first = &gpu;
  }
  if (first != nullptr) {
    outcome.fire({.title = "MIG is on for " + list_of(cut),
                  .devices = cut,
                  .evidence = {seen(machine, first->mig.source(),
                                    "MIG mode enabled on " + count_of(cut.size(), "GPU"))},
                  .cost = {"no NVLink and no peer access for these GPUs", ""},
                  .words = {{"index", join(indices, ",")}}});
  }
  gaps.report(outcome);
}

void mode_compute(const Machine& machine, Outcome& outcome) {
  if (!has_nvidia_gpu(machine)) return outcome.not_applicable();
  Gaps gaps("compute mode", Asked::kNvml);
  std::vector<Trouble> troubles;
  for (const Gpu& gpu : machine.gpus) {
    if (is_unlisted(machine, gpu)) continue;
    if (gpu.compute_mode.is_unreadable() && is_nvidia(gpu)) gaps.add(gpu_label(gpu), gpu.compute_mode);
    const std::string* mode = gpu.compute_mode.get();
    if (mode == nullptr || to_lower(*mode) == "default") continue;
    Trouble trouble{&gpu, ": compute mode is " + *mode, ": compute mode is " + *mode};
    trouble.draft.evidence = {seen(machine, gpu.compute_mode.source(), gpu_label(gpu) + ": " + *mode)};
    if (contains(to_lower(*mode), "prohibited")) trouble.draft.severity = model::Severity::kCritical;
    troubles.push_back(std::move(trouble));
  }
  for (Draft& draft : group(std::move(troubles)))
    outcome.fire(std::move(draft));
  gaps.report(outcome);
}

void persistence_off(const Machine& machine, Outcome& outcome) {
  std::vector<std::string> off;
  const Gpu* first = nullptr;
  bool any = false;
  Gaps gaps("persistence mode", Asked::kNvml);
  for (const Gpu& gpu : machine.gpus) {
    if (!is_data_centre(gpu) || !is_bare_metal(machine) || is_unlisted(machine, gpu)) continue;
    any = true;
    if (gpu.persistence.is_unreadable()) gaps.add(gpu_label(gpu), gpu.persistence);
    if (!gpu.persistence.is(false)) continue;
    off.push_back(gpu_label(gpu));
    if (first == nullptr) first = &gpu;
  }
  if (!any) return outcome.not_applicable();
  if (first != nullptr) {
    outcome.fire({.title = "Persistence mode is off for " + list_of(off),
                  .devices = off,
                  .evidence = {seen(machine, first->persistence.source(),
                                    "disabled on " + count_of(off.size(), "GPU"))}});
  }
  gaps.report(outcome);
}

namespace {

// GPUs of the driver that runs here; what it does not have, nobody's job will use.
std::vector<const Gpu*> usable_gpus(const Machine& machine) {
  std::vector<const Gpu*> usable;
  for (const Gpu& gpu : machine.gpus) {
    const model::PciDevice* device = device_of(machine, gpu);
    const bool handed_on = device != nullptr && device->driver.is("vfio-pci");
    if (is_nvidia(gpu) && !handed_on && !is_unlisted(machine, gpu)) usable.push_back(&gpu);
  }
  return usable;
}

}  // namespace

void model_mixed(const Machine& machine, Outcome& outcome) {
  const std::vector<const Gpu*> usable = usable_gpus(machine);
  if (usable.size() < 2) return outcome.not_applicable();
  const auto unnamed = std::ranges::find_if(usable, [](const Gpu* gpu) { return gpu->name.is_unreadable(); });
  if (unnamed != usable.end()) {
    Gaps gaps("name", Asked::kNvml);
    gaps.add(gpu_label(**unnamed), (*unnamed)->name);
    return gaps.report(outcome);
  }
  // Sizes tell kinds apart only where all are known.
  const bool sizes = std::ranges::all_of(
      usable, [](const Gpu* gpu) { return !is_data_centre(*gpu) || gpu->memory.is_known(); });
  std::set<std::string> kinds;
  const Gpu* first = nullptr;
  for (const Gpu* gpu : usable) {
    if (!is_data_centre(*gpu)) continue;
    kinds.insert(*gpu->name.get() + (sizes ? ", " + in_words(*gpu->memory.get()) : std::string()));
    if (first == nullptr) first = gpu;
  }
  if (kinds.size() < 2) return;
  outcome.fire({.title = "GPUs of " + std::to_string(kinds.size()) + " kinds in one machine",
                .evidence = {seen(machine, first->name.source(), list_of({kinds.begin(), kinds.end()}))}});
}

void ecc_mixed(const Machine& machine, Outcome& outcome) {
  const Gpu* off = nullptr;
  std::vector<std::string> without;
  std::vector<std::string> indices;
  std::size_t on = 0;
  Gaps unread("ECC mode", Asked::kNvml);
  for (const Gpu& gpu : machine.gpus) {
    if (!is_data_centre(gpu) || is_unlisted(machine, gpu)) continue;
    if (gpu.ecc.is_unreadable()) unread.add(gpu_label(gpu), gpu.ecc);
    if (gpu.ecc.is(true)) ++on;
    if (!gpu.ecc.is(false)) continue;
    without.push_back(gpu_label(gpu));
    indices.push_back(smi_index(gpu));
    if (off == nullptr) off = &gpu;
  }
  if (machine.gpus.size() < 2 || (on + without.size() == 0 && unread.empty()))
    return outcome.not_applicable();
  if (on > 0 && off != nullptr) {
    return outcome.fire({.title = "ECC is off on " + list_of(without) + ", on on " + count_of(on, "other"),
                         .devices = without,
                         .evidence = {seen(machine, off->ecc.source(), gpu_label(*off) + ": disabled")},
                         .words = {{"index", join(indices, ",")}}});
  }
  unread.report(outcome);
}

}  // namespace angio::diagnose::gpu
