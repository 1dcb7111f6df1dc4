#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/wording.hpp"
#include "fabric/fabric.hpp"
#include "fabric/rules.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::fabric {

using model::Fabric;
using model::FabricFinding;
using model::FabricReport;
using model::PortRef;
using model::Severity;

namespace {

// A plan that somebody wrote has names and no real GUIDs: it meets the scan by the names that are unique in
// both.
Fabric by_names(const Fabric& plan, const Fabric& now) {
  std::unordered_map<std::string_view, std::uint64_t> guids;
  std::set<std::string_view> twice;
  for (const model::FabricNode& node : now.nodes)
    if (!guids.try_emplace(trim(node.description), node.guid.value).second)
      twice.insert(trim(node.description));
  Fabric renamed = plan;
  for (model::FabricNode& node : renamed.nodes) {
    const std::string_view name = trim(node.description);
    const auto found = guids.find(name);
    if (name.empty() || found == guids.end() || twice.contains(name)) continue;
    node.guid.value = found->second;
  }
  return renamed;
}

bool shares_guids(const Fabric& plan, const Fabric& now) {
  std::set<model::NodeGuid> guids;
  for (const model::FabricNode& node : now.nodes)
    guids.insert(node.guid);
  std::size_t shared = 0;
  for (const model::FabricNode& node : plan.nodes)
    if (guids.contains(node.guid)) ++shared;
  return shared * 2 >= plan.nodes.size();
}

// ---- hosts and jobs that a finding touches

void add_hosts(const Layout& layout, std::uint32_t node, std::set<std::uint32_t>& hosts) {
  for (const std::uint32_t host : hosts_at(layout, node))
    hosts.insert(host);
}

// Of a cable to an adapter its host; of a cable between switches all below the lower one.
std::vector<std::uint32_t> touched(const Layout& layout, const FabricDraft& found) {
  std::set<std::uint32_t> hosts;
  for (const std::uint32_t node : found.nodes)
    add_hosts(layout, node, hosts);
  for (const PortRef ref : found.ports) {
    if (layout.host_of[ref.node] != kNone) {
      hosts.insert(layout.host_of[ref.node]);
      continue;
    }
    for (const std::uint32_t c : layout.cables_at(ref.node)) {
      const Cable& cable = layout.cables[c];
      if (cable.a != ref && cable.b != ref) continue;
      const PortRef far = cable.a == ref ? cable.b : cable.a;
      const bool up = layout.is_switch(far.node) && layout.level_of[far.node] > layout.level_of[ref.node];
      if (up) add_hosts(layout, ref.node, hosts);
      if (layout.host_of[far.node] != kNone) hosts.insert(layout.host_of[far.node]);
    }
  }
  return {hosts.begin(), hosts.end()};
}

void tell_touched(const std::vector<model::FabricHost>& all, const std::vector<std::uint32_t>& hosts,
                  FabricDraft& found) {
  std::set<std::string> jobs;
  std::vector<std::string> names;
  for (const std::uint32_t host : hosts) {
    names.push_back(printable(all[host].name));
    for (const std::string& job : all[host].jobs)
      jobs.insert(printable(job));
  }
  std::ranges::sort(names, natural_less);
  const bool is_about_host = names.size() == 1 && names.front() == found.subject;
  if (names.empty() || (is_about_host && jobs.empty())) return;
  std::string text =
      fmt::format("touches {}: {}", count_of(names.size(), "host"), list_words(names, kMostListed));
  if (!jobs.empty())
    text += fmt::format("; {}: {}", count_of(jobs.size(), "job"),
                        list_words({jobs.begin(), jobs.end()}, kMostListed));
  found.draft.evidence.push_back(
      {std::move(text), jobs.empty() ? "hosts by cable" : "hosts by cable, jobs as given"});
}

// Presentation: where one rule finds more, the rest is one finding that counts them.
constexpr std::size_t kMostFindings = 32;

void fold(std::vector<FabricDraft>& drafts) {
  if (drafts.size() <= kMostFindings) return;
  std::ranges::stable_sort(
      drafts, [](const FabricDraft& a, const FabricDraft& b) { return a.draft.rank > b.draft.rank; });
  FabricDraft rest = std::move(drafts[kMostFindings - 1]);
  const std::size_t count = drafts.size() - kMostFindings + 1;
  std::vector<std::string> titles{rest.draft.title};
  for (std::size_t i = kMostFindings; i < drafts.size(); ++i) {
    if (titles.size() <= kMostListed) titles.push_back(drafts[i].draft.title);
    rest.ports.insert(rest.ports.end(), drafts[i].ports.begin(), drafts[i].ports.end());
    rest.nodes.insert(rest.nodes.end(), drafts[i].nodes.begin(), drafts[i].nodes.end());
  }
  rest.subject = "fabric";
  rest.draft.title = fmt::format("{} more of the same", count);
  rest.draft.cost = {};
  const std::string source = rest.draft.evidence.empty() ? std::string() : rest.draft.evidence.front().source;
  rest.draft.evidence.clear();
  for (std::size_t i = 0; i < std::min(titles.size(), kMostListed); ++i)
    rest.draft.evidence.push_back({titles[i], source});
  if (count > kMostListed)
    rest.draft.evidence.push_back({fmt::format("and {} more", count - kMostListed), source});
  drafts.resize(kMostFindings - 1);
  drafts.push_back(std::move(rest));
}

void run_rule(const Rule& rule, const Case& look, FabricReport& report) {
  const knowledge::RuleText* text = knowledge::find_rule(rule.id);
  if (text == nullptr) return;  // a test and tools/check_data.py forbid it
  FabricOutcome outcome;
  rule.check(look, outcome);
  const bool said = !outcome.drafts.empty() || !outcome.gaps.empty();
  fold(outcome.drafts);
  for (FabricDraft& found : outcome.drafts) {
    if (found.hosts.empty()) found.hosts = touched(look.layout, found);
    tell_touched(report.hosts, found.hosts, found);
    FabricFinding finding;
    finding.finding = diagnose::make_finding(*text, found.subject, std::move(found.draft));
    finding.ports = std::move(found.ports);
    finding.nodes = std::move(found.nodes);
    finding.hosts = std::move(found.hosts);
    report.findings.push_back(std::move(finding));
  }
  for (FabricOutcome::Gap& gap : outcome.gaps)
    report.undecided.push_back(
        {rule.id, look.layout.fabric->name, std::move(gap.missing), std::move(gap.collect)});
  if (!said && outcome.applicable) report.held.emplace_back(rule.id);
}

void rank(std::vector<FabricFinding>& findings) {
  std::ranges::stable_sort(findings, [](const FabricFinding& a, const FabricFinding& b) {
    if (a.finding.severity != b.finding.severity) return a.finding.severity > b.finding.severity;
    if (a.finding.rank != b.finding.rank) return a.finding.rank > b.finding.rank;
    return a.finding.rule < b.finding.rule;
  });
}

}  // namespace

FabricReport analyse(const Fabric& fabric, const Surroundings& surroundings) {
  FabricReport report;
  const Layout layout = make_layout(fabric, surroundings);
  std::vector<model::FabricPlane> planes = describe_planes(layout, surroundings);
  const Rails rails = find_rails(layout, planes);
  report.hosts = layout.hosts;
  report.facts = make_facts(layout, rails, std::move(planes));

  Case look{layout, report.facts, rails, surroundings, judge_cables(layout)};
  look.part = why_not_whole(fabric);
  Fabric renamed;
  Earlier earlier;
  if (surroundings.expected != nullptr) {
    const Fabric* plan = surroundings.expected;
    if (!shares_guids(*plan, fabric)) {
      renamed = by_names(*plan, fabric);
      plan = &renamed;
    }
    earlier.layout = make_layout(*plan, {});
    earlier.delta = match(earlier.layout, layout);
    earlier.seconds = seconds_between(*plan, fabric);
    look.earlier = &earlier;
  }
  for (const auto& rules : {link_rules(), port_rules(), error_rules(), traffic_rules(), identity_rules(),
                            shape_rules(), plan_rules()})
    for (const Rule& rule : rules)
      run_rule(rule, look, report);
  // Cables and counters of ports are not in what hosts say of their addresses: nothing to collect would bring
  // them.
  if (report.facts.subnets > 0) report.undecided.clear();
  rank(report.findings);
  return report;
}

}  // namespace angio::fabric
