#include "diagnose/rules/support.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace angio::diagnose {

using model::Machine;
using model::Reason;

model::Evidence seen(const Machine& machine, const model::Source& source, std::string text) {
  return {std::move(text), cite(machine, source)};
}

std::string place_of(const Machine& machine, std::string path) {
  return machine.imported ? machine.origin : std::move(path);
}

std::string gpu_label(const model::Gpu& gpu) {
  return "GPU " + std::to_string(gpu.index);
}

std::string gpu_label_with_address(const model::Gpu& gpu) {
  const PciAddress* address = gpu.address.get();
  return address != nullptr ? gpu_label(gpu) + " (" + to_string(*address) + ")" : gpu_label(gpu);
}

namespace {

// "mlx5_" and 3 of "mlx5_3". Only names count through: "0-3" is a pair, "0000:16:00.0" an address.
struct Numbered {
  std::string_view stem;
  std::optional<std::uint32_t> number;
};

Numbered split_number(std::string_view item) {
  const std::size_t digits = item.find_last_not_of("0123456789") + 1;
  const std::string_view stem = item.substr(0, digits);
  const std::string_view number = item.substr(digits);
  const bool padded = number.size() > 1 && number.front() == '0';  // "01": the width is part of the name
  const char last = stem.empty() ? ' ' : stem.back();
  const bool name =
      last == ' ' || last == '_' || (last >= 'a' && last <= 'z') || (last >= 'A' && last <= 'Z');
  if (padded || !name) return {item, std::nullopt};
  return {stem, parse_integer<std::uint32_t>(number)};
}

// The number of items from `first` on that count through: 8 for GPU 0 … GPU 7.
std::size_t run_length(const std::vector<std::string>& items, std::size_t first) {
  const Numbered start = split_number(items[first]);
  std::size_t length = 1;
  while (start.number && first + length < items.size()) {
    const Numbered next = split_number(items[first + length]);
    if (next.stem != start.stem || next.number != *start.number + length) break;
    ++length;
  }
  return length;
}

// "GPUs 0-7", "0-7", "mlx5_0 to mlx5_7".
std::string range_of(const std::string& first, const std::string& last) {
  const Numbered from = split_number(first);
  const std::string numbers = std::to_string(*from.number) + "-" + std::to_string(*split_number(last).number);
  if (from.stem.empty()) return numbers;
  if (!from.stem.ends_with(' ') || from.stem.ends_with("s ")) return first + " to " + last;
  return std::string(from.stem.substr(0, from.stem.size() - 1)) + "s " + numbers;
}

}  // namespace

std::string list_of(const std::vector<std::string>& items) {
  constexpr std::size_t kShown = 6;     // a line of the terminal
  constexpr std::size_t kShortest = 3;  // "GPU 0, GPU 1" is no range
  if (items.size() <= kShown) return join(items, ", ");
  std::vector<std::string> parts;
  std::vector<std::size_t> covered;  // items in each part
  for (std::size_t i = 0; i < items.size(); i += covered.back()) {
    const std::size_t run = run_length(items, i);
    const bool range = run >= kShortest;
    parts.push_back(range ? range_of(items[i], items[i + run - 1]) : items[i]);
    covered.push_back(range ? run : 1);
  }
  if (parts.size() <= kShown) return join(parts, ", ");
  parts.resize(kShown - 1);
  std::size_t named = 0;
  for (std::size_t i = 0; i < parts.size(); ++i)
    named += covered[i];
  return join(parts, ", ") + " and " + std::to_string(items.size() - named) + " more";
}

std::string in_words(Reason reason, int error) {
  switch (reason) {
    case Reason::kNotCollected:
      return "not collected";
    case Reason::kDenied:
      return "permission denied";
    case Reason::kFailed:
      return error > 0 ? errno_text(error) : "could not be read";
    case Reason::kUnparsable:
      return "not understood";
    case Reason::kUnsupported:
      return "the device or driver does not say";
  }
  return "unknown";
}

namespace {

const char* help_for(Reason reason) {
  switch (reason) {
    case Reason::kNotCollected:
      return "angio collect on the node";
    case Reason::kDenied:
      return "sudo angio collect (only root may read this; nothing is changed)";
    case Reason::kFailed:
      return "dmesg on the node says why the read failed; angio collect once it is cured";
    case Reason::kUnparsable:
      return "nothing: angio does not know this form of the value";
    case Reason::kUnsupported:
      return "nothing: the device or its driver does not tell";
  }
  return "angio collect on the node";
}

}  // namespace

void Gaps::note(std::string device, Reason reason, int error) {
  if (devices_.empty() || reason == Reason::kDenied) {  // the reason somebody can do something about
    reason_ = reason;
    error_ = error;
  }
  devices_.push_back(std::move(device));
}

void Gaps::report(Outcome& outcome) const {
  if (devices_.empty()) return;
  std::string text = what_;
  if (!devices_.front().empty()) text += " of " + list_of(devices_);
  outcome.undecided(text + ": " + in_words(reason_, error_), help_for(reason_), asked_);
}

bool is_nvidia(const model::Gpu& gpu) {
  return gpu.vendor == model::GpuVendor::kNvidia;
}

bool has_nvidia_gpu(const Machine& machine) {
  return std::ranges::any_of(machine.gpus, is_nvidia);
}

bool is_virtual(const Machine& machine) {
  return machine.software.virtual_machine.is_known();
}

bool is_bare_metal(const Machine& machine) {
  return machine.software.virtual_machine.is_absent();
}

std::optional<std::uint32_t> package_of(const Machine& machine, const NumaId& id) {
  const auto node = std::ranges::find(machine.numa.nodes, id, &model::NumaNode::id);
  if (node == machine.numa.nodes.end() || node->cpus.empty()) return std::nullopt;
  for (const model::Package& package : machine.cpus.packages) {
    if (node->cpus.is_subset_of(package.cpus)) return package.id;
  }
  return std::nullopt;
}

bool same_package(const Machine& machine, const NumaId& a, const NumaId& b) {
  if (a == b) return true;
  const auto left = package_of(machine, a);
  return left && left == package_of(machine, b);
}

std::optional<bool> in_different_sockets(const Machine& machine, const std::optional<NumaId>& a,
                                         const std::optional<NumaId>& b) {
  if (!a || !b) return std::nullopt;
  if (*a == *b) return false;
  const auto left = package_of(machine, *a);
  const auto right = package_of(machine, *b);
  if (left && right) return *left != *right;
  const auto nodes = std::ranges::count_if(machine.numa.nodes,
                                           [](const model::NumaNode& node) { return !node.cpus.empty(); });
  if (nodes > 2) return std::nullopt;
  return true;
}

CpuSet package_cpus(const Machine& machine, const NumaId& id) {
  if (const auto package = package_of(machine, id)) {
    return std::ranges::find(machine.cpus.packages, *package, &model::Package::id)->cpus;
  }
  const auto node = std::ranges::find(machine.numa.nodes, id, &model::NumaNode::id);
  return node != machine.numa.nodes.end() ? node->cpus : CpuSet();
}

const model::Setting* find_setting(const std::vector<model::Setting>& settings, std::string_view name) {
  const auto found = std::ranges::find(settings, name, &model::Setting::name);
  return found != settings.end() ? &*found : nullptr;
}

}  // namespace angio::diagnose
