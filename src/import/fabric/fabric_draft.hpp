// A fabric while an importer writes it: nodes by GUID or by the text's own id, ports in any order, cables by
// port number, and notes on what was damaged or contradictory. finish() puts ports in order and joins cables.
// Not a parser. Hash tables throughout: nothing here is quadratic in the text.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "import/fabric/fabric_import.hpp"
#include "model/fabric.hpp"

namespace angio::import::fabric {

// A port by its node and its number as the device counts.
struct End {
  std::uint32_t node = 0;
  std::uint32_t number = 0;
  auto operator<=>(const End&) const = default;
};

class FabricDraft {
 public:
  FabricDraft(FabricText kind, const std::string& name);
  // Takes a finished fabric apart again, so that more can be laid over it.
  explicit FabricDraft(model::Fabric&& finished, const std::string& name);

  // Finds or adds. Null when hostile text names more nodes than any fabric has: a note says so.
  std::optional<std::uint32_t> node_of_guid(std::uint64_t guid, std::uint32_t line);
  std::optional<std::uint32_t> node_of_id(std::string_view id, std::uint32_t line);
  std::optional<std::uint32_t> new_node(std::uint32_t line);
  // For texts that give the GUIDs of ports only: ports of one name whose GUIDs differ as their numbers do are
  // one adapter; all ports of a switch have one GUID. The node takes the GUID of its first port.
  std::optional<std::uint32_t> node_of_port_guid(std::uint64_t guid, std::uint32_t number,
                                                 std::string_view description, std::uint32_t line);
  [[nodiscard]] std::optional<std::uint32_t> find_guid(std::uint64_t guid) const;
  [[nodiscard]] std::optional<std::uint32_t> find_port_guid(std::uint64_t guid) const;
  // The node answers to this GUID from now on; the first node of a GUID keeps it.
  void claim_guid(std::uint32_t node, std::uint64_t guid);
  void claim_port_guid(std::uint32_t node, std::uint64_t guid);

  // Finds or adds. Valid until the next call. Null, with a note, when the number is none that the format has.
  model::FabricPort* port(End end, std::uint32_t line);
  [[nodiscard]] const model::FabricPort* find_port(End end) const;
  model::FabricNode& node(std::uint32_t index) { return fabric.nodes[index]; }

  // from: the end whose own line says so.
  void link(End from, End to, std::uint32_t line);
  // The node has a block of its own in the text, not only a mention by a neighbour.
  void set_own_block(std::uint32_t node) { own_block_[node] = true; }
  [[nodiscard]] bool has_own_block(std::uint32_t node) const { return own_block_[node]; }

  // Notes with the same id become one: the first keeps its words, the others are counted.
  // line 0: the remark is about the whole text.
  void note(std::string_view id, std::uint32_t line, std::string_view text, std::string_view remedy);
  template <std::invocable Words>
  void note(std::string_view id, std::uint32_t line, const Words& words, std::string_view remedy) {
    if (!count_again(id)) note(id, line, std::string_view(words()), remedy);
  }
  void note_unknown_line(std::uint32_t line, std::string_view text);

  // The fabric, or an error when the text named no node at all: `expected` and `remedy` in the words of the
  // format.
  Result<model::Fabric> finish(std::string_view expected, std::string_view remedy) &&;
  model::Fabric join() &&;

  model::Fabric fabric;
  std::uint32_t most_number = 254;  // IBA: ports of one node; 0 is a switch's own

 private:
  struct Slot {
    std::uint32_t index = 0;    // in FabricNode::ports
    bool has_own_link = false;  // its own line names its peer
  };
  struct Link {
    End from;
    End to;
    std::uint32_t line = 0;
  };

  [[nodiscard]] static std::uint64_t key(End end) { return std::uint64_t{end.node} << 32U | end.number; }
  bool count_again(std::string_view id);
  void order_ports();
  void join_links();
  void share_rates();
  [[nodiscard]] std::string words_of(End end) const;

  std::string name_;
  std::string origin_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_guid_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_port_guid_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_family_;  // GUID of a port minus its number
  std::unordered_map<std::string, std::uint32_t> by_id_;
  std::unordered_map<std::uint64_t, Slot> slots_;
  std::vector<bool> own_block_;
  std::vector<Link> links_;
  std::size_t ports_ = 0;
  std::map<std::string, std::size_t, std::less<>> note_index_;
};

// What the text says of a node's name, as UTF-8: other bytes are taken for Latin-1, and blanks at the end go.
std::string clean_name(std::string_view bytes);

}  // namespace angio::import::fabric
