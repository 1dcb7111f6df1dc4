// The report on one fabric and the comparison of two, as JSON. Keys are the words of the terminal's output.
#include <string>
#include <utility>
#include <vector>

#include "model/fabric_words.hpp"
#include "views/fabric_metrics.hpp"
#include "views/fabric_view.hpp"
#include "views/fabric_words.hpp"
#include "views/findings_json.hpp"
#include "views/metrics_json.hpp"
#include "views/notes.hpp"

namespace angio::views {
namespace {

Json optional_text(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json();
}

// A node by the name that people use and the GUID that stays.
Json node_json(const model::Fabric& fabric, std::uint32_t node) {
  if (node >= fabric.nodes.size()) return {};
  const model::FabricNode& one = fabric.nodes[node];
  return Json::object({{"name", one.description}, {"guid", to_string(one.guid)}});
}

Json nodes_json(const model::Fabric& fabric, const std::vector<std::uint32_t>& nodes) {
  Json list = Json::array();
  for (const std::uint32_t node : nodes)
    list.push_back(node_json(fabric, node));
  return list;
}

Json port_json(const model::Fabric& fabric, model::PortRef ref) {
  if (ref.node >= fabric.nodes.size() || ref.port >= fabric.nodes[ref.node].ports.size()) return {};
  return Json::object({{"name", model::describe(fabric, ref)},
                       {"guid", to_string(fabric.nodes[ref.node].guid)},
                       {"port", model::port_at(fabric, ref).number}});
}

Json facts_json(const model::FabricFacts& facts) {
  Json rates = Json::array();
  for (const auto& [rate, count] : facts.link_rates)
    rates.push_back(Json::object({{"rate", rate}, {"links", count}}));
  return Json::object({{"adapters", facts.adapters},
                       {"switches", facts.switches},
                       {"routers", facts.routers},
                       {"links", facts.links},
                       {"ports_active", facts.ports_active},
                       {"ports_down", facts.ports_down},
                       {"without_answer", facts.without_answer},
                       {"has_counters", facts.has_counters},
                       {"link_rates", std::move(rates)},
                       {"shape", std::string(name_of(facts.shape))},
                       {"shape_why", facts.shape_why}});
}

// Nodes of planes and levels are many: by name only.
std::vector<std::string> names_of(const model::Fabric& fabric, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::string> names;
  for (const std::uint32_t node : nodes)
    if (node < fabric.nodes.size()) names.push_back(short_name(fabric.nodes[node]));
  return names;
}

Json planes_json(const model::FabricFacts& facts) {
  Json list = Json::array();
  for (const model::FabricPlane& plane : facts.planes)
    list.push_back(Json::object({{"role", std::string(name_of(plane.role))},
                                 {"why", plane.why},
                                 {"nodes", std::uint64_t{plane.nodes.size()}}}));
  return list;
}

Json levels_json(const model::Fabric& fabric, const model::FabricFacts& facts) {
  Json list = Json::array();
  for (const model::FabricLevel& level : facts.levels) {
    list.push_back(Json::object(
        {{"plane", level.plane + 1},
         {"level", level.level},
         {"switches", strings(names_of(fabric, level.switches))},
         {"links_down", level.links_down},
         {"links_up", level.links_up},
         {"down_bits_per_second", level.down.value},
         {"up_bits_per_second", level.up.value},
         {"oversubscription", level.oversubscription ? Json(*level.oversubscription) : Json()}}));
  }
  return list;
}

Json rails_json(const model::Fabric& fabric, const model::FabricFacts& facts) {
  Json list = Json::array();
  for (const model::FabricRail& rail : facts.rails)
    list.push_back(Json::object({{"number", rail.number},
                                 {"leaves", strings(names_of(fabric, rail.leaves))},
                                 {"adapters", std::uint64_t{rail.adapters.size()}}}));
  return list;
}

Json points_json(const model::Fabric& fabric, const model::FabricFacts& facts) {
  Json list = Json::array();
  for (const model::SinglePoint& point : facts.single_points)
    list.push_back(Json::object({{"node", point.node ? node_json(fabric, *point.node) : Json()},
                                 {"link", point.link ? port_json(fabric, *point.link) : Json()},
                                 {"hosts_cut", point.hosts_cut}}));
  return list;
}

Json hosts_json(const model::Fabric& fabric, const model::FabricReport& report) {
  Json list = Json::array();
  for (const model::FabricHost& host : report.hosts)
    list.push_back(Json::object({{"name", host.name},
                                 {"adapters", nodes_json(fabric, host.adapters)},
                                 {"joined_by", host.joined_by},
                                 {"jobs", strings(host.jobs)}}));
  return list;
}

Json fabric_findings_json(const model::Fabric& fabric, const model::FabricReport& report) {
  Json list = Json::array();
  for (const model::FabricFinding& one : report.findings) {
    Json row = finding_json(one.finding);
    Json ports = Json::array();
    for (const model::PortRef ref : one.ports)
      ports.push_back(port_json(fabric, ref));
    std::vector<std::string> hosts;
    for (const std::uint32_t host : one.hosts)
      if (host < report.hosts.size()) hosts.push_back(report.hosts[host].name);
    row.set("ports", std::move(ports));
    row.set("nodes", nodes_json(fabric, one.nodes));
    row.set("hosts", strings(hosts));
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace

Json fabric_report_json(const FabricShow& show) {
  const model::Fabric& fabric = *show.fabric;
  const model::FabricReport& report = *show.report;
  Json undecided = Json::array();
  for (const model::Undecided& gap : report.undecided)
    undecided.push_back(undecided_json(gap));
  return Json::object({{"schema", "angio.fabric-report/1"},
                       {"tool", show.tool.empty() ? Json() : Json(show.tool)},
                       {"captured", optional_text(fabric.captured)},
                       {"subject", fabric.name},
                       {"origin", fabric.origin},
                       {"kind", std::string(model::word_of(fabric.kind))},
                       {"seen_from", strings(fabric.seen_from)},
                       {"remarks", strings(show.remarks)},
                       {"notes", notes_json(fabric.notes)},
                       {"facts", facts_json(report.facts)},
                       {"planes", planes_json(report.facts)},
                       {"levels", levels_json(fabric, report.facts)},
                       {"rails", rails_json(fabric, report.facts)},
                       {"single_points", points_json(fabric, report.facts)},
                       {"findings", fabric_findings_json(fabric, report)},
                       {"undecided", std::move(undecided)},
                       {"held", strings(report.held)},
                       {"hosts", hosts_json(fabric, report)},
                       {"metrics", metrics_json(fabric_metrics(fabric))}});
}

Json fabric_diff_json(const model::FabricDiff& diff) {
  Json changes = Json::array();
  for (const model::FabricChange& change : diff.changes)
    changes.push_back(Json::object({{"kind", std::string(name_of(change.kind))},
                                    {"severity", in_words(change.severity)},
                                    {"where", change.where},
                                    {"before", change.before},
                                    {"after", change.after},
                                    {"meaning", change.meaning}}));
  return Json::object(
      {{"schema", "angio.fabric-diff/1"},
       {"before",
        Json::object({{"name", diff.before_name}, {"captured", optional_text(diff.before_captured)}})},
       {"after", Json::object({{"name", diff.after_name}, {"captured", optional_text(diff.after_captured)}})},
       {"seconds_between", diff.seconds_between ? Json(*diff.seconds_between) : Json()},
       {"changes", std::move(changes)},
       {"nodes_alike", diff.nodes_alike},
       {"links_alike", diff.links_alike}});
}

}  // namespace angio::views
