// Drivers and libraries that do not fit each other or the hardware.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>

#include "base/text.hpp"
#include "diagnose/rule.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose {
namespace {

using model::LibraryFile;
using model::Machine;
using model::Process;

// Forward-compatibility packages and link-time stubs carry another version on purpose.
bool stands_apart(const LibraryFile& library) {
  return contains(library.path, "/compat/") || contains(library.path, "/stubs/");
}

bool is_library(const LibraryFile& library, std::string_view stem) {
  return library.name.starts_with(stem) &&
         (library.name.size() == stem.size() || library.name[stem.size()] == '.');
}

std::string process_label(const Process& process) {
  return "process " + std::to_string(process.id) +
         (process.command.empty() ? "" : " (" + process.command + ")");
}

// ---- driver

// A library of another version than the module, if no library agrees with it.
const LibraryFile* disagreeing_library(const Machine& machine, const std::string& loaded) {
  for (const char* stem : {"libcuda.so", "libnvidia-ml.so"}) {
    const LibraryFile* odd = nullptr;
    bool agrees = false;
    for (const LibraryFile& library : machine.software.libraries) {
      if (!is_library(library, stem) || stands_apart(library) || library.version.empty()) continue;
      if (library.version == loaded) agrees = true;
      if (library.version != loaded && odd == nullptr) odd = &library;
    }
    if (odd != nullptr && !agrees) return odd;
  }
  return nullptr;
}

void driver_mismatch(const Machine& machine, Outcome& outcome) {
  const model::Software& software = machine.software;
  const std::string* loaded = software.nvidia_loaded.get();
  const std::string* error = software.nvml_error.get();
  if (!has_nvidia_gpu(machine) && loaded == nullptr) return outcome.not_applicable();
  const bool says_mismatch = error != nullptr && contains(to_lower(*error), "mismatch");
  const LibraryFile* odd = loaded != nullptr ? disagreeing_library(machine, *loaded) : nullptr;
  // NVML answered with the module's version: whatever else lies on the disk, the right library is found
  // first.
  if (loaded != nullptr && software.nvml_driver.is(*loaded)) odd = nullptr;
  if (!says_mismatch && odd == nullptr) {
    if (loaded == nullptr) gap(outcome, "version of the loaded NVIDIA module", software.nvidia_loaded);
    return;
  }
  Draft draft{.title = "NVIDIA driver and libraries are of different versions", .rank = 1};
  if (loaded != nullptr)
    draft.evidence.push_back(seen(machine, software.nvidia_loaded.source(), "module in memory " + *loaded));
  if (odd != nullptr)
    draft.evidence.push_back(seen(machine, odd->source, odd->name + " " + odd->version + ", " + odd->path));
  if (says_mismatch) draft.evidence.push_back(seen(machine, software.nvml_error.source(), "NVML: " + *error));
  if (const std::string* disk = software.nvidia_on_disk.get()) {
    draft.evidence.push_back(seen(machine, software.nvidia_on_disk.source(), "module on disk " + *disk));
  }
  draft.cost.text = "new GPU processes do not start";
  outcome.fire(std::move(draft));
}

void driver_reload_pending(const Machine& machine, Outcome& outcome) {
  const model::Software& software = machine.software;
  const std::string* loaded = software.nvidia_loaded.get();
  const std::string* disk = software.nvidia_on_disk.get();
  if (software.nvidia_loaded.is_absent()) return outcome.not_applicable();
  if (loaded == nullptr) return gap(outcome, "version of the loaded NVIDIA module", software.nvidia_loaded);
  if (disk == nullptr) return gap(outcome, "version of the NVIDIA module on disk", software.nvidia_on_disk);
  if (*disk == *loaded || disagreeing_library(machine, *loaded) != nullptr) return;
  outcome.fire({.title = "NVIDIA driver " + *disk + " is installed, " + *loaded + " still runs",
                .evidence = {seen(machine, software.nvidia_loaded.source(), "module in memory " + *loaded),
                             seen(machine, software.nvidia_on_disk.source(), "module on disk " + *disk)}});
}

// ---- CUDA against the driver

// Their file names carry the CUDA major; others (cuFFT, cuDNN) count by themselves.
constexpr std::array<std::string_view, 4> kCudaLibraries = {"libcudart.so", "libcublas.so", "libcublasLt.so",
                                                            "libnvrtc.so"};

std::optional<std::uint32_t> number_after(std::string_view text, std::string_view stem) {
  const std::string_view rest = text.substr(std::min(stem.size() + 1, text.size()));
  return parse_integer<std::uint32_t>(rest.substr(0, rest.find('.')));
}

// "libcudart.so.12" → 12.
std::optional<std::uint32_t> cuda_major(const LibraryFile& library) {
  for (const std::string_view stem : kCudaLibraries) {
    if (is_library(library, stem)) {
      if (const auto major = number_after(library.name, stem)) return major;
      return library.version.empty() ? std::nullopt
                                     : parse_integer<std::uint32_t>(split(library.version, '.').front());
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> branch_of(const std::string& driver) {
  return parse_integer<std::uint32_t>(split(driver, '.').front());
}

struct Demand {
  std::uint32_t major = 0;
  std::uint32_t minimum = 0;
  const LibraryFile* library = nullptr;
  const Process* process = nullptr;  // null: merely installed
};

// The library that asks for the newest driver, if that is newer than branch.
void demand(const std::vector<LibraryFile>& libraries, const Process* process, std::uint32_t branch,
            std::optional<Demand>& worst) {
  for (const LibraryFile& library : libraries) {
    const auto major = cuda_major(library);
    const knowledge::CudaFamily* family = major ? knowledge::find_cuda(*major) : nullptr;
    if (family == nullptr || branch >= family->minimum_driver) continue;
    if (worst && worst->minimum >= family->minimum_driver) continue;
    worst = {*major, family->minimum_driver, &library, process};
  }
}

std::string supported_families(std::uint32_t branch) {
  std::uint32_t best = 0;
  for (std::uint32_t major = 11; major < 64; ++major) {  // CUDA majors, oldest known first
    const knowledge::CudaFamily* family = knowledge::find_cuda(major);
    if (family != nullptr && family->minimum_driver <= branch) best = major;
  }
  return best == 0 ? "10 or older" : std::to_string(best);
}

void cuda_driver_too_old(const Machine& machine, Outcome& outcome) {
  const auto& driver = machine.software.nvidia_loaded.is_known() ? machine.software.nvidia_loaded
                                                                 : machine.software.nvml_driver;
  if (driver.is_absent()) return outcome.not_applicable();
  if (!driver.is_known()) return gap(outcome, "version of the loaded NVIDIA driver", driver);
  const auto branch = branch_of(*driver.get());
  if (!branch)
    return outcome.undecided("driver version " + *driver.get() + " is not understood",
                             "nothing: angio does not know this form of a driver version");
  std::optional<Demand> worst;
  for (const Process& process : machine.processes) {
    if (!std::ranges::any_of(process.libraries, stands_apart))
      demand(process.libraries, &process, *branch, worst);
  }
  const bool has_compat = std::ranges::any_of(machine.software.libraries, stands_apart);
  if (!worst && !has_compat) demand(machine.software.libraries, nullptr, *branch, worst);
  if (!worst) return;
  const std::string minimum = std::to_string(worst->minimum);
  const std::string where =
      worst->process != nullptr ? process_label(*worst->process) + " has " : "installed: ";
  Draft draft{.title = "Driver " + *driver.get() + " is too old for CUDA " + std::to_string(worst->major) +
                       ", which needs " + minimum,
              .evidence = {seen(machine, driver.source(), "driver " + *driver.get()),
                           seen(machine, worst->library->source, where + worst->library->path)},
              .words = {{"minimum", minimum}, {"supported", supported_families(*branch)}}};
  if (worst->process == nullptr) draft.severity = model::Severity::kWarning;
  outcome.fire(std::move(draft));
}

// ---- NCCL

bool is_nccl(const LibraryFile& library) {
  return is_library(library, "libnccl.so");
}

struct NcclCopy {
  const LibraryFile* library;
  const Process* process;  // null: installed
};

// Mapped copies, or the installed ones when no process has any.
std::vector<NcclCopy> nccl_copies(const Machine& machine) {
  std::vector<NcclCopy> copies;
  for (const Process& process : machine.processes) {
    for (const LibraryFile& library : process.libraries) {
      if (is_nccl(library)) copies.push_back({&library, &process});
    }
  }
  if (!copies.empty()) return copies;
  for (const LibraryFile& library : machine.software.libraries) {
    if (is_nccl(library)) copies.push_back({&library, nullptr});
  }
  return copies;
}

model::Evidence nccl_evidence(const Machine& machine, const NcclCopy& copy) {
  const std::string who = copy.process != nullptr ? process_label(*copy.process) + " has " : "installed: ";
  return seen(machine, copy.library->source,
              who + "NCCL " + (copy.library->version.empty() ? "of unknown version" : copy.library->version) +
                  ", " + copy.library->path);
}

void unknown_nccl(const NcclCopy& copy, Outcome& outcome) {
  outcome.undecided("version of " + copy.library->path + ": the file name does not say",
                    "the NCCL_DEBUG=VERSION line of the job, or pip show nvidia-nccl-cu12");
}

// Copies for which `bad` holds; each distinct library once.
template <typename Bad>
std::vector<NcclCopy> judge_nccl(const Machine& machine, Outcome& outcome, Bad bad) {
  const std::vector<NcclCopy> copies = nccl_copies(machine);
  if (copies.empty()) outcome.not_applicable();
  std::vector<NcclCopy> found;
  std::set<std::string_view> done;
  for (const NcclCopy& copy : copies) {
    if (!done.insert(copy.library->path).second) continue;
    if (copy.library->version.empty()) {
      unknown_nccl(copy, outcome);
    } else if (bad(copy.library->version)) {
      found.push_back(copy);
    }
  }
  return found;
}

void nccl_two_loaded(const Machine& machine, Outcome& outcome) {
  bool any = false;
  for (const Process& process : machine.processes) {
    std::set<std::string> paths;
    std::vector<model::Evidence> evidence;
    for (const LibraryFile& library : process.libraries) {
      if (is_nccl(library) && paths.insert(library.path).second) {
        evidence.push_back(nccl_evidence(machine, {&library, &process}));
      }
    }
    any = any || !paths.empty();
    if (paths.size() < 2) continue;
    outcome.fire(
        {.title = process_label(process) + " has " + std::to_string(paths.size()) + " NCCL libraries mapped",
         .devices = {std::to_string(process.id)},
         .evidence = std::move(evidence),
         .words = {{"pid", std::to_string(process.id)}}});
  }
  if (!any) outcome.not_applicable();
}

bool from_python(const std::string& path) {
  return contains(path, "/site-packages/") || contains(path, "/dist-packages/");
}

void nccl_older_loaded(const Machine& machine, Outcome& outcome) {
  const std::vector<NcclCopy> copies = nccl_copies(machine);
  if (copies.empty() || copies.front().process == nullptr) return outcome.not_applicable();
  std::set<std::string_view> done;
  for (const NcclCopy& copy : copies) {
    if (from_python(copy.library->path) || !done.insert(copy.library->path).second) continue;
    for (const LibraryFile& installed : machine.software.libraries) {
      if (!is_nccl(installed) || !from_python(installed.path)) continue;
      const auto order = knowledge::compare_versions(copy.library->version, installed.version);
      if (!order) {
        unknown_nccl(installed.version.empty() ? NcclCopy{&installed, nullptr} : copy, outcome);
      } else if (*order < 0) {
        outcome.fire(
            {.title = process_label(*copy.process) + " runs NCCL " + copy.library->version +
                      ", not the installed " + installed.version,
             .devices = {std::to_string(copy.process->id)},
             .evidence = {nccl_evidence(machine, copy), nccl_evidence(machine, {&installed, nullptr})},
             .words = {{"pid", std::to_string(copy.process->id)}}});
        break;
      }
    }
  }
}

void nccl_thread_mask(const Machine& machine, Outcome& outcome) {
  const knowledge::NcclFact* fact = knowledge::find_nccl_fact("thread-mask");
  const auto bad = [&](const std::string& version) {
    return fact != nullptr && knowledge::holds(*fact, version);
  };
  for (const NcclCopy& copy : judge_nccl(machine, outcome, bad)) {
    Draft draft{.title = "NCCL " + copy.library->version + " leaves threads on the CPUs it chose",
                .evidence = {nccl_evidence(machine, copy)}};
    if (copy.process != nullptr) {
      draft.devices = {std::to_string(copy.process->id)};
      draft.words["pid"] = std::to_string(copy.process->id);
    } else {
      draft.severity = model::Severity::kInfo;
    }
    outcome.fire(std::move(draft));
  }
}

// The first release that knows the newest GPU here; null when there is none to ask for.
const knowledge::NcclFact* needed_for_gpus(const Machine& machine, const model::Gpu*& newest) {
  newest = nullptr;
  for (const model::Gpu& gpu : machine.gpus) {
    if (!gpu.compute_capability.is_known()) continue;
    if (newest == nullptr || gpu.compute_capability.get()->major > newest->compute_capability.get()->major)
      newest = &gpu;
  }
  if (newest == nullptr) return nullptr;
  const std::uint32_t major = newest->compute_capability.get()->major;
  // Compute capabilities by generation: 8 Ampere, 9 Hopper, 10 and up Blackwell (CUDA C++ Programming Guide).
  return major >= 10  ? knowledge::find_nccl_fact("blackwell")
         : major == 9 ? knowledge::find_nccl_fact("hopper")
         : major == 8 ? knowledge::find_nccl_fact("ampere")
                      : nullptr;
}

void nccl_too_old(const Machine& machine, Outcome& outcome) {
  if (!has_nvidia_gpu(machine)) return outcome.not_applicable();
  const model::Gpu* newest = nullptr;
  const knowledge::NcclFact* fact = needed_for_gpus(machine, newest);
  if (newest == nullptr)
    return gap(outcome, "compute capability of the GPUs", machine.gpus.front().compute_capability,
               Asked::kNvml);
  if (fact == nullptr) return;
  const auto bad = [&](const std::string& version) {
    return knowledge::compare_versions(version, fact->since).value_or(0) < 0;
  };
  const std::vector<NcclCopy> copies = judge_nccl(machine, outcome, bad);
  if (copies.empty()) return;
  // An old copy beside a good one, used by nobody, harms nobody.
  if (copies.front().process == nullptr && copies.size() < nccl_copies(machine).size()) return;
  const auto& capability = *newest->compute_capability.get();
  const std::string sm = std::to_string(capability.major) + "." + std::to_string(capability.minor);
  outcome.fire(
      {.title = "NCCL " + copies.front().library->version + " is older than GPUs of compute capability " + sm,
       .devices = {gpu_label(*newest)},
       .evidence = {nccl_evidence(machine, copies.front()),
                    seen(machine, newest->compute_capability.source(), gpu_label(*newest) + " has " + sm)},
       .words = {{"minimum", std::string(fact->since)}}});
}

void nccl_old_pcie_speeds(const Machine& machine, Outcome& outcome) {
  const knowledge::NcclFact* fact = knowledge::find_nccl_fact("old-pcie-speeds");
  const auto bad = [&](const std::string& version) {
    return fact != nullptr && knowledge::holds(*fact, version);
  };
  const std::vector<NcclCopy> copies = judge_nccl(machine, outcome, bad);
  if (copies.empty()) return;
  const std::string* kernel = machine.software.kernel.get();
  if (kernel == nullptr) return gap(outcome, "kernel version", machine.software.kernel);
  const std::string plain = kernel->substr(0, kernel->find_first_not_of("0123456789."));
  const auto parts = split(plain, '.');
  const std::string release = parts.size() > 1 ? std::string(parts[0]) + "." + std::string(parts[1]) : plain;
  // 5.7 is where the words changed; the source stands in data/compatibility.toml, old-pcie-speeds.
  if (knowledge::compare_versions(release, "5.7").value_or(-1) < 0) return;
  const auto gen3 = knowledge::pcie_speed(3);
  const auto fast = std::ranges::find_if(machine.pci.devices, [&](const model::PciDevice& device) {
    return device.link_max.is_known() && gen3 && device.link_max.get()->speed > *gen3;
  });
  if (fast == machine.pci.devices.end()) return;
  outcome.fire({.title = "NCCL " + copies.front().library->version +
                         " takes PCIe links for Gen3 under kernel " + *kernel,
                .evidence = {nccl_evidence(machine, copies.front()),
                             seen(machine, machine.software.kernel.source(), "kernel " + *kernel),
                             seen(machine, fast->link_max.source(),
                                  to_string(fast->address) + " is faster than Gen3")}});
}

constexpr std::array kRules = {
    Rule{"version.driver.mismatch", driver_mismatch},
    Rule{"version.driver.reload-pending", driver_reload_pending},
    Rule{"version.cuda.driver-too-old", cuda_driver_too_old},
    Rule{"version.nccl.two-loaded", nccl_two_loaded},
    Rule{"version.nccl.older-loaded", nccl_older_loaded},
    Rule{"version.nccl.thread-mask", nccl_thread_mask},
    Rule{"version.nccl.too-old-for-gpu", nccl_too_old},
    Rule{"version.nccl.old-pcie-speeds", nccl_old_pcie_speeds},
};

}  // namespace

std::span<const Rule> version_rules() {
  return kRules;
}

}  // namespace angio::diagnose
