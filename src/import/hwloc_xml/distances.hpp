// hwloc's distance matrices: NUMA latencies become node distances; NVLink bandwidths tell which GPUs are
// joined, not by how many links.
#pragma once

#include <map>
#include <string>

#include "base/ids.hpp"
#include "import/draft.hpp"
#include "import/xml.hpp"

namespace angio::import::hwloc_xml {

// "OSDev:802", "PCIDev:449" → the PCI device that is or holds the object.
using ObjectNames = std::map<std::string, PciAddress, std::less<>>;

// <distances2 …> and <distances2hetero …> of versions 2 and 3. Call when the NUMA nodes are sorted by id.
void take_distances2(Draft& draft, const XmlElement& element, const ObjectNames& objects);

// <distances …> of version 1, inside an object; node_order: node ids in the order of the document.
void take_distances1(Draft& draft, const XmlElement& element, const std::vector<std::uint32_t>& node_order);

}  // namespace angio::import::hwloc_xml
