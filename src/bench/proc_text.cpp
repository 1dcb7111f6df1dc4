#include "bench/proc_text.hpp"

#include "base/text.hpp"

namespace angio::bench {

std::optional<std::uint64_t> kibibytes_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const auto words = split_words(line.substr(at + key.size()));
  const auto count = words.empty() ? std::nullopt : parse_integer<std::uint64_t>(words[0]);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50U;
  return count && *count < kMost ? count : std::nullopt;
}

}  // namespace angio::bench
