#include "views/fabric_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/doctor_view.hpp"
#include "views/fabric_words.hpp"
#include "views/notes.hpp"

namespace angio::views {

using report::Document;
using report::Fields;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

namespace {

constexpr std::size_t kFindingsShown = 12;  // in full; --all and JSON have the others
constexpr std::size_t kRatesShown = 4;
constexpr std::size_t kPointsShown = 3;
constexpr std::size_t kNotesShown = 8;

std::string rates_in_words(const model::FabricFacts& facts) {
  std::vector<std::string> parts;
  std::uint32_t rest = 0;
  for (const auto& [rate, count] : facts.link_rates) {
    if (parts.size() < kRatesShown) {
      parts.push_back(fmt::format("{} {}", count, printable(rate)));
    } else {
      rest += count;
    }
  }
  if (rest > 0) parts.push_back(fmt::format("{} others", rest));
  return join(parts, ", ");
}

// Planes of one role for one reason are said once.
std::string planes_in_words(const model::FabricFacts& facts) {
  struct Kind {
    const model::FabricPlane* first = nullptr;
    std::size_t planes = 0;
    std::size_t nodes = 0;
  };
  std::vector<Kind> kinds;
  for (const model::FabricPlane& plane : facts.planes) {
    const auto same = std::ranges::find_if(kinds, [&](const Kind& kind) {
      return kind.first->role == plane.role && kind.first->why == plane.why;
    });
    Kind& kind = same == kinds.end() ? kinds.emplace_back(Kind{&plane, 0, 0}) : *same;
    ++kind.planes;
    kind.nodes += plane.nodes.size();
  }
  std::vector<std::string> parts;
  for (const Kind& kind : kinds) {
    if (parts.size() == kRatesShown) {
      parts.push_back(fmt::format("{} more kinds", kinds.size() - kRatesShown));
      break;
    }
    std::string words = kind.first->role == model::PlaneRole::kUnknown
                            ? "role unknown"
                            : std::string(name_of(kind.first->role));
    words += ", " + count_of(kind.nodes, "node");
    if (kind.planes > 1) words += fmt::format(" in {} planes", kind.planes);
    if (!kind.first->why.empty()) words += " (" + printable(kind.first->why) + ")";
    parts.push_back(std::move(words));
  }
  return join(parts, "; ");
}

std::string point_in_words(const model::Fabric& fabric, const model::SinglePoint& point) {
  std::string what = "a part";
  if (point.node && *point.node < fabric.nodes.size()) what = short_name(fabric.nodes[*point.node]);
  if (point.link) what = "the cable at " + short_port(fabric, *point.link);
  return fmt::format("{} ({} cut off)", what, count_of(point.hosts_cut, "host"));
}

std::string points_in_words(const FabricShow& show) {
  const std::vector<model::SinglePoint>& points = show.report->facts.single_points;
  const std::size_t shown = show.all ? points.size() : std::min(points.size(), kPointsShown);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shown; ++i)
    parts.push_back(point_in_words(*show.fabric, points[i]));
  if (shown < points.size()) parts.push_back(fmt::format("{} more", points.size() - shown));
  return join(parts, ", ");
}

std::string ports_in_words(const model::FabricFacts& facts) {
  std::vector<std::string> parts;
  if (facts.ports_active > 0) parts.push_back(fmt::format("{} active", facts.ports_active));
  if (facts.ports_down > 0) parts.push_back(fmt::format("{} down", facts.ports_down));
  if (facts.without_answer > 0) parts.push_back(fmt::format("{} without an answer", facts.without_answer));
  return join(parts, ", ");
}

std::string counters_missing(const model::Fabric& fabric, const model::FabricFacts& facts) {
  if (facts.subnets > 0) return "not judged here: angio doctor for the hosts' ports, angio rdma for rates";
  return fabric.kind == model::FabricKind::kEthernet
             ? "none in this input: errors cannot be judged"
             : "none in this input: give the output of ibqueryerrors too, or use angio fabric scan";
}

void add_facts(const FabricShow& show, Document& document) {
  const model::FabricFacts& facts = show.report->facts;
  Fields fields;
  fields.indent = 0;
  const auto row = [&](const char* label, std::string words, Tone tone = Tone::kPlain) {
    if (!words.empty()) fields.rows.emplace_back(label, toned(std::move(words), tone));
  };
  if (!show.fabric->origin.empty()) {
    std::string from = printable(show.fabric->origin);
    if (show.fabric->captured) from += ", captured " + printable(*show.fabric->captured);
    row("from", std::move(from));
  }
  row("cost", show.cost);
  if (facts.link_rates.size() > 1) row("rates", rates_in_words(facts));
  row("shape", printable(facts.shape_why));
  if (facts.planes.size() > 1) row("planes", planes_in_words(facts));
  row("ports", ports_in_words(facts));
  row("single", points_in_words(show));
  if (!facts.has_counters && facts.links > 0)
    row("counters", counters_missing(*show.fabric, facts), Tone::kUnknown);
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

// Notes that ask for nothing are for who asks for everything.
bool is_quiet(const model::Note& note) {
  return note.id == "fabric.no-time-zone";  // of every text of ibnetdiscover
}

void add_notes(const FabricShow& show, Document& document) {
  const auto add = [&](std::string text) {
    document.blocks.emplace_back(
        Paragraph{{{"NOTE      ", Tone::kUnknown}, {std::move(text), Tone::kPlain}}});
  };
  for (const std::string& remark : show.remarks)
    add(printable(remark));
  std::size_t shown = 0;
  std::size_t left_out = 0;
  for (const model::Note& note : show.fabric->notes) {
    if (!show.all && is_quiet(note)) continue;
    if (show.all || shown < kNotesShown) {
      ++shown;
      add(note_text(note));
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) add(count_of(left_out, "more note") + " (--all)");
}

// Findings in the doctor's words. Those beyond the first page are counted by rule.
void add_findings(const FabricShow& show, Document& document) {
  DoctorReport doctor;
  std::vector<std::pair<std::string, std::size_t>> rest;
  for (const model::FabricFinding& one : show.report->findings) {
    if (one.finding.severity < show.least) continue;
    if (show.all || doctor.findings.size() < kFindingsShown) {
      doctor.findings.push_back(with_short_names(one.finding));
      continue;
    }
    const auto known = std::ranges::find(rest, one.finding.rule, &std::pair<std::string, std::size_t>::first);
    if (known == rest.end()) {
      rest.emplace_back(one.finding.rule, 1);
    } else {
      ++known->second;
    }
  }
  doctor.undecided = show.report->undecided;
  doctor.show_undecided = show.all;
  Document findings = doctor_document(doctor);
  if (!findings.blocks.empty()) findings.blocks.pop_back();  // its closing line speaks of the doctor
  std::ranges::move(findings.blocks, std::back_inserter(document.blocks));
  if (rest.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [rule, count] : rest)
    parts.push_back(fmt::format("{} {}", count, rule));
  document.blocks.emplace_back(Paragraph{toned("more (--all): " + join(parts, ", "), Tone::kQuiet)});
}

std::string closing_line(const FabricShow& show) {
  const model::FabricReport& report = *show.report;
  const auto hidden = static_cast<std::size_t>(std::ranges::count_if(
      report.findings, [&](const auto& one) { return one.finding.severity < show.least; }));
  std::string line = report.findings.empty() ? "no findings" : count_of(report.findings.size(), "finding");
  if (hidden > 0) line += fmt::format(" ({} below the level asked for)", hidden);
  line += fmt::format(", {} undecided{}, {} held", report.undecided.size(),
                      report.undecided.empty() || show.all ? "" : " (--all)",
                      count_of(report.held.size(), "rule"));
  return line;
}

// One thing to do next, the one that this result calls for.
void add_next(const FabricShow& show, Document& document) {
  const model::FabricFacts& facts = show.report->facts;
  std::string words;
  if (!show.report->findings.empty()) {
    words = "angio fabric show FILE --format html --out map.html draws where it is";
  } else if (facts.links > 0) {
    words = "keep this scan: angio fabric diff says what changed since";
  }
  if (!words.empty()) document.blocks.emplace_back(Paragraph{toned("next: " + words, Tone::kQuiet)});
}

}  // namespace

std::string fabric_headline(const model::Fabric& fabric, const model::FabricReport& report) {
  const model::FabricFacts& facts = report.facts;
  std::vector<std::string> parts;
  parts.push_back(count_of(report.hosts.size(), "host"));
  if (facts.adapters != report.hosts.size()) parts.push_back(count_of(facts.adapters, "adapter"));
  if (facts.subnets == 0 || facts.switches > 0) parts.push_back(count_switches(facts.switches));
  if (facts.subnets > 0) parts.push_back(count_of(facts.subnets, "subnet"));
  if (facts.routers > 0) parts.push_back(count_of(facts.routers, "router"));
  std::string links = count_of(facts.links, facts.subnets > 0 ? "port" : "link");
  if (facts.link_rates.size() == 1) links += " at " + printable(facts.link_rates.front().first);
  parts.push_back(std::move(links));
  if (facts.shape != model::FabricShape::kUnknown) parts.emplace_back(name_of(facts.shape));
  if (!facts.rails.empty()) parts.push_back(count_of(facts.rails.size(), "rail"));
  if (facts.planes.size() > 1) parts.push_back(count_of(facts.planes.size(), "plane"));
  const std::string name = fabric.name.empty() ? "fabric" : printable(fabric.name);
  return name + ": " + join(parts, ", ");
}

Document fabric_document(const FabricShow& show) {
  Document document;
  document.blocks.emplace_back(Paragraph{toned(fabric_headline(*show.fabric, *show.report), Tone::kStrong)});
  add_facts(show, document);
  add_notes(show, document);
  add_fabric_levels(show, document);
  add_fabric_rails(show, document);
  add_findings(show, document);
  add_fabric_hosts(show, document);
  document.blocks.emplace_back(Paragraph{plain(closing_line(show))});
  add_next(show, document);
  return document;
}

Document fabric_page(const FabricShow& show) {
  Document document = fabric_document(show);
  document.title = show.fabric->name.empty() ? "Fabric" : "Fabric " + printable(show.fabric->name);
  if (!document.blocks.empty()) document.blocks.pop_back();  // what to do next at a prompt
  std::vector<report::Block> head;
  if (!show.tool.empty()) head.emplace_back(Paragraph{toned(show.tool, Tone::kQuiet)});
  head.emplace_back(fabric_drawing(*show.fabric, *show.report));
  document.blocks.insert(document.blocks.begin(), std::make_move_iterator(head.begin()),
                         std::make_move_iterator(head.end()));
  return document;
}

}  // namespace angio::views
