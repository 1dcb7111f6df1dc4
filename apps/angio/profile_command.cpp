#include "profile_command.hpp"

#include <poll.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "options.hpp"
#include "profile_files.hpp"
#include "views/profile_view.hpp"

namespace angio::app {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string format = "terminal";
  std::string out;
  double live = 2;
  std::optional<Option> live_option;
  std::string clean_directory;
};

// Ctrl-C and SIGTERM wait until it is asked for them.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  [[nodiscard]] bool wait(double seconds) const {
    const double whole = std::floor(seconds);
    const timespec time{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
    int signal = -1;
    do {
      signal = sigtimedwait(&set_, nullptr, &time);
    } while (signal < 0 && errno == EINTR);
    return signal > 0;
  }

 private:
  sigset_t set_{};
};

bool reader_is_gone() {
  pollfd out{STDOUT_FILENO, 0, 0};
  return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

std::string render(const Options& options, const views::ProfileReport& report, bool live) {
  if (options.format == "json") return to_text(views::profile_json(report), live ? -1 : 2) + "\n";
  const report::Document document = views::profile_document(report);
  if (options.format == "html") return report::render_html(document);
  return report::render_terminal(document, terminal_style());
}

int look(const Options& options, bool live) {
  const auto paths = find_profile_files(options.paths);
  if (!paths) return report_error(paths.error());
  std::vector<std::string> problems;
  const auto inputs = read_profile_files(*paths, problems);
  if (!inputs) return report_error(inputs.error());
  for (const std::string& problem : problems)
    say("angio: left out: " + problem);
  const profile::Profile profile = profile::make_profile(*inputs);
  const views::ProfileReport report{&*inputs, &profile};
  if (!options.out.empty()) {
    if (auto done = write_output(options.out, views::profile_trace(report)); !done)
      return report_error(done.error());
    if (options.out == "-") return kOk;
  }
  const bool screen = live && options.format == "terminal" && isatty(STDOUT_FILENO) != 0;
  return print((screen ? "\033[H\033[J" : "") + render(options, report, live) +
               (live && !screen && options.format == "terminal" ? "\n" : ""));
}

int run(const Options& options) {
  if (!options.live_option->given()) return look(options, false);
  const StopSignals stop;
  int done = look(options, true);
  while (done == kOk && !reader_is_gone() && !stop.wait(options.live))
    done = look(options, true);
  return done;
}

int clean(const Options& options) {
  const std::string directory =
      options.clean_directory.empty() ? default_profile_directory() : options.clean_directory;
  const auto cleaned = clean_profile_files(directory);
  if (!cleaned && cleaned.error().code == ErrorCode::kNotFound && options.clean_directory.empty())
    return print(printable(directory) + " is not there: nothing to remove\n");
  if (!cleaned) return report_error(cleaned.error());
  std::string text = printable(directory) + ": removed " + count_of(cleaned->removed, "file") + ", " +
                     in_words(Bytes{cleaned->bytes});
  if (cleaned->running > 0) text += "; kept " + std::to_string(cleaned->running) + " of running processes";
  if (cleaned->unknown > 0)
    text += "; kept " + std::to_string(cleaned->unknown) +
            " of which it is not known (another host, container or user, or no ring file)";
  return print(text + "\n");
}

}  // namespace

void setup_profile(CommandLine& app, int& exit_code) {
  constexpr double kShortest = 0.1;
  constexpr double kLongest = 86400;
  CommandLine command =
      app.subcommand("profile", "Say who comes last and which connection is slow, from NCCL's own events");
  const auto options = std::make_shared<Options>();
  command.option("path", options->paths, "Ring files or folders of them; none: those of this user")
      .type_name("PATH");
  command.option("--format", options->format, "How to show it").one_of({"terminal", "json", "html"});
  command.option("--out", options->out, "Also write every event here, for chrome://tracing and Perfetto")
      .type_name("FILE");
  options->live_option = command.option("--live", options->live, "Look again every SECONDS (2)")
                             .type_name("[SECONDS]")
                             .expected(0, 1)
                             .range(kShortest, kLongest)
                             .default_value("2");
  CommandLine cleaner = command.subcommand("clean", "Remove the files of ended processes of this user");
  cleaner.option("directory", options->clean_directory, "Folder; none: that of this user").type_name("DIR");
  cleaner.callback([options, &exit_code] { exit_code = clean(*options); });
  command.callback([options, cleaner, &exit_code] {
    if (!cleaner.chosen()) exit_code = run(*options);
  });
}

}  // namespace angio::app
