#include "views/fabric_view.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "views/fabric_example.hpp"
#include "views/fabric_metrics.hpp"
#include "views/fabric_words.hpp"

namespace angio::views {
namespace {

using example::TreeShape;
using model::PortRef;
using model::Severity;

class FabricView : public testing::Test {
 protected:
  FabricView() : fabric_(example::fat_tree(shape_)), report_(example::report_of(fabric_, shape_)) {}

  // gpu-2 runs on one lane: leaf-1 is node 0, its second port.
  void break_a_link() {
    model::FabricPort& port = fabric_.nodes[0].ports[1];
    port.lanes = 1;
    fabric_.nodes[port.peer->node].ports[port.peer->port].lanes = 1;
    report_.findings.push_back(example::finding("fabric.link.width", Severity::kCritical,
                                                "The cable of leaf-1 port 2 runs 1 of 4 lanes",
                                                {PortRef{0, 1}}, {1}));
    report_.hosts[1].jobs = {"1234", "1235"};
  }
  [[nodiscard]] std::string text(bool all = false, Severity least = Severity::kInfo) const {
    FabricShow show{&fabric_, &report_};
    show.all = all;
    show.least = least;
    return render_terminal(fabric_document(show), {});
  }

  TreeShape shape_;
  model::Fabric fabric_;
  model::FabricReport report_;
};

TEST_F(FabricView, SaysOneLineFirstWhereNothingIsWrong) {
  EXPECT_EQ(text(), R"(hall.txt: 4 hosts, 4 switches, 8 links at 4x HDR (200 Gb/s), fat tree
from      ibnetdiscover hall.txt, captured 2026-01-02T03:04:05Z
counters  none in this input: give the output of ibqueryerrors too, or use angio
          fabric scan

level  switches  links down  bandwidth  links up  bandwidth  down:up
    1         2           4   800 Gb/s         4   800 Gb/s      1:1
    2         2           4   800 Gb/s         -          -        -

no findings, 0 undecided, 2 rules held

next: keep this scan: angio fabric diff says what changed since
)");
}

TEST_F(FabricView, ShowsAFindingAndWhomItTouches) {
  break_a_link();
  report_.facts.has_counters = true;
  const std::string shown = text();
  EXPECT_TRUE(shown.contains(R"(CRITICAL  The cable of leaf-1 port 2 runs 1 of 4 lanes
          seen    active 1x HDR, supported 4x HDR  PortInfo
          costs   unknown
          fix     Reseat the cable at both ends
          risk    drops the link
          test    angio fabric scan shows 4x HDR
)")) << shown;
  EXPECT_TRUE(shown.contains(R"(hosts touched  jobs       by
gpu-2          1234 1235  fabric.link.width

1 finding, 0 undecided, 2 rules held
)")) << shown;
}

TEST_F(FabricView, FoldsHostsThatTheSameFindingsTouch) {
  report_.findings.push_back(
      example::finding("fabric.node.down", Severity::kWarning, "leaf-1 is gone", {}, {0, 1, 2, 3}));
  EXPECT_TRUE(text().contains("gpu-1 gpu-2 gpu-3 gpu-4  fabric.node.down\n")) << text();
}

TEST_F(FabricView, CountsWhatIsBelowTheLevel) {
  report_.findings.push_back(example::finding("fabric.remark", Severity::kInfo, "A remark", {}, {0}));
  const std::string shown = text(false, Severity::kWarning);
  EXPECT_FALSE(shown.contains("A remark")) << shown;
  EXPECT_FALSE(shown.contains("hosts touched")) << shown;
  EXPECT_TRUE(shown.contains("1 finding (1 below the level asked for), 0 undecided, 2 rules held\n"))
      << shown;
}

TEST_F(FabricView, CutsALongListAndSaysSo) {
  for (std::uint32_t i = 0; i < 20; ++i)
    report_.findings.push_back(example::finding("fabric.link.errors", Severity::kWarning,
                                                "leaf-1 port " + std::to_string(i + 1) + " counts errors", {},
                                                {i % 4}));
  const std::string shown = text();
  EXPECT_TRUE(shown.contains("leaf-1 port 12 counts errors")) << shown;
  EXPECT_FALSE(shown.contains("leaf-1 port 13 counts errors")) << shown;
  EXPECT_TRUE(shown.contains("more (--all): 8 fabric.link.errors\n")) << shown;
  EXPECT_TRUE(text(true).contains("leaf-1 port 20 counts errors"));
}

TEST_F(FabricView, KeepsWithinEightyColumns) {
  break_a_link();
  fabric_.nodes[0].description = std::string(300, 'x');
  report_.findings[0].finding.title = std::string(200, 'y');
  report_.hosts[1].name = std::string(120, 'z');
  const std::string shown = text(true);
  for (const std::string_view line : split_lines(shown))
    EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(FabricView, PrintsNoControlCharacters) {
  break_a_link();
  fabric_.name = "a\x1b[31mb";
  report_.hosts[1].name = "gpu\x1b-2\n";
  report_.hosts[1].jobs = {"\x07"};
  const std::string shown = text(true);
  EXPECT_FALSE(shown.contains('\x1b'));
  EXPECT_FALSE(shown.contains('\x07'));
}

TEST_F(FabricView, ShowsRails) {
  shape_ = {8, 4, 2, 4};
  fabric_ = example::fat_tree(shape_);
  report_ = example::report_of(fabric_, shape_);
  const std::string shown = text();
  EXPECT_TRUE(
      shown.starts_with("hall.txt: 8 hosts, 32 adapters, 10 switches, 48 links at 4x HDR (200 Gb/s), rail\n"
                        "fat tree, 4 rails\n"))
      << shown;
  EXPECT_TRUE(shown.contains("rail  adapters  leaves\n   0         8  leaf-1 leaf-5\n")) << shown;
}

TEST_F(FabricView, ReportsAsJson) {
  break_a_link();
  FabricShow show{&fabric_, &report_};
  show.tool = "angio 1.2.3";
  const Json json = fabric_report_json(show);
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.fabric-report/1");
  EXPECT_EQ(*json.find("captured")->as_string(), "2026-01-02T03:04:05Z");
  EXPECT_EQ(*json.find("subject")->as_string(), "hall.txt");
  const Json& finding = json.find("findings")->as_array()->at(0);
  EXPECT_EQ(*finding.find("rule")->as_string(), "fabric.link.width");
  EXPECT_EQ(*finding.find("ports")->as_array()->at(0).find("name")->as_string(), "leaf-1 port 2");
  EXPECT_EQ(*finding.find("ports")->as_array()->at(0).find("port")->as_integer(), 2);
  EXPECT_EQ(*finding.find("hosts")->as_array()->at(0).as_string(), "gpu-2");
  EXPECT_EQ(*json.find("levels")->as_array()->at(0).find("oversubscription")->as_double(), 1.0);
  EXPECT_EQ(json.find("hosts")->as_array()->size(), 4U);
  // 3 counts of nodes and links, and 8 links.
  EXPECT_EQ(json.find("metrics")->as_array()->size(), 11U);
}

TEST_F(FabricView, JsonHasWhatTheTerminalLeavesOut) {
  report_.findings.push_back(example::finding("fabric.remark", Severity::kInfo, "A remark", {}, {}));
  FabricShow show{&fabric_, &report_};
  show.least = Severity::kCritical;
  EXPECT_EQ(fabric_report_json(show).find("findings")->as_array()->size(), 1U);
}

TEST(FabricMetrics, KeepsLinksAndErrorsThatAreNotZero) {
  model::Fabric fabric = example::fat_tree({2, 2, 0, 1});
  model::CounterSet& counters = fabric.nodes[0].ports[1].counters;
  counters.set(model::FabricCounter::kSymbolErrors, 7);
  counters.set(model::FabricCounter::kLinkDowned, 0);
  counters.set(model::FabricCounter::kTransmitBytes, 1000);
  const std::vector<model::Metric> metrics = fabric_metrics(fabric);
  ASSERT_EQ(metrics.size(), 6U);
  EXPECT_EQ(metrics[0].name, "adapters");
  EXPECT_EQ(metrics[0].value, 2);
  EXPECT_EQ(metrics[3].subject, "leaf-1 port 1");
  EXPECT_EQ(metrics[3].text, "4x HDR (200 Gb/s) Active");
  EXPECT_EQ(metrics[5].subject, "leaf-1 port 2");
  EXPECT_EQ(metrics[5].name, "SymbolErrorCounter");
  EXPECT_EQ(metrics[5].value, 7);
  EXPECT_EQ(metrics[5].unit, "errors");
}

// ---- two scans

model::FabricDiff two_days() {
  model::FabricDiff diff;
  diff.before_name = "monday.json";
  diff.after_name = "tuesday.json";
  diff.before_captured = "2026-01-05T08:00:00Z";
  diff.after_captured = "2026-01-06T08:00:00Z";
  diff.seconds_between = 86400;
  diff.nodes_alike = 2144;
  diff.links_alike = 8030;
  diff.changes = {
      {model::FabricChangeKind::kLinkGone, Severity::kCritical, "leaf-3 port 12", "gpu-12 mlx5_0 port 1", "",
       "gpu-12 has lost this rail"},
      {model::FabricChangeKind::kSpeed, Severity::kWarning, "leaf-3 port 5", "4x HDR", "4x QDR", ""},
      {model::FabricChangeKind::kNodeNew, Severity::kInfo, "gpu-99 mlx5_0", "", "on leaf-4 port 9", ""}};
  return diff;
}

TEST(FabricDiffView, RanksChangesAndCountsWhatIsAlike) {
  const model::FabricDiff diff = two_days();
  EXPECT_EQ(render_terminal(fabric_diff_document({&diff}), {}),
            R"(monday.json (2026-01-05T08:00:00Z) to tuesday.json (2026-01-06T08:00:00Z), 24 h
later

3 changes; 2144 nodes and 8030 links alike

CRITICAL  leaf-3 port 12  link gone: was gpu-12 mlx5_0 port 1; gpu-12 has lost
                          this rail
WARNING   leaf-3 port 5   speed: was 4x HDR, is 4x QDR
INFO      gpu-99 mlx5_0   node new: is on leaf-4 port 9
)");
}

TEST(FabricDiffView, SaysThatNothingChanged) {
  model::FabricDiff diff = two_days();
  diff.changes.clear();
  EXPECT_TRUE(render_terminal(fabric_diff_document({&diff}), {})
                  .ends_with("\nno changes; 2144 nodes and 8030 links alike\n"));
}

TEST(FabricDiffView, CutsALongListAndSaysSo) {
  model::FabricDiff diff = two_days();
  const model::FabricChange one = diff.changes[1];
  diff.changes.assign(30, one);
  const std::string shown = render_terminal(fabric_diff_document({&diff}), {});
  EXPECT_TRUE(shown.contains("more (--all): 6 speed\n")) << shown;
  EXPECT_FALSE(render_terminal(fabric_diff_document({&diff, Severity::kInfo, true}), {}).contains("--all"));
}

TEST(FabricDiffView, ReportsAsJson) {
  const Json json = fabric_diff_json(two_days());
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.fabric-diff/1");
  EXPECT_EQ(*json.find("changes")->as_array()->at(0).find("kind")->as_string(), "link gone");
  EXPECT_EQ(*json.find("changes")->as_array()->at(0).find("severity")->as_string(), "critical");
  EXPECT_EQ(*json.find("links_alike")->as_integer(), 8030);
  EXPECT_EQ(*json.find("seconds_between")->as_double(), 86400);
}

// ---- words

TEST(FabricWords, ShortensWhatSwitchesCallThemselves) {
  model::FabricNode node;
  node.kind = model::FabricNodeKind::kSwitch;
  node.guid = {0x2c9ULL};
  EXPECT_EQ(short_name(node), "0x00000000000002c9");
  node.description = "MF0;leaf-3:MQM9700/U1";
  EXPECT_EQ(short_name(node), "leaf-3");
  node.description = "MF0;director-1:MCS8500/L07/U1";
  EXPECT_EQ(short_name(node), "director-1/L07");
  node.description = "Quantum Mellanox Technologies";
  EXPECT_EQ(short_name(node), "Quantum Mellanox Technologies");
  node.description = "MF0;";
  EXPECT_EQ(short_name(node), "MF0;");
}

TEST(FabricWords, ShortensNamesInsideSentences) {
  EXPECT_EQ(with_short_names("MF0;leaf-3:MQM9700/U1 port 12 to MF0;big:MCS8500/S02/U1 port 1: slow"),
            "leaf-3 port 12 to big/S02 port 1: slow");
  EXPECT_EQ(with_short_names("MF0;"), "MF0;");
  EXPECT_EQ(with_short_names("MF0;:x"), "MF0;:x");
  EXPECT_EQ(with_short_names("gpu-1: a"), "gpu-1: a");
}

TEST(FabricWords, SortsNumbersAsNumbers) {
  EXPECT_TRUE(natural_less("leaf-2", "leaf-10"));
  EXPECT_FALSE(natural_less("leaf-10", "leaf-2"));
  EXPECT_TRUE(natural_less("leaf-1", "leaf-01") != natural_less("leaf-01", "leaf-1"));
  EXPECT_TRUE(natural_less("a", "b"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_FALSE(natural_less("a1", "a1"));
}

TEST(FabricWords, SaysTheRateOnce) {
  model::FabricPort port;
  EXPECT_EQ(rate_words(port), "");
  port.lanes = 4;
  port.speed = model::LaneSpeedName::kNdr;
  EXPECT_EQ(rate_words(port), "4x NDR (400 Gb/s)");
  model::FabricPort ethernet;
  ethernet.stated_rate = BitsPerSecond{400e9};
  EXPECT_EQ(rate_words(ethernet), "400 Gb/s");
}

}  // namespace
}  // namespace angio::views
