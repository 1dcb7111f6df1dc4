#include "host/process_start.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/text.hpp"

namespace angio::host {

std::optional<ProcessStart> read_process_start(const Root& root, std::uint32_t process) {
  constexpr std::size_t kStart = 19;  // field 22 of proc(5), counted from the state, field 3
  const Read<std::string> text = root.read(fmt::format("/proc/{}/stat", process));
  if (!text) return std::nullopt;
  const std::size_t name_end = text->rfind(')');  // the name may hold anything, brackets too
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string_view> fields = split_words(std::string_view(*text).substr(name_end + 1));
  if (fields.size() <= kStart) return std::nullopt;
  const std::optional<std::uint64_t> ticks = parse_integer<std::uint64_t>(fields[kStart]);
  if (!ticks) return std::nullopt;
  return ProcessStart{*ticks, fields[0] == "Z" || fields[0] == "X"};
}

}  // namespace angio::host
