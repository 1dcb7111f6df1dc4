// Constraints of NCCL, of what loads it and what it loads, and of adapter firmware.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "compat/facts.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::compat {
namespace {

using knowledge::compare_as_given;
using knowledge::compare_versions;

void loaded_is_installed(const Stack& stack, std::vector<Constraint>& out) {
  const std::string* loaded = stack.get(Part::kNccl);
  const std::string* installed = stack.get(Part::kNcclInstalled);
  if (loaded == nullptr || installed == nullptr || compare_as_given(*loaded, *installed) == 0) return;
  const bool newer_installed = compare_versions(*loaded, *installed).value_or(0) < 0;
  out.push_back(
      {.id = "nccl.loaded",
       .verdict = newer_installed ? Verdict::kFails : Verdict::kRemark,
       .title = fmt::format("NCCL {} runs, {} is installed", *loaded, *installed),
       .explain = newer_installed
                      ? "The loader took an older copy than the package that was meant: new symbols "
                        "are missing, and settings are read as the older release does."
                      : "The job runs a newer copy than this package: what the package says does "
                        "not count.",
       .seen = {seen(stack, Part::kNccl), seen(stack, Part::kNcclInstalled)},
       .satisfy = newer_installed ? "take the older copy's folder out of LD_LIBRARY_PATH or LD_PRELOAD" : "",
       .source = "ld.so(8), library search order; github.com/verl-project/verl pull request 6621"});
}

// The tables hold builds that were seen, so only an answer of "seen" is one.
void build_for_cuda(const Stack& stack, std::vector<Constraint>& out) {
  const std::string* nccl = stack.get(Part::kNccl);
  const std::string* cuda = stack.get(Part::kCuda);
  const auto major = cuda != nullptr ? major_of(*cuda) : std::nullopt;
  if (nccl == nullptr || !major) return;
  if (const std::string* built = stack.get(Part::kNcclCuda)) {
    const auto own = major_of(*built);
    if (!own || *own == *major) return;
    return out.push_back(
        {.id = "nccl.cuda-build",
         .verdict = Verdict::kRemark,
         .title = fmt::format("NCCL was built for CUDA {}, the program uses {}", *built, *cuda),
         .explain = "NCCL brings its own runtime inside, so the two live side by side; both need a "
                    "driver that is new enough.",
         .seen = {seen(stack, Part::kNcclCuda), seen(stack, Part::kCuda)},
         .satisfy = "",
         .source = "NVIDIA/nccl makefiles: libcudart_static"});
  }
  std::string_view earliest;
  std::string_view evidence;
  for (const auto& build : knowledge::nccl_builds()) {
    const bool of_major = std::ranges::any_of(
        build.cuda, [&](std::string_view one) { return major_of(std::string(one)) == major; });
    if (!of_major) continue;
    if (build.nccl == *nccl) return;  // seen: nothing to say
    if (earliest.empty() || compare_versions(build.nccl, earliest).value_or(0) < 0) {
      earliest = build.nccl;
      evidence = build.source;
    }
  }
  // For CUDA 12 a document names the first release: a requirement of its own.
  constexpr std::uint32_t kFirstWithoutDocument = 13;
  if (*major < kFirstWithoutDocument || earliest.empty() || compare_as_given(*nccl, earliest) >= 0) return;
  out.push_back(
      {.id = "nccl.cuda-build",
       .verdict = Verdict::kUnknown,
       .title = fmt::format("No build of NCCL {} for CUDA {} is known", *nccl, *major),
       .explain = fmt::format("The earliest that was seen is {}; an older one may exist.", earliest),
       .seen = {seen(stack, Part::kNccl), seen(stack, Part::kCuda)},
       .missing = {Part::kNcclCuda},
       .satisfy = fmt::format("NCCL {} or newer", earliest),
       .source = std::string(evidence)});
}

// The wheel of this PyTorch and CUDA; the first of the release when the CUDA is not known.
const knowledge::FrameworkBuild* wheel_of(const Stack& stack) {
  const std::string* torch = stack.get(Part::kPytorch);
  const std::string* cuda = stack.get(Part::kPytorchCuda);
  const knowledge::FrameworkBuild* found = nullptr;
  if (torch == nullptr) return nullptr;
  for (const auto& build : knowledge::framework_builds()) {
    if (build.version != *torch) continue;
    if (cuda != nullptr && build.cuda == *cuda) return &build;
    // Wheels of one release bring one NCCL in every pair that was seen; another CUDA may still differ.
    if (cuda == nullptr && found == nullptr) found = &build;
  }
  return found;
}

void bundled_with_pytorch(const Stack& stack, std::vector<Constraint>& out) {
  const auto* wheel = wheel_of(stack);
  const Part part = stack.get(Part::kNccl) != nullptr ? Part::kNccl : Part::kNcclInstalled;
  const std::string* nccl = stack.get(part);
  if (wheel == nullptr) return;
  const bool same = nccl != nullptr && compare_as_given(*nccl, wheel->nccl) == 0;
  Constraint made{
      .id = "pytorch.nccl",
      .verdict = nccl == nullptr || !same ? Verdict::kRemark : Verdict::kHolds,
      .title = fmt::format("The wheel of PyTorch {} for CUDA {} asks for NCCL {}{}", wheel->version,
                           wheel->cuda, wheel->nccl, same ? ", which is here" : ""),
      .explain = nccl == nullptr ? "Which NCCL runs is not known: torch.cuda.nccl.version(), or the job with "
                                   "NCCL_DEBUG=VERSION."
                 : same          ? ""
                                 : "Another one runs here: a build of its own (NVIDIA's containers), an "
                                   "override, or the system's copy.",
      .seen = {seen(stack, Part::kPytorch)},
      .satisfy = "",
      .source = std::string(wheel->source)};
  if (nccl != nullptr) made.seen.push_back(seen(stack, part));
  out.push_back(std::move(made));
}

void plugin_interface(const Stack& stack, Part part, std::string_view kind, std::vector<Constraint>& out) {
  const std::string* version = stack.get(part);
  const auto number = version != nullptr ? major_of(*version) : std::nullopt;
  if (!number) return;
  Constraint made{.id = fmt::format("nccl.{}-plugin", kind), .seen = {seen(stack, part)}};
  const std::string* nccl = stack.get(Part::kNccl);
  if (nccl == nullptr) {
    made.verdict = Verdict::kUnknown;
    made.title = fmt::format("{} plugin v{}: which NCCL loads it is not known", kind, *number);
    made.missing = {Part::kNccl};
    return out.push_back(std::move(made));
  }
  made.seen.push_back(seen(stack, Part::kNccl));
  const auto* api = knowledge::find_plugin_api(kind, *nccl);
  if (api == nullptr) {
    made.verdict = Verdict::kUnknown;
    made.title = fmt::format("{} plugin v{}: the table does not reach back to NCCL {}", kind, *number, *nccl);
    return out.push_back(std::move(made));
  }
  const bool fits = *number >= api->oldest && *number <= api->newest;
  made.verdict = fits ? Verdict::kHolds : Verdict::kFails;
  made.title = fits ? fmt::format("NCCL {} takes {} plugins v{}", *nccl, kind, *number)
                    : fmt::format("NCCL {} takes {} plugins v{} to v{}, not v{} alone", *nccl, kind,
                                  api->oldest, api->newest, *number);
  if (!fits) {
    made.explain = kind == "net"
                       ? "The plugin is passed over and NCCL uses its own InfiniBand or socket transport."
                       : "The plugin is passed over.";
    made.satisfy = fmt::format("a plugin that exports one of v{} to v{}", api->oldest, api->newest);
  }
  made.source = std::string(api->source);
  out.push_back(std::move(made));
}

const knowledge::DocaRelease* doca_release(const std::string& wanted) {
  for (const auto& row : knowledge::doca_releases())
    if (row.release == wanted) return &row;
  return nullptr;
}

}  // namespace

void nccl_constraints(const Stack& stack, std::vector<Constraint>& out) {
  loaded_is_installed(stack, out);
  build_for_cuda(stack, out);
  bundled_with_pytorch(stack, out);
  plugin_interface(stack, Part::kNetPlugin, "net", out);
  plugin_interface(stack, Part::kTunerPlugin, "tuner", out);
  plugin_interface(stack, Part::kProfilerPlugin, "profiler", out);
}

void firmware_constraints(const Stack& stack, std::vector<Constraint>& out) {
  const std::string* doca = stack.get(Part::kDoca);
  if (doca == nullptr || stack.firmware.empty()) return;
  const auto* release = doca_release(*doca);
  if (release == nullptr) {
    return out.push_back({.id = "firmware.doca",
                          .verdict = Verdict::kUnknown,
                          .title = fmt::format("The firmware of DOCA {} is not in the table", *doca),
                          .seen = {seen(stack, Part::kDoca)}});
  }
  for (const Firmware& one : stack.firmware) {
    const auto* adapter = knowledge::find_adapter_of(one.version);
    const auto row = adapter == nullptr ? release->firmware.end()
                                        : std::ranges::find(release->firmware, adapter->name,
                                                            &knowledge::DocaFirmware::adapter);
    if (row == release->firmware.end()) continue;
    const int order = compare_versions(one.version, row->firmware).value_or(0);
    const std::string device =
        one.device.empty() ? std::string(adapter->name) : fmt::format("{} ({})", one.device, adapter->name);
    out.push_back(
        {.id = "firmware.doca",
         .verdict = order == 0 ? Verdict::kHolds : Verdict::kRemark,
         .title = fmt::format("{}: firmware {} {} DOCA {}", device, one.version,
                              order == 0  ? "is that of"
                              : order < 0 ? "is older than that of"
                                          : "is newer than that of",
                              *doca),
         .explain = order == 0 ? "" : fmt::format("DOCA {} was released with {}.", *doca, row->firmware),
         .seen = {one.where.empty() ? one.version : fmt::format("{} ({})", one.version, one.where),
                  seen(stack, Part::kDoca)},
         .satisfy = order < 0 ? fmt::format("firmware {}", row->firmware) : "",
         .source = std::string(release->source)});
  }
}

}  // namespace angio::compat
