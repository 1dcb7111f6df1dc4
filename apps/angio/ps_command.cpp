#include "ps_command.hpp"

#include <poll.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"
#include "host/clock.hpp"
#include "host/task_root.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "probe/live_root.hpp"
#include "probe/nvml/gpu_probe.hpp"
#include "probe/process/job_probe.hpp"
#include "probe/sysfs/cpu_probe.hpp"
#include "probe/sysfs/network_probe.hpp"
#include "probe/sysfs/numa_probe.hpp"
#include "probe/sysfs/pci_probe.hpp"
#include "views/process_json.hpp"
#include "views/process_view.hpp"

namespace angio::app {
namespace {

struct Options {
  std::string file;
  std::vector<std::uint32_t> processes;
  std::string user;
  bool all = false;
  bool threads = false;
  std::string format = "terminal";
  double watch = 0;
  std::optional<Option> watch_option;
};

// The system's user database, which may be a directory service: asked once for each user.
class Users {
 public:
  std::string name_of(std::uint32_t number) {
    const auto found = names_.find(number);
    if (found != names_.end()) return found->second;
    std::vector<char> buffer(kBuffer);
    passwd entry{};
    passwd* result = nullptr;
    const bool known =
        getpwuid_r(number, &entry, buffer.data(), buffer.size(), &result) == 0 && result != nullptr;
    return names_[number] = known ? entry.pw_name : "";
  }

  static std::optional<std::uint32_t> number_of(const std::string& name) {
    if (const auto number = parse_integer<std::uint32_t>(name)) return number;
    std::vector<char> buffer(kBuffer);
    passwd entry{};
    passwd* result = nullptr;
    if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &result) != 0 || result == nullptr)
      return std::nullopt;
    return entry.pw_uid;
  }

 private:
  static constexpr std::size_t kBuffer = 16384;
  std::map<std::uint32_t, std::string> names_;
};

// What of the machine does not change while one watches: nodes, devices, adapters.
model::Machine probe_places(const host::Root& root) {
  model::Machine machine;
  machine.live = true;
  machine.origin = "live";
  machine.name = trim(root.read("/proc/sys/kernel/hostname").value_or(""));
  probe::probe_cpus(root, machine);
  probe::probe_numa(root, machine);
  probe::probe_pci(root, machine);
  probe::probe_network(root, machine);
  probe::probe_gpus(root, machine);
  machine.notes.clear();  // those of devices belong to other commands
  return machine;
}

// Ctrl-C and SIGTERM wait until it is asked for them.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // True when one came within the time.
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

// From the top of the screen, over what stood there; what does not fit is counted.
std::string redrawn(const std::string& text) {
  winsize size{};
  const bool sized = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2;
  const std::vector<std::string_view> lines = split_lines(text);
  const std::size_t room = sized ? size.ws_row - 1U : lines.size();
  const std::size_t shown = lines.size() > room ? room - 1 : lines.size();
  std::string screen = "\033[H";
  for (std::size_t i = 0; i < shown; ++i)
    screen.append(lines[i]).append("\033[K\n");
  if (shown < lines.size()) screen += "... " + std::to_string(lines.size() - shown) + " more lines\033[K\n";
  return screen + "\033[J";
}

class Ps {
 public:
  explicit Ps(const Options& options) : options_(options) {}

  int run() {
    if (const Error* wrong = misuse()) {
      report_error(*wrong);
      return kUsage;
    }
    return options_.file.empty() ? live() : snapshot();
  }

 private:
  [[nodiscard]] const Error* misuse() const {
    static const Error kStill{ErrorCode::kInvalidInput,
                              "--watch looks at this machine; a snapshot does not change", ""};
    static const Error kNoUsers{ErrorCode::kInvalidInput, "a snapshot does not say whose its processes are",
                                "choose by --pid"};
    static const Error kTwice{ErrorCode::kInvalidInput, "--pid, --user and --all exclude each other", ""};
    const int chosen =
        (options_.processes.empty() ? 0 : 1) + (options_.user.empty() ? 0 : 1) + (options_.all ? 1 : 0);
    if (chosen > 1) return &kTwice;
    if (options_.file.empty()) return nullptr;
    if (watches()) return &kStill;
    return options_.user.empty() ? nullptr : &kNoUsers;
  }

  [[nodiscard]] bool watches() const { return options_.watch_option->given(); }

  int snapshot() {
    auto machine = load_machine(options_.file);
    if (!machine) return report_error(machine.error());
    if (!options_.processes.empty()) {
      std::erase_if(machine->processes, [&](const model::Process& process) {
        return std::ranges::find(options_.processes, process.id) == options_.processes.end();
      });
    }
    return show(*machine, nullptr);
  }

  int live() {
    auto files = probe::make_live_machine_root();
    if (!files) return report_error(files.error());
    host::MountedRoot root(std::move(*files));
    root.mount("/@tasks", host::make_task_root());
    probe::JobOptions what;
    what.named = options_.processes;
    what.all = options_.all;
    what.workers = std::max(1U, std::thread::hardware_concurrency());
    if (!options_.user.empty()) {
      what.user = Users::number_of(options_.user);
      if (!what.user)
        return report_error(
            {ErrorCode::kNotFound, "no user " + options_.user + " here", "--user takes a name or a number"});
    }
    const model::Machine places = probe_places(root);
    if (!watches()) return look(root, what, places);
    const StopSignals stop;
    int done = look(root, what, places);
    while (done == kOk && !reader_is_gone() && !stop.wait(options_.watch))
      done = look(root, what, places);
    return done;
  }

  int look(const host::Root& root, const probe::JobOptions& what, const model::Machine& places) {
    model::Machine machine = places;
    const model::ProcessSurvey survey = probe::probe_jobs(root, what, machine);
    if (!what.named.empty() && machine.processes.empty() && survey.zombies.empty()) {
      const bool one = what.named.size() == 1;
      return report_error(
          {ErrorCode::kNotFound,
           one ? "no process " + std::to_string(what.named[0]) + " here" : "none of these processes is here",
           "It ended, or runs in another container: look on the host itself"});
    }
    return show(machine, &survey);
  }

  int show(const model::Machine& machine, const model::ProcessSurvey* survey) {
    views::ProcessReport report;
    report.machine = &machine;
    report.survey = survey;
    report.threads = options_.threads;
    report.chosen = !options_.processes.empty() || !options_.user.empty() || options_.all;
    for (const model::Process& process : machine.processes) {
      const std::uint32_t* user = process.user.get();
      if (user == nullptr || report.users.contains(*user)) continue;
      if (std::string name = users_.name_of(*user); !name.empty()) report.users[*user] = std::move(name);
    }
    if (options_.format == "json")
      return print(to_text(views::process_json(report), watches() ? -1 : 2) + "\n");
    const std::string text = report::render_terminal(views::process_document(report), terminal_style());
    if (!watches()) return print(text);
    const std::string when = host::utc_text(host::make_system_clock()->now()) + "\n";
    return print(isatty(STDOUT_FILENO) != 0 ? redrawn(when + text) : when + text + "\n");
  }

  const Options& options_;
  Users users_;
};

}  // namespace

void setup_ps(CommandLine& app, int& exit_code) {
  constexpr double kShortest = 0.1;
  constexpr double kLongest = 86400;
  CommandLine command =
      app.subcommand("ps", "Show which training processes are bound to the node of their GPU");
  const auto options = std::make_shared<Options>();
  command.option("file", options->file, "Snapshot; none: this host").type_name("FILE");
  command.option("--pid", options->processes, "Only this process and its children (repeatable)")
      .type_name("PID")
      .delimiter(',')
      .one_value();
  command.option("--user", options->user, "Only processes of this user, whatever they do").type_name("USER");
  command.flag("--all", options->all, "Every process, not only those of training");
  command.flag("--threads", options->threads, "A line for each thread");
  options->watch_option = command.option("--watch", options->watch, "Look again every SECONDS (2)")
                              .type_name("[SECONDS]")
                              .expected(0, 1)
                              .range(kShortest, kLongest)
                              .default_value("2");
  command.option("--format", options->format, "How to show it").one_of({"terminal", "json"});
  command.callback([options, &exit_code] { exit_code = Ps(*options).run(); });
}

}  // namespace angio::app
