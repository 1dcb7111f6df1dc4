// Which program is a rank of which library, where it is, and the command lines that start its ranks: on this
// machine, by mpirun, by srun. NCCL needs no program of its own, angio opens it by itself. Pure: what is
// there is told; nothing is started here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "launch/remote.hpp"

namespace angio::collective {

enum class Backend : std::uint8_t { kNccl, kMpi, kGloo };
Result<Backend> parse_backend(std::string_view word);  // "nccl", "mpi", "gloo"
std::string_view label(Backend backend);
std::string_view program_name(Backend backend);  // "angio-mpi", "angio-gloo"; NCCL: "angio"

struct BackendPlaces {
  std::string angio;        // path of the running angio
  std::string search_path;  // PATH
  std::function<bool(const std::string& path)> is_program;
};
// Beside angio, in PATH, in libexec/angio beside angio's bin. Error: not there; where was looked and how to
// get it.
Result<std::string> find_program(Backend backend, const BackendPlaces& places);

enum class RankLauncher : std::uint8_t {
  kHere,    // this machine: angio run, or mpirun where the library is MPI
  kMpirun,  // ranks over the hosts that mpirun is given
  kSrun,    // within an allocation of Slurm
};

struct RankStart {
  Backend backend = Backend::kNccl;
  RankLauncher launcher = RankLauncher::kHere;
  std::string program;             // find_program(); NCCL: angio
  std::vector<std::string> words;  // behind the program: "collective-rank", the wish
  // nodes, ranks, GPUs, angio, options of angio run, master, hostfile, words for the launcher. Its command is
  // not used.
  launch::RemoteRequest where;
  std::uint32_t cpus = 0;  // that this process may use; 0: unknown
  bool as_root = false;
  launch::MpiKind mpi = launch::MpiKind::kOpenMpi;
  std::string srun_mpi;  // what `srun --mpi=list` says; asked where MPI is started by srun
};

struct RankCommandLine {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value" to be added
};
// environment: "NAME=value" of this process.
Result<RankCommandLine> rank_command_line(const RankStart& start, std::span<const std::string> environment);

// The plugin by which srun tells MPI of the other ranks: "pmix" before "pmi2". Error: the list has neither.
Result<std::string> choose_srun_mpi(std::string_view list);

}  // namespace angio::collective
