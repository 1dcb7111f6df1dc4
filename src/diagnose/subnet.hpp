// IPv4 subnets of interfaces, for rules that ask which of them share one. No routes, no names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.hpp"

namespace angio::diagnose {

std::optional<std::uint32_t> parse_ipv4(std::string_view text);

struct Subnet {
  std::uint32_t address = 0;  // the interface's own
  std::uint32_t bits = 0;
  [[nodiscard]] std::uint32_t mask() const;
  [[nodiscard]] bool holds(std::uint32_t other) const { return ((address ^ other) & mask()) == 0; }
  [[nodiscard]] std::string text() const;  // "10.1.0.0/16"
};

// IPv4 only, link-local (169.254/16) and host addresses (/32) left out: those are no shared subnet.
std::vector<Subnet> subnets_of(const model::NetDevice& interface);

}  // namespace angio::diagnose
