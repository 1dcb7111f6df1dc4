#include "probe/amd/kfd_topology.hpp"

#include <string>

#include "base/text.hpp"
#include "probe/names.hpp"

namespace angio::probe {
namespace {

constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes";
constexpr std::uint64_t kXgmi = 11;  // CRAT_IOLINK_TYPE_XGMI, amdkfd/kfd_crat.h; 2 is PCI Express

std::uint64_t value_of(const std::map<std::string_view, std::uint64_t>& properties, std::string_view name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : found->second;
}

// location_id is bus, device and function in 16 bits, as in struct pci_dev.
std::optional<PciAddress> address_of_node(const std::map<std::string_view, std::uint64_t>& properties) {
  if (value_of(properties, "simd_count") == 0) return std::nullopt;
  const std::uint64_t location = value_of(properties, "location_id");
  return PciAddress{
      static_cast<std::uint32_t>(value_of(properties, "domain")), static_cast<std::uint8_t>(location >> 8U),
      static_cast<std::uint8_t>(location >> 3U & 0x1FU), static_cast<std::uint8_t>(location & 7U)};
}

std::vector<KfdLink> read_links(const host::Root& root, const std::string& directory) {
  std::vector<KfdLink> links;
  const host::Read<host::Names> names = root.list(directory);
  if (!names) return links;
  for (const std::uint32_t number : numbers_of(*names)) {
    const host::Read<std::string> text = root.read(directory + "/" + std::to_string(number) + "/properties");
    if (!text) continue;
    const auto properties = parse_kfd_properties(*text);
    links.push_back(
        {static_cast<std::uint32_t>(value_of(properties, "node_to")), value_of(properties, "type") == kXgmi});
  }
  return links;
}

}  // namespace

std::map<std::string_view, std::uint64_t> parse_kfd_properties(std::string_view text) {
  std::map<std::string_view, std::uint64_t> properties;
  for (const std::string_view line : split_lines(text)) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() != 2) continue;
    if (const auto value = parse_integer<std::uint64_t>(words[1])) properties.emplace(words[0], *value);
  }
  return properties;
}

std::map<std::uint32_t, KfdNode> read_kfd_topology(const host::Root& root, model::Machine& machine) {
  std::map<std::uint32_t, KfdNode> nodes;
  const host::Read<host::Names> names = root.list(kNodes);
  if (!names) return nodes;
  for (const std::uint32_t number : numbers_of(*names)) {
    const std::string directory = std::string(kNodes) + "/" + std::to_string(number);
    const host::Read<std::string> text = root.read(directory + "/properties");
    if (!text) continue;
    KfdNode& node = nodes[number];
    node.address = address_of_node(parse_kfd_properties(*text));
    node.links = read_links(root, directory + "/io_links");
    node.place = machine.places.add(directory + "/io_links");
  }
  return nodes;
}

}  // namespace angio::probe
