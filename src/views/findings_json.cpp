#include "views/findings_json.hpp"

#include "views/notes.hpp"

namespace angio::views {

namespace {

Json cost_json(const model::Cost& cost) {
  if (!cost.known()) return {};
  Json json = Json::object({{"text", cost.text}});
  json.set("formula", cost.formula.empty() ? Json() : Json(cost.formula));
  return json;
}

}  // namespace

Json strings(const std::vector<std::string>& items) {
  Json list = Json::array();
  for (const std::string& item : items)
    list.push_back(item);
  return list;
}

Json finding_json(const model::Finding& finding) {
  Json evidence = Json::array();
  for (const model::Evidence& seen : finding.evidence) {
    evidence.push_back(Json::object({{"text", seen.text}, {"source", seen.source}}));
  }
  Json fixes = Json::array();
  for (const model::Fix& fix : finding.fixes) {
    fixes.push_back(Json::object({{"text", fix.text},
                                  {"command", fix.command},
                                  {"risk", fix.risk},
                                  {"needs_root", fix.needs_root},
                                  {"needs_reboot", fix.needs_reboot}}));
  }
  return Json::object({{"rule", finding.rule},
                       {"severity", in_words(finding.severity)},
                       {"confidence", in_words(finding.confidence)},
                       {"layer", in_words(finding.layer)},
                       {"node", finding.node},
                       {"title", finding.title},
                       {"devices", strings(finding.devices)},
                       {"evidence", std::move(evidence)},
                       {"cost", cost_json(finding.cost)},
                       {"fixes", std::move(fixes)},
                       {"disprove", finding.disprove},
                       {"sources", strings(finding.sources)},
                       {"rank", finding.rank}});
}

namespace {

Json groups_json(const DoctorReport& report) {
  Json groups = Json::array();
  for (const diagnose::NodeGroup& group : report.groups) {
    Json differences = Json::array();
    for (const auto& difference : group.differences) {
      differences.push_back(Json::object(
          {{"trait", difference.trait}, {"here", difference.here}, {"majority", difference.majority}}));
    }
    groups.push_back(
        Json::object({{"nodes", strings(group.nodes)}, {"differences", std::move(differences)}}));
  }
  return groups;
}

Json past_json(const DoctorReport::Past& past) {
  Json changes = Json::array();
  for (const auto& change : past.changes) {
    changes.push_back(
        Json::object({{"trait", change.trait}, {"before", change.majority}, {"now", change.here}}));
  }
  Json gone = Json::array();
  for (const model::Finding& finding : past.gone)
    gone.push_back(finding_json(finding));
  return Json::object({{"node", past.node},
                       {"since", past.file},
                       {"changes", std::move(changes)},
                       {"gone", std::move(gone)}});
}

}  // namespace

Json undecided_json(const model::Undecided& gap) {
  return Json::object(
      {{"rule", gap.rule}, {"node", gap.node}, {"missing", gap.missing}, {"collect", gap.collect}});
}

Json findings_json(const DoctorReport& report) {
  Json nodes = Json::array();
  for (const DoctorReport::Node& node : report.nodes) {
    nodes.push_back(Json::object({{"name", node.name},
                                  {"origin", node.origin},
                                  {"description", node.description},
                                  {"captured", node.captured.empty() ? Json() : Json(node.captured)},
                                  {"notes", notes_json(node.notes)}}));
  }
  Json findings = Json::array();
  for (const model::Finding& finding : report.findings)
    findings.push_back(finding_json(finding));
  Json undecided = Json::array();
  for (const model::Undecided& gap : report.undecided)
    undecided.push_back(undecided_json(gap));
  Json held = Json::array();
  for (const auto& [rule, where] : report.held) {
    held.push_back(Json::object({{"rule", rule}, {"nodes", where.size()}}));
  }
  Json past = Json::array();
  for (const DoctorReport::Past& one : report.past)
    past.push_back(past_json(one));
  Json unreadable = Json::array();
  for (const DoctorReport::Unreadable& file : report.unreadable) {
    unreadable.push_back(Json::object({{"file", file.file}, {"reason", file.reason}}));
  }
  return Json::object({{"schema", "angio.findings/1"},
                       {"tool", report.tool.empty() ? Json() : Json(report.tool)},
                       {"remarks", strings(report.remarks)},
                       {"nodes", std::move(nodes)},
                       {"groups", groups_json(report)},
                       {"findings", std::move(findings)},
                       {"undecided", std::move(undecided)},
                       {"held", std::move(held)},
                       {"since", std::move(past)},
                       {"unreadable", std::move(unreadable)}});
}

}  // namespace angio::views
