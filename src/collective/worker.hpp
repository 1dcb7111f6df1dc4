// What one rank of a benchmark of collectives does once it has its transport and has met the others:
// measures, checks the data, and gathers everybody's figures at rank 0. angio itself does it over NCCL, the
// optional binaries over MPI and gloo. Prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collective/meeting.hpp"
#include "collective/transport.hpp"
#include "collective/wish.hpp"
#include "model/collective_run.hpp"

namespace angio::collective {

// What a rank says about itself.
struct RankSelf {
  std::uint32_t local_rank = 0;
  std::string host;
  std::uint64_t pid = 0;
  std::string cpus;  // that it may use
  double began =
      0;  // Unix time of the launch, s: of the front if that told it, else of this process; 0: unknown
  double here = 0;          // Unix time at which this rank began to work, s
  double init_seconds = 0;  // its transport took
};
// Of this process; began from ANGIO_COLLECTIVE_BEGAN, else the start of the process.
RankSelf look_at_self(std::uint32_t local_rank);

// The variable in which the front tells when it began: Unix time in seconds.
inline constexpr const char* kBeganVariable = "ANGIO_COLLECTIVE_BEGAN";
// Rank 0 of a rank process prints its result as one line that begins so, JSON behind it.
inline constexpr const char* kResultMark = "angio-collective-run ";

struct WorkerCall {
  Transport& transport;
  Meeting& meeting;
  const Wish& wish;
  RankSelf self;
  std::function<bool()> stop;                             // asked between rows; may be empty
  std::function<void(const std::string& line)> progress;  // of rank 0: "AllReduce 8 MiB"; may be empty
};

// Rank 0 gets the run, the others nothing. Errors name the rank that could not go on; a rank that dies is
// told by the meeting (when_lost), for nobody else notices.
Result<std::optional<model::CollectiveRun>> run_worker(const WorkerCall& call);

// One rank from its words to its result, as the rank programs do it: `text` is the wish as JSON. Prints
// nothing; what rank 0 has to print is returned.
using MakeTransport = std::function<Result<std::unique_ptr<Transport>>(Meeting& meeting, const Wish& wish)>;
struct RankProcess {
  MeetingPlace place;
  std::uint32_t local_rank = 0;
  MakeTransport make;
  std::function<bool()> stop;
  std::function<void(const std::string& line)> progress;
  std::function<void(const std::string& words)> lost;  // from another thread: print and end the process
};
// Where the ranks meet, and which one this is, from the variables of the launcher (launch/rank.hpp,
// launch/rendezvous.hpp). Below torchrun, whose agent holds MASTER_PORT, one port further.
Result<RankProcess> rank_process(const std::vector<std::string>& environment);
Result<std::optional<model::CollectiveRun>> run_rank(const RankProcess& process, const Wish& wish);

}  // namespace angio::collective
