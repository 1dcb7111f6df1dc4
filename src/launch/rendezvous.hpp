// Where the ranks of a job meet (MASTER_ADDR, MASTER_PORT) and what they are called (RANK, WORLD_SIZE ...):
// the variables that torch.distributed's env:// rendezvous and torchrun use.
// The address serves the first handshake only; NCCL chooses the data path itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "host/root.hpp"
#include "launch/rank.hpp"

namespace angio::launch {

struct Rendezvous {
  std::string address;     // name or address, without brackets
  std::uint16_t port = 0;  // 0: not chosen yet
  bool operator==(const Rendezvous&) const = default;
};

struct RankNumbers {
  std::uint32_t rank = 0;
  std::uint32_t local_rank = 0;
  std::uint32_t world_size = 1;
  std::uint32_t local_world_size = 1;
  std::uint32_t node_rank = 0;
};

// RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, NODE_RANK, GROUP_RANK, MASTER_ADDR and MASTER_PORT as
// "NAME=value".
std::vector<std::string> rendezvous_environment(const RankNumbers& numbers, const Rendezvous& master);

// "node-1:29500", "10.0.0.1:29500", "[2001:db8::1]:29500", "node-1" (port 0). Pure.
Result<Rendezvous> parse_master(std::string_view text);

// What the job asks of the address.
struct MasterUse {
  std::uint32_t nodes = 1;
  bool rank_0_here = true;  // then the address must be one of this host and the port free
};

// The first part of settle_master alone: the name resolves and leads where the use needs it.
Result<void> check_master_address(const std::string& address, const MasterUse& use);

// The rendezvous made certain: the name resolves, loopback is refused for several nodes, and where rank 0
// runs here the address is one of this host's, the port is free (it is bound once, and released) and a port 0
// is replaced by a free one. `wanted` none: 127.0.0.1, or this host's name for several nodes, and a free
// port. Live host only; root gives the process that holds a port.
Result<Rendezvous> settle_master(const std::optional<Rendezvous>& wanted, const MasterUse& use,
                                 const host::Root& root);

// Who listens on a TCP port, as /proc/net/tcp{,6} and /proc/PID/fd tell. None: nobody seen.
struct PortHolder {
  std::string address;     // "0.0.0.0", "::1"
  std::optional<int> pid;  // none: another user's, or a process of another namespace
  std::string name;        // /proc/PID/comm
};
std::optional<PortHolder> find_port_holder(const host::Root& root, std::uint16_t port);

// For the wrapper form when MASTER_ADDR is unset: what the surrounding launcher's variables allow to
// conclude. Slurm: the first host of the step's or job's node list and a port made of the job id. A single
// node: 127.0.0.1 and a port made of the launcher's job name. None: not derivable (mpirun over several
// hosts), or set already. Every rank comes to the same answer. Pure.
Result<std::optional<Rendezvous>> derive_rendezvous(std::span<const std::string> environment);

// For the wrapper form: those of the eight variables that the launcher around it (srun, mpirun) did not set
// and its own variables tell, as "NAME=value". Nothing below torchrun, which sets all, and nothing where the
// rank in the whole job is unknown. Pure.
Result<std::vector<std::string>> missing_rendezvous(const LocalRank& rank,
                                                    std::span<const std::string> environment);

}  // namespace angio::launch
