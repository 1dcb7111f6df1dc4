// The way through a fabric as a state machine: which question comes next, and what an answer, a refusal or
// silence means. Pure: no library, no clock, no wire; any bytes as answers end in a bounded number of
// questions and a Fabric whose cables have two ends. exchange.hpp puts the questions; scan.cpp is its user.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/fabric.hpp"
#include "probe/umad/attributes.hpp"
#include "probe/umad/mad.hpp"
#include "probe/umad/note_book.hpp"

namespace angio::probe::umad {

inline constexpr std::uint32_t kNobody = UINT32_MAX;

struct WalkLimits {
  bool counters = true;
  std::uint32_t most_nodes = 100'000;
  std::uint32_t most_ports = 1'000'000;  // about 300 bytes each
  std::uint32_t busy_node = 8;           // questions that one node has to answer at once
};

// One question to one node. NodeInfo goes out of `port` of `node` to whoever is behind it; the first one, to
// the own adapter, has kNobody.
struct Ask {
  Question question = Question::kNodeInfo;
  std::uint32_t node = kNobody;
  std::uint32_t port = 0;
};

class FabricWalk {
 public:
  explicit FabricWalk(const WalkLimits& limits);

  // The next question; none while all that is left hangs on answers. Each must come back through answer,
  // refuse or give_up.
  std::optional<Ask> next();
  [[nodiscard]] MadBytes request(const Ask& ask, std::uint32_t transaction) const;
  [[nodiscard]] std::uint16_t lid_of(const Ask& ask) const;  // kPermissive for directed routes

  void answer(const Ask& ask, Payload payload);
  void refuse(const Ask& ask, std::uint16_t status);
  void give_up(const Ask& ask, std::uint32_t tries);

  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(fabric_.nodes.size()); }
  [[nodiscard]] bool done() const { return queue_.empty() && counters_.empty() && outstanding_ == 0; }
  [[nodiscard]] bool has_start() const { return start_.has_value(); }
  void note(std::string_view id, std::string text, std::string_view remedy = {}) {
    notes_.add(id, std::move(text), remedy);
  }

  // What is known by now; the walk is over.
  model::Fabric take();

 private:
  enum class Agent : std::uint8_t { kNotAsked, kAsked, kKnown, kSilent };  // for counters
  enum class Sums : std::uint8_t { kNotAsked, kAsked, kZero, kCounts };    // of a switch's error counters

  struct PortMark {
    bool known = false;    // PortInfo was answered
    bool reached = false;  // a way leads to it: its LID is one of this subnet
    bool wanted = false;   // its counters are asked for or were
  };

  struct Node {
    Route route;
    SpeedFields speeds;
    bool asked_ports = false;  // a switch: PortInfo beyond port 0
    bool silent = false;
    std::uint8_t arrival = 0;  // the port at which it was met first
    std::uint8_t unanswered = 0;
    std::uint8_t counters_unanswered = 0;
    std::uint32_t busy = 0;
    std::uint16_t switch_lid = 0;
    Agent agent = Agent::kNotAsked;
    CounterAbilities abilities;
    std::vector<PortMark> marks;  // as FabricNode::ports
    Sums sums = Sums::kNotAsked;
    std::vector<std::uint32_t> for_counters;  // ports that wait for ClassPortInfo
    std::vector<std::uint32_t> for_sums;      // ports that wait for the sums
    std::vector<Ask> waiting;                 // while the node is busy
  };

  void ask(Question question, std::uint32_t node, std::uint32_t port);
  void finish(const Ask& ask);
  bool is_dropped(const Ask& ask) const;

  void take_node_info(const Ask& ask, const NodeInfo& info);
  std::uint32_t meet(const Ask& ask, const NodeInfo& info);
  std::uint32_t add_node(const Ask& ask, const NodeInfo& info);
  void ask_node(std::uint32_t node);
  void start_at(std::uint32_t node, const NodeInfo& info);
  void link(const Ask& ask, std::uint32_t node, const NodeInfo& info);
  void reach(std::uint32_t node, std::uint32_t port, std::uint64_t port_guid);

  void take_port_info(const Ask& ask, Payload payload);
  void take_lids(std::uint32_t node, std::uint32_t port, Payload payload);
  bool claim_lids(std::uint32_t node, std::uint32_t port, const PortLids& lids);
  void ask_other_ports(std::uint32_t node);
  void explore(std::uint32_t node, std::uint32_t port);

  void want_counters(std::uint32_t node, std::uint32_t port);
  void ask_counters(std::uint32_t node, std::uint32_t port);
  void take_abilities(const Ask& ask, const CounterAbilities& abilities);
  void ask_errors(std::uint32_t node, std::uint32_t port);
  void take_sums(std::uint32_t node, bool zero);
  void give_up_counters(const Ask& ask, const std::string& words);

  [[nodiscard]] std::optional<std::uint32_t> index_of(std::uint32_t node, std::uint32_t port) const;
  [[nodiscard]] bool is_switch(std::uint32_t node) const;
  [[nodiscard]] std::uint16_t lid_for(std::uint32_t node, std::uint32_t port) const;
  [[nodiscard]] std::string words(std::uint32_t node, std::uint32_t port) const;
  void trouble(std::uint32_t node, std::uint32_t port, std::string text);
  void drop_unknown_ports();

  WalkLimits limits_;
  model::Fabric fabric_;
  std::vector<Node> nodes_;   // as fabric_.nodes
  std::deque<Ask> queue_;     // the way on comes first: what is silent is then found early
  std::deque<Ask> counters_;  // and counters in its shadow
  std::uint64_t outstanding_ = 0;
  std::uint64_t ports_ = 0;
  std::optional<model::PortRef> start_;
  bool routable_ = false;  // the own port is active and has a LID
  std::unordered_map<std::uint64_t, std::uint32_t> by_guid_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_port_guid_;  // to the node
  std::vector<std::uint64_t> lid_owner_;                           // node and port, one more; 0: nobody
  NoteBook notes_;
};

}  // namespace angio::probe::umad
