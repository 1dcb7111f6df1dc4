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

std::string gpu_label(const model::Gpu& gpu) {
  return "GPU " + std::to_string(gpu.index);
}

std::string gpu_label_with_address(const model::Gpu& gpu) {
  const PciAddress* address = gpu.address.get();
  return address != nullptr ? gpu_label(gpu) + " (" + to_string(*address) + ")" : gpu_label(gpu);
}

std::string list_of(const std::vector<std::string>& items) {
  constexpr std::size_t kShown = 6;  // a line of the terminal
  if (items.size() <= kShown) return join(items, ", ");
  const std::vector<std::string> first(items.begin(), items.begin() + kShown - 1);
  return join(first, ", ") + " and " + std::to_string(items.size() - first.size()) + " more";
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
  const char* collect = reason_ == Reason::kDenied         ? "sudo angio collect"
                        : reason_ == Reason::kUnsupported  ? "nothing: the device or its driver does not tell"
                        : reason_ == Reason::kNotCollected ? "angio collect on the node"
                                                           : "angio collect again";
  outcome.undecided(text + ": " + in_words(reason_, error_), collect);
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
