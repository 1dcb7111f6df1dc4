#include "import/import.hpp"

#include "import/draft.hpp"
#include "import/hwloc_xml/hwloc_xml.hpp"
#include "import/job_log/job_log.hpp"
#include "import/known_text.hpp"
#include "import/lines.hpp"
#include "import/lscpu/lscpu.hpp"
#include "import/lspci/lspci.hpp"
#include "import/nccl_topology/nccl_topology.hpp"
#include "import/numactl/numactl.hpp"
#include "import/smi_query/smi_query.hpp"
#include "import/smi_topo/smi_topo.hpp"

namespace angio::import {

std::string_view name_of(ForeignKind kind) {
  switch (kind) {
    case ForeignKind::kNvidiaSmiTopo:
      return "nvidia-smi topo -m";
    case ForeignKind::kNvidiaSmiP2p:
      return "nvidia-smi topo -p2p";
    case ForeignKind::kNvidiaSmiQuery:
      return "nvidia-smi -q";
    case ForeignKind::kLscpu:
      return "lscpu";
    case ForeignKind::kNumactl:
      return "numactl --hardware";
    case ForeignKind::kNcclTopology:
      return "NCCL topology";
    case ForeignKind::kNcclGraph:
      return "NCCL graph";
    case ForeignKind::kHwlocXml:
      return "hwloc XML";
    case ForeignKind::kLspci:
      return "lspci";
    case ForeignKind::kJobLog:
      return "job or kernel log";
    case ForeignKind::kUnknown:
      break;
  }
  return "unknown";
}

Result<model::Machine> import_machine(std::string_view bytes, const std::string& name) {
  if (is_binary(bytes)) return std::unexpected(refuse_unknown(bytes, name));
  const std::string cleaned = clean_terminal(bytes);
  const std::vector<Line> lines = number_lines(cleaned);
  const ForeignKind kind = recognise_cleaned(cleaned, lines);
  switch (kind) {
    case ForeignKind::kNvidiaSmiTopo:
    case ForeignKind::kNvidiaSmiP2p:
      return smi_topo::import_tables(lines, Draft(kind, name));
    case ForeignKind::kNvidiaSmiQuery:
      return smi_query::import_query(lines, Draft(kind, name));
    case ForeignKind::kLscpu:
      return lscpu::import_lscpu(lines, cleaned, Draft(kind, name));
    case ForeignKind::kNumactl:
      return numactl::import_hardware(lines, Draft(kind, name));
    case ForeignKind::kNcclTopology:
      return nccl_topology::import_topology(cleaned, Draft(kind, name));
    case ForeignKind::kNcclGraph:
      return nccl_topology::refuse_graph(name);
    case ForeignKind::kHwlocXml:
      return hwloc_xml::import_topology(cleaned, Draft(kind, name));
    case ForeignKind::kLspci:
      return lspci::import_lspci(lines, Draft(kind, name));
    case ForeignKind::kJobLog:
      return job_log::import_log(lines, name, Draft(kind, name));
    case ForeignKind::kUnknown:
      break;
  }
  return std::unexpected(refuse_unknown(bytes, name));
}

}  // namespace angio::import
