// RDMA devices: GPUDirect, what the rules share about ports, and the list of all RDMA rules.
#include "diagnose/rules/rdma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::rdma {

using model::LinkLayer;
using model::Machine;
using model::RdmaDevice;
using model::RdmaPort;

std::vector<PortRef> hardware_ports(const Machine& machine) {
  std::vector<PortRef> ports;
  for (const RdmaDevice& device : machine.rdma) {
    const bool soft = !device.pci && !device.address.is_known() && !device.board_id.is_known();
    if (soft) continue;
    for (const RdmaPort& port : device.ports)
      ports.push_back({&device, &port});
  }
  return ports;
}

bool is_active(const RdmaPort& port) {
  return port.state.is("ACTIVE");
}

bool is_fast(const RdmaPort& port) {
  return port.link_layer == LinkLayer::kInfiniBand ||
         port.rate.value_or({}).value >= knowledge::threshold("rdma.fast-port");
}

std::string port_label(const PortRef& ref) {
  return ref.device->ports.size() > 1 ? ref.device->name + " port " + std::to_string(ref.port->number)
                                      : ref.device->name;
}

std::string kind_of(const PortRef& ref) {
  return fmt::format("{}/{}/{}", ref.device->board_id.value_or(ref.device->hca_type.value_or("")),
                     ref.port->number, static_cast<int>(ref.port->link_layer));
}

bool is_routable_v2(const model::Gid& gid) {
  const bool empty = gid.gid.find_first_not_of("0:") == std::string::npos;
  return gid.type.is("RoCE v2") && !empty && !to_lower(gid.gid).starts_with("fe80");
}

void fire_grouped(const std::vector<Trouble>& troubles, Outcome& outcome) {
  constexpr std::size_t kEvidence = 3;  // ports; the rest have the same words
  std::map<std::string, std::vector<const Trouble*>> groups;
  for (const Trouble& trouble : troubles)
    groups[trouble.singular].push_back(&trouble);
  for (const auto& [words, alike] : groups) {
    Draft draft = alike.front()->draft;
    draft.words.emplace("device", alike.front()->ref.device->name);
    draft.evidence.clear();
    std::vector<std::string> labels;
    for (const Trouble* trouble : alike) {
      labels.push_back(port_label(trouble->ref));
      draft.devices.push_back(trouble->ref.device->name);
      if (labels.size() > kEvidence) continue;
      for (model::Evidence evidence : trouble->draft.evidence) {
        if (alike.size() > 1) evidence.text = labels.back() + ": " + evidence.text;
        draft.evidence.push_back(std::move(evidence));
      }
    }
    draft.title = list_of(labels) + " " + (labels.size() == 1 ? words : alike.front()->plural);
    outcome.fire(std::move(draft));
  }
}

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

std::size_t mellanox_active(const Machine& machine) {
  return static_cast<std::size_t>(std::ranges::count_if(machine.rdma, [](const RdmaDevice& device) {
    return device.name.starts_with("mlx") && std::ranges::any_of(device.ports, is_active);
  }));
}

// What NCCL would send by; known answers only.
struct GdrPaths {
  bool open = false;                    // the open module, which offers DMA-BUF
  bool kernel = false;                  // and a kernel that takes it
  const model::Setting* off = nullptr;  // NCCL_DMABUF_ENABLE=0 of a job
  const model::Process* job = nullptr;
  [[nodiscard]] bool dmabuf() const { return open && kernel && off == nullptr; }
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
  return seen(machine, paths.off->source,
              "no DMA-BUF path: NCCL_DMABUF_ENABLE=" + paths.off->value +
                  (paths.job != nullptr ? " in process " + std::to_string(paths.job->id) : ""));
}

void fire_gdr(const Machine& machine, const GdrPaths& paths, std::size_t adapters, Outcome& outcome) {
  Draft draft{.title = "GPUDirect RDMA is off: nvidia_peermem is not loaded",
              .evidence = {seen(machine, machine.software.modules.source(),
                                "no nvidia_peermem among the loaded modules"),
                           why_no_dmabuf(machine, paths)},
              .cost = {count_of(adapters, "NIC") + " copy through host memory", ""},
              .rank = 1};
  draft.words[paths.open && paths.kernel ? "dmabuf_off" : "no_dmabuf"] = "";
  const bool fast = std::ranges::any_of(machine.rdma, [](const RdmaDevice& device) {
    return std::ranges::any_of(device.ports,
                               [](const RdmaPort& port) { return is_active(port) && is_fast(port); });
  });
  if (!fast) {
    draft.severity = model::Severity::kInfo;
    draft.rank = 0;
  }
  outcome.fire(std::move(draft));
}

}  // namespace

void gdr_missing(const Machine& machine, Outcome& outcome) {
  const std::size_t adapters = mellanox_active(machine);
  if (adapters == 0 || !std::ranges::any_of(machine.gpus, supports_gdr)) return outcome.not_applicable();
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
  find_dmabuf_off(machine, paths);
  if (!paths.dmabuf()) fire_gdr(machine, paths, adapters, outcome);
}

}  // namespace angio::diagnose::rdma

namespace angio::diagnose {
namespace {

constexpr std::array kRules = {
    Rule{"rdma.gdr.peermem-missing", rdma::gdr_missing},
    Rule{"rdma.port.no-subnet-manager", rdma::no_subnet_manager},
    Rule{"rdma.port.down", rdma::port_down},
    Rule{"rdma.port.slow", rdma::port_slow},
    Rule{"rdma.port.mixed", rdma::port_mixed},
    Rule{"rdma.port.mtu-low", rdma::mtu_low},
    Rule{"rdma.roce.mtu-low", rdma::roce_mtu_low},
    Rule{"rdma.roce.no-v2-gid", rdma::roce_no_gid},
    Rule{"rdma.firmware.mixed", rdma::firmware_mixed},
    Rule{"rdma.port.errors", rdma::port_errors},
    Rule{"rdma.port.loss", rdma::port_loss},
    Rule{"rdma.port.idle", rdma::port_idle},
};

}  // namespace

std::span<const Rule> rdma_rules() {
  return kRules;
}

}  // namespace angio::diagnose
