// What Angio makes of a fabric: which adapters are one host, how the switches are layered, the planes and
// rails, and what is wrong. And what changed between two scans. Values only: src/fabric makes them, views
// show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "model/fabric.hpp"
#include "model/finding.hpp"

namespace angio::model {

struct FabricHost {
  std::string name;                     // "gpu-a"; "host of 0x…" where nothing names it
  std::vector<std::uint32_t> adapters;  // nodes, by name or GUID: the order of the rails
  std::string joined_by;                // "node description", "system image GUID", "snapshot gpu-a.snap"
  std::vector<std::string> jobs;        // that run there, where the caller said so
};

enum class PlaneRole : std::uint8_t { kUnknown, kCompute, kStorage, kManagement };
std::string_view name_of(PlaneRole role);

// Nodes that can reach each other.
struct FabricPlane {
  std::vector<std::uint32_t> nodes;
  PlaneRole role = PlaneRole::kUnknown;
  std::string why;  // of the role, in words; never a guess without grounds
};

// Switches at one distance from the adapters; level 1 are leaves.
struct FabricLevel {
  std::uint32_t plane = 0;
  std::uint32_t level = 1;
  std::vector<std::uint32_t> switches;
  std::uint32_t links_down = 0;
  std::uint32_t links_up = 0;
  BitsPerSecond down;  // running, one direction, added up
  BitsPerSecond up;
  std::optional<double> oversubscription;  // down / up; none at the top
};

enum class FabricShape : std::uint8_t {
  kUnknown,
  kDirect,
  kSingleSwitch,
  kFatTree,
  kRailFatTree,
  kIrregular
};
std::string_view name_of(FabricShape shape);

struct FabricRail {
  std::uint32_t number = 0;             // from 0
  std::vector<std::uint32_t> leaves;    // switches
  std::vector<std::uint32_t> adapters;  // that are on it as most hosts are
};

// A node or cable without which hosts lose each other.
struct SinglePoint {
  std::optional<std::uint32_t> node;
  std::optional<PortRef> link;
  std::uint32_t hosts_cut = 0;
};

struct FabricFacts {
  std::uint32_t adapters = 0, switches = 0, routers = 0, links = 0;
  std::uint32_t subnets = 0;  // that stand where switches are not known
  std::uint32_t ports_active = 0, ports_down = 0, without_answer = 0;
  bool has_counters = false;
  std::vector<std::pair<std::string, std::uint32_t>>
      link_rates;  // "4x HDR (200 Gb/s)", count; commonest first
  FabricShape shape = FabricShape::kUnknown;
  std::string shape_why;
  std::vector<std::uint32_t> level_of;  // by node: 0 adapters, 1 leaves …
  std::vector<FabricPlane> planes;
  std::vector<FabricLevel> levels;
  std::vector<FabricRail> rails;
  std::vector<SinglePoint> single_points;
};

// A finding about this fabric, with the ports and hosts that it touches: pictures mark them, tables count
// them.
struct FabricFinding {
  Finding finding;
  std::vector<PortRef> ports;
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint32_t> hosts;  // in FabricReport::hosts
};

struct FabricReport {
  FabricFacts facts;
  std::vector<FabricHost> hosts;
  std::vector<FabricFinding> findings;  // ranked
  std::vector<Undecided> undecided;
  std::vector<std::string> held;
};

enum class FabricChangeKind : std::uint8_t {
  kNodeGone,
  kNodeNew,
  kReplaced,  // another device with the same name and cables
  kLinkGone,
  kLinkNew,
  kCableMoved,
  kSpeed,
  kWidth,
  kState,
  kCounter,       // grew
  kCounterReset,  // fell: cleared or the node restarted
  kRenamed,
  kLid,
};
std::string_view name_of(FabricChangeKind kind);  // "link gone"

struct FabricChange {
  FabricChangeKind kind = FabricChangeKind::kNodeGone;
  Severity severity = Severity::kInfo;
  std::string where;  // "leaf-3 port 12"
  std::string before;
  std::string after;
  std::string meaning;  // one sentence where there is more to say than before and after
};

struct FabricDiff {
  std::string before_name, after_name;
  std::optional<std::string> before_captured, after_captured;
  std::optional<double> seconds_between;
  std::vector<FabricChange> changes;  // ranked
  std::uint32_t nodes_alike = 0;
  std::uint32_t links_alike = 0;
};

}  // namespace angio::model
