#include "diagnose/rules/nccl.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose {
namespace nccl {

using model::Machine;
using model::NcclCommunicator;
using model::NcclEvent;
using model::NcclEvidence;
using model::NcclLog;
using model::NcclRank;
using model::NcclSetting;

std::vector<const NcclEvidence*> evidence_of(const Machine& machine) {
  std::vector<const NcclEvidence*> found;
  for (const model::JobLog& log : machine.logs)
    if (log.nccl) found.push_back(log.nccl.get());
  return found;
}

std::vector<const NcclLog*> logs_of(const Machine& machine) {
  std::vector<const NcclLog*> found;
  for (const NcclEvidence* evidence : evidence_of(machine))
    if (evidence->log) found.push_back(&*evidence->log);
  return found;
}

model::Evidence seen(const NcclLog& log, const model::Source& source, std::string text) {
  return {std::move(text), log.places.text(source)};
}

model::Evidence seen(const NcclEvidence& evidence, const model::Source& source, std::string text) {
  return {std::move(text), evidence.places.text(source)};
}

model::Evidence seen(const NcclLog& log, const NcclEvent& event) {
  std::string text = event.text;
  if (event.count > 1) text += ", " + count_of(event.count, "such line");
  if (const std::string who = name_of(log, event.process); !who.empty()) text = who + ": " + text;
  return {std::move(text), log.places.text(event.source)};
}

std::vector<const NcclEvent*> events_of(const NcclLog& log, Kinds kinds) {
  std::vector<const NcclEvent*> found;
  for (const NcclEvent& event : log.events)
    if (std::ranges::find(kinds, event.kind) != kinds.end()) found.push_back(&event);
  return found;
}

std::optional<std::uint32_t> rank_of(const NcclLog& log, model::NcclIndex process) {
  std::optional<std::uint32_t> found;
  std::uint32_t size = 0;
  for (const NcclCommunicator& communicator : log.communicators) {
    if (communicator.nranks <= size) continue;
    const auto of_process = [&](const NcclRank& rank) { return rank.process == process && rank.rank; };
    const auto first = std::ranges::find_if(communicator.ranks, of_process);
    if (first == communicator.ranks.end()) continue;
    size = communicator.nranks;
    const bool single = std::none_of(first + 1, communicator.ranks.end(), of_process);
    found = single ? first->rank : std::nullopt;
  }
  if (!found && size == 0 && process < log.processes.size()) return log.processes[process].launcher_rank;
  return found;
}

std::string name_of(const NcclLog& log, model::NcclIndex process) {
  if (process >= log.processes.size()) return {};
  const model::NcclProcess& one = log.processes[process];
  const auto rank = rank_of(log, process);
  std::string where = one.host;
  if (rank) return "rank " + std::to_string(*rank) + (where.empty() ? "" : " on " + where);
  if (!where.empty() && one.pid != 0) where += ", process " + std::to_string(one.pid);
  return where;
}

std::uint32_t nodes_of(const NcclLog& log) {
  std::uint32_t nodes = 0;
  for (const NcclCommunicator& communicator : log.communicators)
    nodes = std::max(nodes, communicator.nodes.value_or(0));
  return std::max(nodes, static_cast<std::uint32_t>(hosts_of(log).size()));
}

std::vector<const NcclSetting*> settings_of(const NcclLog& log, std::string_view name) {
  std::vector<const NcclSetting*> found;
  for (const NcclSetting& setting : log.settings)
    if (setting.name == name) found.push_back(&setting);
  std::ranges::stable_sort(found, [](const NcclSetting* a, const NcclSetting* b) {
    return a->processes.size() > b->processes.size();
  });
  return found;
}

model::Evidence seen(const NcclLog& log, const NcclSetting& setting) {
  std::string text = setting.name + "=" + setting.value;
  if (!setting.origin.empty()) text += ", from the " + setting.origin;
  if (!setting.processes.empty()) text += ", " + processes(setting.processes.size());
  return {std::move(text), log.places.text(setting.source)};
}

bool is_on(const NcclSetting& setting) {
  const auto value = parse_integer<std::int64_t>(trim(setting.value));
  return value && *value != 0;
}

double rank_in_time(const NcclLog& log, const std::vector<const NcclEvent*>& events) {
  const NcclEvent* first = model::find_earliest_failure(log);
  return std::ranges::find(events, first) != events.end() ? 1.0 : 0.5;
}

std::string processes(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " process" : " processes");
}

std::string ranks_in_words(const std::set<std::uint32_t>& ranks) {
  CpuSet set;
  for (const std::uint32_t rank : ranks)
    set.insert(rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + to_list(set);
}

std::string percent(double share) {
  return std::to_string(static_cast<int>(std::lround(share * 100))) + " %";
}

}  // namespace nccl

std::span<const Rule> nccl_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (const auto family :
         {nccl::failure_rules(), nccl::fabric_rules(), nccl::rank_rules(), nccl::result_rules()})
      all.insert(all.end(), family.begin(), family.end());
    return all;
  }();
  return rules;
}

}  // namespace angio::diagnose
