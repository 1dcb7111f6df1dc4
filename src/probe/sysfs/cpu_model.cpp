#include "probe/sysfs/cpu_model.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"

namespace angio::probe {
namespace {

struct Field {
  std::string_view key;
  std::string_view value;
};

// The next "key : value" line at or after position, which moves behind it; none at the end.
std::optional<Field> next_field(std::string_view text, std::size_t& position) {
  while (position < text.size()) {
    const std::size_t end = std::min(text.find('\n', position), text.size());
    const std::string_view line = text.substr(position, end - position);
    position = end + 1;
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos)
      return Field{trim(line.substr(0, colon)), trim(line.substr(colon + 1))};
  }
  return std::nullopt;
}

std::optional<std::uint32_t> parse_number(std::string_view text) {
  return parse_integer<std::uint32_t>(text, text.starts_with("0x") ? 16 : 10);
}

std::optional<std::string> non_empty(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return printable(text);
}

class Parser {
 public:
  void take(const Field& field) {
    const auto& [key, value] = field;
    if (key == "processor") return start_processor(value);
    if (key == "CPU implementer") implementer_ = parse_number(value);
    if (key == "CPU part") note_arm_part(value);
    if (info_.processors.empty()) return;
    if (key == "physical id") info_.processors.back().package = parse_number(value);
    if (key == "core id") info_.processors.back().core = parse_number(value);
    if (info_.processors.size() == 1) take_first(key, value);
  }

  CpuInfo finish() && {
    if (!arm_parts_.empty()) finish_arm();
    return std::move(info_);
  }

 private:
  void start_processor(std::string_view value) {
    const auto number = parse_number(value);
    if (number) info_.processors.push_back({*number, {}, {}});
  }

  // The model is taken from the first processor.
  void take_first(std::string_view key, std::string_view value) {
    if (key == "vendor_id") info_.vendor = non_empty(value);
    if (key == "model name" || key == "Model Name") info_.name = non_empty(value);
    if (key == "cpu family") info_.family = parse_number(value);
    if (key == "model" && !info_.model) info_.model = parse_number(value);
    if (key == "stepping") info_.stepping = parse_number(value);
    if (key == "flags") info_.architecture = contains(value, " lm ") ? "x86_64" : "i686";
    if (key == "CPU architecture") architecture_ = value == "AArch64" ? 8 : parse_number(value);
    if (key == "CPU variant") variant_ = parse_number(value);
    if (key == "CPU revision") revision_ = parse_number(value);
    if (key == "cpu") take_power(value);
    if (key == "isa") take_riscv(value);
    if (key == "uarch") info_.name = non_empty(value);
    if (key == "mvendorid") info_.vendor = non_empty(value);
    if (key == "CPU Family") take_loongarch(value);
  }

  void take_power(std::string_view value) {
    if (!value.starts_with("POWER")) return;
    info_.vendor = "IBM";
    info_.name = non_empty(value.substr(0, value.find(',')));
    info_.architecture = "ppc64";  // endianness is not told here
  }

  void take_riscv(std::string_view value) {
    if (!info_.name) info_.name = non_empty(value);
    if (value.starts_with("rv64")) info_.architecture = "riscv64";
    if (value.starts_with("rv32")) info_.architecture = "riscv32";
  }

  void take_loongarch(std::string_view value) {
    if (!value.starts_with("Loongson")) return;
    info_.vendor = "Loongson";
    info_.architecture = "loongarch64";
  }

  void note_arm_part(std::string_view value) {
    const auto part = parse_number(value);
    if (!part || !implementer_) return;
    if (arm_parts_.empty()) info_.model = *part;
    arm_parts_.emplace(*implementer_, *part);
  }

  void finish_arm() {
    const std::string_view vendor = arm_implementer_name(arm_parts_.begin()->first);
    if (!vendor.empty()) info_.vendor = std::string(vendor);
    constexpr std::uint32_t kArmV8 = 8;
    info_.architecture = architecture_.value_or(0) >= kArmV8 ? "aarch64" : "arm";
    info_.family = architecture_;
    if (variant_ && revision_) info_.stepping = (*variant_ << 4U) | *revision_;
    std::vector<std::string> names;
    for (const auto& [implementer, part] : arm_parts_) {
      const std::string_view name = arm_part_name(implementer, part);
      if (!name.empty()) names.emplace_back(name);
    }
    if (names.size() == arm_parts_.size()) info_.name = join(names, " + ");
  }

  CpuInfo info_;
  std::optional<std::uint32_t> implementer_;
  std::optional<std::uint32_t> architecture_;
  std::optional<std::uint32_t> variant_;
  std::optional<std::uint32_t> revision_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> arm_parts_;  // implementer, part
};

}  // namespace

CpuInfo parse_cpuinfo(std::string_view text) {
  Parser parser;
  std::size_t position = 0;
  while (const auto field = next_field(text, position))
    parser.take(*field);
  return std::move(parser).finish();
}

}  // namespace angio::probe
