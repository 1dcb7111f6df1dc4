// Words of hwloc's XML: bitmaps, PCI types, the numbers of OS device kinds, attributes as numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/cpu_set.hpp"
#include "base/ids.hpp"
#include "import/xml.hpp"
#include "model/pci.hpp"

namespace angio::import::hwloc_xml {

// "0x000000ff,,0xffffffff": 32-bit words, most significant first, empty words are zero.
std::optional<CpuSet> parse_bitmap(std::string_view text);
CpuSet bitmap_of(const XmlElement& object, std::string_view attribute);  // empty when missing or unreadable
std::optional<std::uint32_t> number_of(const XmlElement& object, std::string_view attribute);
std::string_view info_of(const XmlElement& object,
                         std::string_view name);  // of <info name= value=>; "" for none

// "0302 [10de:15f9] [10de:116b] a1 00" into class, vendors and devices; false when it is something else.
bool read_pci_type(std::string_view text, model::PciDevice& device);
// "000b:[00-01]" → "pci000b:00", as Linux names the host bridge's directory.
std::optional<std::string> host_bridge(std::string_view bridge_pci);

enum class OsDevice : std::uint8_t { kOther, kGpu, kNetwork, kOpenFabrics };
// Versions 1 and 2 number the kinds; version 3 has one bit for each.
OsDevice os_device(std::uint32_t type, bool version3);

}  // namespace angio::import::hwloc_xml
