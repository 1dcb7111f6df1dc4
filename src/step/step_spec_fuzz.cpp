// The text that tells a rank what to do: nothing crashes, and what is read and written again reads the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "step/spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio::step;
  const auto spec = parse_spec({reinterpret_cast<const char*>(data), size});
  if (!spec) return 0;
  const auto again = parse_spec(spec_text(*spec));
  if (!again || spec_text(*again) != spec_text(*spec)) std::abort();
  return 0;
}
