// NCCL_ALGO, NCCL_PROTO and the numbers of NCCL's environment that its tuner reads, with the grammar of the
// release. Internal to cost.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "cost/nccl_figures.hpp"

namespace angio::cost {

// 0 off, 1 on, 2 as NCCL judges (LL128).
struct NcclEnabled {
  std::array<std::array<std::uint8_t, kNcclAlgorithms>, tuner::kCollectives> algorithms{};
  std::array<std::array<std::uint8_t, kNcclProtocols>, tuner::kCollectives> protocols{};
};

// Errors: what NCCL of this release refuses to start with. What it passes over goes into notes.
Result<NcclEnabled> nccl_enabled(const NcclSettings& settings, const NcclFigures& figures,
                                 std::vector<std::string>& notes);

// The last one counts; null: not set.
const std::string* find_setting(const NcclSettings& settings, std::string_view name);
// None: not set, or no number, which goes into notes.
std::optional<std::int64_t> number_setting(const NcclSettings& settings, std::string_view name,
                                           std::vector<std::string>& notes);

}  // namespace angio::cost
