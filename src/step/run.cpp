#include "step/run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "host/clock.hpp"
#include "host/descriptor.hpp"
#include "host/root.hpp"
#include "host/system_roots.hpp"
#include "launch/rank.hpp"
#include "launch/rendezvous.hpp"
#include "launch/supervisor.hpp"
#include "launch/supervisor_report.hpp"
#include "step/rank_log.hpp"
#include "step/summary.hpp"
#include "step/torch_program.hpp"
#include "step/worker.hpp"

namespace angio::step {
namespace {

using launch::GroupOutcome;
using launch::RankCommand;
using model::StepRun;

constexpr std::chrono::milliseconds kGrace{3000};  // from SIGTERM to SIGKILL: nothing is worth more
constexpr std::uintmax_t kMostLog = std::uintmax_t{256} << 20U;

// Readable by this user alone; gone with the object.
class PrivateFolder {
 public:
  PrivateFolder() = default;
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Result<void> make() {
    std::error_code error;
    std::string place = std::filesystem::temp_directory_path(error).string();
    if (error) place = "/tmp";
    place += "/angio-step-XXXXXX";
    if (mkdtemp(place.data()) == nullptr)
      return fail(ErrorCode::kIo, fmt::format("cannot make {}: {}", place, errno_text(errno)),
                  "TMPDIR names another place");
    path_ = place;
    return {};
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Under its name only once it is whole: ranks may start before the write has reached a network file system.
Result<void> write_whole(const std::string& path, std::string_view text) {
  const std::string part = path + ".part";
  {
    std::ofstream file(part, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) return fail(ErrorCode::kIo, "cannot write " + part);
  }
  std::error_code error;
  std::filesystem::rename(part, path, error);
  if (error) return fail(ErrorCode::kIo, fmt::format("cannot rename {}: {}", part, error.message()));
  return {};
}

std::string read_text(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kMostLog) return "";
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Run {
 public:
  explicit Run(const RunRequest& request) : request_(request), spec_(request.spec) {}

  Result<RunOutcome> go() {
    if (auto made = folder_.make(); !made) return std::unexpected(std::move(made.error()));
    spec_.folder = folder_.path();
    spec_.shared = request_.starter != Starter::kAround;
    if (auto written = write_program(); !written) return std::unexpected(std::move(written.error()));
    const auto commands = make_commands();
    if (!commands) return std::unexpected(commands.error());
    started_ = host::utc_text(std::chrono::system_clock::now());
    launch::GroupOptions options;
    options.output = launch::OutputMode::kFiles;
    options.directory = folder_.path() + "/output";
    options.grace = kGrace;
    options.notify = request_.notify;
    const auto outcome = launch::supervise(*commands, options, {});
    if (!outcome) return std::unexpected(outcome.error());
    return read_outcome(*outcome);
  }

 private:
  [[nodiscard]] bool is_torch() const { return !request_.python.empty(); }
  [[nodiscard]] std::string program_path() const { return folder_.path() + "/torch_step.py"; }
  [[nodiscard]] std::uint32_t ranks() const { return ranks_of(spec_.layout); }

  Result<void> write_program() {
    return is_torch() ? write_whole(program_path(), torch_program()) : Result<void>();
  }

  [[nodiscard]] std::vector<std::string> rank_words() const {
    if (is_torch()) return {request_.python, program_path(), spec_text(spec_)};
    std::vector<std::string> words = request_.rank_program;
    words.emplace_back(kWorkerWord);
    words.push_back(spec_text(spec_));
    return words;
  }

  [[nodiscard]] std::vector<std::string> base_environment() const {
    std::vector<std::string> environment = request_.environment;
    const auto own = host::read_environment();
    // All ranks are on this host: gloo asks the name of the host for its address otherwise, which need not
    // resolve.
    if (request_.starter != Starter::kAround && !host::find_set_variable(own, "GLOO_SOCKET_IFNAME"))
      environment.emplace_back("GLOO_SOCKET_IFNAME=lo");
    // What loaders leave there after a signal goes with the folder. They make sockets in it, whose names are
    // short.
    constexpr std::size_t kLongest = 60;
    if (is_torch() && folder_.path().size() <= kLongest) environment.push_back("TMPDIR=" + folder_.path());
    return environment;
  }

  Result<std::vector<RankCommand>> make_commands() {
    if (request_.starter == Starter::kAround) return around();
    if (request_.starter == Starter::kMpirun) return mpirun();
    const auto root = host::open_directory_root("/");
    if (!root) return std::unexpected(root.error());
    const auto master = launch::settle_master(std::nullopt, {}, **root);
    if (!master) return std::unexpected(master.error());
    if (request_.starter == Starter::kTorchrun) return torchrun(*master);
    std::vector<RankCommand> commands;
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
      RankCommand command{rank, rank_words(), base_environment(), {}};
      const auto numbers = launch::rendezvous_environment({rank, rank, ranks(), ranks(), 0}, *master);
      command.environment.insert(command.environment.end(), numbers.begin(), numbers.end());
      commands.push_back(std::move(command));
    }
    return commands;
  }

  [[nodiscard]] std::vector<RankCommand> torchrun(const launch::Rendezvous& master) const {
    return {
        RankCommand{0,
                    torchrun_command({request_.python, program_path(), spec_text(spec_),
                                      folder_.path() + "/torchrun", ranks(), master.address, master.port}),
                    base_environment(),
                    {}}};
  }

  [[nodiscard]] std::vector<RankCommand> mpirun() const {
    std::vector<std::string> words{"mpirun",          "-np",       std::to_string(ranks()),
                                   "--oversubscribe", "--bind-to", "none"};
    const auto rank = rank_words();
    words.insert(words.end(), rank.begin(), rank.end());
    auto environment = base_environment();
    if (geteuid() == 0) {  // it starts nothing but a program of Angio
      environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");
      environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
    }
    return {RankCommand{0, std::move(words), std::move(environment), {}}};
  }

  Result<std::vector<RankCommand>> around() {
    const auto own = host::read_environment();
    const auto rank = launch::find_local_rank({}, own);
    if (!rank) return std::unexpected(rank.error());
    if (!rank->global_rank || !rank->global_count)
      return fail(ErrorCode::kUnsupported, rank->origin + " says nothing of the rank in the whole job",
                  "start it by srun, mpirun, torchrun or angio run");
    if (*rank->global_count != ranks())
      return fail(ErrorCode::kInvalidInput, fmt::format("the launcher started {}, and the layout needs {}",
                                                        count_of(*rank->global_count, "rank"), ranks()));
    global_rank_ = *rank->global_rank;
    RankCommand command{0, rank_words(), base_environment(), {}};
    auto missing = launch::missing_rendezvous(*rank, own);
    if (!missing) return std::unexpected(missing.error());
    command.environment.insert(command.environment.end(), missing->begin(), missing->end());
    if (!host::find_set_variable(own, "MASTER_ADDR")) {
      const auto master = launch::derive_rendezvous(own);
      if (!master) return std::unexpected(master.error());
      if (!*master)
        return fail(ErrorCode::kUnsupported, "nothing says where the ranks meet",
                    "set MASTER_ADDR and MASTER_PORT");
      command.environment.push_back("MASTER_ADDR=" + (*master)->address);
      command.environment.push_back(fmt::format("MASTER_PORT={}", (*master)->port));
    }
    return std::vector<RankCommand>{std::move(command)};
  }

  // ------------------------------------------------------------------ the end

  [[nodiscard]] std::vector<RankLog> read_logs() const {
    std::vector<RankLog> logs = parse_rank_logs(read_text(folder_.path() + "/ranks.jsonl"));
    for (std::uint32_t rank = 0; spec_.shared && rank < ranks(); ++rank) {
      if (auto log = parse_rank_log(read_text(fmt::format("{}/rank-{}.jsonl", folder_.path(), rank))))
        logs.push_back(std::move(*log));
    }
    return logs;
  }

  Result<RunOutcome> read_outcome(const GroupOutcome& outcome) {
    const std::vector<RankLog> logs = read_logs();
    if (outcome.cause == launch::GroupCause::kRankFailed) return std::unexpected(failure(outcome, logs));
    RunOutcome result;
    result.signal = outcome.signal;
    if (request_.starter == Starter::kAround && global_rank_ != 0) return result;
    StepRun run = empty_run();
    run.interrupted = outcome.cause != launch::GroupCause::kFinished;
    take_logs(logs, run);
    summarise(run);
    set_subject(run);
    if (run.step.count == 0 && !run.interrupted)
      return fail(
          ErrorCode::kIo,
          fmt::format("{} of {} left a record of a step", run.members.size(), count_of(ranks(), "rank")),
          last_lines());
    result.run = std::move(run);
    return result;
  }

  [[nodiscard]] StepRun empty_run() const {
    StepRun run;
    run.framework = is_torch() ? "torch" : "traffic";
    run.launcher = launcher_words();
    run.started = started_;
    run.ranks = ranks();
    run.warm_up = spec_.warm_up;
    run.batch = spec_.batch;
    run.shape = spec_.shape;
    run.layout = spec_.layout;
    if (spec_.slow_rank && spec_.slow_factor > 1)
      run.notes.push_back(
          fmt::format("rank {} was made {:g} times as slow by --slow", *spec_.slow_rank, spec_.slow_factor));
    return run;
  }

  [[nodiscard]] std::string launcher_words() const {
    switch (request_.starter) {
      case Starter::kTorchrun:
        return "torchrun";
      case Starter::kAngio:
        return "angio";
      case Starter::kMpirun:
        return "mpirun";
      case Starter::kAround:
        break;
    }
    return "the launcher around it";
  }

  static void set_subject(StepRun& run) {
    std::vector<std::string> hosts;
    for (const model::StepRank& rank : run.members) {
      if (std::ranges::find(hosts, rank.host) == hosts.end()) hosts.push_back(rank.host);
    }
    if (hosts.empty()) return;
    run.subject = hosts.front();
    if (hosts.size() > 1) run.subject += fmt::format(" and {} more", hosts.size() - 1);
  }

  [[nodiscard]] std::string errors_text() const {
    std::string text;
    for (std::uint32_t rank = 0; rank < ranks(); ++rank)
      text += read_text(fmt::format("{}/output/rank-{}.err", folder_.path(), rank));
    return text;
  }

  // "mpirun noticed that process rank 1 with PID 4711 on node n1 exited on signal 9 (Killed)."
  [[nodiscard]] std::string killed_below_mpirun() const {
    if (request_.starter != Starter::kMpirun) return "";
    const std::string text = errors_text();
    for (const std::string_view line : split_lines(text)) {
      const std::size_t at = line.find("process rank ");
      if (at == std::string_view::npos || !contains(line, "exited on signal")) continue;
      std::string words(trim(line.substr(at + std::string_view("process ").size())));
      constexpr std::string_view kNoPid = " with PID 0";  // Open MPI 4 does not know it any more
      const std::size_t pid = words.find(std::string(kNoPid) + " ");
      return pid == std::string::npos ? words : words.erase(pid, kNoPid.size());
    }
    return "";
  }

  static bool starts_with_angio(std::string_view line) { return line.starts_with("angio"); }

  // The last line with words of what the ranks said to standard error.
  [[nodiscard]] std::string last_lines() const {
    const std::string text = errors_text();
    std::string_view last;
    for (const std::string_view line : split_lines(text)) {
      const bool own = starts_with_angio(line);  // rather than what a launcher says of it
      if (line.find_first_not_of(" \t\r-*") == std::string_view::npos || (!own && starts_with_angio(last)))
        continue;
      last = trim(line);
    }
    constexpr std::size_t kLongest = 300;
    return printable(last.substr(0, kLongest));
  }

  // A rank that a signal killed said nothing itself, and what the others say is that it has gone.
  [[nodiscard]] Error failure(const GroupOutcome& outcome, const std::vector<RankLog>& logs) const {
    const launch::RankEnd* end = outcome.first_failure ? &outcome.ends[*outcome.first_failure] : nullptr;
    const bool one_by_one = request_.starter == Starter::kAngio;
    const std::string torchrun = request_.starter == Starter::kTorchrun ? failed_rank_of(errors_text()) : "";
    std::string words = first_failure(logs);
    std::string hint;
    if (contains(torchrun, "killed by")) {
      words = torchrun;
    } else if (std::string killed = killed_below_mpirun(); !killed.empty()) {
      words = std::move(killed);
    } else if (one_by_one && end != nullptr && end->signal != 0) {
      words = launch::describe_end(*end);
    } else if (end != nullptr && end->signal != 0) {
      words = fmt::format("{} (pid {}) killed by {}", launcher_words(), end->pid,
                          launch::signal_name(end->signal));
    } else if (words.empty()) {
      words = !torchrun.empty()              ? torchrun
              : end != nullptr && one_by_one ? launch::describe_end(*end)
                                             : launcher_words() + " failed";
      hint = last_lines();
    }
    return {ErrorCode::kIo, printable(words), hint};
  }

  const RunRequest& request_;
  StepSpec spec_;
  PrivateFolder folder_;
  std::string started_;
  std::uint32_t global_rank_ = 0;
};

}  // namespace

Result<RunOutcome> run_steps(const RunRequest& request) {
  if (auto good = check_spec(request.spec); !good) return std::unexpected(good.error());
  return Run(request).go();
}

}  // namespace angio::step
