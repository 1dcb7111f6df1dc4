// One line of ibnetdiscover's text taken apart: the heading of a node, a port with its cable, an assignment.
// Pure: knows nothing of the fabric. Used by ibnetdiscover.cpp alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "import/fabric/link_words.hpp"
#include "model/fabric.hpp"

namespace angio::import::fabric {

// Switch	65 "S-2c5e…"		# "leaf-1" enhanced port 0 lid 73 lmc 0
struct NodeLine {
  model::FabricNodeKind kind = model::FabricNodeKind::kUnknown;
  std::uint32_t ports = 0;
  std::string_view id;
  std::string_view description;
  std::optional<Lid> lid;
};
// [1](guid)	"S-2c5e…"[17](guid)		# lid 5 lmc 0 "leaf-1" lid 73 4xNDR s=4 w=2 v=4 e=8
struct PortLine {
  std::uint32_t number = 0;
  std::uint64_t guid = 0;
  std::optional<Lid> lid;  // of this port; adapters only
  std::string_view id;     // of the other node
  std::uint32_t other_number = 1;
  std::uint64_t other_guid = 0;
  std::string_view other_description;
  std::optional<Lid> other_lid;
  LinkRate rate;
  bool has_unknown_speed = false;  // "4x???": the tool was older than the link
};
// switchguid=0x…(…), vendid=0x2c9
struct Assignment {
  std::string_view name;
  std::uint64_t value = 0;
  std::uint64_t in_brackets = 0;
};

std::optional<NodeLine> parse_node_line(std::string_view text);
std::optional<PortLine> parse_port_line(std::string_view text);
std::optional<Assignment> parse_assignment(std::string_view text);

// "S-0008f10400410015": a letter and 16 hexadecimal digits.
std::optional<std::uint64_t> guid_of_id(std::string_view id);
model::FabricNodeKind kind_of_id(std::string_view id);

}  // namespace angio::import::fabric
