// Small words over a NCCL log that its views share: sets of ranks and adapters, counts, ways.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/nccl_log.hpp"

namespace angio::views {

std::string rank_list(const std::set<std::uint32_t>& ranks);                           // "0-7,12"
std::string short_list(const std::vector<std::string>& items, std::size_t shown = 4);  // "a, b, c and 5 more"
// The largest communicator; null without any.
const model::NcclCommunicator* world_of(const model::NcclLog& log);

// "rank0.log:12" of "logs/job-7/rank0.log:12": for tables, where the file's name is enough.
std::string short_place(const std::string& place);

// "P2P/CUMEM", "SHM", "NET/IB, GPUDirect": what tells ways apart, channel and adapter left out.
std::string way_of(const model::NcclTransportCount& count);
std::string way_of(const model::NcclConnection& connection);

}  // namespace angio::views
