// The rules over a fabric: what each may ask, what it says, and the table of them. Words are in
// data/rules/fabric.toml. Internal to src/fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/rule.hpp"
#include "fabric/cables.hpp"
#include "fabric/delta.hpp"
#include "fabric/facts.hpp"
#include "fabric/layout.hpp"
#include "model/fabric_report.hpp"

namespace angio::fabric {

// The plan or good earlier scan, matched with this one.
struct Earlier {
  Layout layout;
  Delta delta;
  std::optional<double> seconds;  // between both; none where a time is missing
};

struct Case {
  const Layout& layout;
  const model::FabricFacts& facts;
  const Rails& rails;
  const Surroundings& surroundings;
  std::vector<CableVerdict> verdicts;    // by cable
  const Earlier* earlier = nullptr;      // null: nobody gave one
  std::optional<std::string> part = {};  // why the fabric is not whole
};

// A finding before its words are joined: which switch or host it is about, and what pictures mark.
struct FabricDraft {
  std::string subject;
  diagnose::Draft draft;
  std::vector<model::PortRef> ports = {};
  std::vector<std::uint32_t> nodes = {};
  std::vector<std::uint32_t> hosts = {};  // empty: those that ports and nodes touch
};

class FabricOutcome {
 public:
  void fire(FabricDraft draft) { drafts.push_back(std::move(draft)); }
  void undecided(std::string missing, std::string collect) {
    gaps.push_back({std::move(missing), std::move(collect)});
  }
  void not_applicable() { applicable = false; }

  struct Gap {
    std::string missing, collect;
  };
  std::vector<FabricDraft> drafts;
  std::vector<Gap> gaps;
  bool applicable = true;
};

struct Rule {
  const char* id;
  void (*check)(const Case& look, FabricOutcome& outcome);
};
std::span<const Rule> link_rules();      // link_rules.cpp: rates, widths, MTU
std::span<const Rule> port_rules();      // port_rules.cpp: states, partners that are missing
std::span<const Rule> error_rules();     // error_rules.cpp: what the receiving end counts
std::span<const Rule> traffic_rules();   // traffic_rules.cpp: discards, waiting, counters that stand still
std::span<const Rule> identity_rules();  // identity_rules.cpp: GUIDs, LIDs, names, nodes without answer
std::span<const Rule> shape_rules();     // shape_rules.cpp: rails, levels, single points, symmetry
std::span<const Rule> plan_rules();      // plan_rules.cpp: against what was expected

// ---- words that rules share

inline constexpr const char* kScan = "angio fabric scan on a host of this fabric, as root";
inline constexpr std::size_t kMostListed = 8;  // presentation: so many names in one line of evidence

// Of a part of a fabric nobody can say what is missing: true, and the gap is told.
bool is_part(const Case& look, FabricOutcome& outcome, std::string_view what);

// A switch has one LID, that of its port 0; an adapter has one a port. None: not told, or 0.
std::optional<Lid> lid_of(const Layout& layout, model::PortRef ref);
// "leaf-3 port 12 (GUID 0x…, LID 4): runs 1x HDR (50 Gb/s), can 4x HDR, allows 4x HDR".
std::string end_words(const Layout& layout, model::PortRef ref);
model::Evidence seen(const Layout& layout, std::string text);
// Both ends of a cable as evidence.
std::vector<model::Evidence> both_ends(const Layout& layout, const Cable& cable);
// The host of an adapter, the name of anything else.
std::string subject_of(const Layout& layout, std::uint32_t node);
// The switch of a cable between a switch and an adapter; of two switches the lower one.
std::uint32_t lower_switch(const Layout& layout, const Cable& cable);
// Words for fixes: {switch}, {port}, {lid}, {cable}; "to_switch" or "to_host" for their `when`.
void add_cable_words(const Layout& layout, const Cable& cable, diagnose::Draft& draft);
// Hosts below a switch, or the host of an adapter: indices in Layout::hosts, sorted.
std::vector<std::uint32_t> hosts_at(const Layout& layout, std::uint32_t node);
// "12 ports of 3 switches: leaf-1 port 3, …": many ports as one line.
std::string ports_words(const Layout& layout, const std::vector<model::PortRef>& ports);
std::string grouped(std::uint64_t number);   // "1,234,567"
std::string duration_words(double seconds);  // "2.5 h", "40 s", "3.1 days"

}  // namespace angio::fabric
