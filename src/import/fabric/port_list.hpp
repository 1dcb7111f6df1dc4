// The port list of ibnetdiscover --ports: one line a port, both ends of its cable, GUIDs of ports only.
//   CA    44  1 0x0002c9030045f121 4x FDR - SW     2 17 0x0002c903006e1430 ( 'gpu-a HCA-1' - 'leaf-1' )
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "import/fabric/fabric_draft.hpp"
#include "import/fabric/link_words.hpp"

namespace angio::import::fabric {

struct ListedPort {
  model::FabricNodeKind kind = model::FabricNodeKind::kUnknown;
  std::optional<Lid> lid;
  std::uint32_t number = 0;
  std::uint64_t guid = 0;
  std::string_view name;
};
struct PortListLine {
  ListedPort port;
  std::optional<ListedPort> other;
  LinkRate rate;  // means nothing without another end: a port that is down reports anything
};

std::optional<PortListLine> parse_port_list_line(std::string_view text);
void take_port_list_line(const PortListLine& line, std::uint32_t number, FabricDraft& draft);

}  // namespace angio::import::fabric
