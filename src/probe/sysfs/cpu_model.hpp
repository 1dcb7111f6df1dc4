// What /proc/cpuinfo says of the processor, on x86, ARM, POWER, RISC-V and LoongArch.
// Pure text to values; the probe puts them into the model with their source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace angio::probe {

struct CpuInfo {
  struct Processor {
    std::uint32_t number = 0;
    std::optional<std::uint32_t> package;  // x86 "physical id"
    std::optional<std::uint32_t> core;     // x86 "core id"
  };
  std::vector<Processor> processors;
  std::optional<std::string> architecture;  // as uname -m, where the text gives it away
  std::optional<std::string> vendor;
  std::optional<std::string> name;  // several kinds of core: "Cortex-A725 + Cortex-X925"
  std::optional<std::uint32_t> family;
  std::optional<std::uint32_t> model;     // ARM: the part number
  std::optional<std::uint32_t> stepping;  // ARM: variant in bits 7:4, revision in bits 3:0
};

CpuInfo parse_cpuinfo(std::string_view text);

// "ARM" and "Neoverse-V2" for implementer 0x41, part 0xd4f; empty where unknown.
std::string_view arm_implementer_name(std::uint32_t implementer);
std::string_view arm_part_name(std::uint32_t implementer, std::uint32_t part);

}  // namespace angio::probe
