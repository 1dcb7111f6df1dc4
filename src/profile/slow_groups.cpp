#include "profile/slow_groups.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "knowledge/knowledge.hpp"

namespace angio::profile {
namespace {

using Common = SlowGroup::Common;

// The host of a rank as text; the rank's number where no file tells the host.
std::string host_of(std::int32_t rank, const std::map<std::int32_t, std::string>& hosts) {
  const auto host = hosts.find(rank);
  return host == hosts.end() ? "\n" + std::to_string(rank) : host->second;
}

std::map<std::int32_t, std::string> hosts_of(const std::vector<Input>& inputs,
                                             const Communicator& communicator) {
  std::map<std::int32_t, std::string> hosts;
  for (const Member& member : communicator.members) {
    const profile_ring::RingFile& file = inputs[member.input].file;
    hosts[member.rank] = file.boot + "\n" + file.host;
  }
  return hosts;
}

// Connections that have a node or a rank in common.
struct Candidate {
  Common common = Common::kPair;
  std::vector<std::size_t> slow;
  std::uint64_t judged = 0;
};

class Grouper {
 public:
  Grouper(const std::vector<Input>& inputs, const Communicator& communicator)
      : links_(communicator.links), hosts_(hosts_of(inputs, communicator)), taken_(links_.size()) {}

  std::vector<SlowGroup> group() {
    take({Common::kSenderHost, Common::kReceiverHost});
    take({Common::kSenderRank, Common::kReceiverRank});
    take({Common::kPair});
    std::ranges::stable_sort(groups_, std::ranges::greater{},
                             [](const SlowGroup& group) { return group.links.size(); });
    return std::move(groups_);
  }

 private:
  [[nodiscard]] std::string key_of(const Link& link, Common common) const {
    switch (common) {
      case Common::kSenderHost:
        return host_of(link.rank, hosts_);
      case Common::kReceiverHost:
        return host_of(link.peer, hosts_);
      case Common::kSenderRank:
        return std::to_string(link.rank);
      case Common::kReceiverRank:
        return std::to_string(link.peer);
      case Common::kPair:
        break;
    }
    return std::to_string(link.rank) + " " + std::to_string(link.peer);
  }

  void add_candidates(Common common, std::vector<Candidate>& candidates) const {
    std::map<std::string, Candidate> by_key;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (links_[i].verdict == Verdict::kUnknown) continue;
      Candidate& candidate = by_key[key_of(links_[i], common)];
      candidate.common = common;
      ++candidate.judged;
      if (links_[i].verdict == Verdict::kSlow) candidate.slow.push_back(i);
    }
    for (auto& [key, candidate] : by_key)
      if (!candidate.slow.empty()) candidates.push_back(std::move(candidate));
  }

  // How many senders, receivers and pairs the links are of.
  struct Ends {
    std::set<std::int32_t> ranks;
    std::set<std::int32_t> peers;
    std::set<std::pair<std::int32_t, std::int32_t>> pairs;
  };
  [[nodiscard]] Ends ends_of(const std::vector<std::size_t>& links) const {
    Ends ends;
    for (const std::size_t link : links) {
      ends.ranks.insert(links_[link].rank);
      ends.peers.insert(links_[link].peer);
      ends.pairs.insert({links_[link].rank, links_[link].peer});
    }
    return ends;
  }

  // A node or rank stands out when several of its pairs are slow, and most of what could be judged of it.
  [[nodiscard]] bool stands_out(const Candidate& candidate, const Ends& ends) const {
    const double share = knowledge::threshold("profile.slow-group-share");
    return ends.pairs.size() > 1 &&
           static_cast<double>(candidate.slow.size()) >= share * static_cast<double>(candidate.judged);
  }

  // A node of whose ranks only one is slow: it is the rank.
  void narrow(const Ends& ends, SlowGroup& group) const {
    const bool sender = group.common == Common::kSenderHost && ends.ranks.size() == 1;
    const bool receiver = group.common == Common::kReceiverHost && ends.peers.size() == 1;
    if (!sender && !receiver) return;
    group.common = sender ? Common::kSenderRank : Common::kReceiverRank;
    const Link& first = links_[group.links[0]];
    group.judged = static_cast<std::uint64_t>(std::ranges::count_if(links_, [&](const Link& link) {
      const bool same = sender ? link.rank == first.rank : link.peer == first.peer;
      return same && link.verdict != Verdict::kUnknown;
    }));
  }

  // The one with most slow connections first; of two with the same ones the sender.
  void take(std::initializer_list<Common> commons) {
    std::vector<Candidate> candidates;
    for (const Common common : commons)
      add_candidates(common, candidates);
    std::ranges::stable_sort(candidates, std::ranges::greater{},
                             [](const Candidate& each) { return each.slow.size(); });
    for (Candidate& candidate : candidates) {
      if (candidate.common != Common::kPair && !stands_out(candidate, ends_of(candidate.slow))) continue;
      std::erase_if(candidate.slow, [&](std::size_t link) { return taken_[link]; });
      const Ends ends = ends_of(candidate.slow);
      if (candidate.slow.empty() || (candidate.common != Common::kPair && ends.pairs.size() < 2)) continue;
      SlowGroup group{.common = candidate.common, .links = candidate.slow, .judged = candidate.judged};
      narrow(ends, group);
      for (const std::size_t link : group.links)
        taken_[link] = true;
      groups_.push_back(std::move(group));
    }
  }

  const std::vector<Link>& links_;
  std::map<std::int32_t, std::string> hosts_;
  std::vector<bool> taken_;
  std::vector<SlowGroup> groups_;
};

}  // namespace

std::vector<SlowGroup> group_slow(const std::vector<Input>& inputs, const Communicator& communicator) {
  return Grouper(inputs, communicator).group();
}

}  // namespace angio::profile
