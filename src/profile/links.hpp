// Network connections by what the proxy threads did on them, and pairs of point-to-point operations.
#pragma once

#include <vector>

#include "profile/profile.hpp"

namespace angio::profile {

// In the order that Communicator tells; sends with a verdict against those that move steps of about their
// size, or the reason why there is none.
std::vector<Link> find_links(const std::vector<Input>& inputs, const Communicator& communicator);
std::vector<Pair> find_pairs(const std::vector<Input>& inputs, const Communicator& communicator);

}  // namespace angio::profile
