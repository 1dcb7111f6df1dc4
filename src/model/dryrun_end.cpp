#include "model/dryrun_end.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace angio::model {
namespace {

struct EndWords {
  DryRunEnd end;
  std::string_view words;
  std::string_view key;
};

constexpr std::array<EndWords, 6> kEnds{{
    {DryRunEnd::kComplete, "complete", "complete"},
    {DryRunEnd::kFailed, "failed", "failed"},
    {DryRunEnd::kCrashed, "crashed", "crashed"},
    {DryRunEnd::kTimeout, "timed out", "timeout"},
    {DryRunEnd::kMemory, "stopped at the memory limit", "memory"},
    {DryRunEnd::kInterrupted, "interrupted", "interrupted"},
}};

const EndWords& row_of(DryRunEnd end) {
  const auto* row = std::ranges::find(kEnds, end, &EndWords::end);
  return row == kEnds.end() ? kEnds[1] : *row;
}

}  // namespace

std::string_view words_of(DryRunEnd end) {
  return row_of(end).words;
}

std::string_view key_of(DryRunEnd end) {
  return row_of(end).key;
}

bool is_point_to_point(std::string_view collective) {
  std::string word = to_lower(collective);
  std::erase(word, '_');
  return word == "alltoall" || word == "sendrecv";
}

}  // namespace angio::model
