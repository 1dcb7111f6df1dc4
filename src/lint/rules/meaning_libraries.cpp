// UCX, plugins and files that NCCL is told to read.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

bool sets_nccl(const Scope& scope) {
  return std::ranges::any_of(scope.script().settings,
                             [](const Setting& setting) { return setting.name.starts_with("NCCL_"); });
}

// Something in the file may use UCX: a plugin, or MPI told to.
bool may_use_ucx(const Scope& scope) {
  const auto plugin = scope.text("NCCL_PLUGIN_P2P");
  if (plugin && plugin->starts_with("ucx")) return true;
  const bool mpi = std::ranges::any_of(scope.script().commands, [](const Command& command) {
    const std::string_view first = command.words.front().text;
    return first.ends_with("mpirun") || first.ends_with("mpiexec") || first.ends_with("srun");
  });
  return mpi || scope.find("NCCL_NET_PLUGIN") != nullptr || scope.find("OMPI_MCA_pml") != nullptr;
}

// The UCX network plugin is asked for, or nothing but UCX variables speak of a network.
bool carries_gpu_data(const Scope& scope) {
  const auto plugin = scope.text("NCCL_PLUGIN_P2P");
  return (plugin && plugin->starts_with("ucx")) || scope.find("NCCL_UCX_TLS") != nullptr;
}

void ucx(const Scope& scope, Complaints& out) {
  const Setting* first = nullptr;
  for (const Setting& setting : scope.script().settings) {
    if (setting.name.starts_with("UCX_") && setting.exported && !setting.unset && first == nullptr)
      first = &setting;
  }
  if (first == nullptr || !sets_nccl(scope) || may_use_ucx(scope)) return;
  out.push_back(
      complain("ucx.env.no-effect", scope.script(), first->name_place,
               fmt::format("{}: NCCL does not use UCX, UCX_* variables change nothing for it", first->name),
               "they matter to MPI and to a UCX network plugin (NCCL_PLUGIN_P2P=ucx)"));
}

void transports(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("UCX_TLS");
  const auto value = scope.text("UCX_TLS");
  if (setting == nullptr || !value || value->empty() || value->starts_with('^')) return;
  const auto has = [&](std::string_view part) { return value->find(part) != std::string_view::npos; };
  const bool gpu = has("cuda") || has("gdr") || has("rocm") || has("gpu");
  const bool all = has("all");
  const bool gpu_job = sets_nccl(scope) || scope.find("CUDA_VISIBLE_DEVICES") != nullptr;
  if (gpu || all || !gpu_job) return;
  auto complaint =
      complain("ucx.tls.no-cuda", scope.script(), setting->value_place,
               fmt::format("{}: a list without cuda takes GPU memory away from UCX", shown(*setting)),
               "add cuda, or leave UCX_TLS unset; no matter where UCX only starts the ranks");
  // MPI that only starts the ranks needs no GPU memory.
  if (!carries_gpu_data(scope)) complaint.severity = model::Severity::kInfo;
  out.push_back(std::move(complaint));
}

void plugin_variables(const Scope& scope, Complaints& out) {
  const auto plugin = scope.text("NCCL_PLUGIN_P2P");
  const bool ucx_plugin =
      (plugin && plugin->starts_with("ucx")) || (scope.find("NCCL_PLUGIN_P2P") != nullptr && !plugin);
  if (ucx_plugin) return;
  for (const std::string_view name :
       {"NCCL_UCX_TLS", "NCCL_UCX_ZCOPY_THRESH", "NCCL_UCX_RNDV_SCHEME", "NCCL_UCX_RNDV_THRESH"}) {
    if (const Setting* setting = scope.find(name)) {
      out.push_back(
          complain("nccl.ucx.no-plugin", scope.script(), setting->name_place,
                   fmt::format("{}: read by a UCX network plugin only, and none is asked for here", name),
                   "remove it; NCCL_PLUGIN_P2P=ucx with the plugin installed is what it belongs to"));
    }
  }
}

void topology_file(const Scope& scope, const Context& context, Complaints& out) {
  const Setting* setting = scope.find("NCCL_TOPO_FILE");
  if (setting == nullptr || (!setting->dynamic && setting->value.empty())) return;
  const auto bare = std::ranges::find_if(context.machines, [](const model::Machine& machine) {
    return machine.software.virtual_machine.is_absent();
  });
  const bool on_bare_metal = bare != context.machines.end();
  if (!context.machines.empty() && !on_bare_metal)
    return;  // in a virtual machine that is what the file is for
  auto complaint = complain(
      "nccl.topo.file", scope.script(), setting->name_place,
      on_bare_metal
          ? fmt::format("{}: {} is no virtual machine, what NCCL reads there itself is right",
                        shown(*setting), bare->name)
          : fmt::format("{}: meant for virtual machines that hide the PCI tree; it does not force NVLink",
                        shown(*setting)),
      on_bare_metal ? "remove it"
                    : "a missing file is passed over with an INFO line only; on bare metal remove it");
  if (on_bare_metal) complaint.severity = model::Severity::kWarning;
  out.push_back(std::move(complaint));
}

void graph_file(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_GRAPH_FILE");
  if (setting == nullptr) return;
  out.push_back(complain(
      "nccl.graph.file", scope.script(), setting->name_place,
      fmt::format("{}: rings and trees are taken from the file instead of being searched", shown(*setting)),
      "it fits one machine type and release; keep it out of production"));
}

}  // namespace

void check_libraries(const Scope& scope, const Context& context, Complaints& out) {
  ucx(scope, out);
  transports(scope, out);
  plugin_variables(scope, out);
  topology_file(scope, context, out);
  graph_file(scope, out);
}

}  // namespace angio::lint
