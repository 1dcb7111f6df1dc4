#include "base/text.hpp"
#include "import/fabric/cursor.hpp"
#include "import/fabric/ibdiagnet.hpp"
#include "import/fabric/link_words.hpp"

namespace angio::import::fabric {
namespace {

struct Heading {
  std::uint32_t number = 0;
  std::uint64_t lid = 0;
  std::uint64_t guid = 0;
  std::string_view name;
};

// "Port=1 Lid=0x0022 GUID=0x506b4b0300cc02a6 Device=4119 Port Name=gpu-a/U1/P1"
std::optional<Heading> parse_heading(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.skip_past("Port=")) return std::nullopt;
  Heading heading;
  const auto number = cursor.take_number();
  cursor.skip_gaps();
  if (!number || !cursor.eat("Lid=")) return std::nullopt;
  heading.number = *number;
  heading.lid = cursor.take_hex().value_or(0);
  if (!cursor.skip_past("GUID=")) return std::nullopt;
  const auto guid = cursor.take_hex();
  if (!guid || *guid == 0) return std::nullopt;
  heading.guid = *guid;
  if (cursor.skip_past("Name=")) heading.name = trim(cursor.rest());
  return heading;
}

}  // namespace

bool PmBlocks::is_heading(std::string_view text) {
  return parse_heading(text).has_value();
}

// Values are hexadecimal; NA where the device has no such counter.
bool PmBlocks::take(const Line& line, FabricDraft& draft) {
  if (const auto heading = parse_heading(line.text)) {
    current_.reset();
    // The name is that of the port in its box, "gpu-a/U1/P1": no NodeDescription.
    const auto node = draft.node_of_port_guid(heading->guid, heading->number, {}, line.number);
    model::FabricPort* const port = node ? draft.port({*node, heading->number}, line.number) : nullptr;
    if (port == nullptr) return true;
    port->lid = to_lid(heading->lid);
    if (port->guid == 0) port->guid = heading->guid;
    draft.set_own_block(*node);
    current_ = End{*node, heading->number};
    return true;
  }
  const std::size_t sign = line.text.find('=');
  if (sign == std::string_view::npos || !current_) return false;
  const std::string_view name = trim(line.text.substr(0, sign));
  const auto counter = model::find_fabric_counter(name);
  const auto value = parse_integer<std::uint64_t>(trim(line.text.substr(sign + 1)), 16);
  model::FabricPort* const port = draft.port(*current_, line.number);
  if (counter && value && port != nullptr)
    set_counter(port->counters, *counter, *value, !name.ends_with("extended"));
  return true;
}

}  // namespace angio::import::fabric
