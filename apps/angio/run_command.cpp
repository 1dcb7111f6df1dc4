#include "run_command.hpp"

#include <memory>
#include <string>
#include <vector>

#include "options.hpp"
#include "run_launcher.hpp"
#include "run_options.hpp"
#include "run_wrapper.hpp"

namespace angio::app {
namespace {

constexpr const char* kFooter =
    "COMMAND and its words come last; what follows the first word that is no option\n"
    "of angio run, or --, belongs to it. Inside torchrun, srun, mpirun ... the local\n"
    "rank comes from their variables; with --ranks or --with, angio is the launcher.";

struct AllOptions : RunOptions {
  LauncherOptions launcher;
};

int start(const AllOptions& options) {
  if (options.command == nullptr || *options.command == nullptr) {
    (void)report_error(
        {ErrorCode::kInvalidInput, "no command to run", "angio run [OPTIONS] [--] COMMAND ..."});
    return kUsage;
  }
  if (wants_launcher(options, options.launcher)) return run_launched(options, options.launcher);
  return run_wrapped(options);
}

void add_rank_options(CommandLine& command, RunOptions& options) {
  command.option("--rank", options.rank, "Bind as this local rank, whatever variables tell")
      .type_name("N")
      .range(0, 65535);
  command
      .option("--ranks,--ranks-per-node", options.ranks,
              "Start so many ranks on this machine; with --rank:\n"
              "how many there are")
      .type_name("N")
      .range(1, 65536);
  command
      .option("--devices", options.devices,
              "GPUs that a rank sees: all (the program chooses by\n"
              "its local rank), or its own only")
      .type_name("all|own")
      .one_of({"all", "own"});
  command.flag("--nics", options.adapters, "Set NCCL_IB_HCA to the adapters nearest to it");
  command.flag("--rendezvous", options.rendezvous,
               "Below srun or mpirun: set RANK, WORLD_SIZE, LOCAL_RANK,\n"
               "MASTER_ADDR ... where unset, as torchrun would");
}

CommandLine add_run(CommandLine& app, const std::shared_ptr<AllOptions>& options, int& exit_code) {
  CommandLine command = app.subcommand("run", "Start a command with CPUs and memory next to its GPU");
  add_rank_options(command, *options);
  add_placement_options(command, options->placement);
  command.flag("--strict", options->strict, "Exit with 3 when it cannot be bound as planned");
  command.flag("--verify", options->verify, "Say what the kernel holds before the command begins");
  command.flag("--why", options->why, "Say why the rank is placed so");
  add_launcher_options(command, options->launcher);
  command.flag("--dry-run", options->dry_run, "Show the placement and the command, run nothing");
  command.footer(kFooter);
  command.callback([options, &exit_code] { exit_code = start(*options); });
  return command;
}

// How many of run's words are its own: its options with their values. The rest is the command, whatever it
// looks like.
int own_words(const CommandLine& command, int argc, char** argv) {
  int at = 1;
  while (at < argc) {
    const std::string word = argv[at];
    if (word.size() < 2 || word[0] != '-' || word == "--") return at;
    const std::size_t equals = word.find('=');
    const bool takes_value = command.takes_value(word.substr(0, equals));
    at += takes_value && equals == std::string::npos ? 2 : 1;
  }
  return argc;
}

}  // namespace

void setup_run(CommandLine& app, int& exit_code) {
  add_run(app, std::make_shared<AllOptions>(), exit_code);
}

int run_words(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') {  // no option at all: nothing to set up and to parse
    AllOptions plain;
    plain.command = argv + 1;
    return start(plain);
  }
  Parser parser;
  CommandLine app = parser.top();
  int exit_code = kOk;
  const auto options = std::make_shared<AllOptions>();
  const CommandLine command = add_run(app, options, exit_code);
  const int own = own_words(command, argc, argv);
  const bool marked = own < argc && std::string_view(argv[own]) == "--";
  options->command = argv + own + (marked ? 1 : 0);
  std::vector<char*> words{argv - 1, argv + own};  // from the program's name on
  return parser.run(static_cast<int>(words.size()), words.data(), exit_code);
}

}  // namespace angio::app
