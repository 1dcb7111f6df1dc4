// The doctor: every rule over one machine, and nodes compared with each other or with their own past.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/finding.hpp"
#include "model/machine.hpp"

namespace angio::diagnose {

// Findings ranked: severity, then share lost, then rule id.
model::Diagnosis diagnose(const model::Machine& machine);
// The same order over the findings of many nodes.
void rank(std::vector<model::Finding>& findings);

// What a node looks like for comparison: "GPU 5 PCIe lanes" → "16". Small; a thousand nodes fit.
struct Traits {
  std::string node;
  std::vector<std::pair<std::string, std::string>> values;  // by name
};
Traits traits_of(const model::Machine& machine);

// Nodes alike, largest group first; the traits in which a group differs from the first one.
struct NodeGroup {
  std::vector<std::string> nodes;
  struct Difference {
    std::string trait;
    std::string here;
    std::string majority;
  };
  std::vector<Difference> differences;
};
std::vector<NodeGroup> group_nodes(const std::vector<Traits>& nodes);

// Differences of one node against its earlier self, as findings where a rule says it matters.
std::vector<NodeGroup::Difference> changes(const Traits& before, const Traits& now);

}  // namespace angio::diagnose
