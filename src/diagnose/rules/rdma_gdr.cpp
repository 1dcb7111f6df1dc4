// GPUDirect RDMA from end to end: one finding that names the link that breaks, with the state of the others.
// ACS, IOMMU and distances have rules of their own for what they cost by themselves.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/process.hpp"
#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::rdma {

using model::Machine;
using model::PathClass;
using model::RdmaDevice;
using model::RdmaPort;

namespace {

bool supports_gdr(const model::Gpu& gpu) {
  return is_nvidia(gpu) && !contains(gpu.name.value_or(""), "GeForce");
}

bool has_module(const std::vector<std::string>& modules, std::string_view name) {
  return std::ranges::find(modules, name) != modules.end();
}

// DMA-BUF came to RDMA in Linux 5.12: NCCL user guide 2.30, GPU troubleshooting, GPU Direct.
bool kernel_has_dmabuf(const std::string& kernel) {
  const auto parts = split(std::string_view(kernel).substr(0, kernel.find_first_not_of("0123456789.")), '.');
  if (parts.size() < 2) return false;
  const std::string release = std::string(parts[0]) + "." + std::string(parts[1]);
  return knowledge::compare_versions(release, "5.12").value_or(-1) >= 0;
}

// Red Hat's kernels of release 8 call themselves 4.18 and hold drivers of much later ones.
bool is_backporting(const std::string& kernel) {
  return contains(kernel, ".el8");
}

// "1.14.44.0" is libibverbs' file version of rdma-core 44.0; distributions also say "50.0". DMA-BUF needs
// ibv_reg_dmabuf_mr, which rdma-core 34 brought.
bool core_has_dmabuf(const std::string& version) {
  const auto parts = split(version, '.');
  const bool file = parts.size() == 4 && parts[0] == "1";
  const auto major = parse_integer<std::uint32_t>(parts[file ? 2 : 0]);
  return !major || *major >= knowledge::threshold("rdma.core.dmabuf");
}

std::size_t mellanox_active(const Machine& machine) {
  return static_cast<std::size_t>(std::ranges::count_if(machine.rdma, [](const RdmaDevice& device) {
    return device.name.starts_with("mlx") && std::ranges::any_of(device.ports, is_active);
  }));
}

// Those whose data takes the way round: of the jobs' reach, and the fast ones where there are any.
std::size_t affected(const Machine& machine, bool fast) {
  return static_cast<std::size_t>(std::ranges::count_if(machine.rdma, [&](const RdmaDevice& device) {
    return device.name.starts_with("mlx") && std::ranges::any_of(device.ports, [&](const RdmaPort& port) {
             return is_active(port) && (!fast || is_fast(port)) && !left_out(machine, {&device, &port});
           });
  }));
}

// What NCCL would send by; known answers only.
struct GdrPaths {
  bool open = false;                    // the open module, which offers DMA-BUF
  bool kernel = false;                  // and a kernel that takes it
  bool core = true;                     // and a libibverbs that asks for it; unknown counts as one
  const model::Setting* off = nullptr;  // NCCL_DMABUF_ENABLE=0 of a job
  const model::Process* job = nullptr;
  [[nodiscard]] bool dmabuf() const { return open && kernel && core && off == nullptr; }
};

void find_dmabuf_off(const Machine& machine, GdrPaths& paths) {
  const auto is_off = [](const model::Setting* setting) {
    return setting != nullptr && parse_integer<std::int64_t>(setting->value) == 0;
  };
  for (const model::Process& process : machine.processes) {
    const model::Setting* setting = find_setting(process.settings, "NCCL_DMABUF_ENABLE");
    if (process.gpus.empty() || !is_off(setting)) continue;
    paths.off = setting;
    paths.job = &process;
    return;
  }
  const model::Setting* own = find_setting(machine.software.settings, "NCCL_DMABUF_ENABLE");
  if (is_off(own)) paths.off = own;
}

model::Evidence why_no_dmabuf(const Machine& machine, const GdrPaths& paths) {
  const model::Software& software = machine.software;
  if (!paths.open) {
    return seen(
        machine, software.nvidia_open.source(),
        "no DMA-BUF path either: driver " + software.nvidia_loaded.value_or("") + " is the closed module");
  }
  if (!paths.kernel)
    return seen(machine, software.kernel.source(), "no DMA-BUF path: kernel " + software.kernel.value_or(""));
  if (!paths.core)
    return seen(machine, software.rdma_core.source(),
                "no DMA-BUF path: libibverbs " + software.rdma_core.value_or("") + " cannot register one");
  return seen(machine, paths.off->source,
              "no DMA-BUF path: NCCL_DMABUF_ENABLE=" + paths.off->value +
                  (paths.job != nullptr ? " in process " + std::to_string(paths.job->id) : ""));
}

// The near ends of the way: of each GPU the closest active adapter.
PathClass nearest_adapter(const Machine& machine, std::uint32_t gpu) {
  PathClass best = PathClass::kUnknown;
  for (std::uint32_t i = 0; i < machine.rdma.size(); ++i) {
    if (!std::ranges::any_of(machine.rdma[i].ports, is_active)) continue;
    best = std::min(
        best, path_between(machine, {model::DeviceKind::kGpu, gpu}, {model::DeviceKind::kRdma, i}).kind);
  }
  return best;
}

std::string distances_in_words(const Machine& machine) {
  std::size_t near = 0;
  std::size_t known = 0;
  for (const model::Gpu& gpu : machine.gpus) {
    const PathClass kind = nearest_adapter(machine, gpu.index);
    known += kind != PathClass::kUnknown ? 1 : 0;
    near += kind <= PathClass::kPxb ? 1 : 0;
  }
  if (known == 0) return "distances between GPUs and adapters not known";
  return fmt::format("{} of {} GPUs have an adapter within PXB", near, machine.gpus.size());
}

std::string acs_in_words(const Machine& machine) {
  std::size_t redirecting = 0;
  std::size_t readable = 0;
  for (const model::PciDevice& device : machine.pci.devices) {
    const model::AccessControl* acs = device.acs.get();
    if (!is_bridge(device) || acs == nullptr) continue;
    ++readable;
    redirecting += acs->request_redirect || acs->completion_redirect || acs->upstream_forwarding ? 1 : 0;
  }
  if (readable == 0) return "ACS not readable";
  return redirecting == 0 ? std::string("ACS redirects nothing")
                          : "ACS redirects at " + count_of(redirecting, "bridge");
}

// The links that do not break, or are not known to: the reader need not look for them.
model::Evidence rest_of_the_way(const Machine& machine) {
  const model::IommuMode* mode = machine.pci.iommu.get();
  constexpr std::array kModes{"IOMMU off", "IOMMU passes through", "IOMMU translates"};
  const char* iommu =
      mode != nullptr ? kModes[static_cast<std::size_t>(*mode) % kModes.size()] : "IOMMU not known";
  return {fmt::format("the rest of the way: {}; {}; {}", iommu, acs_in_words(machine),
                      distances_in_words(machine)),
          place_of(machine, "/sys/bus/pci/devices")};
}

void fire_gdr(const Machine& machine, const GdrPaths& paths, Outcome& outcome) {
  const bool fast = std::ranges::any_of(machine.rdma, [](const RdmaDevice& device) {
    return std::ranges::any_of(device.ports,
                               [](const RdmaPort& port) { return is_active(port) && is_fast(port); });
  });
  const std::size_t adapters = affected(machine, fast);
  if (adapters == 0) return;  // the jobs leave all of them out
  Draft draft{.title = "GPUDirect RDMA is off: nvidia_peermem is not loaded",
              .evidence = {seen(machine, machine.software.modules.source(),
                                "no nvidia_peermem among the loaded modules"),
                           why_no_dmabuf(machine, paths), rest_of_the_way(machine)},
              .cost = {count_of(adapters, "NIC") + " copy through host memory", ""},
              .rank = 1};
  draft.words[!paths.open || !paths.kernel ? "no_dmabuf" : !paths.core ? "old_core" : "dmabuf_off"] = "";
  if (!fast) {
    draft.severity = model::Severity::kInfo;
    draft.rank = 0;
  }
  outcome.fire(std::move(draft));
}

}  // namespace

void gdr_missing(const Machine& machine, Outcome& outcome) {
  if (mellanox_active(machine) == 0 || !std::ranges::any_of(machine.gpus, supports_gdr))
    return outcome.not_applicable();
  const model::Software& software = machine.software;
  const auto* modules = software.modules.get();
  if (modules == nullptr) return gap(outcome, "loaded kernel modules", software.modules);
  if (has_module(*modules, "nvidia_peermem") || has_module(*modules, "nv_peer_mem")) return;
  if (!has_module(*modules, "nvidia")) return;  // no driver at all: another rule's finding
  if (!software.nvidia_open.is_known())
    return gap(outcome, "whether the NVIDIA module is the open one", software.nvidia_open);
  const std::string* kernel = software.kernel.get();
  if (*software.nvidia_open.get() && kernel == nullptr)
    return gap(outcome, "kernel version", software.kernel);
  GdrPaths paths;
  paths.open = *software.nvidia_open.get();
  paths.kernel = kernel != nullptr && kernel_has_dmabuf(*kernel);
  paths.core = core_has_dmabuf(software.rdma_core.value_or("unknown"));
  find_dmabuf_off(machine, paths);
  if (paths.open && !paths.kernel && is_backporting(*kernel))
    return outcome.undecided("whether kernel " + *kernel +
                                 " has DMA-BUF for RDMA: Red Hat keeps the number and "
                                 "brings features back",
                             "sudo grep -w ib_umem_dmabuf_get /proc/kallsyms: a line means yes");
  if (!paths.dmabuf()) fire_gdr(machine, paths, outcome);
}

// ---- NCCL_NET_GDR_LEVEL against the distances

namespace {

// Words since 2.4.7; before, and still, numbers: NVIDIA/nccl src/graph/paths.cc, ncclGetLevel. LOC and 0 are
// process.setting.gdr-level.
std::optional<PathClass> level_of(std::string_view value) {
  struct Level {
    std::string_view word;
    std::string_view number;
    PathClass kind;
  };
  constexpr std::array kLevels{Level{"PIX", "1", PathClass::kPix}, Level{"PXB", "2", PathClass::kPxb},
                               Level{"PHB", "3", PathClass::kPhb}, Level{"SYS", "4", PathClass::kSys}};
  for (const Level& level : kLevels) {
    if (value == level.word || value == level.number) return level.kind;
  }
  return std::nullopt;
}

}  // namespace

// Only a level that is nearer than NCCL's own (PXB) is judged: a wider one is a choice with its own price.
void gdr_level(const Machine& machine, Outcome& outcome) {
  const std::vector<process::Use> uses = process::uses_of(machine, "NCCL_NET_GDR_LEVEL");
  if (uses.empty() || mellanox_active(machine) == 0 || !std::ranges::any_of(machine.gpus, supports_gdr))
    return outcome.not_applicable();
  for (const process::Use& use : uses) {
    const auto level = level_of(trim(use.setting->value));
    if (!level || *level >= PathClass::kPxb) continue;
    std::vector<std::string> beyond;
    std::vector<std::string> unknown;
    for (const model::Gpu& gpu : machine.gpus) {
      const PathClass kind = nearest_adapter(machine, gpu.index);
      if (kind == PathClass::kUnknown) unknown.push_back(gpu_label(gpu));
      if (kind > *level && kind <= PathClass::kPxb) beyond.push_back(gpu_label(gpu));
    }
    if (!unknown.empty())
      outcome.undecided("the way from " + list_of(unknown) + " to the adapters: not in this source",
                        "angio collect on the node");
    if (beyond.empty()) continue;
    Draft draft =
        process::draft_for(machine, use,
                           fmt::format("{} keeps {} from GPUDirect RDMA: the nearest adapter is at PXB",
                                       process::text_of(*use.setting), list_of(beyond)));
    draft.devices = beyond;
    draft.rank = static_cast<double>(beyond.size()) / static_cast<double>(machine.gpus.size());
    draft.cost = {fmt::format("{} of {} GPUs copy through host memory", beyond.size(), machine.gpus.size()),
                  "count-share"};
    outcome.fire(std::move(draft));
  }
}

}  // namespace angio::diagnose::rdma
