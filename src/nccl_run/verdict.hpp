// What is said of a node that went wrong, and which of several is named first. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nccl_run/cluster.hpp"
#include "nccl_run/script.hpp"

namespace angio::nccl_run {

// "in operation 3 of 8 (AllReduce of 1 MiB)", by what the node has reported so far: fits behind "node 0 was"
// and behind "node 0 ended".
std::string whereabouts(const NodeReports& said, std::span<const Operation> operations);

// How far it came; the node with the least is the one the others wait for.
std::size_t progress_of(const NodeReports& said);

// How much a node's end says about the cause: a crash more than an error, and an error of its own more than
// ncclRemoteError, which says that another node went away.
enum class Blame : std::uint8_t { kNone, kRemote, kError, kCrash };

struct Trouble {
  Blame blame = Blame::kNone;
  ClusterEnd end = ClusterEnd::kComplete;
  std::string text;  // one sentence without a full stop
};

// A call of NCCL failed.
Trouble trouble_of(std::uint32_t node, const FailedReport& failed);
// The process ended before it said that it was done. killed_for_memory: the kernel killed something for want
// of memory meanwhile.
Trouble trouble_of(std::uint32_t node, int exit_code, int signal, const std::string& where,
                   bool killed_for_memory);

Trouble trouble_of_unknown_end(std::uint32_t node, const std::string& where);

}  // namespace angio::nccl_run
