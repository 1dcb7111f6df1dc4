// One observed value as JSON: known, absent or unreadable, with its source. Used by the JSON views.
#pragma once

#include <string_view>
#include <utility>

#include "base/cpu_set.hpp"
#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/units.hpp"
#include "model/machine.hpp"

namespace angio::views {

std::string_view reason_word(model::Reason reason);  // "not_collected", "denied", …

inline Json plain_json(bool value) {
  return value;
}
inline Json plain_json(std::uint32_t value) {
  return value;
}
inline Json plain_json(std::uint64_t value) {
  return value;
}
inline Json plain_json(std::int64_t value) {
  return value;
}
inline Json plain_json(double value) {
  return value;
}
inline Json plain_json(const std::string& value) {
  return value;
}
inline Json plain_json(const CpuSet& value) {
  return to_list(value);
}
inline Json plain_json(const PciAddress& value) {
  return to_string(value);
}
template <typename Tag, typename Number>
Json plain_json(const Quantity<Tag, Number>& value) {
  return value.value;
}
template <typename Tag, typename Number>
Json plain_json(const Id<Tag, Number>& value) {
  return static_cast<std::uint32_t>(value.value);
}
template <typename T>
Json plain_json(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values)
    list.push_back(plain_json(value));
  return list;
}

Json missing_json(const model::Machine& machine, model::Presence presence, model::Reason reason, int error,
                  const model::Source& source);

template <typename T, typename Convert>
Json observed_json(const model::Machine& machine, const model::Observed<T>& observed, Convert convert) {
  if (const T* value = observed.get()) {
    return Json::object({{"value", convert(*value)}, {"source", model::cite(machine, observed.source())}});
  }
  return missing_json(machine, observed.presence(), observed.reason(), observed.error(), observed.source());
}

template <typename T>
Json observed_json(const model::Machine& machine, const model::Observed<T>& observed) {
  return observed_json(machine, observed, [](const T& value) { return plain_json(value); });
}

}  // namespace angio::views
