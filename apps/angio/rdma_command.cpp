#include "rdma_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"
#include "duration_option.hpp"
#include "fail_on.hpp"
#include "knowledge/knowledge.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "rdma/bandwidth.hpp"
#include "rdma/judge.hpp"
#include "rdma/metrics.hpp"
#include "rdma/rates.hpp"
#include "rdma_sources.hpp"
#include "rdma_watch.hpp"
#include "views/rdma_view.hpp"

namespace angio::app {
namespace {

constexpr double kDefaultSeconds = 5;
constexpr double kLeastEvery = 0.1;  // drivers cache hw_counters for some 10 ms

struct Options {
  std::vector<std::string> words;  // two files, or a command
  bool during = false;
  std::optional<std::string> time;
  std::optional<std::string> every;
  std::vector<std::string> devices;
  std::optional<std::string> expect;
  std::optional<std::string> measured;
  std::string format = "text";
  std::string fail_on;
  std::string save;
  std::optional<std::string> out;
};

struct Settled {
  std::optional<double> seconds;
  double every = 1;
  probe::WantedPort wanted_port;
  rdma::Wanted wanted;
};

int usage(const std::string& message, const std::string& hint) {
  (void)report_error({ErrorCode::kInvalidInput, message, hint});
  return kUsage;
}

// What cannot be together; empty: nothing.
Error misuse(const Options& options) {
  const auto wrong = [](const char* message, const char* hint) {
    return Error{ErrorCode::kInvalidInput, message, hint};
  };
  if (options.during) {
    if (options.words.empty())
      return wrong("--during needs a command", "angio rdma --during -- COMMAND ARGUMENT…");
    if (options.time) return wrong("--during lasts as long as the command: --for has no place beside it", "");
    return wrong("", "");
  }
  if (options.words.size() == 1)
    return wrong(
        "one state has no rates: two are needed",
        "angio rdma BEFORE.snap AFTER.snap; one alone is judged by angio doctor. A command stands behind "
        "--during --");
  if (options.words.size() > 2)
    return wrong("two states are compared, more were given", "A command stands behind --during --");
  if (!options.words.empty() && options.every) return wrong("--every has no place beside two files", "");
  return wrong("", "");
}

Result<Settled> settle(const Options& options) {
  Settled settled;
  if (options.time) {
    auto seconds = parse_duration(*options.time, "--for");
    if (!seconds) return std::unexpected(std::move(seconds.error()));
    settled.seconds = *seconds;
  }
  if (options.every) {
    auto every = parse_duration(*options.every, "--every");
    if (!every) return std::unexpected(std::move(every.error()));
    if (*every < kLeastEvery)
      return fail(ErrorCode::kInvalidInput,
                  "--every: at least 100ms; drivers themselves look at the adapter less often");
    settled.every = *every;
  }
  auto wanted = parse_devices(options.devices);
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  settled.wanted_port = std::move(*wanted);
  for (const auto& [text, value] : {std::pair{&options.expect, &settled.wanted.expected},
                                    std::pair{&options.measured, &settled.wanted.measured}}) {
    if (!*text) continue;
    auto rate = rdma::parse_bandwidth(**text);
    if (!rate) return std::unexpected(std::move(rate.error()));
    *value = *rate;
  }
  return settled;
}

class Rdma {
 public:
  Rdma(const Options& options, Settled settled) : options_(options), settled_(std::move(settled)) {}

  int run() {
    if (!options_.during && options_.words.size() == 2) return compare_files();
    auto root = open_counters_root();
    if (!root) return report_error(root.error());
    // A mistake is told before anything is waited for or started.
    const model::RdmaReading first = read_this_host(**root, {});
    if (const int wrong = check(first); wrong != kOk) return wrong;
    const TakeReading take = [&] { return read_this_host(**root, settled_.wanted_port); };
    if (!options_.during && first.ports.empty()) return show_none(first);
    if (!options_.during) {
      Watched watched = watch_for(take, settled_.seconds.value_or(kDefaultSeconds), settled_.every);
      return show(std::move(watched));
    }
    auto watched = watch_during(take, options_.words, settled_.every);
    if (!watched) {
      constexpr int kNoSuchProgram = 127;  // as a shell says it
      constexpr int kNotExecutable = 126;
      (void)report_error(watched.error());
      return watched.error().code == ErrorCode::kNotFound ? kNoSuchProgram : kNotExecutable;
    }
    return show(std::move(*watched));
  }

 private:
  int check(const model::RdmaReading& reading) {
    if (auto known = check_devices(options_.devices, reading); !known) return report_error(known.error());
    const model::RdmaPortReading* fastest = nullptr;
    for (const model::RdmaPortReading& port : reading.ports) {
      if (!port.rate || port.state != "ACTIVE") continue;  // what a port that is down states is no rate
      if (settled_.wanted_port && !settled_.wanted_port(port.device, port.port)) continue;
      if (fastest == nullptr || *fastest->rate < *port.rate) fastest = &port;
      if (const int wrong = options_.devices.empty() ? kOk : check_rate(port); wrong != kOk) return wrong;
    }
    // Of several ports one may be a slow one: where none is named, the fastest must be able to.
    return fastest == nullptr ? kOk : check_rate(*fastest);
  }

  int check_rate(const model::RdmaPortReading& port) {
    const std::string name = port.device + " port " + std::to_string(port.port);
    const auto plausible = rdma::check_plausible(printable(name), *port.rate, settled_.wanted);
    if (plausible) return kOk;
    (void)report_error(plausible.error());
    return kUsage;
  }

  int show_none(const model::RdmaReading& reading) {
    const std::vector<model::RdmaReading> readings{reading, reading};
    return finish(rdma::make_rates(readings), nullptr, Watched{});
  }

  int compare_files() {
    std::vector<model::RdmaReading> readings;
    std::optional<model::Machine> machine;
    for (const std::string& path : options_.words) {
      auto captured = read_captured(path);
      if (!captured) return report_error(captured.error());
      if (const int wrong = check(captured->reading); wrong != kOk) return wrong;
      if (settled_.wanted_port)
        std::erase_if(captured->reading.ports, [&](const model::RdmaPortReading& port) {
          return !settled_.wanted_port(port.device, port.port);
        });
      readings.push_back(std::move(captured->reading));
      machine = std::move(captured->machine);
    }
    if (auto two = rdma::check_states(readings.front(), readings.back()); !two) {
      (void)report_error(two.error());
      return kUsage;
    }
    return finish(rdma::make_rates(readings, settled_.seconds), &*machine, Watched{});
  }

  int show(Watched watched) {
    const model::RdmaRates rates = rdma::make_rates(watched.readings);
    return finish(rates, nullptr, watched);
  }

  // Ports whose steps are worth a look: those named, those below what is expected, else the slowest busy one.
  std::vector<const model::RdmaPortRates*> followed(const model::RdmaRates& rates) const {
    std::vector<const model::RdmaPortRates*> ports;
    const bool named = !options_.devices.empty();
    for (const model::RdmaPortRates& port : rates.ports) {
      if (!port.absent.empty()) continue;
      const bool busy = !port.idle && rdma::share_of_rate(port) && rdma::is_active(port);
      const double rate = busy ? std::max(port.traffic->sent.value, port.traffic->received.value) : 0;
      const bool below = busy && settled_.wanted.expected && rate < settled_.wanted.expected->value;
      if (named || below) ports.push_back(&port);
    }
    if (!ports.empty() || settled_.wanted.expected) return ports;
    const model::RdmaPortRates* slowest = rdma::slowest_busy(rates);
    if (slowest == nullptr) return ports;
    const double share = rdma::share_of_rate(*slowest).value_or(1);
    if (settled_.wanted.measured || share < knowledge::threshold("rdma.rate.full-share"))
      ports.push_back(slowest);
    return ports;
  }

  // Results of some ports are not to be held against results of all.
  std::string subject_of(const model::RdmaRates& rates) const {
    std::vector<std::string> names{rates.host.empty() ? std::string("this host") : rates.host};
    if (!options_.devices.empty())
      for (const model::RdmaPortRates& port : rates.ports)
        names.push_back(rdma::label(port));
    return join(names, " ");
  }

  // machine: where the steps look; null: this host is probed if there is anything to follow.
  int finish(const model::RdmaRates& rates, const model::Machine* machine, const Watched& watched) {
    model::Diagnosis diagnosis = rdma::judge(rates);
    views::RdmaReport report;
    report.rates = rates;
    report.captured = rates.to;
    report.subject = subject_of(rates);
    if (options_.during) {
      report.command = join(options_.words, " ");
      report.end = watched.end;
    }
    report.may_follow = !rates.ports.empty();
    const auto ports = followed(rates);
    std::optional<model::Machine> here;
    if (!ports.empty() && machine == nullptr) {
      auto loaded = load_machine("");
      if (!loaded) return report_error(loaded.error());
      here = std::move(*loaded);
      machine = &*here;
    }
    for (const model::RdmaPortRates* port : ports)
      report.paths.push_back(rdma::follow_bandwidth(*machine, rates, *port, diagnosis, settled_.wanted));
    report.metrics = rdma::metrics_of(rates, options_.during);
    views::add_node(report.judged, {rates.host, rates.origin, "", {}, rates.to}, std::move(diagnosis));
    report.judged.tool = "angio " ANGIO_VERSION;
    report.judged.show_undecided = true;
    return put(report, watched);
  }

  int put(const views::RdmaReport& report, const Watched& watched) {
    const std::string json = to_text(views::rdma_json(report)) + "\n";
    if (!options_.save.empty()) {
      if (auto saved = write_output(options_.save, json); !saved) return report_error(saved.error());
    }
    if (const int failed = write(options_.format == "json" ? json : rendered(report)); failed != kOk)
      return failed;
    if (watched.exit_code != 0) return watched.exit_code;
    return fails(report.judged.findings, options_.fail_on) ? kFindings : kOk;
  }

  std::string rendered(const views::RdmaReport& report) const {
    report::Document document = views::rdma_document(report);
    if (options_.format == "html") {
      document.title =
          "RDMA ports" + (report.rates.host.empty() ? "" : " of " + printable(report.rates.host));
      return report::render_html(document);
    }
    report::TerminalStyle style = terminal_style();
    if (options_.during && !options_.out) style.colour = false;
    if (options_.out && *options_.out != "-") style = {};
    return report::render_terminal(document, style);
  }

  // Standard output is the command's own: beside it the report goes to standard error.
  int write(const std::string& text) const {
    if (options_.out && *options_.out != "-") {
      auto done = write_output(*options_.out, text);
      return done ? kOk : report_error(done.error());
    }
    if (!options_.during || options_.out) return print(text);
    (void)write_all(STDERR_FILENO, text);
    return kOk;
  }

  const Options& options_;
  Settled settled_;
};

int run(const Options& options) {
  if (const Error wrong = misuse(options); !wrong.message.empty()) return usage(wrong.message, wrong.hint);
  auto settled = settle(options);
  if (!settled) return usage(settled.error().message, settled.error().hint);
  for (const std::string& path : {options.save, options.out.value_or("-")}) {
    if (path.empty()) continue;
    if (auto usable = check_output(path); !usable) return report_error(usable.error());
  }
  return Rdma(options, std::move(*settled)).run();
}

}  // namespace

void setup_rdma(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("rdma", "Watch the counters of RDMA ports and say what their growth means");
  const auto options = std::make_shared<Options>();
  command.option("words", options->words, "Two states of one host; with --during, a command")
      .type_name("BEFORE AFTER | -- COMMAND…");
  command.option("--for", options->time, "How long to watch this host (5s)").type_name("TIME");
  command.flag("--during", options->during, "Watch while a command runs");
  command.option("--every", options->every, "Read again so often (1s)").type_name("TIME");
  command
      .option("--device", options->devices,
              "Only this port; shows the steps from a low bandwidth to its cause")
      .type_name("DEV[:PORT]")
      .delimiter(',')
      .one_value();
  command.option("--expect", options->expect, "Bandwidth that should be there: 380Gb/s, 47.5GB/s")
      .type_name("RATE");
  command.option("--measured", options->measured, "Bandwidth that another tool measured").type_name("RATE");
  command.option("--format", options->format, "How to show it").one_of({"text", "json", "html"});
  command.option("--fail-on", options->fail_on, "Exit with 1 on findings of this severity or a higher one")
      .one_of({"info", "warning", "critical"});
  command.option("--save", options->save, "Write the JSON there as well, for angio history")
      .type_name("FILE");
  command.option("--out", options->out, "Write the report there").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace angio::app
