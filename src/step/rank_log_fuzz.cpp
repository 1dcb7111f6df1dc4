// What a rank wrote, cut or damaged: nothing crashes, and what is read and written again reads the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "step/rank_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio::step;
  for (const RankLog& log : parse_rank_logs({reinterpret_cast<const char*>(data), size})) {
    std::string text = first_line(log);
    for (const auto& time : log.rank.steps)
      text += step_line(time);
    const auto again = parse_rank_log(text);
    if (!again || again->rank.rank != log.rank.rank || again->rank.steps.size() != log.rank.steps.size())
      std::abort();
  }
  return 0;
}
