// Slow connections in words: one line for each thing that they have in common.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "views/profile_parts.hpp"

namespace angio::views {

using profile::Communicator;
using profile::Link;
using profile::SlowGroup;
using profile::Unjudged;
using profile::Verdict;
using report::Fields;
using report::plain;
using report::Tone;
using report::toned;

namespace {

using Common = SlowGroup::Common;

std::map<std::int32_t, std::string> hosts_of(const Communicator& communicator, const ProfileReport& report) {
  std::map<std::int32_t, std::string> hosts;
  for (const profile::Member& member : communicator.members)
    hosts[member.rank] = printable((*report.inputs)[member.input].file.host);
  return hosts;
}

// "rank 3", "ranks 3, 5", "ranks 0 to 7", "6 ranks".
std::string ranks_words(const std::set<std::int32_t>& ranks) {
  constexpr std::size_t kMost = 4;
  const auto first = *ranks.begin();
  const auto last = *ranks.rbegin();
  if (ranks.size() == 1) return "rank " + rank_words(first);
  if (ranks.size() > 2 && static_cast<std::size_t>(last - first) + 1 == ranks.size())
    return fmt::format("ranks {} to {}", first, last);
  if (ranks.size() > kMost) return count_of(ranks.size(), "rank");
  std::string text;
  for (const std::int32_t rank : ranks)
    text += (text.empty() ? "ranks " : ", ") + rank_words(rank);
  return text;
}

// A group with what its words need.
class SlowWords {
 public:
  SlowWords(const SlowGroup& group, const Communicator& communicator,
            const std::map<std::int32_t, std::string>& hosts)
      : group_(group), communicator_(communicator), hosts_(hosts) {
    for (const std::size_t index : group.links) {
      const Link& link = communicator.links[index];
      ranks_.insert(link.rank);
      peers_.insert(link.peer);
      rates_.push_back(link.rate);
      one_class_ = one_class_ && is_alike(link);
    }
  }

  [[nodiscard]] std::string text() const { return who() + " at " + rates() + " in the network; " + others(); }

 private:
  [[nodiscard]] const Link& first() const { return communicator_.links[group_.links[0]]; }

  [[nodiscard]] std::string host(std::int32_t rank) const {
    const auto found = hosts_.find(rank);
    return found == hosts_.end() ? "" : found->second;
  }
  [[nodiscard]] std::string rank_at(std::int32_t rank) const {
    const std::string where = host(rank);
    return "rank " + rank_words(rank) + (where.empty() ? "" : " (" + where + ")");
  }
  // "node1 (ranks 8 to 15)", or the ranks alone where they are of several hosts or of one that is not known.
  [[nodiscard]] std::string at(const std::set<std::int32_t>& ranks) const {
    if (ranks.size() == 1) return rank_at(*ranks.begin());
    std::set<std::string> hosts;
    for (const std::int32_t rank : ranks)
      hosts.insert(host(rank));
    if (hosts.size() > 1 || hosts.begin()->empty()) return ranks_words(ranks);
    return *hosts.begin() + " (" + ranks_words(ranks) + ")";
  }

  [[nodiscard]] std::string who() const {
    const std::string share = fmt::format("{} of its {} that could be judged", group_.links.size(),
                                          count_of(group_.judged, "connection"));
    switch (group_.common) {
      case Common::kSenderHost:
      case Common::kSenderRank:
        return fmt::format("sender {} stands out: {}, to {},", at(ranks_), share, at(peers_));
      case Common::kReceiverHost:
      case Common::kReceiverRank:
        return fmt::format("receiver {} stands out: {}, from {},", at(peers_), share, at(ranks_));
      case Common::kPair:
        break;
    }
    const std::string channels =
        group_.judged == 1 ? fmt::format("channel {}", first().channel)
                           : fmt::format("{} of {}", group_.links.size(), count_of(group_.judged, "channel"));
    return fmt::format("{} -> {}, {},", rank_at(first().rank), rank_at(first().peer), channels);
  }

  [[nodiscard]] std::string rates() const {
    const auto [least, most] = std::ranges::minmax(rates_);
    const std::string from = in_words(BytesPerSecond{least});
    const std::string to = in_words(BytesPerSecond{most});
    return from == to ? from : from + " to " + to;
  }

  [[nodiscard]] bool is_alike(const Link& link) const {
    return link.alike == first().alike && link.alike_least == first().alike_least &&
           link.alike_median == first().alike_median;
  }

  // Connections of other sizes say nothing about these; those that could not be judged neither.
  [[nodiscard]] std::string others() const {
    if (!one_class_)
      return fmt::format("each is below {:g} % of the median of those that it could be compared with",
                         knowledge::threshold("profile.slow-link-share") * 100);
    const std::string least = in_words(BytesPerSecond{first().alike_least});
    const std::string middle = in_words(BytesPerSecond{first().alike_median});
    const auto slow = std::ranges::count_if(communicator_.links, [&](const Link& link) {
      return link.verdict == Verdict::kSlow && is_alike(link);
    });
    const std::string who = static_cast<std::size_t>(slow) == group_.links.size()
                                ? "no other of its step size that could be judged is below "
                                : "those of its step size that are not slow are not below ";
    return who + least + (middle == least ? "" : ", the median is " + middle);
  }

  const SlowGroup& group_;
  const Communicator& communicator_;
  const std::map<std::int32_t, std::string>& hosts_;
  std::set<std::int32_t> ranks_;
  std::set<std::int32_t> peers_;
  std::vector<double> rates_;
  bool one_class_ = true;
};

std::string unjudged_words(Unjudged why, bool some_steps) {
  switch (why) {
    case Unjudged::kReceive:
      return "receives";
    case Unjudged::kOperations:
      return some_steps
                 ? "whose steps are not recorded"
                 : "as whole operations with every wait in them (ANGIO_PROFILER_EVENTS=steps tells more)";
    case Unjudged::kBytesUnknown:
      return "whose bytes are not told";
    case Unjudged::kSmallSteps:
      return "with steps below " +
             in_words(Bytes{static_cast<std::uint64_t>(knowledge::threshold("profile.slow-link-bytes"))});
    case Unjudged::kFewSteps:
      return fmt::format("with fewer than {:g} steps", knowledge::threshold("profile.slow-link-steps"));
    case Unjudged::kFewAlike:
      return fmt::format("with fewer than {:g} of their step size",
                         knowledge::threshold("profile.slow-link-peers"));
    case Unjudged::kJudged:
      break;
  }
  return "judged";
}

// "260 with steps below 64 KiB"; empty: every send has a verdict. Receives never have one.
std::string rest_words(const Communicator& communicator) {
  std::map<Unjudged, std::size_t> reasons;
  for (const Link& link : communicator.links)
    if (link.why != Unjudged::kJudged && link.why != Unjudged::kReceive) ++reasons[link.why];
  const bool some_steps = std::ranges::any_of(communicator.links, &Link::from_steps);
  std::string text;
  for (const auto& [why, links] : reasons)
    text += (text.empty() ? "" : ", ") + std::to_string(links) + " " + unjudged_words(why, some_steps);
  return text;
}

}  // namespace

void add_slow_links(const Communicator& communicator, const ProfileReport& report, Fields& fields) {
  constexpr std::size_t kMostGroups = 3;  // lines that leave room for the tables
  if (communicator.links.empty()) return;
  const auto hosts = hosts_of(communicator, report);
  const std::size_t shown = std::min(communicator.slow.size(), kMostGroups);
  for (std::size_t i = 0; i < shown; ++i)
    fields.rows.emplace_back(
        "SLOW", toned(SlowWords(communicator.slow[i], communicator, hosts).text(), Tone::kWarning));
  if (shown < communicator.slow.size())
    fields.rows.emplace_back(
        "", plain(fmt::format("and {} more; all are in the JSON", communicator.slow.size() - shown)));
  const auto judged = std::ranges::count(communicator.links, Unjudged::kJudged, &Link::why);
  const std::string rest = rest_words(communicator);
  if (judged == 0) {
    fields.rows.emplace_back("slow", plain("unknown: no send over the network could be judged" +
                                           (rest.empty() ? "" : ": " + rest)));
    return;
  }
  if (communicator.slow.empty())
    fields.rows.emplace_back("slow", plain(fmt::format("no connection among {} stands out", judged)));
  if (!rest.empty()) fields.rows.emplace_back("", toned("not judged: " + rest, Tone::kQuiet));
}

}  // namespace angio::views
