// Events of a log to findings: what the rules over NCCL's own warnings share. Only for src/diagnose/rules.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/rules/nccl.hpp"

namespace angio::diagnose::nccl {

using Events = std::vector<const model::NcclEvent*>;

// errno of Linux, as NCCL prints it.
inline constexpr std::int64_t kEnomem = 12;
inline constexpr std::int64_t kEinval = 22;
inline constexpr std::int64_t kEnodata = 61;
inline constexpr std::int64_t kEnetunreach = 101;
inline constexpr std::int64_t kEtimedout = 110;
inline constexpr std::int64_t kEhostunreach = 113;

// The lines, each with who said it, before what the draft has already; those beyond a readable number are
// counted. Nothing else may cut them: call it when the other evidence is there.
void cite(const model::NcclLog& log, const Events& events, Draft& draft);
// "rank 3 on node-a", "16 processes".
std::string processes_in_words(const model::NcclLog& log, const Events& events);
// Says so when the two ends of a transfer lie in different subnets; whether it did.
bool cite_subnets(const model::NcclLog& log, const Events& events, Draft& draft);
// The hosts of the log by the addresses that they announced, for the peers that messages name. An address
// that several hosts have (docker0) is none's.
class PeerHosts {
 public:
  explicit PeerHosts(const model::NcclLog& log);
  [[nodiscard]] std::string find(const std::string& peer) const;  // empty: not known
  // The peer is named by a host name that no process of the log has.
  [[nodiscard]] bool is_absent(const std::string& peer) const;

 private:
  std::map<std::string, std::string, std::less<>> by_address_;
  std::set<std::string, std::less<>> names_;
};
// Without what processes said when all of their communicators had ended: whoever goes last sees the others
// go.
Events before_the_end(const model::NcclLog& log, const Events& events);
// A process that starts over an interface that only its own node knows; null: none, or only one host.
const model::NcclProcess* inner_bootstrap(const model::NcclLog& log);
std::string with_device(const model::NcclEvent& event);  // " on mlx5_0:1"; empty where the name is not said
bool is_zero_gid(const std::string& gid);
bool speaks_of_roce_version(const model::NcclEvent& event);
bool is_gid_trouble(const model::NcclEvent& event);
// The first failure of the log, when it is another one and no echo.
const model::NcclEvent* earlier_cause(const model::NcclLog& log, const model::NcclEvent& echo);

template <typename Wanted>
Events only(const Events& events, const Wanted& wanted) {
  Events kept;
  std::ranges::copy_if(events, std::back_inserter(kept),
                       [&](const model::NcclEvent* event) { return wanted(*event); });
  return kept;
}

// What a rule adds to the finding of its events.
struct More {
  std::map<std::string, std::string> words = {};
  std::optional<model::Severity> severity = {};
  std::vector<model::Evidence> evidence = {};
  double most_rank = 1;  // below 1: a consequence of what another rule names
};
// One finding for all events.
Draft draft_of(const model::NcclLog& log, const Events& events, std::string title, More more);

// The same with title(first event). Nothing without events.
template <typename Title>
void fire(const model::NcclLog& log, const Events& events, Outcome& outcome, const Title& title,
          More more = {}) {
  if (events.empty()) return;
  outcome.fire(draft_of(log, events, title(*events.front()), std::move(more)));
}

// The rule of one kind of event over every log; not applicable without a log.
template <typename Title>
void of_kinds(const model::Machine& machine, Outcome& outcome, Kinds kinds, const Title& title) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const model::NcclLog* log : logs)
    fire(*log, events_of(*log, kinds), outcome, title);
}

}  // namespace angio::diagnose::nccl
