#include "tune_runs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "bench/child.hpp"
#include "bench/interrupts.hpp"
#include "experiment/tune_ledger.hpp"
#include "host/clock.hpp"
#include "host/discreet.hpp"
#include "host/system_roots.hpp"
#include "launch/supervisor_children.hpp"

namespace angio::app {
namespace {

using experiment::MeasureWish;
using experiment::RunResult;

constexpr std::size_t kLines = 5;
constexpr std::size_t kMostOfLine = 400;

// The program that runs now, by a name that stays valid; argv[0] may be anything.
std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "angio" : path.string();
}

std::vector<std::string> environment_of(const experiment::Start& start) {
  std::vector<std::string> variables = host::read_environment();
  for (const auto& [name, value] : start.environment) {
    const std::string prefix = name + "=";
    std::erase_if(variables, [&](const std::string& each) { return each.starts_with(prefix); });
    if (value) variables.push_back(prefix + *value);
  }
  return variables;
}

// Standard error, or standard output where that is empty. A value behind a name that speaks of a secret goes.
std::string last_lines(const bench::ChildOutcome& child) {
  const std::string& text = trim(child.errors).empty() ? child.output : child.errors;
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    if (!trim(line).empty()) lines.push_back(printable(line.substr(0, kMostOfLine)));
  }
  if (lines.size() > kLines) lines.erase(lines.begin(), lines.end() - kLines);
  return host::shareable_value(host::shareable_artefact(join(lines, "\n")));
}

class Gauge {
 public:
  static Result<Gauge> make(const MeasureWish& wish) {
    auto metric = experiment::Metric::make(wish.metric);
    if (!metric) return std::unexpected(std::move(metric.error()));
    return Gauge(wish, std::move(*metric));
  }
  [[nodiscard]] Result<double> read(const bench::ChildOutcome& child) const {
    if (wish_->figure) return experiment::read_figure(*wish_->figure, child.output);
    return metric_.read(child.seconds, child.output);
  }

 private:
  Gauge(const MeasureWish& wish, experiment::Metric metric) : wish_(&wish), metric_(std::move(metric)) {}
  const MeasureWish* wish_;
  experiment::Metric metric_;
};

// Why the child's figure does not count; empty: it does.
std::string failure_of(const bench::ChildOutcome& child, double limit) {
  if (child.timed_out) return fmt::format("no end within {:.4g} s", limit);
  if (child.signal != 0) return fmt::format("ended by signal {}", child.signal);
  if (child.exit_code != 0) return fmt::format("exit code {}", child.exit_code);
  return "";
}

std::string error_words(const Error& error) {
  return error.hint.empty() ? error.message : error.message + "; " + error.hint;
}

// What a run leaves behind when it is ended or fails: ranks in groups of their own and their children would
// take part in every run after it. What a good run leaves may be meant, and stays.
class Leftovers {
 public:
  Leftovers() { (void)launch::adopt_orphans(); }

  void keep() {
    for (const int pid : adopted_.living(kept_))
      kept_.insert(pid);
  }

  // Children of those that are killed come to us in turn.
  void kill_all() const {
    using namespace std::chrono_literals;
    constexpr auto kPatience = 5s;  // one that waits for a dead disk cannot be killed
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (auto left = adopted_.living(kept_); !left.empty(); left = adopted_.living(kept_)) {
      for (const int pid : left)
        (void)::kill(pid, SIGKILL);
      if (std::chrono::steady_clock::now() > until) return;
      std::this_thread::sleep_for(5ms);
    }
  }

 private:
  launch::Adopted adopted_;
  std::set<int> kept_;
};

class Runs {
 public:
  Runs(const experiment::TuneSpec& spec, Gauge figure, std::vector<Gauge> watches)
      : spec_(spec), figure_(std::move(figure)), watches_(std::move(watches)), program_(own_program()) {}

  // None: a signal ended it.
  std::optional<RunResult> one(const experiment::ArmSetting& arm, const bench::Interrupts& interrupts) {
    const experiment::Start start = experiment::build_start(spec_, arm, program_);
    const double limit = limit_now();
    auto child = bench::run_child({start.command, environment_of(start), limit}, interrupts);
    RunResult result;
    if (!child) {
      constexpr int kNotFound = 127;  // as a shell says it
      result.exit_code = kNotFound;
      result.failure = child.error().message;
      return result;
    }
    const bool stopped = child->interrupted || interrupts.pending() != 0;
    if (stopped || child->timed_out || child->exit_code != 0) {
      leftovers_.kill_all();
    } else {
      leftovers_.keep();
    }
    if (stopped) return std::nullopt;
    result.seconds = child->seconds;
    result.exit_code = child->exit_code;
    result.failure = failure_of(*child, limit);
    if (result.failure.empty()) measure(*child, result);
    if (!result.failure.empty()) result.last_lines = last_lines(*child);
    if (result.value) longest_ = std::max(longest_, result.seconds);
    return result;
  }
  void had(double seconds) { longest_ = std::max(longest_, seconds); }

 private:
  void measure(const bench::ChildOutcome& child, RunResult& result) const {
    const auto value = figure_.read(child);
    if (!value) {
      result.failure = error_words(value.error());
      return;
    }
    result.value = *value;
    for (const Gauge& watch : watches_) {
      const auto seen = watch.read(child);
      result.watches.push_back(seen ? std::optional<double>(*seen) : std::nullopt);
    }
  }

  // A run that hangs must not hold up the night: ten times the longest that ended well, and a minute.
  [[nodiscard]] double limit_now() const {
    constexpr double kTimes = 10;
    constexpr double kMore = 60;
    constexpr double kFirst = 24 * 3600.0;
    if (spec_.run_limit_seconds) return *spec_.run_limit_seconds;
    return longest_ > 0 ? kTimes * longest_ + kMore : kFirst;
  }

  const experiment::TuneSpec& spec_;
  Gauge figure_;
  std::vector<Gauge> watches_;
  std::string program_;
  Leftovers leftovers_;
  double longest_ = 0;
};

Result<Runs> make_runs(const experiment::TuneSpec& spec) {
  auto figure = Gauge::make(spec.measure);
  if (!figure) return std::unexpected(std::move(figure.error()));
  std::vector<Gauge> watches;
  for (const MeasureWish& wish : spec.watched) {
    auto watch = Gauge::make(wish);
    if (!watch) return std::unexpected(std::move(watch.error()));
    watches.push_back(std::move(*watch));
  }
  return Runs(spec, std::move(*figure), std::move(watches));
}

class Progress {
 public:
  void show(const std::string& text) const {
    const std::string line = "\r\033[K" + text;
    if (shown_ && ::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
  }

 private:
  bool shown_ = isatty(STDERR_FILENO) != 0;
};

}  // namespace

Result<int> run_campaign(const experiment::TuneSpec& spec, const std::vector<experiment::ArmSetting>& arms,
                         experiment::Campaign& campaign, LedgerFile& ledger) {
  auto runs = make_runs(spec);
  if (!runs) return std::unexpected(std::move(runs.error()));
  for (const experiment::TuneRun& run : campaign.runs()) {
    if (run.result.value) runs->had(run.result.seconds);
  }
  const bench::Interrupts interrupts;
  const Progress progress;
  while (const auto plan = campaign.next()) {
    if (interrupts.pending() != 0) break;
    progress.show(fmt::format("angio: run {} of at most {}, block {} ({})", plan->number, spec.wish.most_runs,
                              plan->block, printable(arms[plan->arm].name)));
    const std::string started = host::utc_text(std::chrono::system_clock::now());
    auto result = runs->one(arms[plan->arm], interrupts);
    if (!result) break;
    const experiment::LedgerRun entry{{*plan, *result}, arms[plan->arm].name, started};
    if (auto kept = ledger.append(experiment::run_line(entry)); !kept) {
      progress.show("");
      return std::unexpected(std::move(kept.error()));
    }
    campaign.add(std::move(*result));
  }
  progress.show("");
  return interrupts.pending();
}

}  // namespace angio::app
