#include "import/hwloc_xml/words.hpp"

#include "base/text.hpp"

namespace angio::import::hwloc_xml {
namespace {

constexpr std::uint32_t kWordBits = 32;

std::optional<std::uint16_t> hex16(std::string_view text) {
  return parse_integer<std::uint16_t>(text, 16);
}

// "[10de:15f9]"
bool read_pair(std::string_view text, std::uint16_t& first, std::uint16_t& second) {
  if (text.size() != 11 || text[0] != '[' || text[5] != ':' || text[10] != ']') return false;
  const auto a = hex16(text.substr(1, 4));
  const auto b = hex16(text.substr(6, 4));
  if (!a || !b) return false;
  first = *a;
  second = *b;
  return true;
}

}  // namespace

std::optional<CpuSet> parse_bitmap(std::string_view text) {
  CpuSet set;
  const auto words = split(trim(text), ',');
  if (words.size() > CpuSet::kMaxCpu / kWordBits) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view written = trim(words[words.size() - 1 - i]);
    const auto word = written.empty() ? 0U : parse_integer<std::uint32_t>(written, 16);
    if (!word) return std::nullopt;
    for (std::uint32_t bit = 0; bit < kWordBits; ++bit) {
      if (((*word >> bit) & 1U) != 0) set.insert(static_cast<std::uint32_t>(i) * kWordBits + bit);
    }
  }
  return set;
}

CpuSet bitmap_of(const XmlElement& object, std::string_view attribute) {
  const std::string* text = object.find(attribute);
  return text != nullptr ? parse_bitmap(*text).value_or(CpuSet()) : CpuSet();
}

std::optional<std::uint32_t> number_of(const XmlElement& object, std::string_view attribute) {
  return parse_integer<std::uint32_t>(object.get(attribute));
}

std::string_view info_of(const XmlElement& object, std::string_view name) {
  for (const XmlElement& child : object.children) {
    if (child.name == "info" && child.get("name") == name) return child.get("value");
  }
  return {};
}

bool read_pci_type(std::string_view text, model::PciDevice& device) {
  const auto words = split_words(text);
  if (words.size() < 3) return false;
  const auto class_code = hex16(words[0]);
  if (!class_code || !read_pair(words[1], device.vendor, device.device)) return false;
  if (!read_pair(words[2], device.subsystem_vendor, device.subsystem_device)) return false;
  const auto interface = words.size() > 4 ? parse_integer<std::uint8_t>(words[4], 16) : std::nullopt;
  device.class_code = (std::uint32_t{*class_code} << 8U) | interface.value_or(0);
  return true;
}

std::optional<std::string> host_bridge(std::string_view bridge_pci) {
  const std::size_t bracket = bridge_pci.find(":[");
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::string_view domain = bridge_pci.substr(0, bracket);
  const std::string_view bus = bridge_pci.substr(bracket + 2, 2);
  if (!parse_integer<std::uint32_t>(domain, 16) || !parse_integer<std::uint8_t>(bus, 16)) return std::nullopt;
  return "pci" + std::string(domain) + ":" + std::string(bus);
}

OsDevice os_device(std::uint32_t type, bool version3) {
  if (version3) {  // hwloc_obj_osdev_types_e: 4 GPU, 8 coprocessor, 16 network, 32 OpenFabrics
    if ((type & 32U) != 0) return OsDevice::kOpenFabrics;
    if ((type & 16U) != 0) return OsDevice::kNetwork;
    return (type & 12U) != 0 ? OsDevice::kGpu : OsDevice::kOther;
  }
  switch (type) {  // hwloc_obj_osdev_type_e
    case 1:
      return OsDevice::kGpu;
    case 2:
      return OsDevice::kNetwork;
    case 3:
      return OsDevice::kOpenFabrics;
    case 5:
      return OsDevice::kGpu;
    default:
      return OsDevice::kOther;
  }
}

}  // namespace angio::import::hwloc_xml
