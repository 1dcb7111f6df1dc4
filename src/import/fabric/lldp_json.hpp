// The two forms of lldpctl's JSON as one: json0 has every element as an array, json drops arrays and objects
// of one member and puts names in the place of keys (lldpd, src/client/json_writer.c). Used by lldpctl.cpp
// alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "model/fabric.hpp"

namespace angio::import::fabric {

struct LldpChassis {
  std::uint64_t mac = 0;  // 0: the chassis has another kind of id
  std::string name;       // else its id, in words
  model::FabricNodeKind kind = model::FabricNodeKind::kUnknown;
};
struct LldpNeighbour {
  std::string interface;
  LldpChassis chassis;
  std::string port;
  std::optional<BitsPerSecond> rate;
};

// The neighbours below "lldp".
std::vector<LldpNeighbour> read_neighbours(const Json& lldp);
// Below "local-chassis", or a neighbour's "chassis".
std::optional<LldpChassis> read_chassis(const Json& chassis);

// "100GbaseCR4 - …" → 100e9: the type of the medium names its rate (IEEE 802.3).
std::optional<BitsPerSecond> rate_of_medium(std::string_view text);
std::uint64_t parse_mac(std::string_view text);  // 0 when it is none

}  // namespace angio::import::fabric
