// The command line that starts a job over several nodes through what the site has: srun or mpirun, each
// starting `angio run -- CMD` once per rank, which then binds itself (wrapper form). Never ssh.
// Pure: environment and wishes in, argument vector out; the caller shows it (--dry-run) or executes it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "launch/rendezvous.hpp"

namespace angio::launch {

enum class RemoteLauncher : std::uint8_t { kSlurm, kMpi };
Result<RemoteLauncher> parse_remote_launcher(std::string_view word);  // "slurm", "mpi"

// mpirun is three programs; "mpirun --version" says which.
enum class MpiKind : std::uint8_t { kOpenMpi, kHydra };  // kHydra: MPICH and Intel MPI
Result<MpiKind> recognise_mpirun(std::string_view version_text);

struct RemoteRequest {
  std::uint32_t nodes = 1;
  std::uint32_t ranks_per_node = 1;
  std::uint32_t gpus_per_node = 0;       // 0: ask the scheduler for none
  std::string angio = "angio";           // as the other nodes find it
  std::vector<std::string> run_options;  // for the inner angio run: "--memory", "bind"
  std::vector<std::string> command;
  std::optional<Rendezvous> master;           // none: the first host, and a port made of the job id
  std::optional<std::string> hostfile;        // mpirun: its path
  std::string hostfile_text;                  // and what stands in it
  bool label_output = true;                   // the launcher's own prefix of the rank before each line
  std::vector<std::string> launcher_options;  // handed to srun or mpirun as they are
};

// An allocation of Slurm that this process is in.
struct SlurmAllocation {
  std::string job_id;
  std::vector<std::string> hosts;
};
// Error: not in an allocation; its hint is the salloc line for the request.
Result<SlurmAllocation> find_slurm_allocation(std::span<const std::string> environment,
                                              const RemoteRequest& request);

// environment: "NAME=value" of this process. Errors: no allocation, too few nodes in it, no hosts.
Result<std::vector<std::string>> slurm_command(const RemoteRequest& request,
                                               std::span<const std::string> environment);
Result<std::vector<std::string>> mpi_command(const RemoteRequest& request, MpiKind kind,
                                             std::span<const std::string> environment);

// "n[0-3,7],x1" to n0 n1 n2 n3 n7 x1, zero padding kept, several brackets allowed; at most kMaxHosts.
inline constexpr std::size_t kMaxHosts = 65536;
Result<std::vector<std::string>> expand_hostlist(std::string_view text);
// First words of the lines of a hostfile: "node1 slots=8", "node1:8", "# comment".
Result<std::vector<std::string>> parse_hostfile(std::string_view text);

// For a POSIX shell: `srun --nodes=2 angio run -- python 'a b.py'`.
std::string shell_quoted(std::span<const std::string> argv);

}  // namespace angio::launch
