// What the questions of explain() share: the run, its log, NCCL's picture of the topology, and the list of
// answers. Only for reasons*.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dryrun/compare_facts.hpp"
#include "dryrun/reasons.hpp"
#include "model/dryrun.hpp"
#include "nccl/graph_search.hpp"
#include "nccl/system_graph.hpp"

namespace angio::dryrun {

// The NICs that NCCL was offered on one node, by the plugin's own numbers: they count what the plugin
// reports, not what the topology has.
struct NodeNics {
  std::string host;
  std::map<std::uint32_t, std::string> offered;
};

// What NCCL takes of the graphs that its ranks found: the least of each figure (src/init.cc).
struct UsedGraph {
  model::NcclPattern graph;                      // chains: only where all found the same
  std::vector<const model::NcclPattern*> found;  // each that differs
};

struct Answer {
  std::string text;
  std::vector<std::string> evidence;
};

struct Case {
  const model::DryRun& run;
  const nccl::Element& topology;  // of node 0, whole
  const model::NcclLog* log = nullptr;
  const model::NcclCommunicator* world = nullptr;
  std::string release;  // "2.28.9"; empty: not known
  bool between_nodes = false;
  std::vector<NodeNics> nodes;         // in the order of their ranks
  std::optional<nccl::System> system;  // of node 0, with the GPUs of ranks and the NICs that it was offered
  std::string no_system;               // why it is missing, or not as NCCL's: its NICs are others
  Ways ways;
};

class Answers {
 public:
  explicit Answers(const Case& one) : case_(one) {}
  // Places of the log are put in front of what was read there.
  [[nodiscard]] std::string cite(const model::Source& source, const std::string& text) const;
  // "NCCL_P2P_DISABLE=1, a setting of this run"; with the log's line where NCCL said that it read it.
  [[nodiscard]] std::string cite_setting(std::string_view name) const;
  void add(std::string question, std::string answer, std::vector<std::string> evidence = {});
  std::vector<Reason> take() { return std::move(reasons_); }

 private:
  const Case& case_;
  std::vector<Reason> reasons_;
};

// The value that a run was given by its settings, or that NCCL says it took; null: neither.
const std::string* value_of(const Case& one, std::string_view name);
// The node of NCCL's graph that a log calls so: "GPU/0-1b000", "GPU/1B000", "NET/0-3"; kNone: none or not
// one.
std::uint32_t find_node(const nccl::System& system, std::string_view name);
// The GPU of a rank by the bus id that its log line has; kNone: not told.
std::uint32_t gpu_of(const Case& one, std::uint32_t rank);
// The host of a rank as the log names it; empty: not told.
const std::string& host_of_rank(const Case& one, std::uint32_t rank);
// Where a graph is NCCL's last resort, the ranks in order: the line that says so, else the graph's own.
std::optional<std::string> cite_no_path(const Case& one, const model::NcclPattern& graph,
                                        const Answers& answers);
std::optional<UsedGraph> used_graph(const model::NcclCommunicator& world, GraphKind kind);
// Compute capability times ten, least and most; zeros: not known.
std::pair<int, int> capabilities(const Case& one);
// Equal but for case and '_': "NVLS_TREE" in one line of the log is "NVLSTree" in another.
bool same_word(std::string_view a, std::string_view b);
// A list of NCCL_ALGO or NCCL_PROTO that leaves the word out, or (with '^') names it, for every function.
bool excludes(const std::string& list, std::string_view word);
// "GPU 3", "NIC mlx5_0", else NCCL's own name.
std::string in_words(const nccl::SystemNode& node);
inline constexpr const char* kCannotTell = "Cannot be told from this run: ";

void explain_bandwidth(const Case& one, Answers& answers);
void explain_channels(const Case& one, Answers& answers);
void explain_nvls(const Case& one, Answers& answers);
void explain_pairs(const Case& one, Answers& answers);
void explain_gdr(const Case& one, Answers& answers);
void explain_pxn(const Case& one, Answers& answers);
void explain_nics(const Case& one, Answers& answers);
void explain_protocols(const Case& one, Answers& answers);
void explain_choices(const Case& one, Answers& answers);
void explain_settings(const Case& one, Answers& answers);

}  // namespace angio::dryrun
