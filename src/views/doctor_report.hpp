// One run of the doctor over any number of nodes, before it is shown: values only. The command fills it,
// doctor_view makes a Document of it, findings_json makes JSON of it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/doctor.hpp"
#include "model/finding.hpp"
#include "model/machine.hpp"

namespace angio::views {

struct DoctorReport {
  struct Node {
    std::string name;
    std::string origin;                // "live", "snapshot node-3.snap"
    std::string description;           // "8 x NVIDIA H100 80GB HBM3, 8 RDMA devices, 2 NUMA nodes"
    std::vector<model::Note> notes{};  // of the source: cut off, unknown lines
    std::string captured{};            // RFC 3339, UTC; empty where the source does not tell
  };
  struct Unreadable {
    std::string file;
    std::string reason;
  };
  // One node against its earlier self.
  struct Past {
    std::string node;
    std::string file;  // of the earlier state
    std::vector<diagnose::NodeGroup::Difference> changes;
    std::vector<model::Finding> gone;  // found then, not now
  };

  std::string tool;  // "angio 0.1.0": who looked
  std::vector<Node> nodes;
  std::vector<diagnose::NodeGroup> groups;
  std::vector<model::Finding> findings;  // of all nodes, ranked
  std::vector<model::Undecided> undecided;
  std::map<std::string, std::vector<std::string>> held;  // rule → nodes where it looked and found nothing
  std::vector<Unreadable> unreadable;
  std::vector<Past> past;
  double seconds = 0;
  std::vector<std::string> remarks;  // on what was given: a file twice, a node twice
  bool show_undecided = false;
};

// Takes over what one node's diagnosis says; call in the order of the nodes, then rank(report.findings).
void add_node(DoctorReport& report, DoctorReport::Node node, model::Diagnosis diagnosis);

// "8 x NVIDIA H100 80GB HBM3, 8 RDMA devices, 2 NUMA nodes"
std::string describe(const model::Machine& machine);

// Rules that held on at least one node and neither fired nor gave up on any.
std::size_t rules_held(const DoctorReport& report);

std::string in_words(model::Severity severity);      // "critical"
std::string upper(std::string text);                 // "CRITICAL", as it stands in front of a finding
std::string in_words(model::Confidence confidence);  // "measured"
std::string in_words(model::Layer layer);            // "hardware"

}  // namespace angio::views
