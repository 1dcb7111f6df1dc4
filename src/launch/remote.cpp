#include "launch/remote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"
#include "host/system_roots.hpp"

namespace angio::launch {
namespace {

using Words = std::vector<std::string>;

// torch.distributed.run --master-port.
constexpr std::uint16_t kTorchPort = 29500;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// angio run OPTIONS -- CMD
Words inner_command(const RemoteRequest& request) {
  Words words{request.angio, "run"};
  append(words, request.run_options);
  words.emplace_back("--");
  append(words, request.command);
  return words;
}

Result<void> check_request(const RemoteRequest& request) {
  if (request.command.empty()) return fail(ErrorCode::kInvalidInput, "no command to run");
  if (request.nodes == 0 || request.nodes > kMaxHosts) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("{} nodes: expected 1 to {}", request.nodes, kMaxHosts));
  }
  constexpr std::uint32_t kMostRanks = 4096;
  if (request.ranks_per_node == 0 || request.ranks_per_node > kMostRanks) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("{} ranks on a node: expected 1 to {}", request.ranks_per_node, kMostRanks));
  }
  return {};
}

std::string salloc_line(const RemoteRequest& request) {
  Words words{"salloc", fmt::format("--nodes={}", request.nodes),
              fmt::format("--ntasks-per-node={}", request.ranks_per_node)};
  if (request.gpus_per_node > 0) words.push_back(fmt::format("--gpus-per-node={}", request.gpus_per_node));
  words.emplace_back("--exclusive");
  return shell_quoted(words);
}

// Where the ranks meet: as wished; else the first host and a port that all would come to from the job id.
Rendezvous choose_master(const RemoteRequest& request, const std::string& first_host,
                         std::span<const std::string> environment) {
  Rendezvous master = request.master.value_or(Rendezvous{first_host, 0});
  if (master.port != 0) return master;
  const std::string job = host::find_variable(environment, "SLURM_JOB_ID");
  const Words step{"SLURM_PROCID=0", "SLURM_JOB_NODELIST=x", "SLURM_JOB_ID=" + job};
  const auto derived = derive_rendezvous(step);
  master.port = job.empty() || !derived || !*derived ? kTorchPort : (*derived)->port;
  return master;
}

// srun reads these as if they were options. Per task, a cgroup would hide the GPUs of the other ranks of the
// node, and NCCL could not use NVLink or P2P between them (NCCL issue 1066).
Words per_task_variables(std::span<const std::string> environment) {
  Words set;
  for (const char* name : {"SLURM_GPUS_PER_TASK", "SLURM_TRES_PER_TASK", "SLURM_GPU_BIND", "SLURM_CPU_BIND",
                           "SLURM_DISTRIBUTION"}) {
    if (!host::find_variable(environment, name).empty()) set.emplace_back(name);
  }
  return set;
}

// mpirun of Open MPI takes none of our variables along to other nodes unless told.
Words variables_to_pass(std::span<const std::string> environment) {
  constexpr std::array<std::string_view, 11> kFamilies{"NCCL_",  "CUDA_", "ROCR_",  "HIP_", "UCX_", "OMP_",
                                                       "TORCH_", "GLOO_", "PYTHON", "HF_",  "FI_"};
  constexpr std::array<std::string_view, 4> kNames{"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "VIRTUAL_ENV"};
  Words names;
  for (const std::string& entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    const bool in_family =
        std::ranges::any_of(kFamilies, [&](std::string_view family) { return name.starts_with(family); });
    if (in_family || std::ranges::find(kNames, name) != kNames.end()) names.push_back(name);
  }
  std::ranges::sort(names);
  const auto doubles = std::ranges::unique(names);
  names.erase(doubles.begin(), doubles.end());
  return names;
}

// The hosts mpirun will use, in its order; empty: this host alone.
Result<Words> mpi_hosts(const RemoteRequest& request, std::span<const std::string> environment) {
  if (request.hostfile) {
    auto hosts = parse_hostfile(request.hostfile_text);
    if (!hosts) return std::unexpected(std::move(hosts).error().with_context(*request.hostfile));
    return hosts;
  }
  if (!host::find_variable(environment, "SLURM_JOB_ID").empty()) {
    auto allocation = find_slurm_allocation(environment, request);
    if (!allocation) return std::unexpected(std::move(allocation).error());
    return std::move(allocation->hosts);
  }
  if (request.nodes == 1) return Words{};
  return fail(
      ErrorCode::kInvalidInput,
      fmt::format("mpirun knows of no other host: {} are asked for, and this is no allocation of Slurm",
                  count_of(request.nodes, "node")),
      "Give --hostfile FILE with a host a line, or run it inside an allocation: " + salloc_line(request));
}

Words open_mpi(const RemoteRequest& request, const Rendezvous& master,
               std::span<const std::string> environment) {
  Words words{"mpirun",
              "-np",
              std::to_string(std::uint64_t{request.nodes} * request.ranks_per_node),
              "--map-by",
              fmt::format("ppr:{}:node", request.ranks_per_node),
              "--bind-to",
              "none"};
  if (request.hostfile) append(words, {"--hostfile", *request.hostfile});
  if (request.label_output) words.emplace_back("--tag-output");
  append(words, {"-x", "MASTER_ADDR=" + master.address, "-x", fmt::format("MASTER_PORT={}", master.port)});
  for (const std::string& name : variables_to_pass(environment))
    append(words, {"-x", name});
  return words;
}

Words hydra(const RemoteRequest& request, const Rendezvous& master) {
  Words words{"mpirun",
              "-n",
              std::to_string(std::uint64_t{request.nodes} * request.ranks_per_node),
              "-ppn",
              std::to_string(request.ranks_per_node),
              "-bind-to",
              "none"};
  if (request.hostfile) append(words, {"-f", *request.hostfile});
  if (request.label_output) words.emplace_back("-prepend-rank");
  // Intel MPI pins by itself unless told; MPICH does not know the variable.
  append(words, {"-genv", "I_MPI_PIN", "0", "-genv", "MASTER_ADDR", master.address, "-genv", "MASTER_PORT",
                 std::to_string(master.port)});
  return words;
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

}  // namespace

Result<RemoteLauncher> parse_remote_launcher(std::string_view word) {
  if (word == "slurm" || word == "srun") return RemoteLauncher::kSlurm;
  if (word == "mpi" || word == "mpirun") return RemoteLauncher::kMpi;
  return fail(ErrorCode::kInvalidInput,
              fmt::format("\"{}\" is no launcher that angio knows", printable(word)), "slurm or mpi");
}

Result<MpiKind> recognise_mpirun(std::string_view version_text) {
  if (contains(version_text, "Open MPI") || contains(version_text, "OpenRTE") ||
      contains(version_text, "PRRTE"))
    return MpiKind::kOpenMpi;
  if (contains(version_text, "HYDRA") || contains(version_text, "Intel(R) MPI")) return MpiKind::kHydra;
  const std::vector<std::string_view> lines = split_lines(version_text);
  return fail(ErrorCode::kUnsupported,
              fmt::format("mpirun --version says \"{}\": neither Open MPI nor MPICH nor Intel MPI",
                          lines.empty() ? "" : printable(lines[0].substr(0, 80))));
}

Result<SlurmAllocation> find_slurm_allocation(std::span<const std::string> environment,
                                              const RemoteRequest& request) {
  SlurmAllocation allocation{host::find_variable(environment, "SLURM_JOB_ID"), {}};
  if (allocation.job_id.empty()) {
    return fail(ErrorCode::kInvalidInput,
                "this is not inside an allocation of Slurm: SLURM_JOB_ID is not set",
                "Get one, then run the same again: " + salloc_line(request));
  }
  std::string list = host::find_variable(environment, "SLURM_JOB_NODELIST");
  if (list.empty()) list = host::find_variable(environment, "SLURM_NODELIST");  // before Slurm 2.2, and kept
  if (list.empty()) return fail(ErrorCode::kInvalidInput, "SLURM_JOB_ID is set, SLURM_JOB_NODELIST is not");
  auto hosts = expand_hostlist(list);
  if (!hosts) return std::unexpected(std::move(hosts).error().with_context("SLURM_JOB_NODELIST"));
  allocation.hosts = std::move(*hosts);
  if (allocation.hosts.size() < request.nodes) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("job {} has {}, {} are asked for", allocation.job_id,
                            count_of(allocation.hosts.size(), "node"), request.nodes),
                salloc_line(request));
  }
  return allocation;
}

Result<Words> slurm_command(const RemoteRequest& request, std::span<const std::string> environment) {
  if (auto checked = check_request(request); !checked) return std::unexpected(std::move(checked).error());
  const auto allocation = find_slurm_allocation(environment, request);
  if (!allocation) return std::unexpected(allocation.error());
  const std::string first = request.nodes == 1 ? "127.0.0.1" : allocation->hosts.front();
  const Rendezvous master = choose_master(request, first, environment);
  Words words;
  if (const Words unwanted = per_task_variables(environment); !unwanted.empty()) {
    words.emplace_back("env");
    for (const std::string& name : unwanted)
      append(words, {"-u", name});
  }
  append(words, {"srun", fmt::format("--nodes={}", request.nodes),
                 fmt::format("--ntasks={}", std::uint64_t{request.nodes} * request.ranks_per_node),
                 fmt::format("--ntasks-per-node={}", request.ranks_per_node)});
  if (request.gpus_per_node > 0) words.push_back(fmt::format("--gpus-per-node={}", request.gpus_per_node));
  // Ranks of a node stand side by side, angio binds, and one that fails ends all.
  append(words, {"--distribution=block", "--cpu-bind=none", "--kill-on-bad-exit=1"});
  if (request.label_output) words.emplace_back("--label");
  words.push_back(fmt::format("--export=ALL,MASTER_ADDR={},MASTER_PORT={}", master.address, master.port));
  append(words, request.launcher_options);
  append(words, inner_command(request));
  return words;
}

Result<Words> mpi_command(const RemoteRequest& request, MpiKind kind,
                          std::span<const std::string> environment) {
  if (auto checked = check_request(request); !checked) return std::unexpected(std::move(checked).error());
  const auto hosts = mpi_hosts(request, environment);
  if (!hosts) return std::unexpected(hosts.error());
  if (!hosts->empty() && hosts->size() < request.nodes) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("{} names {}, {} are asked for", request.hostfile.value_or("the allocation"),
                            count_of(hosts->size(), "host"), request.nodes));
  }
  const std::string first = hosts->empty() || request.nodes == 1 ? "127.0.0.1" : hosts->front();
  const Rendezvous master = choose_master(request, first, environment);
  Words words = kind == MpiKind::kOpenMpi ? open_mpi(request, master, environment) : hydra(request, master);
  append(words, request.launcher_options);
  append(words, inner_command(request));
  return words;
}

std::string shell_quoted(std::span<const std::string> argv) {
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && std::ranges::all_of(word, is_plain)) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word)
      line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace angio::launch
