// Whatever JSON stands there, a step or a mesh is read or refused, and what was read has a state with its
// reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "judge/levels.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio::judge;
  const auto json = angio::parse_json({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  if (const auto figures = parse_step_figures(*json, "fuzz")) {
    if (!(figures->step_ms > 0)) __builtin_trap();
    const LevelResult level = step_level(*figures, "fuzz");
    if (level.state == LevelState::kUndecided && level.why.empty()) __builtin_trap();
    if (level.state == LevelState::kBelow && level.answer.empty()) __builtin_trap();
  }
  (void)mesh_level(*json, "fuzz");
  return 0;
}
