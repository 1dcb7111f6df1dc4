#include "profile/clocks.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "knowledge/knowledge.hpp"
#include "profile/statistics.hpp"
#include "profile_ring/words.hpp"

namespace angio::profile {
namespace {

// A boot without an id is not known to be the same as any other.
std::string clock_key(const Input& input) {
  return input.file.boot.empty() ? "\n" + input.file.path : input.file.boot;
}

std::size_t clock_of(const Input& input, const Communicator& communicator) {
  const std::string key = clock_key(input);
  for (std::size_t i = 0; i < communicator.clocks.size(); ++i)
    if (communicator.clocks[i].boot == key) return i;
  return communicator.clocks.size();
}

// From monotonic time to wall time since the first member's anchor, so that a double holds nanoseconds: by
// the first file of each clock, for the anchors of its processes differ by what NTP moved in between.
std::vector<double> anchors_of(const std::vector<Input>& inputs, const Communicator& communicator) {
  std::vector<double> anchors(communicator.clocks.size());
  std::vector<bool> set(communicator.clocks.size());
  if (communicator.members.empty()) return anchors;
  const std::uint64_t base = inputs[communicator.members[0].input].file.header.realtime_ns;
  for (const Member& member : communicator.members) {
    const std::size_t clock = clock_of(inputs[member.input], communicator);
    if (set[clock]) continue;
    const profile_ring::Header& header = inputs[member.input].file.header;
    // Wraps for values that cannot be; the difference of sound ones fits.
    anchors[clock] = static_cast<double>(static_cast<std::int64_t>(header.realtime_ns - base)) -
                     static_cast<double>(header.monotonic_ns);
    set[clock] = true;
  }
  return anchors;
}

// All ranks leave these at nearly one moment; a root of the others may leave early.
bool ends_together(const profile_ring::Record& record) {
  constexpr std::array<std::string_view, 4> kTogether = {"AllReduce", "AllGather", "ReduceScatter",
                                                         "AlltoAll"};
  const std::string_view word = profile_ring::word_of(profile_ring::kFunctions, record.function);
  return std::ranges::find(kTogether, word) != kTogether.end();
}

// The median end of a gathering on each clock, where a rank of that clock has one.
std::map<std::size_t, double> ends_of(const Gathering& gathering,
                                      const std::vector<std::size_t>& clock_of_member,
                                      const std::vector<double>& anchors) {
  std::map<std::size_t, std::vector<double>> ends;
  for (const Part& part : gathering) {
    if (part.kernel.stop_ns == 0) continue;
    const std::size_t clock = clock_of_member[part.member];
    ends[clock].push_back(static_cast<double>(part.kernel.stop_ns) + anchors[clock]);
  }
  std::map<std::size_t, double> medians;
  for (auto& [clock, values] : ends)
    medians[clock] = median(std::move(values));
  return medians;
}

}  // namespace

void compare_clocks(const std::vector<Input>& inputs, const std::vector<Gathering>& gatherings,
                    Communicator& communicator) {
  std::vector<std::size_t> clock_of_member;
  for (const Member& member : communicator.members) {
    const Input& input = inputs[member.input];
    const std::size_t clock = clock_of(input, communicator);
    if (clock == communicator.clocks.size())
      communicator.clocks.push_back({.host = input.file.host, .boot = clock_key(input)});
    clock_of_member.push_back(clock);
  }
  if (communicator.clocks.empty()) return;
  communicator.clocks[0].comparable = true;
  const std::vector<double> anchors = anchors_of(inputs, communicator);
  std::vector<std::vector<double>> differences(communicator.clocks.size());
  for (const Gathering& gathering : gatherings) {
    if (gathering.empty() || !ends_together(*gathering[0].record)) continue;
    const auto ends = ends_of(gathering, clock_of_member, anchors);
    const auto first = ends.find(0);
    if (first == ends.end()) continue;
    for (const auto& [clock, end] : ends)
      differences[clock].push_back(end - first->second);
  }
  const double least = knowledge::threshold("profile.clock-collectives");
  for (std::size_t clock = 1; clock < communicator.clocks.size(); ++clock) {
    HostClock& host = communicator.clocks[clock];
    host.collectives = differences[clock].size();
    if (static_cast<double>(host.collectives) < least) continue;
    host.comparable = true;
    host.offset_ns = median(differences[clock]);
    host.uncertainty_ns = spread(differences[clock]);
  }
}

Scale::Scale(const std::vector<Input>& inputs, const Communicator& communicator) {
  const std::vector<double> anchors = anchors_of(inputs, communicator);
  for (const Member& member : communicator.members) {
    const std::size_t clock = clock_of(inputs[member.input], communicator);
    const HostClock& host = communicator.clocks[clock];
    shifts_.push_back(anchors[clock] - host.offset_ns);
    groups_.push_back(host.comparable ? 0 : clock);
    uncertainties_.push_back(host.uncertainty_ns.value_or(0));
  }
}

double Scale::time(std::size_t member, std::uint64_t monotonic_ns) const {
  return static_cast<double>(monotonic_ns) + shifts_[member];
}

}  // namespace angio::profile
