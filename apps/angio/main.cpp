#include <CLI/CLI.hpp>
#include <fcntl.h>

#include <csignal>
#include <new>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"

namespace angio::app {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done, 1 findings at or above --fail-on, 2 wrong usage,\n"
    "3 could not be done, 4 a bug of angio. angio COMMAND --help says more.";

// A file opened later must not become standard output by taking its number.
void hold_standard_files() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2) close(fd);
}

int usage_error(const std::string& message, const std::string& hint) {
  (void)report_error({ErrorCode::kInvalidInput, message, hint});
  return kUsage;
}

// The name of a command that does not exist, if the first word is one.
std::optional<int> refuse_unknown_command(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-' || argv[1][0] == '\0') return std::nullopt;
  const std::string_view word = argv[1];
  std::vector<std::string_view> names;
  for (const Command& command : commands()) {
    if (word == command.name) return std::nullopt;
    names.emplace_back(command.name);
  }
  const std::optional<std::string> nearest = did_you_mean(word, names);
  return usage_error("\"" + std::string(word) + "\" is no command",
                     nearest ? "did you mean angio " + *nearest + "?" : "angio --help lists them");
}

int parse_and_run(CLI::App& app, int argc, char** argv, const int& exit_code) {
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::CallForHelp&) {
    return print(app.help());
  } catch (const CLI::CallForAllHelp&) {
    return print(app.help("", CLI::AppFormatMode::All));
  } catch (const CLI::CallForVersion& version) {
    return print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "angio" : "angio " + chosen.front()->get_name();
    return usage_error(error.what(), command + " --help lists the options");
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Looks into the arteries of an AI cluster and says what narrows them", "angio"};
  app.set_version_flag("--version", "angio " ANGIO_VERSION);
  app.get_formatter()->column_width(24);
  int exit_code = kOk;
  for (const Command& command : commands())
    command.setup(app, exit_code);
  app.footer(kFooter);  // after the commands, which would inherit it
  if (argc == 2 && std::string_view(argv[1]) == "help") return print(app.help());
  if (argc == 2 && std::string_view(argv[1]) == "version") return print("angio " ANGIO_VERSION "\n");
  if (const auto refused = refuse_unknown_command(argc, argv)) return *refused;
  if (argc < 2) {
    (void)print(app.help());
    return kUsage;
  }
  return parse_and_run(app, argc, argv, exit_code);
}

}  // namespace
}  // namespace angio::app

int main(int argc, char** argv) {
  using namespace angio;
  app::hold_standard_files();
  (void)std::signal(SIGPIPE, SIG_IGN);  // writes answer EPIPE instead
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
