// Nodes against nodes where a difference does harm: an adapter that is missing, renamed, slower, in another
// subnet, with a GID of another meaning. Differences without harm stay in group_nodes. Small facts of each
// node, so that a thousand nodes fit; the machines themselves are gone by then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/finding.hpp"
#include "model/machine.hpp"

namespace angio::diagnose {

// One port of an adapter in its PCI slot.
struct Rail {
  std::string device;   // "mlx5_2"
  std::string address;  // "0000:5e:00.0": what makes it the same rail on another node
  std::uint32_t port = 1;
  std::string board;
  std::string firmware;
  model::LinkLayer layer = model::LinkLayer::kUnknown;
  std::string state;
  double rate = 0;                            // bits a second; 0: not known
  std::string netdev;                         // empty: none
  std::optional<std::string> subnet;          // IPv4; empty text: the interface has no address
  std::map<std::uint32_t, std::string> gids;  // index → "RoCE v2, IPv4"
  bool gids_known = false;
  std::string classes;      // "trust dscp, PFC 0,0,0,1,0,0,0,0"; empty: not known
  std::string qos_options;  // the same for mlnx_qos; empty: not known
};

struct PeerFacts {
  std::string node;
  std::string kind;  // product, GPUs, container: nodes of one kind should be alike
  std::string origin;
  bool imported = false;
  bool scrubbed = false;       // addresses are stand-ins: not comparable between snapshots
  bool adapters_known = true;  // the source would show RDMA devices
  std::vector<Rail> rails;
  std::optional<std::uint32_t> gid_index;  // NCCL_IB_GID_INDEX of a job or of the machine
  // Of rules about ports: rule → device → title. What the node's own rules tell, its peers need not repeat.
  std::map<std::string, std::map<std::string, std::string>> told;

  [[nodiscard]] const std::string* told_by(const std::string& rule, const std::string& device) const;
};
PeerFacts peer_facts_of(const model::Machine& machine);

// Findings about single nodes, in no order. Fewer than three nodes of a kind have no majority: silent.
std::vector<model::Finding> judge_peers(const std::vector<PeerFacts>& nodes);

// Of one node's findings those go whose cause a peer rule names better: a class that is unprotected because
// the adapter is set up otherwise than on the peers.
void drop_explained(std::vector<model::Finding>& findings);

}  // namespace angio::diagnose
