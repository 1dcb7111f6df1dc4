#include "knowledge/knowledge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.hpp"

namespace angio::knowledge {
namespace {

#include "knowledge_tables.inc"

// Tables are sorted by their text key.
template <typename Entry, std::string_view Entry::* Key>
const Entry* find_sorted(std::span<const Entry> table, std::string_view key) {
  const auto found = std::ranges::lower_bound(table, key, {}, Key);
  return found != table.end() && (*found).*Key == key ? &*found : nullptr;
}

}  // namespace

std::span<const RuleText> rules() {
  return kRules;
}
std::span<const Formula> formulas() {
  return kFormulas;
}
std::span<const Threshold> thresholds() {
  return kThresholds;
}
std::span<const PcieGeneration> pcie_generations() {
  return kPcie;
}
std::span<const GpuModel> gpu_models() {
  return kGpus;
}
std::span<const NcclFact> nccl_facts() {
  return kNccl;
}

const RuleText* find_rule(std::string_view id) {
  return find_sorted<RuleText, &RuleText::id>(kRules, id);
}
const Formula* find_formula(std::string_view id) {
  return find_sorted<Formula, &Formula::id>(kFormulas, id);
}
const NcclFact* find_nccl_fact(std::string_view id) {
  return find_sorted<NcclFact, &NcclFact::id>(kNccl, id);
}
const Threshold* find_threshold(std::string_view id) {
  return find_sorted<Threshold, &Threshold::id>(kThresholds, id);
}

double threshold(std::string_view id) {
  const Threshold* found = find_threshold(id);
  return found != nullptr ? found->value : std::numeric_limits<double>::quiet_NaN();
}

namespace {

// Announced speeds are the nominal ones; a relative hair for values that went through text.
const PcieGeneration* generation_of(TransfersPerSecond speed) {
  for (const PcieGeneration& row : pcie_generations()) {
    if (std::abs(row.transfers_per_second - speed.value) < row.transfers_per_second * 1e-3) return &row;
  }
  return nullptr;
}

}  // namespace

std::optional<std::uint32_t> pcie_generation(TransfersPerSecond speed) {
  const PcieGeneration* row = generation_of(speed);
  if (row == nullptr) return std::nullopt;
  return row->generation;
}

std::optional<TransfersPerSecond> pcie_speed(std::uint32_t generation) {
  for (const PcieGeneration& row : pcie_generations()) {
    if (row.generation == generation) return TransfersPerSecond{row.transfers_per_second};
  }
  return std::nullopt;
}

std::optional<BytesPerSecond> pcie_rate(const model::PciLink& link) {
  const PcieGeneration* row = generation_of(link.speed);
  if (row == nullptr || link.lanes == 0) return std::nullopt;
  return BytesPerSecond{row->transfers_per_second * row->efficiency * link.lanes / 8.0};
}

std::optional<BytesPerSecond> nvlink_rate(std::uint32_t version) {
  for (const NvLinkVersion& row : kNvLink) {
    if (row.version == version) return BytesPerSecond{row.bytes_per_second};
  }
  return std::nullopt;
}

std::optional<BitsPerSecond> lane_rate(std::string_view name) {
  for (const LaneSpeed& row : kLanes) {
    if (row.name == name) return BitsPerSecond{row.bits_per_second};
  }
  return std::nullopt;
}

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// As a name of its own: "A10" is not in "A100", "H200" is not in "GH200".
bool names_model(std::string_view name, std::string_view part) {
  for (std::size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
    const bool starts = at == 0 || !(is_digit(name[at - 1]) || is_letter(name[at - 1]));
    const std::size_t end = at + part.size();
    const bool ends = end == name.size() || !is_digit(part.back()) || !is_digit(name[end]);
    if (starts && ends) return true;
  }
  return false;
}

}  // namespace

const GpuModel* find_gpu(std::string_view nvml_name) {
  const GpuModel* best = nullptr;
  for (const GpuModel& row : gpu_models()) {
    if (!names_model(nvml_name, row.match)) continue;
    if (best == nullptr || row.match.size() > best->match.size()) best = &row;
  }
  return best;
}

const CudaFamily* find_cuda(std::uint32_t major) {
  for (const CudaFamily& row : kCuda) {
    if (row.major == major) return &row;
  }
  return nullptr;
}

namespace {

std::optional<std::array<std::uint32_t, 4>> version_parts(std::string_view text) {
  std::array<std::uint32_t, 4> parts{};
  const auto pieces = split(text, '.');
  if (pieces.size() > parts.size()) return std::nullopt;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto number = parse_integer<std::uint32_t>(pieces[i]);
    if (!number) return std::nullopt;
    parts[i] = *number;
  }
  return parts;
}

}  // namespace

std::optional<int> compare_versions(std::string_view a, std::string_view b) {
  const auto left = version_parts(a);
  const auto right = version_parts(b);
  if (!left || !right) return std::nullopt;
  return *left < *right ? -1 : *left > *right ? 1 : 0;
}

bool holds(const NcclFact& fact, std::string_view version) {
  if (!version_parts(version)) return false;
  if (!fact.since.empty() && compare_versions(version, fact.since).value_or(-1) < 0) return false;
  return fact.until.empty() || compare_versions(version, fact.until).value_or(1) <= 0;
}

}  // namespace angio::knowledge
