// Whatever the bytes: no crash, no hang, and what was read renders to a snapshot that reads back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probe/snapshot/scrub.hpp"
#include "probe/snapshot/snapshot.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);  // NOLINT: bytes are bytes
  auto first = angio::probe::parse_snapshot(bytes, "fuzz.snap");
  if (!first) return 0;
  const std::string rendered = angio::probe::render_snapshot(*first);
  const auto second = angio::probe::parse_snapshot(rendered, "fuzz.snap");
  if (!second || angio::probe::render_snapshot(*second) != rendered) std::abort();
  const auto scrubbed = angio::probe::scrub(*first, 7);
  if (!angio::probe::parse_snapshot(angio::probe::render_snapshot(scrubbed), "fuzz.snap")) std::abort();
  (void)angio::probe::machine_of(std::move(*first), "fuzz.snap");
  return 0;
}
