// Names of ARM cores by the fields of MIDR_EL1, as Arm and its licensees assigned them: "CPU implementer"
// and "CPU part" of /proc/cpuinfo (linux arch/arm64/include/asm/cputype.h; util-linux lscpu-arm.c).
#include <algorithm>
#include <array>

#include "probe/sysfs/cpu_model.hpp"

namespace angio::probe {
namespace {

struct Implementer {
  std::uint32_t code;
  std::string_view name;
};
constexpr std::array<Implementer, 12> kImplementers{{{0x41, "ARM"},
                                                     {0x42, "Broadcom"},
                                                     {0x43, "Cavium"},
                                                     {0x46, "Fujitsu"},
                                                     {0x48, "HiSilicon"},
                                                     {0x4e, "NVIDIA"},
                                                     {0x50, "APM"},
                                                     {0x51, "Qualcomm"},
                                                     {0x61, "Apple"},
                                                     {0x6d, "Microsoft"},
                                                     {0x70, "Phytium"},
                                                     {0xc0, "Ampere"}}};

struct Part {
  std::uint32_t implementer;
  std::uint32_t code;
  std::string_view name;
};
constexpr std::array<Part, 35> kParts{
    {{0x41, 0xd03, "Cortex-A53"},     {0x41, 0xd05, "Cortex-A55"},    {0x41, 0xd07, "Cortex-A57"},
     {0x41, 0xd08, "Cortex-A72"},     {0x41, 0xd0b, "Cortex-A76"},    {0x41, 0xd0c, "Neoverse-N1"},
     {0x41, 0xd0d, "Cortex-A77"},     {0x41, 0xd40, "Neoverse-V1"},   {0x41, 0xd41, "Cortex-A78"},
     {0x41, 0xd42, "Cortex-A78AE"},   {0x41, 0xd44, "Cortex-X1"},     {0x41, 0xd46, "Cortex-A510"},
     {0x41, 0xd47, "Cortex-A710"},    {0x41, 0xd48, "Cortex-X2"},     {0x41, 0xd49, "Neoverse-N2"},
     {0x41, 0xd4a, "Neoverse-E1"},    {0x41, 0xd4d, "Cortex-A715"},   {0x41, 0xd4e, "Cortex-X3"},
     {0x41, 0xd4f, "Neoverse-V2"},    {0x41, 0xd80, "Cortex-A520"},   {0x41, 0xd81, "Cortex-A720"},
     {0x41, 0xd82, "Cortex-X4"},      {0x41, 0xd83, "Neoverse-V3AE"}, {0x41, 0xd84, "Neoverse-V3"},
     {0x41, 0xd85, "Cortex-X925"},    {0x41, 0xd87, "Cortex-A725"},   {0x41, 0xd8e, "Neoverse-N3"},
     {0x43, 0x0af, "ThunderX2-99xx"}, {0x46, 0x001, "A64FX"},         {0x48, 0xd01, "TaiShan-v110"},
     {0x48, 0xd02, "TaiShan-v120"},   {0x4e, 0x003, "Denver 2"},      {0x4e, 0x004, "Carmel"},
     {0xc0, 0xac3, "Ampere-1"},       {0xc0, 0xac4, "Ampere-1a"}}};

}  // namespace

std::string_view arm_implementer_name(std::uint32_t implementer) {
  const auto* const found = std::ranges::find(kImplementers, implementer, &Implementer::code);
  return found == kImplementers.end() ? std::string_view() : found->name;
}

std::string_view arm_part_name(std::uint32_t implementer, std::uint32_t part) {
  const auto* const found = std::ranges::find_if(
      kParts, [&](const Part& known) { return known.implementer == implementer && known.code == part; });
  return found == kParts.end() ? std::string_view() : found->name;
}

}  // namespace angio::probe
