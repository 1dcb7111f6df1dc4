#include "import/lspci/heading.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "import/pci_words.hpp"

namespace angio::import::lspci {
namespace {

using Word = std::pair<std::string_view, std::uint32_t>;

// Class names of pci.ids for output without -n or -nn.
constexpr std::array kClasses{Word{"Non-VGA unclassified device", 0x000000},
                              Word{"SCSI storage controller", 0x010000},
                              Word{"IDE interface", 0x010100},
                              Word{"RAID bus controller", 0x010400},
                              Word{"SATA controller", 0x010600},
                              Word{"Serial Attached SCSI controller", 0x010700},
                              Word{"Non-Volatile memory controller", 0x010800},
                              Word{"Ethernet controller", 0x020000},
                              Word{"Network controller", 0x028000},
                              Word{"Infiniband controller", 0x020700},
                              Word{"InfiniBand controller", 0x020700},
                              Word{"Fabric controller", 0x020800},
                              Word{"VGA compatible controller", 0x030000},
                              Word{"3D controller", 0x030200},
                              Word{"Display controller", 0x038000},
                              Word{"RAM memory", 0x050000},
                              Word{"Memory controller", 0x058000},
                              Word{"Host bridge", 0x060000},
                              Word{"ISA bridge", 0x060100},
                              Word{"PCI bridge", 0x060400},
                              Word{"Bridge", 0x068000},
                              Word{"Serial controller", 0x070000},
                              Word{"Communication controller", 0x078000},
                              Word{"System peripheral", 0x088000},
                              Word{"Generic system peripheral", 0x080000},
                              Word{"PIC", 0x080000},
                              Word{"IOMMU", 0x080600},
                              Word{"USB controller", 0x0c0300},
                              Word{"SMBus", 0x0c0500},
                              Word{"Serial bus controller", 0x0c8000},
                              Word{"Audio device", 0x040300},
                              Word{"Encryption controller", 0x108000},
                              Word{"Signal processing controller", 0x118000},
                              Word{"Performance counters", 0x110100},
                              Word{"Processing accelerators", 0x120000},
                              Word{"Co-processor", 0x0b4000}};

// Vendor names of pci.ids; the longer of two similar ones first.
constexpr std::array kVendors{Word{"NVIDIA Corporation", kNvidia},
                              Word{"Advanced Micro Devices, Inc. [AMD/ATI]", kAmd},
                              Word{"Advanced Micro Devices, Inc. [AMD]", 0x1022},
                              Word{"Mellanox Technologies", 0x15b3},
                              Word{"Intel Corporation", kIntel},
                              Word{"Broadcom / LSI", 0x1000},
                              Word{"Amazon.com, Inc.", 0x1d0f}};

// "10de:20b2"
bool read_ids(std::string_view text, Heading& heading) {
  if (text.size() != 9 || text[4] != ':') return false;
  const auto vendor = parse_integer<std::uint16_t>(text.substr(0, 4), 16);
  const auto device = parse_integer<std::uint16_t>(text.substr(5), 16);
  if (!vendor || !device) return false;
  heading.vendor = *vendor;
  heading.device = *device;
  return true;
}

// "0302" or the last bracket of "3D controller [0302]"; else the word.
bool read_class(std::string_view text, Heading& heading) {
  const std::size_t bracket = text.rfind('[');
  const bool in_brackets = bracket != std::string_view::npos && text.ends_with(']');
  const std::string_view digits = in_brackets ? text.substr(bracket + 1, text.size() - bracket - 2) : text;
  if (const auto code = digits.size() == 4 ? parse_integer<std::uint16_t>(digits, 16) : std::nullopt) {
    heading.class_code = std::uint32_t{*code} << 8U;
    heading.class_known = true;
    return true;
  }
  const auto found = std::ranges::find(kClasses, text, &Word::first);
  heading.class_known = found != kClasses.end();
  if (heading.class_known) heading.class_code = found->second;
  return heading.class_known ||
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c != ':' && c != '='; });
}

std::string_view without_revision(std::string_view text) {
  for (const std::string_view mark : {std::string_view(" (prog-if "), std::string_view(" (rev ")}) {
    text = text.substr(0, std::min(text.find(mark), text.size()));
  }
  return trim(text);
}

void read_device(std::string_view text, Heading& heading) {
  text = without_revision(text);
  heading.name = text;
  if (read_ids(text, heading)) return;
  const std::size_t bracket = text.rfind('[');
  if (bracket != std::string_view::npos && text.ends_with(']') &&
      read_ids(text.substr(bracket + 1, text.size() - bracket - 2), heading)) {
    heading.name = trim(text.substr(0, bracket));
    return;
  }
  const auto vendor =
      std::ranges::find_if(kVendors, [&](const Word& word) { return text.starts_with(word.first); });
  if (vendor != kVendors.end()) heading.vendor = static_cast<std::uint16_t>(vendor->second);
  const std::size_t number = text.rfind("Device ");
  if (number == std::string_view::npos) return;
  const auto device = parse_integer<std::uint16_t>(text.substr(number + 7), 16);
  if (device && text.size() == number + 11) heading.device = *device;
}

}  // namespace

std::optional<Heading> parse_heading(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || blank < 7 || blank > 16) return std::nullopt;
  const auto address = parse_pci_address(line.substr(0, blank));
  std::string_view rest = line.substr(blank + 1);
  if (!address) return std::nullopt;
  if (rest.starts_with("Class ")) rest.remove_prefix(6);  // -n of old versions
  const std::size_t colon = rest.find(": ");
  if (colon == std::string_view::npos || colon > 80) return std::nullopt;
  Heading heading;
  heading.address = *address;
  if (!read_class(rest.substr(0, colon), heading)) return std::nullopt;
  read_device(rest.substr(colon + 2), heading);
  return heading;
}

}  // namespace angio::import::lspci
