#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collective/meeting_wire.hpp"
#include "collective/run_json.hpp"
#include "collective/wish.hpp"

// The result of a run, the words of a wish and the frames of a meeting: what comes from outside.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio::collective;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto run = parse_run(text)) (void)angio::to_text(to_json(*run));
  if (const auto wish = parse_wish(text)) (void)sizes_of(*wish);
  (void)unpack(text);
  std::string bytes(text);
  std::vector<Frame> frames;
  (void)take_frames(bytes, kLongestFrame, frames);
  return 0;
}
