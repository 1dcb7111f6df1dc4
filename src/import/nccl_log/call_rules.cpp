// The trace of collectives (subsystem COLL), one line a call: kept so that two ranks can be held against each
// other in constant memory.
#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "import/nccl_log/rules.hpp"

namespace angio::import::nccl_log {

namespace {

// The same order as kFunctions.
constexpr auto kStarts = std::to_array<std::string_view>(
    {"AllReduce: opCount ", "AllGather: opCount ", "ReduceScatter: opCount ", "Broadcast: opCount ",
     "Reduce: opCount ", "AlltoAll: opCount ", "AllToAll: opCount ", "Gather: opCount ", "Scatter: opCount ",
     "AllGatherV: opCount ", "AllToAllv: opCount ", "PutSignal: opCount ", "Send: opCount ",
     "Recv: opCount "});
static_assert(kStarts.size() == kFunctions.size());

// "opCount 1f sendbuff 0x.. recvbuff 0x.. count 1024 datatype 7 op 0 root 0 comm 0x.. [nranks=8] stream 0x.."
bool read_fields(Scan scan, Call& call, std::uint64_t& address) {
  if (!scan.hex(call.op_count)) return false;
  if (scan.eat(" sendbuff ")) scan.skip_word();
  if (scan.eat(" recvbuff ")) scan.skip_word();
  if (!scan.eat(" count ") && !scan.skip_past(" count ")) return false;
  if (!scan.number(call.count)) return false;
  if (!scan.eat(" datatype ") || !scan.number(call.datatype)) return false;
  if (!scan.eat(" op ") || !scan.number(call.op)) return false;
  if (!scan.eat(" root ") || !scan.number(call.root)) return false;
  return scan.eat(" comm ") && scan.hex(address);
}

std::uint32_t find_caller(Parser& parser, const Message& message, std::uint64_t address, Scan scan) {
  auto& thread = parser.thread(message);
  if (thread.calling != Members::kNone && thread.calling_address == address) return thread.calling;
  auto member = parser.members().find(message.process, address);
  if (member == Members::kNone) {
    // The log begins behind the initialisation: a rank of which only the address is known.
    const auto before = thread.member;
    member = parser.new_rank(message);
    if (before != Members::kNone) thread.member = before;
    if (member == Members::kNone) return member;
    parser.members().name(member, message.process, address);
    parser.members().at(member).rank.cuda_device = message.envelope->device;
    std::uint32_t nranks = 0;
    if (scan.skip_past("[nranks=") && scan.number(nranks)) parser.members().at(member).nranks = nranks;
  }
  thread.calling = member;
  thread.calling_address = address;
  return member;
}

// "AllReduce: opCount 1f ..."
template <std::uint8_t kFunction>
bool read_call(Parser& parser, const Message& message, Scan scan) {
  Call call;
  std::uint64_t address = 0;
  if (!read_fields(scan, call, address)) return false;
  const auto member = find_caller(parser, message, address, scan);
  if (member == Members::kNone) return true;
  auto& calls = parser.members().at(member).calls;
  if constexpr (kFunction == kSend || kFunction == kRecv) {
    calls.add_point_to_point();
  } else {
    call.function = kFunction;
    call.line = message.source.line;
    call.place = message.source.place;
    calls.add(call);
  }
  return true;
}

// One rule for each function.
template <std::size_t... kIndex>
constexpr auto make_rules(std::index_sequence<kIndex...> /*functions*/) {
  return std::array<Rule, sizeof...(kIndex)>{
      Rule{kStarts[kIndex], read_call<static_cast<std::uint8_t>(kIndex)>}...};
}

}  // namespace

std::span<const Rule> call_rules() {
  static constexpr auto kRules = make_rules(std::make_index_sequence<kFunctions.size()>());
  return kRules;
}

}  // namespace angio::import::nccl_log
