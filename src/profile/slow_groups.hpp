// What slow connections have in common: one node or one rank that sends or receives them. One cause is one
// group, however many connections suffer from it.
#pragma once

#include <vector>

#include "profile/profile.hpp"

namespace angio::profile {

// Every slow link of the communicator in one group; most links first.
std::vector<SlowGroup> group_slow(const std::vector<Input>& inputs, const Communicator& communicator);

}  // namespace angio::profile
