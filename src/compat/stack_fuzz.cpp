// Any bytes: never a crash, and what was read once is read again from its own words.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "compat/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio::compat;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ParsedStack parsed = parse_stack(text);
  if (parsed.understood > parsed.lines) std::abort();
  (void)check(parsed.stack);
  std::vector<std::string> words;
  for (const auto& [part, value] : parsed.stack.values)
    words.push_back(std::string(word_of(part)) + "=" + value.text);
  const auto again = parse_words(words);
  if (!again) std::abort();
  for (const auto& [part, value] : parsed.stack.values) {
    const std::string* second = again->get(part);
    if (second == nullptr || *second != value.text) std::abort();
  }
  return 0;
}
