#include "mesh_options.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "bench/child.hpp"
#include "command.hpp"
#include "host/system_roots.hpp"
#include "launch/remote.hpp"
#include "load_machine.hpp"
#include "mesh/facts.hpp"
#include "mesh/sockets.hpp"
#include "options.hpp"

namespace angio::app {
namespace {

using Environment = std::vector<std::string>;

Result<mesh::Launcher> launcher_of(const MeshOptions& options, const Environment& environment) {
  if (options.with == "srun") return mesh::Launcher::kSrun;
  if (options.with == "mpirun") return mesh::Launcher::kMpirun;
  if (options.with == "ssh") return mesh::Launcher::kSsh;
  if (options.with == "local") return mesh::Launcher::kLocal;
  if (!host::find_variable(environment, "SLURM_JOB_ID").empty()) return mesh::Launcher::kSrun;
  return fail(ErrorCode::kInvalidInput,
              "this is not inside an allocation of Slurm: say how to start the agents",
              "--with srun, mpirun, ssh or local");
}

// A file of hosts, or a list as Slurm writes them.
Result<std::vector<std::string>> given_hosts(const std::string& text) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(text, error)) {
    auto hosts = launch::expand_hostlist(text);
    if (contains(text, "/"))
      return fail(ErrorCode::kNotFound, "--hosts " + printable(text) + ": there is no such file");
    if (!hosts) return std::unexpected(std::move(hosts).error().with_context("--hosts"));
    return hosts;
  }
  auto bytes = read_input(text);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  auto lines = launch::parse_hostfile(*bytes);
  if (!lines) return std::unexpected(std::move(lines).error().with_context(printable(text)));
  std::vector<std::string> hosts;
  for (const std::string& line : *lines) {
    auto names = launch::expand_hostlist(line);
    if (!names) return std::unexpected(std::move(names).error().with_context(printable(text)));
    hosts.insert(hosts.end(), names->begin(), names->end());
  }
  return hosts;
}

Result<std::vector<std::string>> hosts_of(const MeshOptions& options, const model::MeshResult& earlier,
                                          const Environment& environment) {
  if (!options.hosts.empty()) return given_hosts(options.hosts);
  if (!host::find_variable(environment, "SLURM_JOB_ID").empty() &&
      (options.with.empty() || options.with == "srun" || options.with == "mpirun" || options.with == "ssh")) {
    auto allocation = launch::find_slurm_allocation(environment, launch::RemoteRequest());
    if (!allocation) return std::unexpected(std::move(allocation.error()));
    return std::move(allocation->hosts);
  }
  if (!earlier.hosts.empty()) {
    std::vector<std::string> names;
    for (const model::MeshHost& host : earlier.hosts)
      names.push_back(host.name);
    return names;
  }
  return fail(ErrorCode::kInvalidInput, "between which hosts? This is no allocation of Slurm",
              "--hosts n[0-3] or --hosts FILE with a host a line");
}

Result<void> check_hosts(std::vector<std::string>& hosts) {
  std::vector<std::string> sorted = hosts;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    return fail(ErrorCode::kInvalidInput, "host " + printable(*twice) + " is twice among the hosts");
  for (const std::string& host : hosts) {
    // A name that begins with a dash would be an option of ssh and srun.
    if (host.empty() || host[0] == '-')
      return fail(ErrorCode::kInvalidInput, "\"" + printable(host) + "\" is no host");
  }
  if (hosts.size() >= 2) return {};
  return fail(ErrorCode::kInvalidInput,
              "a mesh needs two hosts or more, " + count_of(hosts.size(), "host") + " given");
}

Result<std::string> control_of(const MeshOptions& options, mesh::Launcher launcher,
                               const std::vector<std::string>& hosts) {
  if (!options.control.empty()) {
    std::string address = mesh::address_of_interface(options.control);
    if (!address.empty()) return address;
    return fail(ErrorCode::kInvalidInput,
                "--control " + printable(options.control) +
                    " is neither an interface with an address nor an address of this host");
  }
  if (launcher == mesh::Launcher::kLocal) return std::string("127.0.0.1");
  // A name server that does not answer takes ten seconds a name.
  constexpr std::size_t kAsked = 4;
  for (const std::string& host : std::span(hosts).first(std::min(hosts.size(), kAsked))) {
    const std::string address = mesh::resolve(host);
    const std::string own = address.empty() ? std::string() : mesh::source_address_for(address);
    // This host's own name often leads to loopback.
    if (!own.empty() && !own.starts_with("127.") && own != "::1") return own;
  }
  return fail(ErrorCode::kNotFound,
              "cannot tell by which address of this host " + printable(hosts.front()) + " reaches it",
              "--control with an interface (ib0, eth0) or an address of this host");
}

Result<launch::MpiKind> mpi_kind() {
  const bench::Interrupts interrupts;
  const auto child = bench::run_child({"mpirun", "--version"}, interrupts);
  if (!child) return std::unexpected(child.error());
  return launch::recognise_mpirun(child->output + child->errors);
}

Result<void> take_plan(const MeshOptions& options, mesh::MeshRequest& request) {
  model::MeshPlan& plan = request.plan;
  request.choose_transports = options.transport == "auto";
  plan.tcp = options.transport != "rdma";
  plan.rdma = options.transport != "tcp";
  plan.level = options.level == "bw"    ? model::MeshLevel::kBandwidth
               : options.level == "lat" ? model::MeshLevel::kLatency
                                        : model::MeshLevel::kBoth;
  plan.seconds = options.seconds;
  plan.streams = options.streams;
  plan.rounds = options.rounds;
  plan.partners = options.sample;
  plan.all_nics = options.all_nics;
  plan.queue_pairs = options.queue_pairs;
  plan.gid_index = options.gid_index;
  plan.cuda = options.cuda;
  if (options.size.empty()) return {};
  const auto size = parse_byte_count(options.size);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30U;
  if (!size || *size == 0 || *size > kMost)
    return fail(ErrorCode::kInvalidInput, "--size \"" + printable(options.size) + "\" is no size up to 1 GiB",
                "for example --size 1MiB");
  plan.tcp_size = plan.rdma_size = Bytes{*size};
  return {};
}

// A resumed mesh goes by the plan it began with: figures of two plans in one table would not compare.
Result<void> check_same_plan(const model::MeshPlan& plan, const model::MeshPlan& earlier) {
  const model::MeshPlan usual;
  std::vector<std::string> other;
  const auto compare = [&](const char* name, const auto& value, const auto& before, const auto& unless) {
    if (value != unless && value != before) other.emplace_back(name);
  };
  compare("--level", plan.level, earlier.level, usual.level);
  compare("--seconds", plan.seconds, earlier.seconds, usual.seconds);
  compare("--streams", plan.streams, earlier.streams, usual.streams);
  compare("--size", plan.tcp_size, earlier.tcp_size, usual.tcp_size);
  compare("--queue-pairs", plan.queue_pairs, earlier.queue_pairs, usual.queue_pairs);
  compare("--gid-index", plan.gid_index, earlier.gid_index, usual.gid_index);
  compare("--cuda", plan.cuda, earlier.cuda, usual.cuda);
  compare("--sample", plan.partners, earlier.partners, usual.partners);
  compare("--all-nics", plan.all_nics, earlier.all_nics, usual.all_nics);
  if (other.empty()) return {};
  return fail(ErrorCode::kInvalidInput,
              join(other, ", ") + ": the result to be resumed was measured otherwise",
              "leave it away, or begin a new mesh");
}

std::string own_path() {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return self.empty() ? std::string("angio") : self.string();
}

}  // namespace

void add_show_options(CommandLine& command, MeshShowOptions& options) {
  command.option("--format", options.format, "How to show it").one_of({"terminal", "json", "html", "svg"});
  command
      .option("--snapshots", options.snapshots,
              "Snapshots of the hosts: rates, PCIe links and MTUs of their NICs")
      .type_name("SNAP")
      .expected(1, 65536)
      .take_all();
  command.flag("--undecided", options.undecided, "Also say what could not be judged, and what to collect");
  command.option("--fail-on", options.fail_on, "Exit with 1 when a finding is this severe, or more")
      .one_of({"info", "warning", "critical"});
}

void add_mesh_options(CommandLine& command, MeshOptions& options) {
  command.option("--with", options.with, "What starts the agents; inside an allocation of Slurm: srun")
      .one_of({"srun", "mpirun", "ssh", "local"});
  command.option("--hosts", options.hosts, "n[0-7,9] or a file with a host a line; else the allocation's")
      .type_name("LIST|FILE");
  command.option("--transport", options.transport, "auto: RDMA where it can be tested, and TCP beside it")
      .one_of({"auto", "rdma", "tcp", "both"});
  command
      .option("--device", options.devices,
              "RDMA devices, a rail each: mlx5_0,mlx5_1 or mlx5_0:2; else all active")
      .type_name("LIST")
      .one_value()
      .delimiter(',');
  command
      .option("--interface", options.interfaces,
              "For TCP, a rail each: eth0, 10.1.0.0/16 or 10.1.; else the control's")
      .type_name("LIST")
      .one_value()
      .delimiter(',');
  command.flag("--all-nics", options.all_nics, "Every NIC with every NIC, not only rail with rail");
  command.option("--level", options.level, "Bandwidth, latency or both").one_of({"bw", "lat", "both"});
  command.option("--seconds", options.seconds, "Time for one bandwidth").type_name("S").range(1, 600);
  command.option("--streams", options.streams, "TCP connections of one test").type_name("N").range(1, 64);
  command.option("--size", options.size, "Bytes of one message or write; else 1MiB").type_name("SIZE");
  command.option("--queue-pairs", options.queue_pairs, "Queue pairs of one RDMA test")
      .type_name("N")
      .range(1, 1024);
  command.option("--gid-index", options.gid_index, "GID index on all hosts; else perftest's choice")
      .type_name("N")
      .range(0, 255);
  command.option("--cuda", options.cuda, "Test from and to the memory of this GPU (perftest with CUDA)")
      .type_name("GPU")
      .range(0, 63);
  command.option("--rounds", options.rounds, "Only the first rounds").type_name("N").range(1, 1000000);
  command.option("--sample", options.sample, "About so many partners for each host, near and far")
      .type_name("K")
      .range(3, 65536);
  command.option("--pairs-at-once", options.pairs_at_once, "At most so many pairs at the same time")
      .type_name("N")
      .range(1, 65536);
  command.option("--patience", options.patience, "Seconds beyond a test's own until it has failed")
      .type_name("S")
      .range(1, 600);
  command.option("--start-timeout", options.start_seconds, "Seconds for the agents to come")
      .type_name("S")
      .range(1, 3600);
  command.option("--control", options.control, "Interface or address of this host that the agents connect to")
      .type_name("NAME|ADDRESS");
  command.option("--angio", options.angio, "angio on the hosts; else the path of this one").type_name("PATH");
  command.option("--launcher-option", options.launcher_options, "Handed on to the launcher; repeatable")
      .type_name("WORD")
      .one_value();
  command.option("--out", options.out, "Keep the result here as JSON, after every round").type_name("FILE");
  command.option("--resume", options.resume, "Go on with this result: only what is missing")
      .type_name("FILE");
  command.flag("--retry-failed", options.retry_failed, "With --resume: also what failed");
  command.flag("--dry-run", options.dry_run,
               "Only say how the agents would be started, and what would be tested");
  add_show_options(command, options);
}

Result<std::vector<model::MeshHost>> known_hosts(const std::vector<std::string>& snapshots) {
  std::vector<model::MeshHost> hosts;
  for (const std::string& path : snapshots) {
    const auto machine = load_machine(path);
    if (!machine) return std::unexpected(machine.error());
    model::MeshHost host = mesh::nics_of(*machine);
    host.name = machine->name;
    host.facts =
        "snapshot " + printable(path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

Result<mesh::MeshRequest> mesh_request(const MeshOptions& options, model::MeshResult earlier) {
  mesh::MeshRequest request;
  request.earlier = std::move(earlier);
  request.environment = host::read_environment();
  if (options.retry_failed && options.resume.empty())
    return fail(ErrorCode::kInvalidInput, "--retry-failed is for --resume FILE");
  const auto launcher = launcher_of(options, request.environment);
  if (!launcher) return std::unexpected(launcher.error());
  request.launch.launcher = *launcher;
  auto hosts = hosts_of(options, request.earlier, request.environment);
  if (!hosts) return std::unexpected(std::move(hosts.error()));
  request.hosts = std::move(*hosts);
  if (auto checked = check_hosts(request.hosts); !checked) return std::unexpected(std::move(checked.error()));
  if (auto plan = take_plan(options, request); !plan) return std::unexpected(std::move(plan.error()));
  if (!request.earlier.hosts.empty()) {
    if (auto same = check_same_plan(request.plan, request.earlier.plan); !same)
      return std::unexpected(std::move(same.error()));
  }
  auto control = control_of(options, *launcher, request.hosts);
  if (!control) return std::unexpected(std::move(control.error()));
  request.control = std::move(*control);
  auto known = known_hosts(options.snapshots);
  if (!known) return std::unexpected(std::move(known.error()));
  request.known = std::move(*known);
  if (*launcher == mesh::Launcher::kMpirun) {
    const auto kind = mpi_kind();
    if (!kind) return std::unexpected(kind.error());
    request.launch.mpi = *kind;
  }
  request.launch.angio = options.angio.empty() ? own_path() : options.angio;
  request.launch.launcher_options = options.launcher_options;
  request.nics.devices = options.devices;
  request.nics.interfaces = options.interfaces;
  request.pairs_at_once = options.pairs_at_once;
  request.patience = options.patience;
  request.start_seconds = options.start_seconds;
  request.retry_failed = options.retry_failed;
  request.tool = "angio " ANGIO_VERSION;
  return request;
}

}  // namespace angio::app
