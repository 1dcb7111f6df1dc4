// What NCCL of a given release makes of a topology file, element by element: what it does not know, what it
// reads otherwise than meant, what ends initialization, and what to write instead. RCCL's dialect (xgmi, gcn,
// version 2) is accepted as such. topology_hardware.hpp compares with a machine, graph_dump.hpp checks graph
// files.
#pragma once

#include <string>
#include <string_view>

#include "nccl/topology_xml.hpp"

namespace angio::nccl {

enum class FileKind : std::uint8_t { kTopology, kGraphs, kNeither };
FileKind kind_of(const XmlText& text);

// The <system> or <graphs> element; null when there is none.
const Element* root_of(const XmlText& text);

// It has xgmi, or a gcn of a GPU: written by and for RCCL.
bool is_rccl(const Element& root);

struct TopologyCounts {
  std::size_t elements = 0;  // that NCCL keeps
  std::size_t cpus = 0;
  std::size_t gpus = 0;
  std::size_t nets = 0;
  std::size_t links = 0;  // nvlink or xgmi elements
};
TopologyCounts count(const Element& root);

void check_topology(const XmlText& text, std::string_view version, Remarks& remarks);

// "dddd:bb:dd.f" in lower case, as NCCL compares bus ids.
bool is_bus_id(std::string_view text);
// Only "f", ":" and ".": what a virtual machine shows of an NVSwitch, written fffffff:ffff:ff or with zeros.
bool is_hidden_target(std::string_view text);

}  // namespace angio::nccl
