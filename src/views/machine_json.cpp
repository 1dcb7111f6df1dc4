#include "views/machine_json.hpp"

#include "base/error.hpp"
#include "views/devices_json.hpp"
#include "views/notes.hpp"
#include "views/observed_json.hpp"
#include "views/topology_matrix.hpp"
#include "views/topology_words.hpp"

namespace angio::views {
namespace {

using model::Machine;

Json cpu_model_json(const Machine& machine) {
  const model::CpuModel& cpu = machine.cpus.model;
  return Json::object({{"architecture", observed_json(machine, cpu.architecture)},
                       {"vendor", observed_json(machine, cpu.vendor)},
                       {"name", observed_json(machine, cpu.name)}});
}

std::string_view cache_word(model::CacheKind kind) {
  if (kind == model::CacheKind::kData) return "data";
  return kind == model::CacheKind::kInstruction ? "instruction" : "unified";
}

Json cpus_json(const Machine& machine) {
  const model::Cpus& cpus = machine.cpus;
  Json packages = Json::array();
  for (const model::Package& package : cpus.packages) {
    packages.push_back(Json::object({{"id", package.id}, {"cpus", to_list(package.cpus)}}));
  }
  Json cores = Json::array();
  for (const model::Core& core : cpus.cores) {
    Json each = Json::object({{"package", core.package}, {"id", core.id}});
    if (core.die) each.set("die", *core.die);
    if (core.cluster) each.set("cluster", *core.cluster);
    each.set("cpus", to_list(core.cpus));
    cores.push_back(std::move(each));
  }
  Json caches = Json::array();
  for (const model::Cache& cache : cpus.caches) {
    caches.push_back(Json::object({{"level", cache.level},
                                   {"kind", cache_word(cache.kind)},
                                   {"size_bytes", observed_json(machine, cache.size)},
                                   {"cpus", to_list(cache.cpus)}}));
  }
  return Json::object({{"model", cpu_model_json(machine)},
                       {"online", to_list(cpus.online)},
                       {"offline", observed_json(machine, cpus.offline)},
                       {"isolated", observed_json(machine, cpus.isolated)},
                       {"allowed", observed_json(machine, cpus.allowed)},
                       {"threads_per_core", observed_json(machine, cpus.threads_per_core)},
                       {"packages", std::move(packages)},
                       {"cores", std::move(cores)},
                       {"caches", std::move(caches)}});
}

std::string_view numa_word(model::NumaKind kind) {
  switch (kind) {
    case model::NumaKind::kOrdinary:
      return "ordinary";
    case model::NumaKind::kCpuOnly:
      return "cpu_only";
    case model::NumaKind::kMemoryOnly:
      return "memory_only";
    case model::NumaKind::kGpuMemory:
      return "gpu_memory";
    case model::NumaKind::kCxl:
      return "cxl";
    case model::NumaKind::kHighBandwidth:
      return "high_bandwidth";
    case model::NumaKind::kEmpty:
      return "empty";
  }
  return "ordinary";
}

Json numa_json(const Machine& machine) {
  Json nodes = Json::array();
  for (const model::NumaNode& node : machine.numa.nodes) {
    Json pages = Json::array();
    for (const model::HugePages& each : node.huge_pages) {
      pages.push_back(Json::object(
          {{"page_size_bytes", each.page_size.value}, {"total", each.total}, {"free", each.free}}));
    }
    nodes.push_back(Json::object({{"id", node.id.value},
                                  {"kind", numa_word(node.kind)},
                                  {"cpus", to_list(node.cpus)},
                                  {"memory_bytes", observed_json(machine, node.memory)},
                                  {"memory_free_bytes", observed_json(machine, node.memory_free)},
                                  {"distances", observed_json(machine, node.distances)},
                                  {"huge_pages", std::move(pages)}}));
  }
  return Json::object({{"nodes", std::move(nodes)},
                       {"nodes_per_package", observed_json(machine, machine.numa.nodes_per_package)},
                       {"discarded", machine.numa.discarded}});
}

Json path_json(const Machine& machine, model::DeviceRef a, model::DeviceRef b) {
  const model::Path path = model::path_between(machine, a, b);
  Json json = Json::object({{"from", device_name(machine, a)}, {"to", device_name(machine, b)}});
  if (path.kind == model::PathClass::kUnknown) {
    json.set("unreadable", path.why);
    return json;
  }
  json.set("class", path.kind == model::PathClass::kNvLink ? std::string("NV") : model::label(path));
  if (path.kind == model::PathClass::kNvLink) json.set("links", path.links);
  return json;
}

Json paths_json(const Machine& machine) {
  Json paths = Json::array();
  if (!model::has_paths(machine)) return paths;
  const std::vector<model::DeviceRef> nics = matrix_nics(machine);
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
    const model::DeviceRef gpu{model::DeviceKind::kGpu, i};
    for (std::uint32_t j = i + 1; j < machine.gpus.size(); ++j) {
      paths.push_back(path_json(machine, gpu, {model::DeviceKind::kGpu, j}));
    }
    for (const model::DeviceRef nic : nics)
      paths.push_back(path_json(machine, gpu, nic));
  }
  return paths;
}

Json software_json(const Machine& machine) {
  const model::Software& software = machine.software;
  return Json::object({{"hostname", observed_json(machine, software.hostname)},
                       {"product", observed_json(machine, software.product)},
                       {"kernel", observed_json(machine, software.kernel)},
                       {"virtual_machine", observed_json(machine, software.virtual_machine)},
                       {"container", observed_json(machine, software.container)},
                       {"nvidia_driver", observed_json(machine, software.nvidia_loaded)}});
}

}  // namespace

std::string_view reason_word(model::Reason reason) {
  switch (reason) {
    case model::Reason::kNotCollected:
      return "not_collected";
    case model::Reason::kDenied:
      return "denied";
    case model::Reason::kFailed:
      return "failed";
    case model::Reason::kUnparsable:
      return "unparsable";
    case model::Reason::kUnsupported:
      return "unsupported";
  }
  return "not_collected";
}

Json missing_json(const Machine& machine, model::Presence presence, model::Reason reason, int error,
                  const model::Source& source) {
  Json json = Json::object();
  if (presence == model::Presence::kAbsent) {
    json.set("absent", true);
  } else {
    json.set("unreadable", reason_word(reason));
    if (error > 0) json.set("error", errno_name(error));
  }
  if (source.place > 0) json.set("source", model::cite(machine, source));
  return json;
}

Json machine_json(const Machine& machine) {
  return Json::object({{"schema", "angio.topology/1"},
                       {"name", machine.name},
                       {"origin", machine.origin},
                       {"live", machine.live},
                       {"captured", observed_json(machine, machine.captured)},
                       {"software", software_json(machine)},
                       {"cpus", cpus_json(machine)},
                       {"numa", numa_json(machine)},
                       {"pci", pci_json(machine)},
                       {"gpus", gpus_json(machine)},
                       {"rdma", rdma_json(machine)},
                       {"networks", networks_json(machine)},
                       {"paths", paths_json(machine)},
                       {"notes", notes_json(machine.notes)}});
}

}  // namespace angio::views
