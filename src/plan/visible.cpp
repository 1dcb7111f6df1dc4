#include "plan/visible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::plan {
namespace {

using model::GpuVendor;

constexpr std::string_view kCuda = "CUDA_VISIBLE_DEVICES";
constexpr std::string_view kRocr = "ROCR_VISIBLE_DEVICES";
constexpr std::string_view kHip = "HIP_VISIBLE_DEVICES";
constexpr std::string_view kGpuPrefix = "GPU-";
constexpr std::string_view kMigPrefix = "MIG-";

// One list and what its numbers count.
struct List {
  const model::Machine& machine;
  std::string_view variable;
  std::vector<VisibleGpu> numbered;  // what number i of the list means
  bool cuda = true;                  // else ROCr's and HIP's rules
};

enum class Meaning : std::uint8_t { kGpu, kNone, kInvalid };

struct Word {
  Meaning meaning = Meaning::kInvalid;
  VisibleGpu gpu;
  std::string trouble;    // kInvalid: what is wrong
  bool trailing = false;  // characters behind the number, which CUDA skips
};

Word invalid(std::string trouble) {
  Word word;
  word.trouble = std::move(trouble);
  return word;
}

Word names(VisibleGpu gpu) {
  Word word;
  word.meaning = Meaning::kGpu;
  word.gpu = std::move(gpu);
  return word;
}

bool says_none(std::string_view text) {
  const std::string word = to_lower(text);
  // Slurm writes NoDevFiles for a step without GPUs; the container toolkits know none and void.
  return word == "none" || word == "nodevfiles" || word == "void" || word == "no_dev_files";
}

// strtoul's manner: digits first, the rest is skipped by CUDA and ends the list with ROCr.
Word read_number(const List& list, std::string_view text) {
  if (says_none(text)) return {Meaning::kNone, {}, {}, false};
  std::size_t end = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9')
    ++end;
  const bool plus = text.starts_with('+');
  const auto number = parse_integer<std::int64_t>(text.substr(plus ? 1 : 0, end - (plus ? 1 : 0)));
  if (!number) return invalid("is neither a number nor a UUID");
  if (*number < 0) return {Meaning::kNone, {}, {}, false};
  if (end < text.size() && !list.cuda) return invalid("is no number");
  if (static_cast<std::uint64_t>(*number) >= list.numbered.size()) {
    return invalid(fmt::format("is out of range: there {} {}", list.numbered.size() == 1 ? "is" : "are",
                               count_of(list.numbered.size(), "GPU")));
  }
  Word word = names(list.numbered[static_cast<std::size_t>(*number)]);
  word.gpu.device = std::string(text);
  word.trailing = end < text.size();
  return word;
}

// "GPU-1f3a": the beginning of one GPU's UUID.
Word read_uuid(const List& list, std::string_view text) {
  const std::string wanted = to_lower(text);
  std::vector<std::uint32_t> matches;
  bool any_known = false;
  for (const VisibleGpu& each : list.numbered) {
    const std::string* uuid = each.gpu ? list.machine.gpus[*each.gpu].uuid.get() : nullptr;
    any_known = any_known || uuid != nullptr;
    if (uuid != nullptr && to_lower(*uuid).starts_with(wanted)) matches.push_back(*each.gpu);
  }
  if (matches.size() == 1) return names({matches.front(), std::string(text), false});
  if (!any_known) return names({std::nullopt, std::string(text), false});
  if (matches.empty()) {
    return invalid(fmt::format("is the UUID of none of {}", count_of(list.numbered.size(), "GPU")));
  }
  return invalid(fmt::format("begins the UUIDs of {} GPUs: write more of it", matches.size()));
}

// "MIG-GPU-<uuid>/<gpu instance>/<compute instance>", or since driver 470 a UUID of the MIG device's own,
// which only leads to a GPU when no other is in MIG mode.
Word read_mig(const List& list, std::string_view text) {
  const std::string_view inner = text.substr(kMigPrefix.size());
  if (inner.starts_with(kGpuPrefix)) {
    Word word = read_uuid(list, inner.substr(0, inner.find('/')));
    word.gpu.device = std::string(text);
    word.gpu.slice = true;
    return word;
  }
  std::vector<std::uint32_t> in_mig_mode;
  for (const VisibleGpu& each : list.numbered) {
    if (each.gpu && list.machine.gpus[*each.gpu].mig.is(true)) in_mig_mode.push_back(*each.gpu);
  }
  VisibleGpu device{std::nullopt, std::string(text), true};
  if (in_mig_mode.size() == 1) device.gpu = in_mig_mode.front();
  if (list.numbered.size() == 1) device.gpu = list.numbered.front().gpu;
  return names(std::move(device));
}

enum class Form : std::uint8_t { kNumber, kUuid, kMig };

Form form_of(std::string_view text) {
  if (text.starts_with(kMigPrefix)) return Form::kMig;
  return text.starts_with(kGpuPrefix) ? Form::kUuid : Form::kNumber;
}

Word read_word(const List& list, std::string_view text, Form first) {
  const Form form = form_of(text);
  // CUDA takes the form of the first word for all.
  if (list.cuda && form != first) return invalid("is written in another form than the first word");
  if (form == Form::kMig && list.cuda) return read_mig(list, text);
  return form == Form::kUuid ? read_uuid(list, text) : read_number(list, text);
}

bool same(const VisibleGpu& a, const VisibleGpu& b) {
  if (a.slice || b.slice || !a.gpu || !b.gpu) return a.device == b.device;
  return *a.gpu == *b.gpu;
}

model::Note note(std::string id, std::string text, std::string remedy = {}) {
  return {std::move(id), std::move(text), 1, std::move(remedy)};
}

std::string quoted(const List& list, std::string_view text) {
  return fmt::format("{}: \"{}\"", list.variable, printable(text));
}

// The words up to the first that counts no more.
Result<std::vector<VisibleGpu>> read_list(const List& list, std::string_view text,
                                          std::vector<model::Note>& notes) {
  std::vector<VisibleGpu> seen;
  text = trim(text);
  if (text.empty()) {
    notes.push_back(
        note("plan.gpu.none-visible", fmt::format("{} is empty: no GPU is visible", list.variable)));
    return seen;
  }
  const Form first = form_of(text);
  for (const std::string_view part : split(text, ',')) {
    const std::string_view item = trim(part);
    Word word = read_word(list, item, first);
    if (word.meaning == Meaning::kNone && seen.empty()) {
      notes.push_back(note("plan.gpu.none-visible", quoted(list, item) + " means no GPU"));
      return seen;
    }
    if (word.meaning != Meaning::kGpu) {
      if (word.trouble.empty()) word.trouble = "is no device";
      if (seen.empty()) {
        return fail(ErrorCode::kInvalidInput, quoted(list, item) + " " + word.trouble,
                    "no GPU would be visible: correct the variable or unset it");
      }
      notes.push_back(
          note("plan.gpu.list-ends",
               fmt::format("{} {}; the list ends there, {} visible", quoted(list, item), word.trouble,
                           count_of(seen.size(), "GPU") + (seen.size() == 1 ? " is" : " are")),
               "correct or remove the word"));
      return seen;
    }
    if (word.trailing) {
      notes.push_back(note("plan.gpu.trailing", quoted(list, item) + " is read as its leading number",
                           "write the number alone"));
    }
    if (std::ranges::any_of(seen, [&](const VisibleGpu& other) { return same(other, word.gpu); })) {
      const char* then = list.cuda ? "names a device twice: CUDA then shows none at all"
                                   : "names a device twice; the list ends there";
      notes.push_back(note("plan.gpu.duplicate", quoted(list, text) + " " + then, "name each device once"));
      if (list.cuda) seen.clear();
      return seen;
    }
    seen.push_back(std::move(word.gpu));
  }
  return seen;
}

GpuVendor vendor_group(const model::Gpu& gpu) {
  // A matrix or a text without vendors is nvidia-smi's more often than not.
  return gpu.vendor == GpuVendor::kUnknown ? GpuVendor::kNvidia : gpu.vendor;
}

bool has_vendor(const model::Machine& machine, GpuVendor vendor) {
  return std::ranges::any_of(machine.gpus,
                             [&](const model::Gpu& gpu) { return vendor_group(gpu) == vendor; });
}

// Ranks use one vendor's GPUs. Next to a data centre's cards the others drive a display.
GpuVendor choose_vendor(const model::Machine& machine, const VisibleDevices& variables) {
  const bool amd_named = variables.rocr.has_value() || variables.hip.has_value();
  if (amd_named && has_vendor(machine, GpuVendor::kAmd) && !variables.cuda) return GpuVendor::kAmd;
  for (const GpuVendor vendor : {GpuVendor::kNvidia, GpuVendor::kAmd}) {
    if (has_vendor(machine, vendor)) return vendor;
  }
  return GpuVendor::kIntel;
}

// A container shows all GPUs in sysfs, but the library and CUDA count only those it was given.
std::vector<VisibleGpu> counted(const model::Machine& machine, const std::vector<std::uint32_t>& all) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  for (const std::uint32_t gpu : all) {
    if (const std::uint32_t* number = machine.gpus[gpu].library_index.get()) order.emplace_back(*number, gpu);
  }
  if (order.empty()) {
    for (const std::uint32_t gpu : all)
      order.emplace_back(gpu, gpu);
  }
  std::ranges::sort(order);
  std::vector<VisibleGpu> numbered;
  for (const auto& [number, gpu] : order)
    numbered.push_back({gpu, std::to_string(numbered.size()), false});
  return numbered;
}

bool alike(const model::Machine& machine, const model::Gpu& a, const model::Gpu& b) {
  if (a.name.is_known() && b.name.is_known()) return *a.name.get() == *b.name.get();
  const auto& devices = machine.pci.devices;
  if (!a.pci || !b.pci || *a.pci >= devices.size() || *b.pci >= devices.size()) return true;
  return devices[*a.pci].vendor == devices[*b.pci].vendor && devices[*a.pci].device == devices[*b.pci].device;
}

// Without CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA counts the fastest first: the same order for equal GPUs,
// a guess for others.
void check_order(const model::Machine& machine, const std::vector<VisibleGpu>& numbered,
                 const VisibleDevices& variables, std::vector<model::Note>& notes) {
  const std::string order = variables.cuda_order.value_or("FASTEST_FIRST");
  if (order != "FASTEST_FIRST" && order != "PCI_BUS_ID") {
    notes.push_back(note(
        "plan.gpu.order-unknown",
        fmt::format("CUDA_DEVICE_ORDER: \"{}\" is neither FASTEST_FIRST nor PCI_BUS_ID", printable(order)),
        "export CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  }
  if (order == "PCI_BUS_ID" || numbered.size() < 2) return;
  if (variables.cuda && form_of(trim(*variables.cuda)) != Form::kNumber) return;
  const model::Gpu& first = machine.gpus[*numbered.front().gpu];
  for (const VisibleGpu& other : numbered) {
    const model::Gpu& gpu = machine.gpus[*other.gpu];
    if (alike(machine, first, gpu)) continue;
    notes.push_back(note(
        "plan.gpu.order",
        fmt::format("GPU numbers are ambiguous: GPU {} ({}) and GPU {} ({}) are not alike, and CUDA counts "
                    "the fastest first; the order of PCI addresses is taken",
                    first.index, first.name.value_or("model not known"), gpu.index,
                    gpu.name.value_or("model not known")),
        "export CUDA_DEVICE_ORDER=PCI_BUS_ID, or name the GPUs by UUID"));
    return;
  }
}

void check_slices(const Visible& visible, std::vector<model::Note>& notes) {
  const auto slices = std::ranges::count_if(visible.gpus, &VisibleGpu::slice);
  if (slices > 1) {
    notes.push_back(note(
        "plan.gpu.several-mig",
        fmt::format("{} names {} MIG devices; a CUDA process uses the first only", visible.variable, slices),
        "give each rank its own device in the variable"));
  }
  for (const VisibleGpu& each : visible.gpus) {
    if (each.gpu) continue;
    notes.push_back(note(
        "plan.gpu.not-found",
        fmt::format("which GPU holds {} is not known: {}", each.device,
                    each.slice ? "several GPUs are in MIG mode, or none says so" : "the source has no UUIDs"),
        each.slice ? "name it as MIG-GPU-<uuid>/<gpu instance>/<compute instance>"
                   : "name GPUs by number, or collect as a user who may ask NVML"));
  }
}

Result<void> apply_amd(const model::Machine& machine, const VisibleDevices& variables, Visible& visible) {
  if (variables.rocr) {
    auto seen = read_list({machine, kRocr, visible.gpus, false}, *variables.rocr, visible.notes);
    if (!seen) return std::unexpected(std::move(seen.error()));
    visible.gpus = std::move(*seen);
    visible.variable = kRocr;
  }
  // HIP reads CUDA's variable where its own is not set.
  const bool hip = variables.hip.has_value();
  const std::optional<std::string>& second = hip ? variables.hip : variables.cuda;
  if (!second || visible.gpus.empty()) return {};
  auto seen = read_list({machine, hip ? kHip : kCuda, visible.gpus, false}, *second, visible.notes);
  if (!seen) return std::unexpected(std::move(seen.error()));
  visible.gpus = std::move(*seen);
  visible.variable = hip ? kHip : kCuda;
  return {};
}

Result<void> apply_cuda(const model::Machine& machine, const VisibleDevices& variables, Visible& visible) {
  check_order(machine, visible.gpus, variables, visible.notes);
  if (!variables.cuda) return {};
  auto seen = read_list({machine, kCuda, visible.gpus, true}, *variables.cuda, visible.notes);
  if (!seen) return std::unexpected(std::move(seen.error()));
  visible.gpus = std::move(*seen);
  visible.variable = kCuda;
  check_slices(visible, visible.notes);
  return {};
}

}  // namespace

Result<Visible> find_visible(const model::Machine& machine, const VisibleDevices& variables) {
  Visible visible;
  const GpuVendor vendor = choose_vendor(machine, variables);
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
    if (vendor_group(machine.gpus[i]) == vendor) visible.all.push_back(i);
  }
  if (visible.all.empty()) return visible;
  visible.gpus = counted(machine, visible.all);
  Result<void> done;
  if (vendor == GpuVendor::kNvidia) done = apply_cuda(machine, variables, visible);
  if (vendor == GpuVendor::kAmd) done = apply_amd(machine, variables, visible);
  if (!done) return std::unexpected(std::move(done.error()));
  return visible;
}

}  // namespace angio::plan
