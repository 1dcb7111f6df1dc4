#include "profile/profile.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "base/text.hpp"
#include "profile/arrivals.hpp"
#include "profile/clocks.hpp"
#include "profile/links.hpp"
#include "profile/slow_groups.hpp"
#include "profile_ring/words.hpp"

namespace angio::profile {
namespace {

using profile_ring::EventKind;
using profile_ring::Record;

// Steps count as open only when their operation is: NCCL 2.24 to 2.26 forgets the stop of some receive steps
// (NVIDIA/nccl pull request 1682).
bool is_open(const profile_ring::Event& event, const std::unordered_set<std::uint64_t>& stopped) {
  const Record& record = event.record;
  return record.stop_ns == 0 && (record.kind != EventKind::kProxyStep || !stopped.contains(record.parent));
}

std::unordered_set<std::uint64_t> stopped_operations(const profile_ring::RingFile& file) {
  std::unordered_set<std::uint64_t> stopped;
  for (const profile_ring::Event& event : file.events)
    if (event.record.kind == EventKind::kProxyOp && event.record.stop_ns != 0)
      stopped.insert(event.reference);
  return stopped;
}

// The newest collective, and what is still open.
void describe(const profile_ring::RingFile& file, Member& member) {
  const std::unordered_set<std::uint64_t> stopped = stopped_operations(file);
  const Record* newest = nullptr;
  for (const profile_ring::Event& event : file.events) {
    const Record& record = event.record;
    if (record.kind == EventKind::kCollective) {
      ++member.collectives;
      if (newest == nullptr || record.start_ns >= newest->start_ns) newest = &record;
    } else if (is_open(event, stopped)) {
      if (record.kind == EventKind::kKernel) ++member.open_kernels;
      if (record.kind == EventKind::kProxyOp || record.kind == EventKind::kProxyStep) ++member.open_network;
    }
  }
  if (newest != nullptr) member.newest = function_name(*newest) + " " + std::to_string(newest->number);
}

// Files of one communicator have one hash. A file without one stands alone: its process is its key.
using Key = std::tuple<std::uint64_t, std::string>;
Key key_of(const profile_ring::RingFile& file) {
  return {file.header.communicator, file.header.communicator != 0 ? "" : file.path};
}

// A rank twice is the same file twice, or two jobs in one folder that share a hash: only one can be compared.
void drop_repeated(const std::vector<Input>& inputs, Communicator& communicator,
                   std::vector<std::string>& notes) {
  std::set<std::int32_t> seen;
  std::erase_if(communicator.members, [&](const Member& member) {
    if (member.rank < 0 || seen.insert(member.rank).second) return false;
    notes.push_back(inputs[member.input].file.path + " is another file of rank " +
                    std::to_string(member.rank) + " of the same communicator; it is left out");
    return true;
  });
}

Communicator gather_members(const std::vector<Input>& inputs, const std::vector<std::size_t>& files,
                            std::vector<std::string>& notes) {
  Communicator communicator;
  const profile_ring::RingFile& first = inputs[files[0]].file;
  communicator.hash = first.header.communicator;
  communicator.name = first.name;
  for (const std::size_t file : files) {
    const profile_ring::Header& header = inputs[file].file.header;
    communicator.ranks = std::max(communicator.ranks, header.ranks);
    communicator.nodes = std::max(communicator.nodes, header.nodes);
    Member member{.input = file, .rank = header.rank};
    describe(inputs[file].file, member);
    communicator.members.push_back(std::move(member));
  }
  std::ranges::stable_sort(communicator.members, {}, &Member::rank);
  drop_repeated(inputs, communicator, notes);
  return communicator;
}

}  // namespace

std::string function_name(const Record& record) {
  const std::string_view word = profile_ring::word_of(profile_ring::kFunctions, record.function);
  if (!word.empty()) return std::string(word);
  const auto end = std::find(record.text.begin(), record.text.end(), '\0');
  const std::string text = printable(std::string(record.text.begin(), end));
  return text.empty() ? "operation" : text;
}

std::uint64_t operation_bytes(const Record& record) {
  const std::uint64_t element = profile_ring::element_size(record.data_type);
  if (element == 0 || record.size > std::numeric_limits<std::uint64_t>::max() / element) return 0;
  return record.size * element;
}

std::string event_name(const Record& record) {
  const bool send = (record.flags & profile_ring::kIsSend) != 0;
  switch (record.kind) {
    case EventKind::kGroup:
      return "group";
    case EventKind::kCollective:
    case EventKind::kPointToPoint:
    case EventKind::kCopyCollective:
      return function_name(record);
    case EventKind::kProxyOp:
      return send ? "proxy send" : "proxy receive";
    case EventKind::kProxyStep:
      return "step";
    case EventKind::kProxyControl:
      return "proxy idle or appending";
    case EventKind::kKernel:
      return "kernel";
    case EventKind::kNetwork:
      return "network request";
    case EventKind::kGroupApi:
      return "ncclGroup";
    case EventKind::kCollectiveApi:
    case EventKind::kPointToPointApi:
      return "nccl" + function_name(record);
    case EventKind::kKernelLaunch:
      return "kernel launch";
    case EventKind::kCopySync:
      return "copy-engine synchronisation";
    case EventKind::kCopyBatch:
      return "copy-engine batch";
    case EventKind::kKernelPhase:
      return "kernel phase " + std::to_string(record.number);
  }
  return "event";
}

Profile make_profile(const std::vector<Input>& inputs) {
  std::map<Key, std::vector<std::size_t>> files;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    files[key_of(inputs[i].file)].push_back(i);
  Profile profile;
  for (const auto& [key, own] : files) {
    Communicator communicator = gather_members(inputs, own, profile.notes);
    const std::vector<Gathering> gatherings = gather(inputs, communicator);
    compare_clocks(inputs, gatherings, communicator);
    compare_arrivals(inputs, gatherings, communicator);
    communicator.links = find_links(inputs, communicator);
    communicator.slow = group_slow(inputs, communicator);
    communicator.pairs = find_pairs(inputs, communicator);
    profile.communicators.push_back(std::move(communicator));
  }
  std::ranges::stable_sort(profile.communicators, std::ranges::greater{},
                           [](const Communicator& each) { return each.members.size(); });
  return profile;
}

}  // namespace angio::profile
