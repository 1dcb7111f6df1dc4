// Rules over nodes of one kind: a node against what most of its peers show. Their words are in
// data/rules/cluster.toml; over a single machine they do not apply. Only for src/diagnose.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "diagnose/peers.hpp"
#include "diagnose/rule.hpp"

namespace angio::diagnose::cluster {

// Two nodes that differ do not tell which is wrong.
inline constexpr std::size_t kFewest = 3;

// A value that more than half of the nodes that know it share, and how many do.
struct Usual {
  std::string value;
  std::size_t nodes = 0;
  std::size_t of = 0;
};

// What is usual for each rail (PCI address and port) of these nodes; made once, asked for each node.
class Peers {
 public:
  explicit Peers(const std::vector<const PeerFacts*>& nodes);

  [[nodiscard]] std::size_t size() const { return nodes_; }
  [[nodiscard]] const std::set<std::string>& usual_slots() const { return slots_; }  // in more than half
  [[nodiscard]] std::size_t usual_count() const { return count_; }  // of rails; 0: no number is
  // name: "device", "state", "rate", "subnet", "classes", "gid 3"; null: nothing is usual.
  [[nodiscard]] const Usual* usual(const std::string& slot, const std::string& name) const;
  // Of a whole board type: "firmware".
  [[nodiscard]] const Usual* usual_firmware(const std::string& board) const;
  // The index that jobs of any of the nodes name, and the node.
  [[nodiscard]] const PeerFacts* with_gid_index() const { return gid_index_; }
  [[nodiscard]] bool addresses_comparable() const { return !scrubbed_; }

 private:
  std::size_t nodes_ = 0;
  std::size_t count_ = 0;
  bool scrubbed_ = false;
  std::set<std::string> slots_;
  std::map<std::string, std::map<std::string, Usual>> usual_;  // slot → name → value
  std::map<std::string, Usual> firmware_;
  const PeerFacts* gid_index_ = nullptr;
};

std::string slot_of(const Rail& rail);  // "0000:5e:00.0", with the port where it is not the first

struct PeerRule {
  const char* id;
  void (*check)(const Peers& peers, const PeerFacts& node, Outcome& outcome);
};
std::span<const PeerRule> peer_rules();

}  // namespace angio::diagnose::cluster
