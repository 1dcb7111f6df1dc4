#include "import/nccl_log/members.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace angio::import::nccl_log {

namespace {

// A guess looks at the newest open communicators of its size only: a hostile log could have a million.
constexpr std::size_t kCandidates = 64;

void move_patterns(Group& from, Group& into) {
  for (auto& pattern : from.facts.patterns) {
    const auto same =
        std::find_if(into.facts.patterns.begin(), into.facts.patterns.end(), [&](const auto& other) {
          return other.pattern == pattern.pattern && other.channels == pattern.channels &&
                 other.bw_intra == pattern.bw_intra && other.bw_inter == pattern.bw_inter &&
                 other.type_intra == pattern.type_intra && other.type_inter == pattern.type_inter &&
                 other.same_channels == pattern.same_channels && other.cross_nic == pattern.cross_nic;
        });
    if (same != into.facts.patterns.end()) {
      same->count += pattern.count;
    } else if (into.facts.patterns.size() < kMaxPatterns) {
      into.facts.patterns.push_back(std::move(pattern));
    }
  }
}

void move_choices(Group& from, Group& into) {
  into.facts.choices_left_out += from.facts.choices_left_out;
  for (auto& choice : from.facts.choices) {
    const auto same =
        std::find_if(into.facts.choices.begin(), into.facts.choices.end(), [&](const auto& other) {
          return other.bytes == choice.bytes && other.function == choice.function &&
                 other.algorithm == choice.algorithm && other.protocol == choice.protocol &&
                 other.kernel == choice.kernel;
        });
    if (same != into.facts.choices.end()) {
      same->count += choice.count;
    } else if (into.facts.choices.size() < kMaxChoices) {
      into.facts.choices.push_back(std::move(choice));
    } else {
      into.facts.choices_left_out += choice.count;
    }
  }
}

// What ranks print of their whole communicator, said before its identity was known.
void move_facts(Group& from, Group& into) {
  move_patterns(from, into);
  move_choices(from, into);
  if (into.facts.rings.empty()) into.facts.rings = std::move(from.facts.rings);
  if (into.facts.tuning.empty()) {
    into.facts.tuning = std::move(from.facts.tuning);
    into.facts.max_threads = std::move(from.facts.max_threads);
    into.facts.tuning_source = from.facts.tuning_source;
  }
  if (into.facts.thread_thresholds.empty())
    into.facts.thread_thresholds = std::move(from.facts.thread_thresholds);
  from.gone = true;
}

std::uint64_t pair_key(std::uint64_t first, std::uint64_t second) {
  return mix(mix(1, first), second);
}

}  // namespace

std::uint32_t Members::add(model::NcclIndex process, model::Source source) {
  if (members_.size() >= kMaxMembers) return kNone;
  const auto member = static_cast<std::uint32_t>(members_.size());
  const auto group = static_cast<std::uint32_t>(groups_.size());
  members_.emplace_back();
  members_.back().rank.process = process;
  members_.back().group = group;
  groups_.emplace_back();
  groups_.back().facts.first = source;
  groups_.back().members.push_back(member);
  seats_.emplace_back();
  if (by_process_.size() <= process) by_process_.resize(std::size_t{process} + 1);
  by_process_[process].push_back(member);
  return member;
}

const std::vector<std::uint32_t>& Members::of_process(model::NcclIndex process) const {
  return process < by_process_.size() ? by_process_[process] : empty_;
}

std::uint32_t Members::find(model::NcclIndex process, std::uint64_t address) const {
  return by_address_.find(pair_key(process, address));
}

void Members::name(std::uint32_t member, model::NcclIndex process, std::uint64_t address) {
  by_address_.put(pair_key(process, address), member);
}

// Before 2.18: a communicator of this size that lacks this rank, best one with a rank on the same host
// (another GPU of it), then one whose ranks sit on the same GPU number of other hosts.
std::uint32_t Members::guess_group(const Identity& identity, std::string_view host,
                                   std::optional<int> device) {
  const auto list = open_.find(identity.nranks);
  if (list == kNone) return kNone;
  auto& open = open_groups_[list];
  const auto host_hash = hash_text(host);
  std::uint32_t best = kNone;
  int best_score = 0;
  const std::size_t first = open.size() > kCandidates ? open.size() - kCandidates : 0;
  for (std::size_t i = first; i < open.size(); ++i) {
    const auto group = open[i];
    if (taken_.find(pair_key(group, identity.rank)) != kNone) continue;
    int score = 1;
    for (const Seat& seat : seats_[group]) {
      if (seat.host == host_hash && device && seat.device == device) {
        score = 0;  // one GPU has one rank of a communicator
        break;
      }
      if (seat.host == host_hash) {
        score = 3;
      } else if (score < 2 && seat.device == device) {
        score = 2;
      }
    }
    if (score > best_score) {
      best = group;
      best_score = score;
    }
  }
  return best;
}

std::uint32_t Members::find_group(const Identity& identity, std::string_view host,
                                  std::optional<int> device) {
  if (identity.id.empty()) return guess_group(identity, host, device);
  return by_id_.find(pair_key(hash_text(identity.id), identity.nranks));
}

void Members::move(std::uint32_t member, std::uint32_t target) {
  Group& from = groups_[members_[member].group];
  Group& into = groups_[target];
  if (&from == &into) return;
  move_facts(from, into);
  from.members.clear();
  members_[member].group = target;
  into.members.push_back(member);
}

void Members::settle(std::uint32_t member, const Identity& identity, std::string_view host,
                     model::Source source) {
  Member& seated = members_[member];
  seated.rank.rank = identity.rank;
  seated.nranks = identity.nranks;
  if (groups_[seated.group].settled) return;
  const auto device = seated.rank.cuda_device;
  const auto known = find_group(identity, host, device);
  if (known != kNone) {
    move(member, known);
  } else {
    Group& group = groups_[seated.group];
    group.settled = true;
    group.facts.id = std::string(identity.id);
    group.facts.nranks = identity.nranks;
    group.facts.guessed = identity.id.empty();
    group.facts.first = source;
    if (!identity.id.empty()) {
      by_id_.put(pair_key(hash_text(identity.id), identity.nranks), seated.group);
    } else {
      if (open_.find(identity.nranks) == kNone) {
        open_.put(identity.nranks, static_cast<std::uint32_t>(open_groups_.size()));
        open_groups_.emplace_back();
      }
      open_groups_[open_.find(identity.nranks)].push_back(seated.group);
    }
  }
  if (!identity.id.empty()) return;
  taken_.put(pair_key(seated.group, identity.rank), member);
  auto& seats = seats_[seated.group];
  seats.push_back({hash_text(host), device});
  if (seats.size() >= identity.nranks) std::erase(open_groups_[open_.find(identity.nranks)], seated.group);
}

// Ranks whose communicator never said its size go together as long as their numbers differ.
void Members::settle_rest() {
  std::vector<std::uint32_t> rest;
  Index used;
  for (std::uint32_t member = 0; member < members_.size(); ++member) {
    if (groups_[members_[member].group].settled || groups_[members_[member].group].gone) continue;
    const auto& rank = members_[member].rank.rank;
    // The n-th rank of one number goes into the n-th communicator; those without a number into the first.
    std::uint32_t turn = 0;
    if (rank) {
      const auto before = used.find(*rank);
      turn = before == kNone ? 0 : before + 1;
      used.put(*rank, turn);
    }
    if (turn >= rest.size()) {
      rest.push_back(members_[member].group);
      groups_[members_[member].group].facts.guessed = true;
    } else {
      move(member, rest[turn]);
    }
  }
}

// A log that lost its first lines: ranks whose commId was cut away belong to the only communicator of their
// size that has one and lacks them.
void Members::join_cut() {
  std::map<std::uint32_t, std::uint32_t> named;  // by size; kNone: several
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    const auto& facts = groups_[group].facts;
    if (groups_[group].gone || facts.id.empty()) continue;
    const auto [place, fresh] = named.emplace(facts.nranks, group);
    if (!fresh) place->second = kNone;
  }
  for (Group& from : groups_) {
    const auto target = named.find(from.facts.nranks);
    if (from.gone || !from.facts.id.empty() || from.facts.nranks == 0 || target == named.end() ||
        target->second == kNone)
      continue;
    join_cut(from, groups_[target->second], target->second);
  }
}

void Members::join_cut(Group& from, Group& into, std::uint32_t target) {
  std::set<std::uint32_t> taken;
  for (const auto member : into.members)
    if (const auto& rank = members_[member].rank.rank) taken.insert(*rank);
  const bool fits = std::ranges::all_of(from.members, [&](std::uint32_t member) {
    const auto& rank = members_[member].rank.rank;
    return rank && taken.insert(*rank).second;
  });
  if (!fits) return;
  if (!into.facts.nodes) {
    into.facts.nodes = from.facts.nodes;
    into.facts.nodes_source = from.facts.nodes_source;
  }
  move_facts(from, into);
  for (const auto member : from.members) {
    members_[member].group = target;
    into.members.push_back(member);
  }
  from.members.clear();
}

// NCCL cuts the line of a ring at about 28 ranks; where every rank says its successor, the ring is made of
// those. The last number of a cut line may be cut too, so nothing of it but its first is taken.
void Members::complete_rings(Group& group) const {
  const std::size_t ranks = group.facts.nranks;
  if (ranks < 2 || group.members.size() < ranks) return;     // bounds the tables by what was read
  std::map<std::uint32_t, std::vector<std::uint32_t>> next;  // by channel
  for (const model::NcclRing& ring : group.facts.rings)
    if (ring.order.size() < ranks) next[ring.channel].assign(ranks, kNone);
  if (next.empty()) return;
  for (const std::uint32_t member : group.members) {
    const Member& one = members_[member];
    if (!one.rank.rank || *one.rank.rank >= ranks) continue;
    for (const RingHop& hop : one.ring_hops)
      if (const auto found = next.find(hop.channel); found != next.end() && hop.next < ranks)
        found->second[*one.rank.rank] = hop.next;
  }
  for (model::NcclRing& ring : group.facts.rings) {
    const auto found = next.find(ring.channel);
    if (found == next.end() || ring.order.front() >= ranks) continue;
    std::vector<std::uint32_t> order{ring.order.front()};
    while (order.size() <= ranks) {
      const std::uint32_t rank = found->second[order.back()];
      if (rank == kNone || rank == order.front()) break;
      order.push_back(rank);
    }
    if (order.size() == ranks) ring.order = std::move(order);
  }
}

std::vector<model::NcclCommunicator> Members::take() {
  settle_rest();
  join_cut();
  std::vector<model::NcclCommunicator> all;
  for (Group& group : groups_) {
    if (group.gone) continue;
    std::stable_sort(group.members.begin(), group.members.end(), [&](std::uint32_t a, std::uint32_t b) {
      constexpr std::uint32_t kLast = 0xffffffffU;
      return members_[a].rank.rank.value_or(kLast) < members_[b].rank.rank.value_or(kLast);
    });
    complete_rings(group);
    for (const auto member : group.members) {
      members_[member].rank.calls = members_[member].calls.finish();
      group.facts.ranks.push_back(std::move(members_[member].rank));
    }
    std::sort(group.facts.rings.begin(), group.facts.rings.end(),
              [](const auto& a, const auto& b) { return a.channel < b.channel; });
    all.push_back(std::move(group.facts));
  }
  *this = Members{};
  return all;
}

}  // namespace angio::import::nccl_log
