#include <algorithm>

#include "base/text.hpp"
#include "import/hwloc_xml/hwloc_xml.hpp"
#include "import/import.hpp"
#include "import/job_log/job_log.hpp"
#include "import/known_text.hpp"
#include "import/lscpu/lscpu.hpp"
#include "import/lspci/lspci.hpp"
#include "import/nccl_topology/nccl_topology.hpp"
#include "import/numactl/numactl.hpp"
#include "import/smi_query/smi_query.hpp"
#include "import/smi_topo/smi_topo.hpp"
#include "import/xml.hpp"

namespace angio::import {
namespace {

// The first element decides. NCCL files are also posted without their first lines.
ForeignKind xml_kind(std::string_view text) {
  const std::string_view name = first_element(text);
  if (name == "graphs") return ForeignKind::kNcclGraph;
  if (name == "system" && contains(text, "version=")) return ForeignKind::kNcclTopology;
  const bool piece =
      (name == "cpu" && contains(text, "numaid=")) || (name == "pci" && contains(text, "busid="));
  if (piece) return ForeignKind::kNcclTopology;
  if (name == "topology" && contains(text, "<object")) return ForeignKind::kHwlocXml;
  return name == "object" && contains(text, "cpuset=") ? ForeignKind::kHwlocXml : ForeignKind::kUnknown;
}

}  // namespace

ForeignKind recognise_cleaned(std::string_view cleaned, const std::vector<Line>& lines) {
  if (smi_query::looks_like(lines)) return ForeignKind::kNvidiaSmiQuery;
  if (const ForeignKind kind = xml_kind(cleaned); kind != ForeignKind::kUnknown) return kind;
  if (const ForeignKind kind = smi_topo::first_table(lines); kind != ForeignKind::kUnknown) return kind;
  if (numactl::looks_like(lines)) return ForeignKind::kNumactl;
  if (lspci::looks_like(lines)) return ForeignKind::kLspci;
  const bool cpus = lscpu::looks_like_json(trim(cleaned)) || lscpu::looks_like(lines);
  if (cpus) return ForeignKind::kLscpu;
  return job_log::looks_like(lines) ? ForeignKind::kJobLog : ForeignKind::kUnknown;
}

ForeignKind recognise(std::string_view bytes) {
  if (is_binary(bytes)) return ForeignKind::kUnknown;
  const std::string cleaned = clean_terminal(bytes);
  return recognise_cleaned(cleaned, number_lines(cleaned));
}

}  // namespace angio::import
