#include "history/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/fnv.hpp"
#include "base/text.hpp"

namespace angio::history {
namespace {

constexpr std::array<std::string_view, 3> kGroups{"hardware", "versions", "settings"};
constexpr std::size_t kMostFacts = 1000;
constexpr std::size_t kLongest = 4096;  // of a name or value

void add(Environment& environment, std::string_view group, std::string_view name, std::string value) {
  if (!value.empty()) environment.facts.push_back({std::string(group), std::string(name), std::move(value)});
}

template <typename T>
std::string text_of(const model::Observed<T>& observed) {
  const T* value = observed.get();
  return value != nullptr ? std::string(trim(*value)) : std::string();
}

// "8 x NVIDIA H100, 1 x NVIDIA T400": by name, so that the order of the slots says nothing.
std::string counted(const std::vector<std::string>& names) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& name : names)
    ++counts[name];
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts)
    parts.push_back(fmt::format("{} x {}", count, name));
  return join(parts, ", ");
}

std::string gpus_of(const model::Machine& machine) {
  std::vector<std::string> names;
  for (const model::Gpu& gpu : machine.gpus)
    names.push_back(gpu.name.get() != nullptr ? *gpu.name.get() : "GPU of unknown name");
  return counted(names);
}

// Those that the machine calls alike, with the fastest rate of their ports: "8 x MT4129 400 Gb/s".
std::string nics_of(const model::Machine& machine) {
  std::vector<std::string> names;
  for (const model::RdmaDevice& device : machine.rdma) {
    std::string name = text_of(device.hca_type);
    if (name.empty()) name = device.virtual_function ? "virtual function" : device.name;
    double rate = 0;
    for (const model::RdmaPort& port : device.ports)
      if (port.rate.get() != nullptr) rate = std::max(rate, port.rate.get()->value);
    constexpr double kGigabit = 1e9;
    if (rate > 0) name += fmt::format(" {:g} Gb/s", rate / kGigabit);
    names.push_back(std::move(name));
  }
  return counted(names);
}

std::string firmware_of(const model::Machine& machine) {
  std::vector<std::string> versions;
  for (const model::RdmaDevice& device : machine.rdma)
    if (const std::string version = text_of(device.firmware); !version.empty()) versions.push_back(version);
  std::ranges::sort(versions);
  const auto rest = std::ranges::unique(versions);
  versions.erase(rest.begin(), rest.end());
  return join(versions, ", ");
}

std::string cpus_of(const model::Machine& machine) {
  const std::string name = text_of(machine.cpus.model.name);
  const std::size_t packages = machine.cpus.packages.size();
  const std::size_t cores = machine.cpus.cores.size();
  if (name.empty() && cores == 0) return "";
  return fmt::format("{} x {}, {} cores", std::max<std::size_t>(packages, 1),
                     name.empty() ? text_of(machine.cpus.model.architecture) : name, cores);
}

std::string cuda_words(const model::Machine& machine) {
  const std::uint32_t* version = machine.software.cuda_driver.get();
  if (version == nullptr || *version == 0) return "";
  constexpr std::uint32_t kMajor = 1000;
  constexpr std::uint32_t kMinor = 10;
  return fmt::format("{}.{}", *version / kMajor, *version % kMajor / kMinor);
}

std::string driver_of(const model::Machine& machine) {
  const std::string nvml = text_of(machine.software.nvml_driver);
  if (!nvml.empty()) return nvml;
  const std::string loaded = text_of(machine.software.nvidia_loaded);
  return loaded.empty() ? text_of(machine.software.amdgpu_loaded) : loaded;
}

void settle(Environment& environment) {
  std::ranges::sort(environment.facts);
  const auto rest = std::ranges::unique(
      environment.facts, [](const Fact& a, const Fact& b) { return a.group == b.group && a.name == b.name; });
  environment.facts.erase(rest.begin(), rest.end());
}

const Fact* find(const Environment& environment, const Fact& wanted) {
  const auto found = std::ranges::find_if(environment.facts, [&](const Fact& fact) {
    return fact.group == wanted.group && fact.name == wanted.name;
  });
  return found == environment.facts.end() ? nullptr : &*found;
}

}  // namespace

bool is_setting_of_speed(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kPrefixes{"NCCL_", "UCX_", "TORCH_NCCL_", "RCCL_"};
  static constexpr std::array<std::string_view, 6> kNames{
      "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_DEVICE_MAX_CONNECTIONS",
      "CUDA_LAUNCH_BLOCKING", "OMP_NUM_THREADS",     "CUDA_DEVICE_ORDER"};
  static constexpr std::array<std::string_view, 9> kOfARun{"DEBUG",  "LOG",   "FILE", "DUMP",  "COMM_ID",
                                                           "HOSTID", "TRACE", "PATH", "PREFIX"};
  if (std::ranges::find(kNames, name) != kNames.end()) return true;
  if (std::ranges::none_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }))
    return false;
  return std::ranges::none_of(kOfARun, [&](std::string_view word) { return contains(name, word); });
}

Environment environment_of(const model::Machine& machine, const Versions& versions) {
  Environment environment;
  add(environment, "hardware", "CPUs", cpus_of(machine));
  add(environment, "hardware", "GPUs", gpus_of(machine));
  add(environment, "hardware", "NICs", nics_of(machine));
  add(environment, "hardware", "machine", text_of(machine.software.product));
  add(environment, "hardware", "virtual machine", text_of(machine.software.virtual_machine));
  add(environment, "versions", "kernel", text_of(machine.software.kernel));
  add(environment, "versions", "driver", driver_of(machine));
  add(environment, "versions", "CUDA of the driver", cuda_words(machine));
  add(environment, "versions", "NIC firmware", firmware_of(machine));
  add(environment, "versions", "OFED", text_of(machine.software.ofed));
  for (const auto& [name, value] : versions)
    add(environment, "versions", name, value);
  for (const model::Setting& setting : machine.software.settings)
    if (is_setting_of_speed(setting.name)) add(environment, "settings", setting.name, setting.value);
  settle(environment);
  return environment;
}

std::string fingerprint_of(const Environment& environment) {
  if (!environment.is_known()) return "";
  Digest digest;
  for (const Fact& fact : environment.facts)
    for (const std::string& text : {fact.group, fact.name, fact.value})
      digest.add(text);
  return digest.text();
}

Json environment_json(const Environment& environment) {
  if (!environment.is_known()) return {};
  Json json = Json::object({{"fingerprint", fingerprint_of(environment)}});
  for (const std::string_view group : kGroups) {
    Json facts = Json::object();
    for (const Fact& fact : environment.facts)
      if (fact.group == group) facts.set(fact.name, fact.value);
    json.set(std::string(group), std::move(facts));
  }
  return json;
}

Result<Environment> parse_environment(const Json& json) {
  Environment environment;
  if (json.is_null()) return environment;
  if (json.as_object() == nullptr) return fail(ErrorCode::kInvalidInput, "\"environment\" is no object");
  for (const std::string_view group : kGroups) {
    const Json* facts = json.find(group);
    if (facts == nullptr || facts->is_null()) continue;
    if (facts->as_object() == nullptr)
      return fail(ErrorCode::kInvalidInput, fmt::format("\"{}\" of \"environment\" is no object", group));
    for (const auto& [name, value] : *facts->as_object()) {
      const std::string* text = value.as_string();
      if (text == nullptr || name.empty() || name.size() > kLongest || text->size() > kLongest ||
          environment.facts.size() >= kMostFacts)
        return fail(
            ErrorCode::kInvalidInput,
            fmt::format("\"{}\" of \"environment\" has a member that is no text, or too much of it", group));
      add(environment, group, name, *text);
    }
  }
  settle(environment);
  return environment;
}

std::vector<FactChange> changes_between(const Environment& before, const Environment& after) {
  std::vector<FactChange> changes;
  for (const Fact& fact : before.facts) {
    const Fact* now = find(after, fact);
    if (now == nullptr || now->value != fact.value)
      changes.push_back({fact.group, fact.name, fact.value, now != nullptr ? now->value : ""});
  }
  for (const Fact& fact : after.facts)
    if (find(before, fact) == nullptr) changes.push_back({fact.group, fact.name, "", fact.value});
  std::ranges::stable_sort(changes, [](const FactChange& a, const FactChange& b) {
    return std::pair(a.group, a.name) < std::pair(b.group, b.name);
  });
  return changes;
}

std::string in_words(const FactChange& change) {
  const char* none = change.group == "settings" ? "unset" : "not known";
  return printable(change.name) + " " + (change.before.empty() ? none : printable(change.before)) + " -> " +
         (change.after.empty() ? none : printable(change.after));
}

}  // namespace angio::history
