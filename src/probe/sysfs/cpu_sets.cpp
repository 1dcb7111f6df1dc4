#include "probe/sysfs/cpu_sets.hpp"

namespace angio::probe {

std::optional<CpuSet> parse_kernel_cpu_list(std::string_view text) {
  text = trim(text);
  if (text == "(null)") return CpuSet{};
  return parse_cpu_list(text);
}

Observed<CpuSet> observe_cpu_set(const Place& place, const char* list, const char* mask) {
  Observed<CpuSet> set = place.parsed(list, parse_kernel_cpu_list);
  if (set.is_known() || mask == nullptr) return set;
  Observed<CpuSet> from_mask = place.parsed(mask, parse_cpu_mask);
  return from_mask.is_known() ? from_mask : set;
}

std::optional<CpuSet> read_cpu_list(const host::Root& root, const std::string& path) {
  const host::Read<std::string> text = root.read(path);
  return text ? parse_kernel_cpu_list(*text) : std::nullopt;
}

std::optional<CpuSet> read_cpu_mask(const host::Root& root, const std::string& path) {
  const host::Read<std::string> text = root.read(path);
  return text ? parse_cpu_mask(*text) : std::nullopt;
}

std::optional<std::uint32_t> parse_numbered_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parse_integer<std::uint32_t>(name.substr(prefix.size()));
  if (!number || *number > CpuSet::kMaxCpu) return std::nullopt;
  return number;
}

}  // namespace angio::probe
