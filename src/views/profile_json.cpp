// The JSON of `angio profile`: schema angio.profile/1. Times are nanoseconds, rates bytes a second.
#include <fmt/format.h>

#include "views/profile_view.hpp"

namespace angio::views {
namespace {

using profile::Basis;
using profile::Communicator;
using profile::Input;
using profile::Link;
using profile::Member;
using profile::SlowGroup;
using profile::Unjudged;
using profile::Verdict;

Json rank_json(std::int32_t rank) {
  return rank < 0 ? Json() : Json(static_cast<std::int64_t>(rank));
}

Json figure(double value) {
  return value > 0 ? Json(value) : Json();
}

Json lane_json(const profile_ring::LaneState& lane) {
  return Json::object({{"capacity", lane.capacity},
                       {"started", lane.started},
                       {"dropped", lane.dropped},
                       {"overwritten", lane.overwritten},
                       {"overwritten_open", lane.overwritten_open},
                       {"late_stops", lane.late},
                       {"torn", lane.torn},
                       {"damaged", lane.damaged},
                       {"missing", lane.missing}});
}

Json file_json(const Input& input) {
  const profile_ring::Header& header = input.file.header;
  return Json::object({{"path", input.file.path},
                       {"host", input.file.host},
                       {"process", header.process},
                       {"state", state_words(input)},
                       {"interface", header.abi},
                       {"communicator", fmt::format("{:#x}", header.communicator)},
                       {"rank", rank_json(header.rank)},
                       {"events", static_cast<std::uint64_t>(input.file.events.size())},
                       {"lanes", Json::object({{"operations", lane_json(input.file.lanes[0])},
                                               {"channels", lane_json(input.file.lanes[1])},
                                               {"steps", lane_json(input.file.lanes[2])}})}});
}

Json member_json(const Member& member, const ProfileReport& report) {
  const Input& input = (*report.inputs)[member.input];
  const bool known = member.compared > 0;
  return Json::object({{"rank", rank_json(member.rank)},
                       {"host", input.file.host},
                       {"process", input.file.header.process},
                       {"collectives", member.collectives},
                       {"compared", member.compared},
                       {"last", member.last},
                       {"late_ns", known ? Json(member.late_ns) : Json()},
                       {"waited_ns", known ? Json(member.waited_ns) : Json()},
                       {"delayed_ns", known ? Json(member.delayed_ns) : Json()},
                       {"newest", member.newest.empty() ? Json() : Json(member.newest)},
                       {"open_kernels", member.open_kernels},
                       {"open_network", member.open_network}});
}

const char* why_word(Unjudged why) {
  switch (why) {
    case Unjudged::kReceive:
      return "receive";
    case Unjudged::kOperations:
      return "operations";
    case Unjudged::kBytesUnknown:
      return "bytes unknown";
    case Unjudged::kSmallSteps:
      return "small steps";
    case Unjudged::kFewSteps:
      return "few steps";
    case Unjudged::kFewAlike:
      return "few alike";
    case Unjudged::kJudged:
      break;
  }
  return "";
}

// The sends it was judged with, without the slow ones.
Json alike_json(const Link& link) {
  if (link.verdict == Verdict::kUnknown) return {};
  return Json::object({{"count", link.alike},
                       {"bytes_per_second_least", figure(link.alike_least)},
                       {"bytes_per_second_median", figure(link.alike_median)}});
}

Json link_json(const Link& link) {
  const char* verdict = link.verdict == Verdict::kSlow ? "slow" : "alike";
  return Json::object({{"rank", rank_json(link.rank)},
                       {"peer", rank_json(link.peer)},
                       {"channel", link.channel},
                       {"direction", link.send ? "send" : "receive"},
                       {"of", link.from_steps ? "steps" : "operations"},
                       {"count", link.count},
                       {"bytes", link.bytes},
                       {"bytes_at_most", link.bytes_at_most},
                       {"step_bytes", link.from_steps ? Json(link.step_bytes) : Json()},
                       {"bytes_per_second", figure(link.rate)},
                       {"gpu_wait_ns", link.from_steps ? Json(link.gpu_ns) : Json()},
                       {"peer_wait_ns", link.from_steps && link.send ? figure(link.peer_ns) : Json()},
                       {"network_wait_ns", link.from_steps ? Json(link.network_ns) : Json()},
                       {"flush_wait_ns", link.from_steps && !link.send ? Json(link.flush_ns) : Json()},
                       {"verdict", link.verdict == Verdict::kUnknown ? Json() : Json(verdict)},
                       {"not_judged", link.why == Unjudged::kJudged ? Json() : Json(why_word(link.why))},
                       {"alike", alike_json(link)}});
}

template <typename Items, typename Make>
Json list_of(const Items& items, const Make& make) {
  Json list = Json::array();
  for (const auto& item : items)
    list.push_back(make(item));
  return list;
}

Json clock_json(const profile::HostClock& clock) {
  return Json::object({{"host", clock.host},
                       {"comparable", clock.comparable},
                       {"offset_ns", clock.comparable ? Json(clock.offset_ns) : Json()},
                       {"uncertainty_ns", clock.uncertainty_ns ? Json(*clock.uncertainty_ns) : Json()},
                       {"collectives", clock.collectives}});
}

Json collective_json(const profile::Collective& each) {
  return Json::object({{"function", each.function},
                       {"sequence", each.sequence},
                       {"bytes", each.bytes > 0 ? Json(each.bytes) : Json()},
                       {"algorithm", each.algorithm.empty() ? Json() : Json(each.algorithm)},
                       {"protocol", each.protocol.empty() ? Json() : Json(each.protocol)},
                       {"channels", each.channels},
                       {"ranks", each.ranks},
                       {"last_rank", rank_json(each.last_rank)},
                       {"late_ns", each.late_ns},
                       {"spread_ns", each.spread_ns}});
}

Json pair_json(const profile::Pair& pair) {
  return Json::object({{"rank", rank_json(pair.rank)},
                       {"peer", rank_json(pair.peer)},
                       {"function", pair.function},
                       {"count", pair.count},
                       {"bytes", pair.bytes},
                       {"timed", pair.timed},
                       {"timed_bytes", pair.timed_bytes},
                       {"kernel_ns", figure(pair.kernel_ns)},
                       {"bytes_per_second", figure(pair.rate)}});
}

const char* common_word(SlowGroup::Common common) {
  switch (common) {
    case SlowGroup::Common::kSenderRank:
      return "sender rank";
    case SlowGroup::Common::kReceiverRank:
      return "receiver rank";
    case SlowGroup::Common::kSenderHost:
      return "sender host";
    case SlowGroup::Common::kReceiverHost:
      return "receiver host";
    case SlowGroup::Common::kPair:
      break;
  }
  return "pair";
}

// What the slow connections have in common, and which they are: places in "connections".
Json slow_json(const SlowGroup& group) {
  return Json::object({{"common", common_word(group.common)},
                       {"judged", group.judged},
                       {"connections", list_of(group.links, [](std::size_t link) {
                          return Json(static_cast<std::uint64_t>(link));
                        })}});
}

Json communicator_json(const Communicator& communicator, const ProfileReport& report) {
  const auto member = [&](const Member& each) { return member_json(each, report); };
  return Json::object(
      {{"hash", communicator.hash == 0 ? Json() : Json(fmt::format("{:#x}", communicator.hash))},
       {"name", communicator.name.empty() ? Json() : Json(communicator.name)},
       {"ranks", communicator.ranks == 0 ? Json() : Json(communicator.ranks)},
       {"nodes", communicator.nodes == 0 ? Json() : Json(communicator.nodes)},
       {"arrival", communicator.basis == Basis::kKernel ? "kernel" : "enqueue"},
       {"compared", communicator.compared},
       {"late_rank",
        communicator.straggler ? rank_json(communicator.members[*communicator.straggler].rank) : Json()},
       {"members", list_of(communicator.members, member)},
       {"clocks", list_of(communicator.clocks, clock_json)},
       {"latest", list_of(communicator.worst, collective_json)},
       {"connections", list_of(communicator.links, link_json)},
       {"slow", list_of(communicator.slow, slow_json)},
       {"point_to_point", list_of(communicator.pairs, pair_json)}});
}

}  // namespace

Json profile_json(const ProfileReport& report) {
  const auto communicator = [&](const Communicator& each) { return communicator_json(each, report); };
  return Json::object(
      {{"schema", "angio.profile/1"},
       {"files", list_of(*report.inputs, file_json)},
       {"communicators", list_of(report.profile->communicators, communicator)},
       {"notes", list_of(report.profile->notes, [](const std::string& note) { return Json(note); })}});
}

}  // namespace angio::views
