// What `angio fabric` shows: one fabric with what was found in it, and two scans of it beside each other; for
// the terminal, as a page with the map, and as versioned JSON. What is wrong is src/fabric's; here are words,
// tables and pictures only. The fabric itself as JSON, to be read again: fabric_json.hpp.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "model/fabric.hpp"
#include "model/fabric_report.hpp"
#include "report/document.hpp"

namespace angio::views {

// ---- one fabric

// Values only; the command fills it.
struct FabricShow {
  const model::Fabric* fabric = nullptr;
  const model::FabricReport* report = nullptr;
  std::string tool{};                              // "angio 0.1.0"
  std::vector<std::string> remarks{};              // on what was given
  std::string cost{};                              // of a scan that was just made: "8512 questions, 0.9 s"
  model::Severity least = model::Severity::kInfo;  // findings below are counted only
  bool all = false;                                // also what is undecided, and every row
};
report::Document fabric_document(const FabricShow& show);
// The same with a title and the map.
report::Document fabric_page(const FabricShow& show);
// Has every finding, whatever `least` and `all` say: {"schema": "angio.fabric-report/1", …}
Json fabric_report_json(const FabricShow& show);

// The map alone.
report::Drawing fabric_drawing(const model::Fabric& fabric, const model::FabricReport& report);
// "hall.txt: 64 hosts, 20 switches, 192 links at 4x HDR (200 Gb/s), rail fat tree"
std::string fabric_headline(const model::Fabric& fabric, const model::FabricReport& report);

// ---- two scans

struct FabricDiffShow {
  const model::FabricDiff* diff = nullptr;
  model::Severity least = model::Severity::kInfo;
  bool all = false;  // every row
};
report::Document fabric_diff_document(const FabricDiffShow& show);
report::Document fabric_diff_page(const FabricDiffShow& show);
// {"schema": "angio.fabric-diff/1", …}
Json fabric_diff_json(const model::FabricDiff& diff);

// ---- parts, in fabric_tables.cpp

// Levels with their bandwidth, rails; no block where there is nothing to say.
void add_fabric_levels(const FabricShow& show, report::Document& document);
void add_fabric_rails(const FabricShow& show, report::Document& document);
// The hosts that findings touch, with their jobs.
void add_fabric_hosts(const FabricShow& show, report::Document& document);

}  // namespace angio::views
