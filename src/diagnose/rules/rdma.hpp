// The RDMA rules' checks, one family a file; rdma.cpp lists them. Beside them, what several ask of ports,
// and which of them a job's NCCL_IB_HCA takes. Only for src/diagnose/rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/rule.hpp"
#include "model/machine.hpp"
#include "model/nccl_names.hpp"
#include "model/rdma_host.hpp"

namespace angio::diagnose::rdma {

// rdma_gdr.cpp: GPUDirect, from the module to the path.
void gdr_missing(const model::Machine& machine, Outcome& outcome);
void gdr_level(const model::Machine& machine, Outcome& outcome);
// rdma_ports.cpp: state and speed.
void no_subnet_manager(const model::Machine& machine, Outcome& outcome);
void port_down(const model::Machine& machine, Outcome& outcome);
void port_slow(const model::Machine& machine, Outcome& outcome);
void port_unsettled(const model::Machine& machine, Outcome& outcome);
// rdma_bonds.cpp: members of the bonds below RDMA devices.
void bond_degraded(const model::Machine& machine, Outcome& outcome);
// rdma_reach.cpp: what NCCL_IB_HCA lets NCCL take together.
void port_mixed(const model::Machine& machine, Outcome& outcome);
// rdma_network.cpp: MTU.
void mtu_low(const model::Machine& machine, Outcome& outcome);
void roce_mtu_low(const model::Machine& machine, Outcome& outcome);
void roce_mtu_above_netdev(const model::Machine& machine, Outcome& outcome);
// rdma_gids.cpp: how a RoCE connection is addressed.
void roce_no_gid(const model::Machine& machine, Outcome& outcome);
void roce_gid_choice(const model::Machine& machine, Outcome& outcome);
// rdma_settings.cpp: the host's settings around the adapters.
void roce_traffic_class(const model::Machine& machine, Outcome& outcome);
void roce_same_subnet(const model::Machine& machine, Outcome& outcome);
void interrupt_affinity(const model::Machine& machine, Outcome& outcome);
void relaxed_ordering(const model::Machine& machine, Outcome& outcome);
// "--trust dscp --pfc 0,0,0,1,0,0,0,0", which makes another interface sort like this one; empty: not known.
std::string qos_options(const model::NetDevice& netdev);
// rdma_counters.cpp: firmware and what ports count.
void firmware_mixed(const model::Machine& machine, Outcome& outcome);
void port_errors(const model::Machine& machine, Outcome& outcome);
void port_loss(const model::Machine& machine, Outcome& outcome);
void port_idle(const model::Machine& machine, Outcome& outcome);

struct PortRef {
  const model::RdmaDevice* device;
  const model::RdmaPort* port;
};

// All but soft-RoCE, which has no cable and no board.
std::vector<PortRef> hardware_ports(const model::Machine& machine);
bool is_active(const model::RdmaPort& port);
// InfiniBand, or a rate that collectives are meant for; false where the rate is not known.
bool is_fast(const model::RdmaPort& port);
std::string port_label(const PortRef& ref);
// Ports that should be alike have this equal: same board, same port number, same link layer.
std::string kind_of(const PortRef& ref);
bool is_routable_v2(const model::Gid& gid);

// What was read beside a device or an interface; null where nobody looked.
const model::RdmaDeviceFacts* facts_of(const model::Machine& machine, const model::RdmaDevice& device);
const model::NetDeviceFacts* facts_of(const model::Machine& machine, const model::NetDevice& device);
const model::NetDevice* find_interface(const model::Machine& machine, std::string_view name);
// The first of the device's interfaces that is known; null: none is.
const model::NetDevice* netdev_of(const model::Machine& machine, const model::RdmaDevice& device);

// One port's trouble. Those with equal words become one finding:
// "mlx5_0 is down" or, with the plural, "mlx5_0, mlx5_1 are down".
struct Trouble {
  PortRef ref;
  std::string singular;
  std::string plural;
  Draft draft;  // evidence, cost, severity, words
};
void fire_grouped(const std::vector<Trouble>& troubles, Outcome& outcome);

// Active ports of hardware that a job of this machine may take: of this process, or null for the machine's
// own settings.
std::vector<PortRef> ports_in_reach(const model::Machine& machine, const model::Process* process);
// The jobs to judge by: GPU processes, one of each that differ in `settings`; a null one where none runs.
std::vector<const model::Process*> jobs_of(const model::Machine& machine,
                                           const std::vector<std::string_view>& settings);
// The process's own value, else the machine's. Null: not set.
const model::Setting* setting_of(const model::Machine& machine, const model::Process* process,
                                 std::string_view name);

using model::device_part;
using model::NameList;
using model::parse_names;
using model::takes;
bool takes(const NameList& list, const PortRef& ref);
// What the process's NCCL takes; the machine's setting counts where the process has none. Null: all.
const model::Setting* hca_setting(const model::Machine& machine, const model::Process* process);
bool uses_port(const model::Machine& machine, const model::Process* process, const PortRef& ref);
// Devices a prefix covers although one of exactly that name exists: "mlx5_1" takes mlx5_10 too.
std::vector<std::string> covered_beside(const model::Machine& machine, const NameList& list);
// The process takes the port only so; rule process.setting.ib-hca tells it.
bool taken_by_prefix(const model::Machine& machine, const model::Process* process, const PortRef& ref);
// No GPU process takes the port (without any: the machine's setting leaves it out).
bool left_out(const model::Machine& machine, const PortRef& ref);

}  // namespace angio::diagnose::rdma
