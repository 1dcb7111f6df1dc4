// The rings and trees that NCCL built, drawn over nodes and GPUs: each hop in the way it takes. NVLink is
// quiet, PCIe, host memory and the network are told apart, what is slower than it need be is red and dashed,
// what the log does not say is grey. Rows are nodes; a ring runs through them like a snake, so that
// neighbours lie side by side.
#pragma once

#include <optional>

#include "model/nccl_log.hpp"
#include "report/document.hpp"

namespace angio::views {

// The rings of the largest communicator whose rings are in the log; equal ones are drawn once. None without
// rings.
std::optional<report::Drawing> rings_drawing(const model::NcclLog& log);
// The first tree of that communicator; none without trees.
std::optional<report::Drawing> tree_drawing(const model::NcclLog& log);
// Both below each other, for a file that holds one picture; none without either.
std::optional<report::Drawing> graphs_drawing(const model::NcclLog& log);

}  // namespace angio::views
