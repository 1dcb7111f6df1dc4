#include "run_launcher.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "command.hpp"
#include "host/system_roots.hpp"
#include "launch/exec.hpp"
#include "launch/rank.hpp"
#include "launch/remote.hpp"
#include "launch/rendezvous.hpp"
#include "launch/supervisor.hpp"
#include "options.hpp"
#include "place/own_place.hpp"
#include "run_binding.hpp"
#include "views/placement_view.hpp"

namespace angio::app {
namespace {

using Environment = std::vector<std::string>;

struct Job : RunOptions, LauncherOptions {};

// ---------------------------------------------------------------- one node

struct Group {
  model::Machine machine;
  model::Placement placement;
  std::vector<launch::RankCommand> commands;
};

Result<launch::Rendezvous> settle(const Job& options) {
  std::optional<launch::Rendezvous> wanted;
  if (options.master) {
    auto parsed = launch::parse_master(*options.master);
    if (!parsed) return parsed;
    wanted = *std::move(parsed);
  }
  auto root = host::open_directory_root("/");
  if (!root) return std::unexpected(std::move(root).error());
  return launch::settle_master(wanted, {options.nodes.value_or(1), options.node_rank.value_or(0) == 0},
                               **root);
}

// The launch goes on unbound when no place can be found, as in the wrapper form.
Result<Group> place_group(const Job& options, const Environment& environment) {
  plan::PlanRequest request = place::live_request(to_request(options.placement), environment);
  request.ranks = options.ranks;
  auto machine = place::look_at_machine(request, options.adapters);
  if (!machine) return std::unexpected(std::move(machine).error());
  auto placement = plan::make_placement(*machine, request);
  if (placement) return Group{*std::move(machine), *std::move(placement), {}};
  if (insists(options) || options.dry_run) return std::unexpected(std::move(placement).error());
  say("angio: not bound: " + placement.error().message);
  Group unbound{*std::move(machine), {}, {}};
  for (std::uint32_t rank = 0; rank < *options.ranks; ++rank)
    unbound.placement.ranks.emplace_back().local_rank = rank;
  return unbound;
}

launch::RankNumbers numbers_of(const Job& options, std::uint32_t local_rank) {
  const std::uint32_t ranks = options.ranks.value_or(1);
  const std::uint32_t node = options.node_rank.value_or(0);
  return {node * ranks + local_rank, local_rank, options.nodes.value_or(1) * ranks, ranks, node};
}

Result<void> add_commands(const Job& options, const Environment& environment,
                          const launch::Rendezvous& master, Group& group) {
  for (const model::RankPlacement& rank : group.placement.ranks) {
    auto changes = changes_for(options, group.machine, rank, environment);
    if (!changes) return std::unexpected(std::move(changes).error());
    tell_rank(options, rank, *changes);
    launch::RankCommand command;
    const launch::RankNumbers numbers = numbers_of(options, rank.local_rank);
    command.rank = numbers.rank;
    command.argv = command_words(options);
    command.environment = launch::rendezvous_environment(numbers, master);
    for (const launch::VariableChange& change : *changes) {
      if (!change.kept) command.environment.push_back(change.name + "=" + change.value);
    }
    command.placement = rank;
    group.commands.push_back(std::move(command));
  }
  return {};
}

Result<Group> make_group(const Job& options, const Environment& environment) {
  const auto master = settle(options);
  if (!master) return std::unexpected(master.error());
  auto group = place_group(options, environment);
  if (!group) return group;
  if (options.why) tell_notes(group->placement.notes);
  if (auto added = add_commands(options, environment, *master, *group); !added)
    return std::unexpected(std::move(added).error());
  return group;
}

int show_group(const Job& options, const Group& group) {
  std::string text = report::render_terminal(
      views::placement_document(group.machine, group.placement, options.why), terminal_style());
  for (const launch::RankCommand& command : group.commands) {
    Environment words{"env"};
    words.insert(words.end(), command.environment.begin(), command.environment.end());
    words.insert(words.end(), command.argv.begin(), command.argv.end());
    text += "would run: " + launch::shell_quoted(words) + "\n";
  }
  return print(text);
}

launch::GroupOptions group_options(const Job& options) {
  launch::GroupOptions group;
  if (options.output == "files") group.output = launch::OutputMode::kFiles;
  if (options.output == "raw") group.output = launch::OutputMode::kRaw;
  group.directory = options.output_directory.value_or("");
  group.grace = std::chrono::seconds(options.grace);
  group.notify = [](const std::string& words) { say("angio: " + words); };
  return group;
}

// As a shell would see it had the command been started without angio.
int exit_code_of(const Error& error) {
  if (error.code == ErrorCode::kNotFound) return 127;
  return error.code == ErrorCode::kDenied ? 126 : static_cast<int>(kFailed);
}

// Ctrl-C that ended the ranks ends angio by SIGINT itself, so that a script around it ends as well.
int end_of(const launch::GroupOutcome& outcome) {
  if (outcome.cause == launch::GroupCause::kSignal && outcome.exit_code == 128 + SIGINT) {
    (void)std::signal(SIGINT, SIG_DFL);
    (void)std::raise(SIGINT);
  }
  return outcome.exit_code;
}

// A rank of another launcher that starts a whole group is a mistake nearly always: the ranks would multiply.
// One process on the machine is not: it was started to start the others.
std::optional<Error> check_outside(const Environment& environment) {
  if (!launch::has_local_rank(environment)) return std::nullopt;
  const auto local = launch::find_local_rank({}, environment);
  if (local && local->rank == 0 && local->count == 1U) return std::nullopt;
  const std::string name = local ? local->origin.substr(0, local->origin.find(' ')) : "its rank";
  return Error{ErrorCode::kInvalidInput, "this is a rank of another launcher already: " + name + " is set",
               "leave --ranks away to bind this rank, or unset the variable"};
}

// ------------------------------------------------------------ several nodes

// The options that the ranks' own `angio run` gets.
Environment inner_options(const Job& options) {
  Environment words{"--rendezvous"};
  const auto add = [&words](const char* name, const std::string& value, const char* usual) {
    if (value != usual) words.insert(words.end(), {name, value});
  };
  add("--cpus", options.placement.cpus, "exclusive");
  add("--memory", options.placement.memory, "preferred");
  add("--smt", options.placement.smt, "all");
  add("--system-cores", std::to_string(options.placement.system_cores), "0");
  add("--devices", options.devices, "all");
  for (const auto& [name, is_set] :
       {std::pair{"--nics", options.adapters}, std::pair{"--strict", options.strict},
        std::pair{"--verify", options.verify}, std::pair{"--why", options.why}}) {
    if (is_set) words.emplace_back(name);
  }
  return words;
}

Result<launch::RemoteRequest> remote_request(const Job& options) {
  launch::RemoteRequest request;
  request.nodes = options.nodes.value_or(1);
  request.ranks_per_node = options.ranks.value_or(1);
  request.gpus_per_node = options.gpus_per_node;
  request.launcher_options = options.launcher_options;
  request.label_output = options.output == "prefix";
  // Where this binary is, a shared file system or the same package has it on the other nodes too.
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!self.empty()) request.angio = self.string();
  request.run_options = inner_options(options);
  request.command = command_words(options);
  if (options.master) {
    auto master = launch::parse_master(*options.master);
    if (!master) return std::unexpected(std::move(master).error());
    const launch::MasterUse use{request.nodes, false};
    if (auto usable = launch::check_master_address(master->address, use); !usable)
      return std::unexpected(std::move(usable).error());
    request.master = *std::move(master);
  }
  if (!options.hostfile) return request;
  auto text = read_input(*options.hostfile);
  if (!text) return std::unexpected(std::move(text).error());
  request.hostfile = options.hostfile;
  request.hostfile_text = *std::move(text);
  return request;
}

// What `mpirun --version` prints.
Result<std::string> ask_mpirun() {
  FILE* pipe = popen("mpirun --version 2>&1", "re");  // NOLINT: a fixed line, no user's text in it
  if (pipe == nullptr)
    return fail(ErrorCode::kIo, "mpirun: cannot be asked for its version: " + errno_text(errno));
  std::array<char, 4096> chunk{};
  const std::size_t count = fread(chunk.data(), 1, chunk.size(), pipe);
  constexpr int kNoSuchProgram = 127 << 8;  // as wait(2) gives a shell's exit code
  if (pclose(pipe) == kNoSuchProgram) return fail(ErrorCode::kNotFound, "mpirun: no such program in PATH");
  return std::string(chunk.data(), count);
}

Result<Environment> remote_command(const Job& options, const Environment& environment) {
  const auto launcher = launch::parse_remote_launcher(options.with.value_or(""));
  if (!launcher) return std::unexpected(launcher.error());
  const auto request = remote_request(options);
  if (!request) return std::unexpected(request.error());
  if (*launcher == launch::RemoteLauncher::kSlurm) return launch::slurm_command(*request, environment);
  const auto version = ask_mpirun();
  if (!version) return std::unexpected(version.error());
  const auto kind = launch::recognise_mpirun(*version);
  if (!kind) return std::unexpected(kind.error());
  return launch::mpi_command(*request, *kind, environment);
}

int run_group(const Job& options) {
  const Environment environment = host::read_environment();
  std::optional<PipeSignalIgnored> quiet(std::in_place);
  if (auto wrong = check_outside(environment)) {
    (void)report_error(*wrong);
    return kUsage;
  }
  const auto group = make_group(options, environment);
  if (!group) return report_error(group.error());
  if (options.dry_run) return show_group(options, *group);
  quiet.reset();  // the supervisor keeps its own, and gives its children what was
  const auto outcome =
      launch::supervise(group->commands, group_options(options), [&](const launch::RankCommand& command) {
        return command.placement ? bind_rank(options, group->machine, *command.placement) : Result<void>{};
      });
  quiet.emplace();
  if (!outcome) {
    (void)report_error(outcome.error());
    return exit_code_of(outcome.error());
  }
  if (const std::string words = launch::describe(*outcome); !words.empty()) say("angio: " + words);
  return end_of(*outcome);
}

int run_on_nodes(const Job& options) {
  const Environment environment = host::read_environment();
  std::optional<PipeSignalIgnored> quiet(std::in_place);
  const auto words = remote_command(options, environment);
  if (!words) return report_error(words.error());
  if (options.dry_run) return print("would run: " + launch::shell_quoted(*words) + "\n");
  std::vector<char*> argv;
  for (const std::string& word : *words)
    argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execve does not write to them
  argv.push_back(nullptr);
  quiet.reset();
  const launch::ExecFailure failure = launch::exec_program(argv.data(), environment);
  (void)report_error(failure.error);
  return failure.exit_code;
}

int wrong_usage(const char* message, const char* hint) {
  (void)report_error({ErrorCode::kInvalidInput, message, hint});
  return kUsage;
}

}  // namespace

void add_launcher_options(CommandLine& command, LauncherOptions& options) {
  command.option("--nodes", options.nodes, "Nodes of the job").type_name("N").range(1, 65536);
  command.option("--with", options.with, "Start the ranks of all nodes by srun or mpirun")
      .type_name("slurm|mpi")
      .one_of({"slurm", "mpi"});
  command.option("--node-rank", options.node_rank, "Which of the nodes this is, without --with")
      .type_name("N")
      .range(0, 65535);
  command.option("--master", options.master, "Where the ranks meet; otherwise chosen and checked")
      .type_name("ADDRESS:PORT");
  command.option("--hostfile", options.hostfile, "Hosts for mpirun, one a line").type_name("FILE");
  command.option("--gpus-per-node", options.gpus_per_node, "With --with slurm: GPUs to ask for on each node")
      .type_name("N")
      .range(1, 1024);
  command.option("--launcher-option", options.launcher_options, "Handed to srun or mpirun; may be repeated")
      .type_name("WORD")
      .take_all();
  command
      .option("--output", options.output,
              "Output of the ranks: prefix (\"[3] \" before each\n"
              "line), files, or raw")
      .type_name("MODE")
      .one_of({"prefix", "files", "raw"});
  command.option("--output-dir", options.output_directory, "Where --output files go").type_name("DIR");
  command.option("--grace", options.grace, "Seconds from SIGTERM to SIGKILL at the end of a group")
      .type_name("SECONDS")
      .range(0, 86400);
}

bool wants_launcher(const RunOptions& options, const LauncherOptions& launcher) {
  return launcher.with || launcher.nodes || launcher.node_rank || launcher.master || launcher.hostfile ||
         launcher.output_directory || (options.ranks && !options.rank);
}

int run_launched(const RunOptions& options, const LauncherOptions& launcher) {
  if (options.rank)
    return wrong_usage("--rank binds one rank, the launcher's options start them all", "leave one away");
  if (!options.ranks)
    return wrong_usage("options of the launcher, and no --ranks", "--ranks N says how many ranks a node has");
  const Job job{options, launcher};
  if (launcher.with) return run_on_nodes(job);
  if (launcher.gpus_per_node > 0 || !launcher.launcher_options.empty())
    return wrong_usage("--gpus-per-node and --launcher-option are for srun and mpirun",
                       "--with slurm or mpi");
  if (launcher.hostfile) return wrong_usage("--hostfile is for mpirun", "--with mpi");
  if (launcher.nodes.value_or(1) > 1 && !launcher.node_rank) {
    return wrong_usage("--nodes without --with or --node-rank",
                       "--with slurm or mpi starts all nodes; --node-rank N says which one this is");
  }
  if (launcher.node_rank.value_or(0) >= launcher.nodes.value_or(1))
    return wrong_usage("--node-rank is not below --nodes", "nodes count from 0");
  if (launcher.output == "files" && !launcher.output_directory)
    return wrong_usage("--output files needs a place", "--output-dir DIRECTORY");
  return run_group(job);
}

}  // namespace angio::app
