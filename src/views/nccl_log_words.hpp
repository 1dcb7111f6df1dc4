// Small words over a NCCL log that its views share: sets of ranks and adapters, counts, ways.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/nccl_log.hpp"
#include "model/nccl_world.hpp"

namespace angio::views {

std::string rank_list(const std::set<std::uint32_t>& ranks);                           // "0-7,12"
std::string short_list(const std::vector<std::string>& items, std::size_t shown = 4);  // "a, b, c and 5 more"

// "rank0.log:12" of "logs/job-7/rank0.log:12": for tables, where the file's name is enough.
std::string short_place(const std::string& place);

// "P2P/CUMEM", "SHM", "NET/IB, GPUDirect": what tells ways apart, channel and adapter left out.
std::string way_of(const model::NcclTransportCount& count);
std::string way_of(const model::NcclConnection& connection);

// What NCCL said of itself, one line a thing, empty when it did not; not yet safe to print.
std::vector<std::string> device_words(const model::NcclLog& log);  // "IB: mlx5_0, mlx5_1 (IB 400 Gb/s)"
std::string gdr_words(const model::NcclLog& log);                  // "6 of 6 connections between nodes"
std::string channel_words(const model::NcclLog& log);              // "24 collective, 32 point to point"
std::vector<std::string> graph_words(const model::NcclLog& log);   // "ring: 12 channels of 30 GB/s …"

}  // namespace angio::views
