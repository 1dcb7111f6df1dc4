#include "model/nccl_names.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace angio::model {

NameList parse_names(std::string_view value) {
  NameList list;
  if (value.starts_with('^')) list.exclude = true;
  if (list.exclude) value.remove_prefix(1);
  if (value.starts_with('=')) list.exact = true;
  if (list.exact) value.remove_prefix(1);
  for (const std::string_view part : split(value, ',')) {
    if (!trim(part).empty()) list.names.push_back(trim(part));
  }
  return list;
}

std::string_view device_part(std::string_view name) {
  return name.substr(0, name.find(':'));
}

namespace {

bool names_it(const NameList& list, std::string_view part, std::string_view name) {
  part = device_part(part);
  return list.exact ? name == part : name.starts_with(part);
}

// "mlx5_0:1" means port 1 only; "mlx5_0" and "mlx5_0:x" any. A rail or plane may follow.
bool port_fits(std::string_view part, std::uint32_t port) {
  const auto fields = split(part, ':');
  if (fields.size() < 2) return true;
  const auto number = parse_integer<std::uint32_t>(fields[1]);
  return !number || *number == port;
}

}  // namespace

bool takes(const NameList& list, std::string_view name) {
  const bool listed =
      std::ranges::any_of(list.names, [&](std::string_view part) { return names_it(list, part, name); });
  return listed != list.exclude;
}

bool takes(const NameList& list, std::string_view name, std::uint32_t port) {
  const bool listed = std::ranges::any_of(
      list.names, [&](std::string_view part) { return names_it(list, part, name) && port_fits(part, port); });
  return listed != list.exclude;
}

}  // namespace angio::model
