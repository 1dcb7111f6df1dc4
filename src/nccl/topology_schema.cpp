#include "nccl/topology_schema.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.hpp"
#include "nccl/topology_check.hpp"

namespace angio::nccl {
namespace {

// The handlers of src/graph/xml.cc and the attributes that src/graph/{xml,topo}.cc of 2.30.7 read or write.
constexpr std::array kSchemas{
    Schema{"system", "", " version name "},
    Schema{"cpu", " system ",
           " numaid host_hash affinity affinity_offset arch vendor familyid modelid keep "},
    Schema{"pci", " cpu pci ",
           " busid class vendor device subsystem_vendor subsystem_device link_speed link_width keep "},
    Schema{"gpu", " pci ", " dev sm rank gdr mlopart keep "},
    Schema{"nvlink", " gpu ", " target count tclass "},
    Schema{"c2c", " gpu ", " bw count "},
    Schema{"pcilink", " pci ", " target "},
    Schema{"nic", " cpu pci ", " keep "},
    Schema{"net", " nic ", " name dev speed port latency guid maxconn gdr coll net gin rma rail plane keep "},
    Schema{"xgmi", " gpu ", " target count tclass "},
};

void count_below(const Element& element, TopologyCounts& counts) {
  if (schema_of(element.name) != nullptr) ++counts.elements;
  counts.cpus += element.name == "cpu" ? 1U : 0U;
  counts.gpus += element.name == "gpu" ? 1U : 0U;
  counts.nets += element.name == "net" ? 1U : 0U;
  counts.links += element.name == "nvlink" || element.name == "xgmi" ? 1U : 0U;
  for (const Element& child : element.children)
    count_below(child, counts);
}

}  // namespace

bool lists(std::string_view words, std::string_view word) {
  return contains(words, " " + std::string(word) + " ");
}

const Schema* schema_of(std::string_view name) {
  const auto found = std::ranges::find(kSchemas, name, &Schema::name);
  return found == kSchemas.end() ? nullptr : &*found;
}

bool all_of(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_hexadecimal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return !text.empty() && all_of(text, "0123456789abcdefABCDEF");
}

bool is_number(std::string_view text) {
  if (text.starts_with("-")) text.remove_prefix(1);
  if (text.starts_with("0x") || text.starts_with("0X")) return is_hexadecimal(text);
  return !text.empty() && all_of(text, "0123456789");
}

FileKind kind_of(const XmlText& text) {
  const Element* root = root_of(text);
  if (root == nullptr) return FileKind::kNeither;
  return root->name == "system" ? FileKind::kTopology : FileKind::kGraphs;
}

const Element* root_of(const XmlText& text) {
  const auto found = std::ranges::find_if(
      text.roots, [](const Element& root) { return root.name == "system" || root.name == "graphs"; });
  return found == text.roots.end() ? nullptr : &*found;
}

bool is_rccl(const Element& root) {
  if (root.name == "xgmi" || (root.name == "gpu" && root.find("gcn") != nullptr)) return true;
  return std::ranges::any_of(root.children, is_rccl);
}

TopologyCounts count(const Element& root) {
  TopologyCounts counts;
  count_below(root, counts);
  return counts;
}

bool is_bus_id(std::string_view text) {
  // dddd:bb:dd.f; NCCL's buffer has room for this length only (BUSID_SIZE, src/graph/topo.cc)
  if (text.size() != 12 || text[4] != ':' || text[7] != ':' || text[10] != '.') return false;
  for (const std::size_t at : {0U, 1U, 2U, 3U, 5U, 6U, 8U, 9U, 11U})
    if (std::string_view("0123456789abcdef").find(text[at]) == std::string_view::npos) return false;
  return true;
}

bool is_hidden_target(std::string_view text) {
  return text.size() >= 12 && text.starts_with("fffffff") && all_of(text, "f:.0");
}

}  // namespace angio::nccl
