#include "import/nccl_topology/words.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace angio::import::nccl_topology {

std::optional<std::uint32_t> parse_hex(std::string_view text) {
  return parse_integer<std::uint32_t>(text, 16);
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return parse_integer<std::int64_t>(text, 16);
  return parse_integer<std::int64_t>(text);
}

std::uint32_t real_family(std::uint32_t written) {
  constexpr std::uint32_t kExtended = 0xF;  // CPUID leaf 1: base family 15 means "add the extended family"
  const bool shifted = written > kExtended && (written & kExtended) == kExtended && written > 0x1F;
  return shifted ? kExtended + (written >> 4U) : written;
}

std::optional<std::string> parse_guid(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  const auto value = parse_integer<std::uint64_t>(text, 16);
  if (!value || *value <= 0xFFFFFFFF) return std::nullopt;
  const std::uint64_t guid = __builtin_bswap64(*value);
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48U, (guid >> 32U) & 0xFFFF,
                     (guid >> 16U) & 0xFFFF, guid & 0xFFFF);
}

model::PeerKind peer_kind(std::string_view target_class) {
  const auto code = parse_hex(target_class);
  if (!code) return model::PeerKind::kUnknown;
  if (*code == 0x068000) return model::PeerKind::kSwitch;  // NVSwitch
  if (*code == 0x068001) return model::PeerKind::kCpu;     // POWER9's NVLink bridge
  const std::uint32_t base = *code >> 16U;
  return base == 0x03 || base == 0x12 ? model::PeerKind::kGpu : model::PeerKind::kUnknown;
}

}  // namespace angio::import::nccl_topology
