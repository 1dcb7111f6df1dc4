// Brings the times of all ranks of a communicator onto one scale. Ranks of one boot of one host share a
// clock. Between hosts the collectives themselves are the check: an AllReduce ends everywhere at nearly one
// moment, so the median difference of its ends is the difference of the clocks, and what scatters around it
// is what we do not know.
#pragma once

#include <vector>

#include "profile/rank_events.hpp"

namespace angio::profile {

// The parts of one collective, at most one of each member.
using Gathering = std::vector<Part>;

// Sets the communicator's clocks. inputs: those of its members.
void compare_clocks(const std::vector<Input>& inputs, const std::vector<Gathering>& gatherings,
                    Communicator& communicator);

// Time of a member on the scale of its clock's comparable group.
class Scale {
 public:
  Scale(const std::vector<Input>& inputs, const Communicator& communicator);
  [[nodiscard]] double time(std::size_t member, std::uint64_t monotonic_ns) const;
  // Members with the same number can be compared.
  [[nodiscard]] std::size_t group(std::size_t member) const { return groups_[member]; }
  [[nodiscard]] double uncertainty(std::size_t member) const { return uncertainties_[member]; }

 private:
  std::vector<double> shifts_;
  std::vector<std::size_t> groups_;
  std::vector<double> uncertainties_;
};

}  // namespace angio::profile
