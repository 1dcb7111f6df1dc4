// What beside ports and interfaces decides how RDMA runs on a host: interrupts, PCIe ordering, forced traffic
// classes, the kernel's network settings, file systems over the network. Values; probe/sysfs and probe/procfs
// fill them. Machine holds it by pointer (null: the source has nothing of it), so that a new value here does
// not rebuild what only passes machines on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "model/observed.hpp"

namespace angio::model {

// One interrupt of a PCI device and the CPUs that may take it.
struct Interrupt {
  std::uint32_t number = 0;
  Observed<CpuSet> allowed;  // /proc/irq/N/smp_affinity_list
};

// Beside machine.rdma[i].
struct RdmaDeviceFacts {
  std::vector<Observed<std::uint32_t>> gid_slots;  // size of the GID table, empty slots too; by port
  Observed<std::uint32_t> traffic_class;    // forced on every queue pair: mlx5 of OFED, tc/1/traffic_class
  Observed<bool> relaxed_ordering;          // PCI Express Device Control, bit 4; needs root
  Observed<std::uint32_t> interrupts;       // how many message interrupts it has
  std::vector<Interrupt> first_interrupts;  // the lowest numbers, where the driver starts to spread
};

// Beside machine.networks[i].
struct NetDeviceFacts {
  Observed<std::string> ipoib_mode;    // "datagram", "connected"
  Observed<std::string> port_name;     // phys_port_name: "p0", of representors "pf0vf3"
  Observed<std::string> bond_mode;     // of bonds: "802.3ad", "active-backup"
  Observed<std::uint32_t> aggregator;  // LACP: of a bond the one in use, of a member the one it is in
  Observed<std::int64_t> arp_ignore;   // of interfaces of RoCE devices, beside "all" in RdmaHost
  Observed<std::int64_t> arp_announce;
  Observed<std::int64_t> rp_filter;
};

// A file system that comes over the network, without its names: which way it takes.
struct NetworkMount {
  std::string type;            // "nfs4", "lustre", "beegfs"
  std::string transport;       // "rdma", "tcp"; empty: not said
  std::string server;          // address as mounted; empty: by name
  std::string client_address;  // the own one; empty: not said
  Source source;
};

struct RdmaHost {
  std::vector<RdmaDeviceFacts> devices;
  std::vector<NetDeviceFacts> interfaces;
  std::map<std::string, Observed<std::string>> sysctls;  // "net.core.rmem_max"
  Observed<std::vector<NetworkMount>> mounts;
};

}  // namespace angio::model
