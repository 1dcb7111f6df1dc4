#include <fcntl.h>

#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"
#include "options.hpp"

namespace angio::app {
namespace {

constexpr const char* kVersion = "angio " ANGIO_VERSION;
constexpr const char* kFooter =
    "Exit codes: 0 done, 1 findings at or above --fail-on, 2 wrong usage,\n"
    "3 could not be done, 4 a bug of angio. angio COMMAND --help says more.";

// A file opened later must not become standard output by taking its number. A program that angio becomes
// finds them closed again, as angio did.
void hold_standard_files() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2) close(fd);
}

int usage_error(const std::string& message, const std::string& hint) {
  (void)report_error({ErrorCode::kInvalidInput, message, hint});
  return kUsage;
}

const Command* find_command(std::string_view word) {
  for (const Command& command : commands()) {
    if (word == command.name) return &command;
  }
  return nullptr;
}

// The first word is no option and no command.
int refuse_unknown_command(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Command& command : commands())
    if (command.setup != nullptr) names.emplace_back(command.name);
  const std::optional<std::string> nearest = did_you_mean(word, names);
  return usage_error("\"" + std::string(word) + "\" is no command",
                     nearest ? "did you mean angio " + *nearest + "?" : "angio --help lists them");
}

int run_all(int argc, char** argv) {
  Parser parser("Looks into the arteries of an AI cluster and says what narrows them");
  CommandLine app = parser.top();
  app.version_flag("--version", kVersion);
  int exit_code = kOk;
  for (const Command& command : commands())
    if (command.setup != nullptr) command.setup(app, exit_code);
  app.footer(kFooter);  // after the commands, which would inherit it
  if (argc >= 2 && std::string_view(argv[1]) != "help") return parser.run(argc, argv, exit_code);
  const int shown = print(app.help());
  return argc < 2 ? kUsage : shown;
}

// Only the command that is asked for is set up: options cost time, and launchers start angio for every rank.
int run_one(const Command& command, int argc, char** argv) {
  if (command.run_words != nullptr) return command.run_words(argc - 1, argv + 1);
  Parser parser;
  CommandLine app = parser.top();
  int exit_code = kOk;
  command.setup(app, exit_code);
  return parser.run(argc, argv, exit_code);
}

int run(int argc, char** argv) {
  const std::string_view word = argc < 2 ? "" : argv[1];
  if (argc == 2 && (word == "version" || word == "--version")) return print(kVersion + std::string("\n"));
  const Command* command = find_command(word);
  if (command == nullptr || command->run_words == nullptr)
    (void)std::signal(SIGPIPE, SIG_IGN);  // writes answer EPIPE instead
  if (command != nullptr) return run_one(*command, argc, argv);
  const bool is_command_like = !word.empty() && word[0] != '-' && !(argc == 2 && word == "help");
  return is_command_like ? refuse_unknown_command(word) : run_all(argc, argv);
}

}  // namespace

}  // namespace angio::app

int main(int argc, char** argv) {
  using namespace angio;
  app::hold_standard_files();
  try {
    return app::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return app::report_error({ErrorCode::kIo, "out of memory", {}});
  } catch (const std::exception& error) {
    return app::report_error({ErrorCode::kBug, std::string("internal error: ") + error.what(),
                              "please report it with the command line"});
  } catch (...) {
    return app::report_error(
        {ErrorCode::kBug, "internal error of unknown kind", "please report it with the command line"});
  }
}
