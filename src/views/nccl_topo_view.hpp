// NCCL topology and graph files for people and programs: what is wrong with one, its tree, what differs
// between two, the paths and channels NCCL makes of it. Documents for the terminal, versioned JSON. Used by
// `angio nccl-topo`; everything computed is in src/nccl.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nccl/graph_dump.hpp"
#include "nccl/graph_search.hpp"
#include "nccl/topology_check.hpp"
#include "nccl/topology_edit.hpp"
#include "nccl/topology_xml.hpp"
#include "report/document.hpp"

namespace angio::views {

struct TopologyReport {
  std::string file;
  std::string version;  // of NCCL
  nccl::FileKind kind = nccl::FileKind::kNeither;
  bool rccl = false;
  nccl::TopologyCounts counts;
  std::size_t graphs = 0;
  std::string machine;  // it was compared with; empty: none
  std::vector<nccl::Remark> remarks;
};
report::Document topology_report_document(const TopologyReport& report);
Json topology_report_json(const TopologyReport& report);
std::size_t remarks_of(const TopologyReport& report, nccl::Weight weight);

report::Document topology_file_document(const nccl::Element& root, const std::string& version);
Json topology_file_json(const std::string& file, const nccl::Element& root);

// left_out: differences of guid and host_hash that are not shown.
report::Document topology_differences_document(const std::vector<nccl::TreeDifference>& differences,
                                               const std::string& left, const std::string& right,
                                               std::size_t left_out);
Json topology_differences_json(const std::vector<nccl::TreeDifference>& differences, const std::string& left,
                               const std::string& right, std::size_t left_out);

// notes: where the tree is from, and which release was asked for.
struct SystemReport {
  std::string subject;  // the file or machine
  int nodes = 1;
  std::string without_nvlink;  // which GPUs' NVLinks are not known and not in the figures; empty: all known
  std::vector<std::string> notes;
};
report::Document nccl_paths_document(const nccl::System& system, const SystemReport& report);
Json nccl_paths_json(const nccl::System& system, const SystemReport& report);

struct GraphsReport {
  std::string subject;
  std::string version;
  int nodes = 1;
  std::size_t gpus = 0;
  bool captured = false;       // a dump of NCCL's, not a search of ours
  std::string without_nvlink;  // as in SystemReport
  std::vector<nccl::DumpedGraph> graphs;
  std::optional<nccl::Expectation> expected;
  std::vector<std::string> notes;
};
report::Document nccl_graphs_document(const GraphsReport& report);
Json nccl_graphs_json(const GraphsReport& report);

}  // namespace angio::views
