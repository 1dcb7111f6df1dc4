// How much a rank sends and receives in a collective of a given size, and where the buffers of an in-place
// call lie: as nccl-tests counts (its src/*.cu, 2.17). Pure.
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "collective/transport.hpp"
#include "model/nccl_tests.hpp"

namespace angio::collective {

struct Layout {
  std::uint64_t count = 0;          // of Call and of the table, elements
  std::uint64_t send = 0;           // elements of the send buffer of a rank (of the root: Scatter)
  std::uint64_t receive = 0;        // elements of the receive buffer of a rank (of the root: Gather)
  std::uint64_t send_in_place = 0;  // elements from the start of the one buffer to what rank r sends: times r
  std::uint64_t receive_in_place = 0;  // and to where it receives: times r
  Bytes size;                          // as printed: the larger of the two buffers
};
// Parts for each rank are rounded down to whole 16 B.
Layout layout_of(model::NcclCollective collective, Bytes size, Element element, std::uint32_t ranks);

// Whether the larger buffer has a part for each rank.
bool has_parts(model::NcclCollective collective);

// nccl-tests times AlltoAll and SendRecv in place but cannot check them: no library moves data so.
bool can_be_in_place(model::NcclCollective collective);

}  // namespace angio::collective
