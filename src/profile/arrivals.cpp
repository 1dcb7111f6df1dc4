#include "profile/arrivals.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "knowledge/knowledge.hpp"
#include "profile/statistics.hpp"
#include "profile_ring/words.hpp"

namespace angio::profile {
namespace {

struct Arrival {
  std::size_t member = 0;
  double time = 0;  // nanoseconds on the scale
};

// What is added up over all collectives.
struct Sums {
  std::vector<std::vector<double>> late;  // of each member
};

auto key_of(const Part& part) {
  return std::tuple(part.record->function, part.record->number, part.occurrence);
}

Basis basis_of(const std::vector<Gathering>& gatherings) {
  for (const Gathering& gathering : gatherings)
    for (const Part& part : gathering)
      if (part.kernel.start_ns != 0) return Basis::kKernel;
  return Basis::kEnqueue;
}

std::map<std::size_t, std::vector<Arrival>> arrivals_of(const Gathering& gathering, Basis basis,
                                                        const Scale& scale) {
  std::map<std::size_t, std::vector<Arrival>> groups;
  for (const Part& part : gathering) {
    const std::uint64_t time = basis == Basis::kKernel ? part.kernel.start_ns : part.record->start_ns;
    if (time == 0) continue;
    groups[scale.group(part.member)].push_back({part.member, scale.time(part.member, time)});
  }
  for (auto& [group, arrivals] : groups)
    std::ranges::sort(arrivals, {}, &Arrival::time);
  return groups;
}

// Median of sorted arrivals with one left out.
double median_without(const std::vector<Arrival>& sorted, std::size_t left_out) {
  const std::size_t count = sorted.size() - 1;
  const auto at = [&](std::size_t index) { return sorted[index < left_out ? index : index + 1].time; };
  return count % 2 == 1 ? at(count / 2) : (at(count / 2 - 1) + at(count / 2)) / 2;
}

Collective describe(const profile_ring::Record& record, const std::vector<Arrival>& sorted,
                    const Communicator& communicator) {
  const std::size_t last = sorted.size() - 1;
  return {.function = function_name(record),
          .sequence = record.number,
          .bytes = operation_bytes(record),
          .algorithm = std::string(profile_ring::word_of(profile_ring::kAlgorithms, record.algorithm)),
          .protocol = std::string(profile_ring::word_of(profile_ring::kProtocols, record.protocol)),
          .channels = record.channels,
          .ranks = static_cast<std::uint32_t>(sorted.size()),
          .last_rank = communicator.members[sorted[last].member].rank,
          .late_ns = sorted[last].time - median_without(sorted, last),
          .spread_ns = sorted[last].time - sorted[0].time};
}

void add_up(const std::vector<Arrival>& sorted, Communicator& communicator, Sums& sums) {
  const std::size_t last = sorted.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    Member& member = communicator.members[sorted[i].member];
    ++member.compared;
    member.waited_ns += sorted[last].time - sorted[i].time;
    sums.late[sorted[i].member].push_back(sorted[i].time - median_without(sorted, i));
  }
  if (sorted[last].time <= sorted[last - 1].time) return;  // several together: nobody kept the others waiting
  Member& slowest = communicator.members[sorted[last].member];
  ++slowest.last;
  slowest.delayed_ns += sorted[last].time - sorted[last - 1].time;
}

// One member that is last far more often than chance, by more than the clocks leave open.
void find_straggler(const Scale& scale, Communicator& communicator) {
  const double least_share = knowledge::threshold("profile.straggler-share");
  const double least_collectives = knowledge::threshold("profile.straggler-collectives");
  const double least_late = knowledge::threshold("profile.straggler-late");
  const double certainty = knowledge::threshold("profile.clock-certainty");
  double open = 0;
  for (std::size_t i = 0; i < communicator.members.size(); ++i)
    open = std::max(open, scale.uncertainty(i));
  for (std::size_t i = 0; i < communicator.members.size(); ++i) {
    const Member& member = communicator.members[i];
    const auto compared = static_cast<double>(member.compared);
    if (compared < least_collectives || static_cast<double>(member.last) < least_share * compared) continue;
    if (member.late_ns < std::max(least_late, certainty * open)) continue;
    if (!communicator.straggler || communicator.members[*communicator.straggler].late_ns < member.late_ns)
      communicator.straggler = i;
  }
}

void keep_worst(std::vector<Collective>& worst) {
  const auto most = static_cast<std::size_t>(knowledge::threshold("profile.shown"));
  std::ranges::sort(worst, std::ranges::greater{}, &Collective::late_ns);
  if (worst.size() > most) worst.resize(most);
}

}  // namespace

std::vector<Gathering> gather(const std::vector<Input>& inputs, const Communicator& communicator) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < communicator.members.size(); ++i) {
    const std::vector<Part> own = parts_of(inputs[communicator.members[i].input].file, i);
    parts.insert(parts.end(), own.begin(), own.end());
  }
  std::ranges::stable_sort(parts, {}, key_of);
  std::vector<Gathering> gatherings;
  for (const Part& part : parts) {
    if (gatherings.empty() || key_of(gatherings.back()[0]) != key_of(part)) gatherings.emplace_back();
    gatherings.back().push_back(part);
  }
  std::ranges::stable_sort(gatherings, {}, [](const Gathering& each) { return each[0].record->start_ns; });
  return gatherings;
}

void compare_arrivals(const std::vector<Input>& inputs, const std::vector<Gathering>& gatherings,
                      Communicator& communicator) {
  const Scale scale(inputs, communicator);
  communicator.basis = basis_of(gatherings);
  Sums sums;
  sums.late.resize(communicator.members.size());
  for (const Gathering& gathering : gatherings) {
    bool compared = false;
    for (const auto& [group, sorted] : arrivals_of(gathering, communicator.basis, scale)) {
      if (sorted.size() < 2) continue;
      compared = true;
      add_up(sorted, communicator, sums);
      communicator.worst.push_back(describe(*gathering[0].record, sorted, communicator));
    }
    communicator.compared += compared ? 1 : 0;
  }
  for (std::size_t i = 0; i < communicator.members.size(); ++i)
    communicator.members[i].late_ns = median(std::move(sums.late[i]));
  find_straggler(scale, communicator);
  keep_worst(communicator.worst);
}

}  // namespace angio::profile
