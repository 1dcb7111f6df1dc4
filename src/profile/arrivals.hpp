// Who comes last to the collectives of a communicator, how late, and what the others wait.
#pragma once

#include <vector>

#include "profile/clocks.hpp"

namespace angio::profile {

// The same collective of all members, in the order of the first one's start.
std::vector<Gathering> gather(const std::vector<Input>& inputs, const Communicator& communicator);
// Fills basis, compared, worst, straggler and what the members know of it.
void compare_arrivals(const std::vector<Input>& inputs, const std::vector<Gathering>& gatherings,
                      Communicator& communicator);

}  // namespace angio::profile
