// Events of a log to findings: what the rules over NCCL's own warnings share. Only for src/diagnose/rules.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/rules/nccl.hpp"

namespace angio::diagnose::nccl {

using Events = std::vector<const model::NcclEvent*>;

// errno of Linux, as NCCL prints it.
inline constexpr std::int64_t kEnomem = 12;
inline constexpr std::int64_t kEinval = 22;
inline constexpr std::int64_t kEnetunreach = 101;
inline constexpr std::int64_t kEtimedout = 110;
inline constexpr std::int64_t kEhostunreach = 113;

// The lines, up to a readable number, each with who said it.
void cite(const model::NcclLog& log, const Events& events, Draft& draft);
// "rank 3 on node-a", "16 processes".
std::string processes_in_words(const model::NcclLog& log, const Events& events);
// Says so when the two ends of a transfer lie in different subnets.
void cite_subnets(const model::NcclLog& log, const Events& events, Draft& draft);
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

// One finding for all events; title(first event). Nothing without events.
template <typename Title>
void fire(const model::NcclLog& log, const Events& events, Outcome& outcome, const Title& title,
          std::optional<model::Severity> severity = {}) {
  if (events.empty()) return;
  Draft draft;
  draft.title = title(*events.front());
  draft.rank = rank_in_time(log, events);
  draft.severity = severity;
  cite(log, events, draft);
  cite_subnets(log, events, draft);
  const model::NcclEvent& first = *events.front();
  draft.words["errno"] = first.number ? std::to_string(*first.number) : "<errno>";
  if (!first.peer.empty()) draft.words["peer"] = first.peer;
  if (!first.device.empty()) draft.words["adapter"] = first.device.substr(0, first.device.find(':'));
  outcome.fire(std::move(draft));
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
