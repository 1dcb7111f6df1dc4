// Any bytes: what is read writes to text that reads to the same, and everything built on the tree survives
// it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "nccl/graph_dump.hpp"
#include "nccl/graph_search.hpp"
#include "nccl/topology_check.hpp"
#include "nccl/topology_edit.hpp"
#include "nccl/topology_xml.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio::nccl;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Remarks remarks;
  const XmlText text = read_topology_xml(bytes, remarks);
  for (const Element& root : text.roots) {
    const std::string once = write_topology_xml(root);
    Remarks again;
    const XmlText same = read_topology_xml(once, again);
    if (same.roots.size() != 1 || write_topology_xml(same.roots[0]) != once) std::abort();
  }
  check_topology(text, "2.30.7", remarks);
  const Element* root = root_of(text);
  if (root == nullptr) return 0;
  static_cast<void>(read_graphs(*root, "2.30.7", remarks));
  if (!compare_trees(*root, *root).empty()) std::abort();
  for (const char* version : {"2.12", "2.28.9", "2.30.7"}) {
    const auto system = make_system(as_ranks_see(*root), {version, (size & 1U) != 0});
    if (system && system->all(NodeKind::kGpu).size() <= 8) static_cast<void>(search_graphs(*system));
  }
  return 0;
}
