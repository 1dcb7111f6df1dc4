// What the ring files of a job's ranks say together: who comes last to the collectives and what it costs,
// which network connection is slow, what each rank did last. Pure values; the files are read elsewhere
// (profile_ring), and how it is shown is views' business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile_ring/reader.hpp"

namespace angio::profile {

enum class Liveness : std::uint8_t { kUnknown, kRunning, kEnded };

struct Input {
  profile_ring::RingFile file;
  Liveness liveness = Liveness::kUnknown;
};

// One file: one rank of one communicator.
struct Member {
  std::size_t input = 0;
  std::int32_t rank = -1;  // -1: the file does not say
  std::uint64_t collectives = 0;
  std::uint64_t compared = 0;  // of these, with the same one of other ranks
  std::uint64_t last = 0;      // came last
  double late_ns = 0;          // median over the compared ones: its arrival minus the median of the others
  double waited_ns = 0;        // sum: from its arrival to the last one's
  double delayed_ns = 0;       // sum, where it came last: from the second to last arrival to its own
  std::string newest{};        // "AllReduce 811"; empty: no collective
  std::uint64_t open_kernels = 0;  // started and not stopped
  std::uint64_t open_network = 0;  // proxy operations and steps, likewise
};

enum class Basis : std::uint8_t {
  kKernel,   // when NCCL's thread saw the kernel begin on the GPU
  kEnqueue,  // when the host enqueued the operation; the GPU may come to it much later
};

// How the clock of a host compares to that of the communicator's first host.
struct HostClock {
  std::string host;
  std::string boot;
  bool comparable = false;
  double offset_ns = 0;                    // what its wall clock shows more than the first host's
  std::optional<double> uncertainty_ns{};  // of the offset; none: not comparable, or the first host
  std::uint64_t collectives = 0;           // whose ends the offset is the median of
};

struct Collective {
  std::string function;
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;  // count times the size of an element
  std::string algorithm;
  std::string protocol;
  std::uint32_t channels = 0;
  std::uint32_t ranks = 0;  // whose arrival was compared
  std::int32_t last_rank = -1;
  double late_ns = 0;    // the last arrival minus the median of the others
  double spread_ns = 0;  // the last arrival minus the first
};

enum class Verdict : std::uint8_t { kUnknown, kAlike, kSlow };

// Why a connection has no verdict.
enum class Unjudged : std::uint8_t {
  kJudged,
  kReceive,       // waits for its sender as well as for the network
  kOperations,    // whole proxy operations hold every wait
  kBytesUnknown,  // what a step moved is not told
  kSmallSteps,    // the network's latency, not its rate
  kFewSteps,
  kFewAlike,  // of steps of its size
};

// One direction of one connection over the network, on one channel.
struct Link {
  std::int32_t rank = -1;
  std::int32_t peer = -1;
  std::uint32_t channel = 0;
  bool send = true;
  bool from_steps = true;   // else from whole proxy operations: their time holds every wait
  std::uint64_t count = 0;  // steps, or operations
  std::uint64_t bytes = 0;
  bool bytes_at_most = false;  // chunk times steps: what was transferred is not told
  double step_bytes = 0;       // median
  std::uint64_t told = 0;      // of count: with bytes that were told and a time
  double rate = 0;             // bytes a second in the network, median; 0: unknown
  double gpu_ns = 0;           // sums: waiting for the GPU,
  double peer_ns = 0;          // for the receiver's credit (from interface 4 on),
  double network_ns = 0;       // for the network (of a receive: for sender and network)
  double flush_ns = 0;
  Verdict verdict = Verdict::kUnknown;
  Unjudged why = Unjudged::kJudged;
  // Where it has a verdict: of the sends that it was judged with, those that are not slow.
  std::uint64_t alike = 0;
  double alike_least = 0;  // bytes a second
  double alike_median = 0;
};

// Slow connections with one thing in common.
struct SlowGroup {
  enum class Common : std::uint8_t { kPair, kSenderRank, kReceiverRank, kSenderHost, kReceiverHost };
  Common common = Common::kPair;
  std::vector<std::size_t> links;  // of Communicator::links; all slow
  std::uint64_t judged = 0;        // connections with a verdict that have it in common, the slow ones too
};

struct Pair {
  std::int32_t rank = -1;
  std::int32_t peer = -1;
  std::string function;  // "Send", "Recv"
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;        // of all
  std::uint64_t timed = 0;        // of count: with bytes and a kernel time
  std::uint64_t timed_bytes = 0;  // sum over those
  double kernel_ns = 0;           // sum over those: from a kernel's begin to its end, the slowest channel
  double rate = 0;                // timed_bytes by kernel_ns, bytes a second; 0: not recorded
};

struct Communicator {
  std::uint64_t hash = 0;  // 0: not known, and the file is a communicator of its own
  std::string name;
  std::uint32_t ranks = 0;  // as NCCL told; 0: it did not
  std::uint32_t nodes = 0;
  std::vector<Member> members;  // by rank
  std::vector<HostClock> clocks;
  Basis basis = Basis::kEnqueue;
  std::uint64_t compared = 0;            // collectives
  std::optional<std::size_t> straggler;  // of members
  std::vector<Collective> worst;         // latest last arrival first
  std::vector<Link> links;      // slow ones first, sends first, lowest rate first, unknown rates last
  std::vector<SlowGroup> slow;  // each slow link in one; most links first
  std::vector<Pair> pairs;      // lowest rate first, unknown rates last
};

struct Profile {
  std::vector<Communicator> communicators;  // most members first
  std::vector<std::string> notes;
};

Profile make_profile(const std::vector<Input>& inputs);

// The event as the views name it: "AllReduce", "kernel", "send step".
std::string event_name(const profile_ring::Record& record);
std::string function_name(const profile_ring::Record& record);
// Bytes of an operation; 0 when the data type is not known.
std::uint64_t operation_bytes(const profile_ring::Record& record);

}  // namespace angio::profile
