// Graph files of NCCL (<graphs version="1">): what NCCL_GRAPH_DUMP_FILE wrote and NCCL_GRAPH_FILE reads.
// Reading with remarks, and writing the outcome of our own search in the same form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nccl/graph_search.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::nccl {

struct DumpedChannel {
  std::vector<std::int64_t> gpus;  // ranks where the file names them, else device numbers
  std::vector<std::int64_t> nets;  // in and out
  bool operator==(const DumpedChannel&) const = default;
};

struct DumpedGraph {
  int id = 0;
  int pattern = 0;
  int cross_nic = 0;
  int channels = 0;  // as stated; the list below may differ
  double speed_intra = 0;
  double speed_inter = 0;
  double latency_inter = 0;
  std::string type_intra;
  std::string type_inter;
  int same_channels = 0;
  bool ranks = false;  // the numbers of GPUs are ranks
  std::vector<DumpedChannel> list;
};

// "ring", "tree", "CollNet chain", "NVLS", "CollNet direct"; "graph 9" for a number NCCL does not use.
std::string graph_name(int id);

// Takes a <graphs> element; what NCCL of this release would not take goes into remarks.
std::vector<DumpedGraph> read_graphs(const Element& root, std::string_view version, Remarks& remarks);

// The found graphs in the form of a dump.
std::vector<DumpedGraph> to_dump(const System& system, const SearchResult& result);
Element to_element(const std::vector<DumpedGraph>& graphs);

}  // namespace angio::nccl
