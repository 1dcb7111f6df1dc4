// Small words and questions that several rules share. Rules themselves stay in their topic's file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/ids.hpp"
#include "diagnose/rule.hpp"
#include "model/machine.hpp"

namespace angio::diagnose {

// Evidence with the place where the value was seen.
model::Evidence seen(const model::Machine& machine, const model::Source& source, std::string text);

// The place where every node has such values; for a machine made of another tool's text, that text.
std::string place_of(const model::Machine& machine, std::string path);

// "GPU 5"; with its address "GPU 5 (0000:b7:00.0)".
std::string gpu_label(const model::Gpu& gpu);
std::string gpu_label_with_address(const model::Gpu& gpu);

// "GPU 0, GPU 1, GPU 4"; above six items neighbours become ranges, "GPUs 0-7, mlx5_0 to mlx5_7"; what is
// still above six ends in "and 3 more".
std::string list_of(const std::vector<std::string>& items);

// "permission denied", "not collected", "Input/output error (EIO)".
std::string in_words(model::Reason reason, int error);

// The same unread attribute of many devices is one gap, not eight:
//   Gaps gaps("row remapping"); for (…) if (!value.is_known()) gaps.add("GPU 3", value);
//   gaps.report(outcome);
class Gaps {
 public:
  explicit Gaps(std::string what, Asked asked = Asked::kMachine) : what_(std::move(what)), asked_(asked) {}
  template <typename T>
  void add(std::string device, const model::Observed<T>& value) {
    if (value.is_absent()) return;  // looked and not there: nothing is missing
    note(std::move(device), value.reason(), value.error());
  }
  void note(std::string device, model::Reason reason, int error);
  void report(Outcome& outcome) const;
  [[nodiscard]] bool empty() const { return devices_.empty(); }

 private:
  std::string what_;
  Asked asked_;
  std::vector<std::string> devices_;
  model::Reason reason_ = model::Reason::kNotCollected;
  int error_ = 0;
};

// One unread attribute of the machine: "zone_reclaim_mode: permission denied".
template <typename T>
void gap(Outcome& outcome, const std::string& what, const model::Observed<T>& value,
         Asked asked = Asked::kMachine) {
  Gaps gaps(what, asked);
  gaps.add({}, value);
  gaps.report(outcome);
}

bool is_nvidia(const model::Gpu& gpu);
bool has_nvidia_gpu(const model::Machine& machine);
bool is_virtual(const model::Machine& machine);     // a virtual machine, known to be one
bool is_bare_metal(const model::Machine& machine);  // known to be none
// The socket a node's CPUs are in; none when the source does not show sockets or the node spans several.
std::optional<std::uint32_t> package_of(const model::Machine& machine, const NumaId& id);
// The same node, or two nodes of one socket (NPS, SNC); false also where the sockets are not known.
bool same_package(const model::Machine& machine, const NumaId& a, const NumaId& b);
// Whether two nodes are in different sockets; none when that is not known. Up to two nodes are a socket each.
std::optional<bool> in_different_sockets(const model::Machine& machine, const std::optional<NumaId>& a,
                                         const std::optional<NumaId>& b);
// The CPUs of the node and of its siblings in the socket; the node's own where the socket is not known.
CpuSet package_cpus(const model::Machine& machine, const NumaId& id);
// The value of an environment setting of the machine; null when not set.
const model::Setting* find_setting(const std::vector<model::Setting>& settings, std::string_view name);

}  // namespace angio::diagnose
