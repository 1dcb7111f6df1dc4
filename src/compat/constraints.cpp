// Constraints over tables: driver against its libraries, CUDA against driver, GPU generation against all.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "compat/facts.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::compat {
namespace {

using knowledge::compare_as_given;

// The kernel driver and the libraries that speak to it are of one build.
void driver_agrees(const Stack& stack, Part other, std::vector<Constraint>& out) {
  const std::string* driver = stack.get(Part::kDriver);
  const std::string* second = stack.get(other);
  if (second == nullptr || driver == nullptr) return;
  // Some tools cut the last figure off: "550.54" is no other version than 550.54.15.
  const bool same =
      *driver == *second ||
      (!stack.mismatch && (driver->starts_with(*second + ".") || second->starts_with(*driver + ".")));
  const bool disk = other == Part::kDiskDriver;
  if (same && disk) return;  // said once is enough
  Constraint made{
      .id = disk ? "driver.on-disk" : "driver.user-libraries",
      .verdict = same   ? Verdict::kHolds
                 : disk ? Verdict::kRemark
                        : Verdict::kFails,
      .title = same   ? "Driver and its libraries are of one version"
               : disk ? "Another driver is installed than the one that runs"
                      : "Driver and its libraries are of different versions",
      .explain = same   ? ""
                 : disk ? "The module in memory is replaced at the next reload or restart; then the "
                          "libraries have to fit the new one."
                        : "New GPU programs do not start: NVML answers \"Driver/library version mismatch\".",
      .seen = {seen(stack, Part::kDriver), seen(stack, other)},
      .satisfy = same ? "" : "reload the kernel modules or restart the host",
      .source = "NVML API reference, NVML_ERROR_LIB_RM_VERSION_MISMATCH"};
  out.push_back(std::move(made));
}

void mismatch_reported(const Stack& stack, std::vector<Constraint>& out) {
  const bool said =
      std::ranges::any_of(out, [](const Constraint& one) { return one.verdict == Verdict::kFails; });
  if (!stack.mismatch || said) return;
  Constraint made{.id = "driver.user-libraries",
                  .verdict = Verdict::kFails,
                  .title = "Driver and its libraries are of different versions",
                  .explain = "NVML refused with \"Driver/library version mismatch\".",
                  .satisfy = "reload the kernel modules or restart the host",
                  .source = "NVML API reference, NVML_ERROR_LIB_RM_VERSION_MISMATCH"};
  if (stack.get(Part::kUserDriver) != nullptr) made.seen.push_back(seen(stack, Part::kUserDriver));
  if (stack.get(Part::kDriver) != nullptr) made.seen.push_back(seen(stack, Part::kDriver));
  out.push_back(std::move(made));
}

void fabric_manager(const Stack& stack, std::vector<Constraint>& out) {
  const std::string* driver = stack.get(Part::kDriver);
  const std::string* manager = stack.get(Part::kFabricManager);
  if (driver == nullptr || manager == nullptr) return;
  const bool same = compare_as_given(*driver, *manager) == 0;
  out.push_back({.id = "driver.fabric-manager",
                 .verdict = same ? Verdict::kHolds : Verdict::kFails,
                 .title = same ? "Fabric Manager and driver are of one version"
                               : "Fabric Manager and driver are of different versions",
                 .explain = same
                                ? ""
                                : "The service compares itself with the loaded driver and ends. On a machine "
                                  "with NVSwitch CUDA then answers error 802 (system not yet initialized); "
                                  "without NVSwitch it is not needed.",
                 .seen = {seen(stack, Part::kDriver), seen(stack, Part::kFabricManager)},
                 .satisfy = same ? "" : fmt::format("Fabric Manager {}", *driver),
                 .source = "NVIDIA Fabric Manager user guide, "
                           "docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide (2025)"});
}

void branch_life(const Stack& stack, std::vector<Constraint>& out) {
  const std::string* driver = stack.get(Part::kDriver);
  const auto branch = driver != nullptr ? major_of(*driver) : std::nullopt;
  const auto* row = branch ? knowledge::find_driver_branch(*branch) : nullptr;
  if (row == nullptr) return;
  out.push_back(
      {.id = "driver.branch",
       .verdict = Verdict::kRemark,
       .title = fmt::format("Driver branch {}: {}, end of life {}", *branch, row->kind, row->end_of_life),
       .explain = "",
       .seen = {seen(stack, Part::kDriver)},
       .satisfy = "",
       .source = std::string(row->source)});
}

// By the table of models; a bare "A100" stands for all of them when they agree.
std::optional<bool> data_centre(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (const auto* model = knowledge::find_gpu(name)) return model->data_centre;
  std::optional<bool> answer;
  for (const auto& model : knowledge::gpu_models()) {
    if (!model.match.starts_with(name)) continue;
    if (answer && *answer != model.data_centre) return std::nullopt;
    answer = model.data_centre;
  }
  return answer;
}

bool all_data_centre(const Stack& stack, bool& known) {
  known = !stack.gpus.empty();
  for (const StackGpu& gpu : stack.gpus) {
    const auto answer = data_centre(gpu.name);
    if (!answer) known = false;
    if (answer && !*answer) return false;
  }
  return true;
}

bool listed(const knowledge::ForwardCompat& row, std::uint32_t branch) {
  return std::ranges::find(row.branches, branch) != row.branches.end();
}

// What the forward-compatibility package could do here, as a clause; empty: nothing is listed.
std::string forward_hint(const std::string& cuda, std::uint32_t branch) {
  const auto parts = split(cuda, '.');
  const std::string wanted = fmt::format("{}.{}", parts[0], parts.size() > 1 ? parts[1] : "0");
  const auto* row = knowledge::find_forward_compat(wanted);
  if (row != nullptr && listed(*row, branch))
    return fmt::format("on data-centre GPUs the package cuda-compat-{}-{}", parts[0],
                       parts.size() > 1 ? parts[1] : "0");
  return {};
}

// The branch is below the minimum, but the package is there.
Constraint by_package(const Stack& stack, Constraint made, std::uint32_t branch) {
  const std::string& package = *stack.get(Part::kCudaCompat);
  made.seen.push_back(seen(stack, Part::kCudaCompat));
  const auto* row = knowledge::find_forward_compat(package);
  bool known = false;
  const bool suits = all_data_centre(stack, known);
  if (row != nullptr && listed(*row, branch) && suits) {
    made.verdict = known ? Verdict::kHolds : Verdict::kUnknown;
    made.title = fmt::format("{} runs on driver branch {} by cuda-compat {}", made.title, branch, package);
    made.explain = "Only data-centre GPUs, NGC-ready RTX boards and Jetson may use forward compatibility.";
    if (!known) made.missing = {Part::kGpu};
    made.source = std::string(row->source);
    return made;
  }
  made.verdict = suits ? Verdict::kUnknown : Verdict::kFails;
  made.title =
      fmt::format("{} on driver branch {}: cuda-compat {} is not listed for it", made.title, branch, package);
  made.explain =
      suits
          ? "The table of packages names no such pair; branches past their end of life were dropped from it."
          : "Forward compatibility is refused on this GPU (CUDA error 804).";
  if (row != nullptr) made.source = std::string(row->source);
  return made;
}

// "only older features": the toolkit came with a newer driver than this one.
std::string limits(const std::string& cuda, const std::string& driver) {
  const auto* toolkit = knowledge::find_cuda_toolkit(cuda);
  if (toolkit == nullptr || compare_as_given(driver, toolkit->driver) >= 0) return {};
  return fmt::format(
      "By minor-version compatibility. CUDA {} came with {}: what needs that newer driver, and PTX compiled "
      "at run time "
      "(JIT), does not work.",
      toolkit->name, toolkit->driver);
}

Constraint too_old(const Stack& stack, Constraint made, const knowledge::CudaFamily& family,
                   const std::string& cuda, std::uint32_t branch) {
  if (stack.get(Part::kCudaCompat) != nullptr) return by_package(stack, std::move(made), branch);
  const std::string& driver = *stack.get(Part::kDriver);
  made.verdict = Verdict::kFails;
  const std::string offered = knowledge::newest_cuda_of(driver);
  made.explain =
      fmt::format("CUDA {}.x runs on driver {} or newer; this is branch {}{}.", family.major,
                  family.minimum_driver, branch, offered.empty() ? "" : ", which offers CUDA " + offered);
  const std::string package = forward_hint(cuda, branch);
  made.satisfy = fmt::format("driver {} or newer{}", family.minimum_driver,
                             package.empty() ? "" : fmt::format("; or, {}", package));
  if (package.empty())
    made.explain += fmt::format(
        " No forward-compatibility package is listed for CUDA {} on branch {}; branches past their end of "
        "life were dropped from the table.",
        cuda, branch);
  made.title = fmt::format("Driver {} is too old for {}", driver, made.title);
  return made;
}

// The driver's number is not known, but which CUDA it offers is.
Constraint by_cuda_of_driver(const Stack& stack, Constraint made, const std::string& cuda) {
  const std::string& offered = *stack.get(Part::kCudaDriver);
  made.seen.push_back(seen(stack, Part::kCudaDriver));
  const auto wanted_major = major_of(cuda);
  const auto offered_major = major_of(offered);
  if (wanted_major && offered_major && *offered_major < *wanted_major) {
    made.verdict = Verdict::kFails;
    made.title = fmt::format("The driver offers CUDA {}, too old for {}", offered, made.title);
    made.satisfy = "a newer driver, or the forward-compatibility package on data-centre GPUs";
    return made;
  }
  if (compare_as_given(offered, cuda) < 0 && offered_major == wanted_major)
    made.explain = fmt::format(
        "By minor-version compatibility: what needs a driver of CUDA {}, and PTX compiled at run time (JIT), "
        "does not "
        "work.",
        cuda);
  made.title += fmt::format(" runs on a driver that offers CUDA {}", offered);
  return made;
}

void cuda_on_driver(const Stack& stack, Part part, std::vector<Constraint>& out) {
  const std::string* cuda = stack.get(part);
  const auto major = cuda != nullptr ? major_of(*cuda) : std::nullopt;
  if (!major) return;
  Constraint made{.id = part == Part::kCuda ? "cuda.driver" : fmt::format("{}.driver", word_of(part)),
                  .title = part == Part::kCuda          ? fmt::format("CUDA {}", *cuda)
                           : part == Part::kPytorchCuda ? fmt::format("the CUDA {} of PyTorch", *cuda)
                                                        : fmt::format("the CUDA {} of NCCL", *cuda),
                  .seen = {seen(stack, part)}};
  const knowledge::CudaFamily* family = knowledge::find_cuda(*major);
  const std::string* driver = stack.get(Part::kDriver);
  const std::uint32_t branch = driver != nullptr ? major_of(*driver).value_or(0) : 0;  // 0: not known
  if (family == nullptr) {
    made.verdict = Verdict::kUnknown;
    made.title += ": the table has no driver minimum for this family";
    return out.push_back(std::move(made));
  }
  made.source = std::string(family->source);
  if (branch == 0 && stack.get(Part::kCudaDriver) != nullptr)
    return out.push_back(by_cuda_of_driver(stack, std::move(made), *cuda));
  if (branch == 0) {
    made.verdict = Verdict::kUnknown;
    made.title += fmt::format(" needs driver {} or newer; the driver is not known", family->minimum_driver);
    made.missing = {Part::kDriver};
    return out.push_back(std::move(made));
  }
  made.seen.push_back(seen(stack, Part::kDriver));
  if (branch < family->minimum_driver)
    return out.push_back(too_old(stack, std::move(made), *family, *cuda, branch));
  const auto* floor = knowledge::find_cuda_floor(*major);
  if (floor != nullptr && compare_as_given(*driver, floor->driver) < 0) {
    made.verdict = Verdict::kUnknown;
    made.explain =
        fmt::format("The compatibility guide asks for branch {}, the release notes for {}: {} lies between.",
                    family->minimum_driver, floor->driver, *driver);
    made.satisfy = fmt::format("driver {} or newer", floor->driver);
    made.source += "; " + std::string(floor->source);
    made.title += fmt::format(" on driver {}: the documents disagree", *driver);
    return out.push_back(std::move(made));
  }
  made.explain = limits(*cuda, *driver);
  made.title += fmt::format(" runs on driver {}", *driver);
  out.push_back(std::move(made));
}

void package_fits(const Stack& stack, std::vector<Constraint>& out) {
  const std::string* package = stack.get(Part::kCudaCompat);
  const std::string* driver = stack.get(Part::kDriver);
  // A driver of branch 0 is older than every package.
  const auto branch = driver != nullptr ? major_of(*driver).value_or(0) : 0;
  const auto* row = package != nullptr ? knowledge::find_forward_compat(*package) : nullptr;
  if (row == nullptr || listed(*row, branch) || branch < row->own) return;
  const bool own = branch == row->own;
  out.push_back(
      {.id = "cuda-compat.driver",
       .verdict = own ? Verdict::kRemark : Verdict::kFails,
       .title = own ? fmt::format("cuda-compat {} brings nothing on driver branch {}", *package, branch)
                    : fmt::format("cuda-compat {} is older than driver branch {}", *package, branch),
       .explain =
           own ? "It is made of that very branch."
               : "An older package in the library path hides the driver's newer libraries; CUDA answers "
                 "error 803.",
       .seen = {seen(stack, Part::kCudaCompat), seen(stack, Part::kDriver)},
       .satisfy = "remove the package, or its folder from LD_LIBRARY_PATH",
       .source = std::string(row->source)});
}

// ---- GPU generations

std::string gpu_words(const StackGpu& gpu, const knowledge::GpuArchitecture& row) {
  return fmt::format("{} ({}, compute capability {})", gpu.name.empty() ? "GPU" : gpu.name, row.name,
                     row.capability);
}

void gpu_on_driver(const knowledge::GpuArchitecture& row, Constraint made, const std::string& driver,
                   std::vector<Constraint>& out) {
  const auto branch = major_of(driver);
  if (row.last_driver != 0 && branch && *branch > row.last_driver) {
    made.verdict = Verdict::kFails;
    made.title = fmt::format("Driver {} no longer knows {} GPUs", driver, row.name);
    made.satisfy = fmt::format("a driver of branch {} at most", row.last_driver);
    return out.push_back(std::move(made));
  }
  const auto* toolkit = row.first_toolkit.empty() ? nullptr : knowledge::find_cuda_toolkit(row.first_toolkit);
  if (toolkit == nullptr || compare_as_given(driver, toolkit->driver) >= 0) return;
  made.verdict = Verdict::kUnknown;
  made.title = fmt::format("Driver {} may be too old for {} GPUs", driver, row.name);
  made.explain = fmt::format(
      "The first toolkit that knows them, CUDA {}, came with {}; that an older driver does is not "
      "documented.",
      toolkit->name, toolkit->driver);
  made.satisfy = fmt::format("driver {} or newer", toolkit->driver);
  out.push_back(std::move(made));
}

// NCCL carries PTX of the newest generation that its CUDA knew.
void nccl_built_before(const knowledge::GpuArchitecture& row, Constraint made, const std::string& value,
                       std::vector<Constraint>& out) {
  made.verdict = Verdict::kRemark;
  made.title = fmt::format("NCCL was built for CUDA {}, which is older than {} GPUs", value, row.name);
  made.explain =
      "It may run all the same: NCCL carries PTX, which the driver compiles at the first start, and some "
      "wheels have kernels of newer GPUs added.";
  made.source += "; NVIDIA/nccl makefiles/common.mk, CUDA12_PTX";
  out.push_back(std::move(made));
}

void gpu_against(const Stack& stack, const StackGpu& gpu, const knowledge::GpuArchitecture& row, Part part,
                 std::vector<Constraint>& out) {
  const std::string* value = stack.get(part);
  if (value == nullptr) return;
  Constraint made{.id = fmt::format("gpu.{}", word_of(part)),
                  .explain = "",
                  .seen = {gpu_words(gpu, row), seen(stack, part)},
                  .source = std::string(row.source)};
  const std::string_view first = part == Part::kNccl ? row.first_nccl : row.first_toolkit;
  const std::string_view last = part == Part::kNccl ? std::string_view() : row.last_toolkit;
  if (part == Part::kDriver) return gpu_on_driver(row, std::move(made), *value, out);
  const auto known = knowledge::version_within(*value, first, "");
  if (!known) {
    made.verdict = Verdict::kUnknown;
    made.title =
        fmt::format("{} {}: only {} and newer know {} GPUs", title_of(part), *value, first, row.name);
    made.missing = {part};
    return out.push_back(std::move(made));
  }
  if (!*known && part == Part::kNcclCuda) return nccl_built_before(row, std::move(made), *value, out);
  if (!*known) {
    made.verdict = Verdict::kFails;
    made.title = fmt::format("{} {} is older than {} GPUs", title_of(part), *value, row.name);
    made.satisfy = fmt::format("{} {} or newer", title_of(part), first);
    return out.push_back(std::move(made));
  }
  if (!last.empty() && !knowledge::version_within(*value, "", last).value_or(true)) {
    made.verdict = Verdict::kFails;
    made.title = fmt::format("{} {} no longer knows {} GPUs", title_of(part), *value, row.name);
    made.satisfy = fmt::format("{} {}.x", title_of(part), last);
    return out.push_back(std::move(made));
  }
  if (first.empty()) return;
  made.title = fmt::format("{} {} knows {} GPUs (since {})", title_of(part), *value, row.name, first);
  out.push_back(std::move(made));
}

}  // namespace

void driver_constraints(const Stack& stack, std::vector<Constraint>& out) {
  driver_agrees(stack, Part::kUserDriver, out);
  driver_agrees(stack, Part::kDiskDriver, out);
  mismatch_reported(stack, out);
  fabric_manager(stack, out);
  branch_life(stack, out);
}

void cuda_constraints(const Stack& stack, std::vector<Constraint>& out) {
  std::vector<std::uint32_t> done;
  for (const Part part : {Part::kCuda, Part::kPytorchCuda, Part::kNcclCuda}) {
    const std::string* cuda = stack.get(part);
    const auto major = cuda != nullptr ? major_of(*cuda) : std::nullopt;
    if (!major || std::ranges::find(done, *major) != done.end()) continue;
    done.push_back(*major);
    cuda_on_driver(stack, part, out);
  }
  package_fits(stack, out);
}

void gpu_constraints(const Stack& stack, std::vector<Constraint>& out) {
  std::vector<std::string> done;
  for (const StackGpu& gpu : stack.gpus) {
    const std::string capability =
        gpu.capability.empty() ? std::string(knowledge::capability_of(gpu.name)) : gpu.capability;
    const auto* row = knowledge::find_architecture(capability);
    if (row == nullptr || std::ranges::find(done, capability) != done.end()) continue;
    done.push_back(capability);
    for (const Part part : {Part::kDriver, Part::kCuda, Part::kPytorchCuda, Part::kNcclCuda, Part::kNccl})
      gpu_against(stack, gpu, *row, part, out);
  }
}

}  // namespace angio::compat
