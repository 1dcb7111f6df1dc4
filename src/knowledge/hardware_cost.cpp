#include "knowledge/hardware_cost.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace angio::knowledge {
namespace {

#include "hardware_cost_tables.inc"

bool letter_or_digit(std::string_view text, std::size_t at) {
  return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
}

// As a name of its own: "A10" is not in "A100", "H200" is not in "GH200".
bool names(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
    if ((at == 0 || !letter_or_digit(text, at - 1)) && !letter_or_digit(text, at + name.size())) return true;
  return false;
}

}  // namespace

std::span<const HardwareCost> hardware_costs() {
  return kHardwareCosts;
}

const HardwareCost* find_hardware_cost(std::string_view link, std::string_view algorithm,
                                       std::string_view collective) {
  const HardwareCost* any = nullptr;
  for (const HardwareCost& each : hardware_costs()) {
    if (each.link != link || each.algorithm != algorithm) continue;
    if (each.collective == collective) return &each;
    if (each.collective.empty()) any = &each;
  }
  return any;
}

std::span<const CostMachine> cost_machines() {
  return kCostMachines;
}

const CostMachine* find_cost_machine(std::string_view gpu_name) {
  const CostMachine* best = nullptr;
  for (const CostMachine& each : cost_machines())
    if (names(gpu_name, each.match) && (best == nullptr || each.match.size() > best->match.size()))
      best = &each;
  return best;
}

}  // namespace angio::knowledge
