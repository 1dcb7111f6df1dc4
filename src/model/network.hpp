// RDMA devices (InfiniBand and RoCE, never mixed up) and network interfaces of one machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "model/observed.hpp"

namespace angio::model {

enum class LinkLayer : std::uint8_t { kUnknown, kInfiniBand, kEthernet };

struct Gid {
  std::uint32_t index = 0;
  std::string gid;             // "fe80:0000:…", as sysfs
  Observed<std::string> type;  // "IB/RoCE v1", "RoCE v2"
  Observed<std::string> netdev;
};

struct RdmaPort {
  std::uint32_t number = 1;
  Observed<std::string> state;           // "ACTIVE", "DOWN", "INIT", "ARMED"
  Observed<std::string> physical_state;  // "LinkUp", "Disabled", "Polling"
  Observed<BitsPerSecond> rate;          // data rate as the port announces: 400 Gb/s
  Observed<std::uint32_t> lanes;         // 4 of "400 Gb/sec (4X NDR)"
  Observed<std::string> speed_name;      // "NDR"
  LinkLayer link_layer = LinkLayer::kUnknown;
  Observed<Lid> lid;
  Observed<Lid> sm_lid;
  Observed<Bytes> active_mtu;  // verbs; the RDMA path MTU, not the netdev's
  Observed<Bytes> max_mtu;
  std::vector<Gid> gids;  // empty slots left out
  std::map<std::string, Observed<std::uint64_t>> counters;
  std::map<std::string, Observed<std::uint64_t>> hw_counters;
};

struct RdmaDevice {
  std::string name;                  // "mlx5_0"
  std::optional<std::uint32_t> pci;  // index in machine.pci.devices; none for soft-RoCE
  Observed<PciAddress> address;
  Observed<std::string> firmware;
  Observed<std::string> board_id;  // PSID
  Observed<std::string> hca_type;
  Observed<std::string> node_guid;
  Observed<std::string> system_guid;  // system image GUID: the same on every port of one card
  Observed<std::string> node_type;
  Observed<NumaId> numa;
  bool virtual_function = false;
  bool bond = false;  // mlx5_bond_0: two ports behind one device
  std::vector<std::string> netdevs;
  std::vector<RdmaPort> ports;
};

struct NetDevice {
  std::string name;
  std::optional<std::uint32_t> pci;
  Observed<PciAddress> address;
  Observed<std::string> driver;
  Observed<BitsPerSecond> speed;
  Observed<std::uint32_t> mtu;
  Observed<bool> carrier;
  Observed<std::string> state;  // operstate
  Observed<std::string> mac;
  Observed<NumaId> numa;
  std::vector<std::string> addresses;  // "10.0.0.5/24", "fe80::1/64"
  Observed<std::string> bond_master;
  std::vector<std::string> bond_members;
  Observed<std::string> kind;  // "physical", "virtual", "bond", "vlan", "bridge", "loopback", "ipoib"
  std::map<std::string, std::string> qos;  // mlx5: "trust" → "dscp", where readable
};

}  // namespace angio::model
