// One answer of NCCL's RAS service (ncclras, text or JSON): the job, its communicators, and who is missing,
// behind or ahead. Values as the service states them. What a MISMATCH means is said by the rules, not here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/observed.hpp"

namespace angio::model {

struct RasRank {
  std::uint32_t rank = 0;
  std::string gpus;  // "6", as printed
  std::uint64_t pid = 0;
  std::string host;
  Source source;
  std::map<std::string, std::uint64_t> launched;  // operations by collective; JSON only
  std::optional<int> async_error;                 // ncclResult_t
  bool aborted = false;
  bool unresponsive = false;
  bool dead = false;
};

// "3 ranks have launched up to operation 41": the ranks listed below such a line.
struct RasMismatch {
  std::uint32_t ranks = 0;
  std::optional<std::uint64_t> operation;
  std::string collective;       // "AllReduce" where the answer counts by kind (2.26 and newer)
  std::vector<RasRank> listed;  // the smaller part of a communicator; the rest is not listed
  Source source;
  bool rest = false;  // "the rest": the line that speaks of those who are not listed
};

struct RasCommunicator {
  std::string name;  // "#0-0"; empty in JSON
  std::string hash;
  std::optional<std::uint32_t> size;
  std::optional<std::uint32_t> missing_count;
  std::vector<RasRank> ranks;  // JSON only
  std::vector<RasRank> missing;
  std::vector<RasMismatch> mismatches;
  Source source;
};

// A row of the text's table "Communicators".
struct RasGroup {
  std::uint32_t number = 0;
  std::uint32_t communicators = 0;
  std::uint32_t nodes = 0;
  std::string ranks_per_node;  // "8", "7-8"
  std::string ranks_per_communicator;
  std::string ranks;
  std::string status;  // "RUNNING", "INIT,RUNNING"
  std::string errors;  // "OK", "MISMATCH", "INCOMPLETE"
  Source source;
};

struct RasProblem {
  std::string kind;  // "DEAD", "INCOMPLETE", "TIMEOUT", "NOCOMM", or an event of the monitor: "PEER_DEAD"
  std::string text;
  std::vector<RasRank> processes;  // rank is not said here
  Source source;
};

struct RasReport {
  std::string library;  // "NCCL", "RCCL"
  std::string version;
  std::string time;
  bool json = false;
  std::optional<std::uint32_t> nodes;
  std::optional<std::uint32_t> processes;
  std::optional<std::uint32_t> gpus;
  std::vector<RasGroup> groups;
  std::vector<RasCommunicator> communicators;
  std::vector<RasProblem> problems;  // of processes, and what the monitor told
  std::optional<std::uint32_t> timeouts;
  bool saw_errors = false;  // the text reaches its section "Errors"
  Source source;
};

}  // namespace angio::model
