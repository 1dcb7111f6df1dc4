// The RDMA rules' checks, one family a file; rdma.cpp lists them. Beside them, what several ask of ports,
// and which of them a job's NCCL_IB_HCA takes. Only for src/diagnose/rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/rule.hpp"
#include "model/machine.hpp"
#include "model/nccl_names.hpp"

namespace angio::diagnose::rdma {

// rdma.cpp: GPUDirect. rdma_ports.cpp: state and speed.
void gdr_missing(const model::Machine& machine, Outcome& outcome);
void no_subnet_manager(const model::Machine& machine, Outcome& outcome);
void port_down(const model::Machine& machine, Outcome& outcome);
void port_slow(const model::Machine& machine, Outcome& outcome);
void port_mixed(const model::Machine& machine, Outcome& outcome);
// rdma_network.cpp: MTU and GIDs.
void mtu_low(const model::Machine& machine, Outcome& outcome);
void roce_mtu_low(const model::Machine& machine, Outcome& outcome);
void roce_no_gid(const model::Machine& machine, Outcome& outcome);
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

// One port's trouble. Those with equal words become one finding:
// "mlx5_0 is down" or, with the plural, "mlx5_0, mlx5_1 are down".
struct Trouble {
  PortRef ref;
  std::string singular;
  std::string plural;
  Draft draft;  // evidence, cost, severity, words
};
void fire_grouped(const std::vector<Trouble>& troubles, Outcome& outcome);

using model::device_part;
using model::NameList;
using model::parse_names;
using model::takes;
bool takes(const NameList& list, const PortRef& ref);
// What the process's NCCL takes; the machine's setting counts where the process has none. Null: all.
const model::Setting* hca_setting(const model::Machine& machine, const model::Process* process);
bool uses_port(const model::Machine& machine, const model::Process* process, const PortRef& ref);
// No GPU process takes the port (without any: the machine's setting leaves it out).
bool left_out(const model::Machine& machine, const PortRef& ref);

}  // namespace angio::diagnose::rdma
