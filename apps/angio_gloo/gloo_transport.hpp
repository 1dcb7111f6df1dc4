// Collectives by gloo over TCP, as PyTorch's gloo back end has them: a full mesh of connections, buffers in
// host memory. What gloo lacks (a reduce-scatter of one call) is made of its sends and receives.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "collective/meeting.hpp"
#include "collective/transport.hpp"

namespace angio::gloo_backend {

enum class AllReduceBy : std::uint8_t { kRing, kBcube, kHalvingDoubling };
// Of ANGIO_GLOO_ALLREDUCE. Error: another word.
Result<AllReduceBy> parse_all_reduce(std::string_view word);

struct GlooOptions {
  AllReduceBy all_reduce = AllReduceBy::kRing;  // what PyTorch gets
  std::chrono::milliseconds timeout{120000};    // of one call
  std::string interface;                        // of GLOO_SOCKET_IFNAME; empty: the one towards the master
  std::string master;                           // MASTER_ADDR; empty: unknown
};

// Over all ranks of the meeting, through which the addresses go. It must outlive the transport.
Result<std::unique_ptr<collective::Transport>> make_gloo_transport(collective::Meeting& meeting,
                                                                   const GlooOptions& options);

std::string library_version();  // "0.5.0"

}  // namespace angio::gloo_backend
