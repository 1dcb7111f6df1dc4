// What differs between the topologies of two machines: devices, nodes, links, paths. Versions, counters
// and loads are not topology. What one side does not know is no difference; it is counted apart.
#pragma once

#include <string>
#include <vector>

#include "model/machine.hpp"
#include "report/document.hpp"

namespace angio::views {

struct TopologyDifference {
  std::string subject;  // "GPU 5 PCIe lanes"
  std::string left;     // "16"; "none" when the device is not there
  std::string right;
};

struct TopologyComparison {
  std::vector<TopologyDifference> differences;
  std::vector<std::string> incomparable;  // "memory of NUMA node 0": one side does not know
  [[nodiscard]] bool same() const { return differences.empty(); }
};

TopologyComparison compare_topologies(const model::Machine& left, const model::Machine& right);
report::Document comparison_document(const TopologyComparison& comparison, const std::string& left,
                                     const std::string& right);

}  // namespace angio::views
