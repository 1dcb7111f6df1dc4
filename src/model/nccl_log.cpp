#include "model/nccl_log.hpp"

#include <algorithm>
#include <array>

namespace angio::model {

namespace {

constexpr auto kEventNames = std::to_array<const char*>({
    "other_warning",
    "error_chain",
    "duplicate_gpu",
    "version_mismatch",
    "cuda_failure",
    "system_call",
    "connect_refused",
    "connect_timeout",
    "connection_closed",
    "connection_reset",
    "no_interface",
    "no_such_interface",
    "message_truncated",
    "wrong_magic",
    "bootstrap_timeout",
    "name_resolution",
    "qp_create",
    "register_memory",
    "qp_modify",
    "verbs_call",
    "completion_error",
    "async_fatal",
    "async_port",
    "async_other",
    "no_ib_device",
    "shared_memory",
    "host_memory",
    "nvls",
    "mnnvl_imex",
    "p2p_disabled",
    "no_transport",
    "peer_query",
    "nvml",
    "no_path",
    "topology_file",
    "topology_limit",
    "topology_other",
    "invalid_argument",
    "invalid_setting",
    "plugin",
    "proxy_echo",
    "service_thread",
    "remote_error",
    "abort",
    "ras_notice",
    "driver",
    "collnet",
});
static_assert(kEventNames.size() == static_cast<std::size_t>(NcclEventKind::kCount));

std::uint64_t power(std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (std::uint64_t base = kNcclCallMultiplier; exponent > 0; exponent >>= 1U, base *= base) {
    if ((exponent & 1U) != 0) result *= base;
  }
  return result;
}

// The calls in blocks of this length, which is a multiple of their own.
std::vector<NcclCallBlock> in_blocks_of(const NcclCalls& calls, std::uint64_t length) {
  std::vector<NcclCallBlock> blocks;
  for (const auto& block : calls.blocks) {
    if (blocks.empty() || blocks.back().calls >= length) {
      blocks.push_back(block);
    } else {
      blocks.back() = join_blocks(blocks.back(), block);
    }
  }
  return blocks;
}

struct Pair {
  const NcclRank* a = nullptr;
  const NcclRank* b = nullptr;
  NcclIndex communicator = 0;
  [[nodiscard]] NcclMismatch start() const {
    NcclMismatch found;
    found.communicator = communicator;
    found.rank_a = a->rank.value_or(0);
    found.rank_b = b->rank.value_or(0);
    return found;
  }
};

// Where both have the calls in full, by their counter.
std::optional<NcclMismatch> compare_full(const Pair& pair, const std::vector<NcclCall>& a,
                                         const std::vector<NcclCall>& b) {
  auto right = b.begin();
  for (const auto& left : a) {
    while (right != b.end() && right->op_count < left.op_count)
      ++right;
    if (right == b.end()) break;
    if (right->op_count != left.op_count) continue;
    if (!left.same_call(*right)) {
      auto found = pair.start();
      found.exact = true;
      found.a = left;
      found.b = *right;
      found.first_op = found.last_op = left.op_count;
      return found;
    }
    ++right;
  }
  return std::nullopt;
}

// Equal counters stand for several calls of one group; then only the order tells them apart.
bool has_own_counters(const std::vector<NcclCall>& calls) {
  for (std::size_t i = 1; i < calls.size(); ++i) {
    if (calls[i].op_count <= calls[i - 1].op_count) return false;
  }
  return true;
}

std::optional<NcclMismatch> compare_in_order(const Pair& pair) {
  const auto& a = pair.a->calls.first;
  const auto& b = pair.b->calls.first;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].op_count == b[i].op_count && a[i].same_call(b[i])) continue;
    auto found = pair.start();
    found.exact = true;
    found.a = a[i];
    found.b = b[i];
    found.first_op = a[i].op_count;
    found.last_op = b[i].op_count;
    return found;
  }
  return std::nullopt;
}

std::optional<NcclMismatch> compare_blocks(const Pair& pair) {
  const auto& a = pair.a->calls;
  const auto& b = pair.b->calls;
  const auto length = std::max(a.block_length, b.block_length);
  const auto left = in_blocks_of(a, length);
  const auto right = in_blocks_of(b, length);
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i].calls != right[i].calls) break;  // one of them is not full: its calls are among the last
    if (left[i].hash == right[i].hash) continue;
    auto found = pair.start();
    found.first_op = left[i].first_op;
    found.last_op = i + 1 < left.size() ? left[i + 1].first_op
                                        : (a.last.empty() ? left[i].first_op : a.last.back().op_count);
    found.a.source = left[i].source;
    found.b.source = right[i].source;
    return found;
  }
  return std::nullopt;
}

std::optional<NcclMismatch> compare(const Pair& pair) {
  const auto& a = pair.a->calls;
  const auto& b = pair.b->calls;
  if (a.first.empty() || b.first.empty()) return std::nullopt;
  const bool same_start = a.first.front().op_count == b.first.front().op_count;
  if (same_start) {
    if (auto found = compare_in_order(pair)) return found;
  }
  if (has_own_counters(a.last) && has_own_counters(b.last)) {
    auto late = compare_full(pair, a.last, b.last);
    auto between = same_start ? compare_blocks(pair) : std::nullopt;
    // The earlier of the two; what lies in the last calls is known exactly.
    if (late && between && between->first_op <= late->first_op && between->last_op >= late->first_op)
      return late;
    return between ? between : late;
  }
  return same_start ? compare_blocks(pair) : std::nullopt;
}

}  // namespace

bool is_echo(const NcclEvent& event) {
  switch (event.kind) {
    case NcclEventKind::kErrorChain:
    case NcclEventKind::kProxyEcho:
    case NcclEventKind::kServiceThread:
    case NcclEventKind::kRemoteError:
    case NcclEventKind::kAbort:
    case NcclEventKind::kConnectionClosed:
    case NcclEventKind::kConnectionReset:
    case NcclEventKind::kRasNotice:
      return true;
    case NcclEventKind::kCompletionError:
      return event.status == 5;  // IBV_WC_WR_FLUSH_ERR: the queue pair had failed before; infiniband/verbs.h
    default:
      return false;
  }
}

const char* name_of(NcclEventKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kEventNames.size() ? kEventNames.at(index) : "other_warning";
}

const char* name_of(NcclTransport transport) {
  switch (transport) {
    case NcclTransport::kP2pDirect:
      return "P2P/direct pointer";
    case NcclTransport::kP2pIpc:
      return "P2P/IPC";
    case NcclTransport::kP2pCumem:
      return "P2P/CUMEM";
    case NcclTransport::kP2pIndirect:
      return "P2P/indirect";
    case NcclTransport::kP2pMnnvl:
      return "P2P/MNNVL";
    case NcclTransport::kP2pOther:
      return "P2P";
    case NcclTransport::kShm:
      return "SHM";
    case NcclTransport::kNet:
      return "NET";
    case NcclTransport::kCollNet:
      return "COLLNET";
    case NcclTransport::kUnknown:
      break;
  }
  return "unknown";
}

NcclCallBlock join_blocks(const NcclCallBlock& first, const NcclCallBlock& second) {
  NcclCallBlock joined = first;
  joined.calls = first.calls + second.calls;
  joined.hash = first.hash * power(second.calls) + second.hash;
  return joined;
}

namespace {

// A warning that the list does not know may be harmless ("Could not find real path of ..."): it is a failure
// when NCCL's callers passed an error on behind it.
bool is_failure(const NcclEvent& event) {
  return !event.handled && (event.kind != NcclEventKind::kOtherWarning || event.result.has_value());
}

}  // namespace

const NcclEvent* find_earliest_failure(const NcclLog& log) {
  const auto earlier = [](const NcclEvent& a, const NcclEvent& b) {
    if (a.time_us && b.time_us && *a.time_us != *b.time_us) return *a.time_us < *b.time_us;
    if (a.source.place != b.source.place) return a.source.place < b.source.place;
    return a.source.line < b.source.line;
  };
  const NcclEvent* best = nullptr;
  for (const auto& event : log.events) {
    if (!is_failure(event)) continue;
    if (best == nullptr || (is_echo(*best) && !is_echo(event)) ||
        (is_echo(*best) == is_echo(event) && earlier(event, *best)))
      best = &event;
  }
  return best;
}

std::optional<NcclMismatch> find_mismatch(const NcclLog& log, NcclIndex communicator) {
  if (communicator >= log.communicators.size()) return std::nullopt;
  const auto& ranks = log.communicators[communicator].ranks;
  const auto first =
      std::find_if(ranks.begin(), ranks.end(), [](const auto& rank) { return !rank.calls.first.empty(); });
  std::optional<NcclMismatch> best;
  for (auto other = first; other != ranks.end(); ++other) {
    if (other == first) continue;
    auto found = compare({&*first, &*other, communicator});
    if (found && (!best || found->first_op < best->first_op ||
                  (found->first_op == best->first_op && found->exact && !best->exact)))
      best = std::move(found);
  }
  return best;
}

std::vector<NcclLaggard> find_laggards(const NcclLog& log, NcclIndex communicator) {
  std::vector<NcclLaggard> laggards;
  if (communicator >= log.communicators.size()) return laggards;
  const auto& ranks = log.communicators[communicator].ranks;
  std::uint64_t most = 0;
  for (const auto& rank : ranks)
    most = std::max(most, rank.calls.collectives);
  for (const auto& rank : ranks) {
    if (rank.calls.collectives == most || rank.calls.last.empty()) continue;
    laggards.push_back({rank.rank.value_or(0), rank.calls.collectives, most, rank.calls.last.back().source});
  }
  return laggards;
}

std::set<std::string> hosts_of(const NcclLog& log) {
  std::set<std::string> hosts;
  for (const NcclProcess& process : log.processes)
    if (!process.host.empty()) hosts.insert(process.host);
  return hosts;
}

const std::string& host_of(const NcclLog& log, const NcclRank& rank) {
  static const std::string kNone;
  return rank.process < log.processes.size() ? log.processes[rank.process].host : kNone;
}

}  // namespace angio::model
