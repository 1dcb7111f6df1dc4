// Whatever the text, it is a campaign or an error with the file's name; the arms of one that was read can be
// built.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text.hpp"
#include "experiment/tune_arms.hpp"
#include "experiment/tune_spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto spec = angio::experiment::parse_tune_spec(text, "fuzz.toml");
  if (!spec && !angio::contains(spec.error().message, "fuzz.toml")) __builtin_trap();
  if (!spec) return 0;
  const auto arms = angio::experiment::arms_of(*spec);
  if (arms.size() < 2) __builtin_trap();
  for (const auto& arm : arms) {
    if (angio::experiment::build_start(*spec, arm, "angio").command.empty()) __builtin_trap();
  }
  return 0;
}
