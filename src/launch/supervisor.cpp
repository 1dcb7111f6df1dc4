#include "launch/supervisor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "launch/supervisor_children.hpp"
#include "launch/supervisor_output.hpp"
#include "launch/supervisor_report.hpp"
#include "launch/supervisor_signals.hpp"
#include "launch/supervisor_start.hpp"
#include "launch/supervisor_stdin.hpp"

namespace angio::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Processes that outlive their rank get so long to end by themselves (a resource tracker, an upload).
constexpr milliseconds kLeave{1000};
// SIGKILL acts at once, except on a process that hangs in the kernel.
constexpr milliseconds kKillTakes{5000};
// From the end of a process' files to the end that its parent sees.
constexpr milliseconds kExitTakes{100};
// While the group is being stopped, orphans turn up without a signal.
constexpr milliseconds kSweep{20};
// Stopping that takes longer is mentioned.
constexpr milliseconds kWorthAWord{2000};

enum class Phase : std::uint8_t {
  kRunning,
  kLeaving,   // the ranks have ended well, processes of theirs live on
  kStopping,  // told to stop, SIGKILL at the deadline
  kKilling,
  kOver,
};

struct Member {
  const RankCommand* command = nullptr;
  int pid = 0;
  Clock::time_point started;
  bool running = false;
};

bool is_failure(const RankEnd& end) {
  return end.signal != 0 || end.exit_code != 0;
}

class Group {
 public:
  Group(const GroupOptions& options, const ChildHook& before_exec)
      : options_(options), before_exec_(before_exec), output_(options) {}

  Result<GroupOutcome> run(std::span<const RankCommand> commands);

 private:
  Result<void> start_all(std::span<const RankCommand> commands);
  Result<void> start(const RankCommand& command);
  void loop();
  void wait_for_something();
  [[nodiscard]] int patience(Clock::time_point now) const;
  void hear_signals();
  void hear(int signal);
  void hear_stop(int signal);
  void pause();
  void reap();
  void reap_ended(std::vector<std::size_t>& failed);
  void note_failure(std::vector<std::size_t>& failed);
  void wait_for_exiting(std::vector<std::size_t>& failed);
  [[nodiscard]] std::optional<std::size_t> member_dumping_core() const;
  void sweep();
  void mind_deadline();
  void mention_slow_stop();
  void stop(int signal);
  void kill();
  void signal_groups(int signal) const;
  void signal_leaders(int signal) const;
  [[nodiscard]] std::set<int> running_pids() const;
  [[nodiscard]] std::size_t running_count() const;
  void say(const std::string& text) {
    if (!output_.note(text) && options_.notify) options_.notify(text);
  }

  const GroupOptions& options_;
  const ChildHook& before_exec_;
  SignalInbox inbox_;
  DescriptorLimit limit_;
  Adopted adopted_;
  GroupOutput output_;
  Input input_;
  std::vector<Member> members_;
  GroupOutcome outcome_;
  Phase phase_ = Phase::kRunning;
  Clock::time_point stopped_;
  Clock::time_point deadline_;
  bool mentioned_ = false;
  bool drop_output_ = false;
  bool child_ended_ = false;
  std::set<int> told_;  // adopted ones that got SIGTERM
};

std::set<int> Group::running_pids() const {
  std::set<int> pids;
  for (const Member& member : members_) {
    if (member.running) pids.insert(member.pid);
  }
  return pids;
}

std::size_t Group::running_count() const {
  return static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(), [](const Member& member) { return member.running; }));
}

// A leader that is not reaped keeps the number of its group from being given to others.
void Group::signal_groups(int signal) const {
  for (const Member& member : members_) {
    if (member.running && ::kill(-member.pid, signal) != 0) ::kill(member.pid, signal);
  }
}

void Group::signal_leaders(int signal) const {
  for (const Member& member : members_) {
    if (member.running) ::kill(member.pid, signal);
  }
}

void Group::stop(int signal) {
  phase_ = Phase::kStopping;
  stopped_ = Clock::now();
  deadline_ = stopped_ + options_.grace;
  signal_groups(signal);
  signal_groups(SIGCONT);  // a stopped process would not act on it
}

void Group::kill() {
  phase_ = Phase::kKilling;
  deadline_ = Clock::now() + kKillTakes;
  signal_groups(SIGKILL);
}

// ------------------------------------------------------------------ starting

Result<void> Group::start(const RankCommand& command) {
  Result<GroupOutput::Ends> ends = output_.open(command.rank);
  if (!ends) return std::unexpected(std::move(ends).error());
  Result<host::Descriptor> in = command.rank == 0 ? input_.open() : open_nothing();
  if (!in) return std::unexpected(std::move(in).error());
  const Streams streams{in->get(), ends->out.get(), ends->err.get()};
  const Result<int> pid = start_rank(command, streams, {inbox_, limit_}, before_exec_);
  if (!pid) return std::unexpected(pid.error());
  members_.push_back({&command, *pid, Clock::now(), true});
  outcome_.ends.push_back({});
  outcome_.ends.back().rank = command.rank;
  outcome_.ends.back().pid = *pid;
  return {};
}

Result<void> Group::start_all(std::span<const RankCommand> commands) {
  if (auto ready = output_.prepare(); !ready) return ready;
  if (auto room = limit_.make_room(commands.size() * output_.descriptors_per_rank()); !room) return room;
  adopt_orphans();
  for (const RankCommand& command : commands) {
    Result<void> started = start(command);
    if (started) continue;
    if (commands.size() == 1) return started;
    return std::unexpected(std::move(started).error().with_context(fmt::format("rank {}", command.rank)));
  }
  return {};
}

// ------------------------------------------------------------------ signals

void Group::hear_signals() {
  while (const auto signal = inbox_.next())
    hear(*signal);
}

void Group::hear(int signal) {
  switch (signal) {
    case SIGCHLD:
      child_ended_ = true;
      return reap();
    case SIGTSTP:
      return pause();
    case SIGCONT:
      return signal_groups(SIGCONT);
    case SIGUSR1:
    case SIGUSR2:
      // Only the rank itself has a handler ("write a checkpoint"); a loader's worker would die of it.
      return signal_leaders(signal);
    default:
      return hear_stop(signal);
  }
}

void Group::hear_stop(int signal) {
  if (phase_ == Phase::kOver || phase_ == Phase::kKilling) {
    drop_output_ = true;  // our reader does not read
    return;
  }
  if (phase_ == Phase::kStopping) {
    if (signal != SIGINT && signal != SIGQUIT) return signal_groups(signal);
    say(fmt::format("{} while stopping: SIGKILL to {}", signal_name(signal),
                    count_of(running_count(), "rank")));
    return kill();
  }
  outcome_.cause = GroupCause::kSignal;
  outcome_.signal = signal;
  say(fmt::format("{} passed on to {}; {}SIGKILL follows in {:g} s", signal_name(signal),
                  count_of(running_count(), "rank"), signal == SIGINT ? "a second one kills, otherwise " : "",
                  std::chrono::duration<double>(options_.grace).count()));
  stop(signal);
}

void Group::pause() {
  signal_groups(SIGTSTP);
  ::kill(getpid(), SIGSTOP);
  // Continued: SIGCONT waits in the inbox and is passed on.
}

// ------------------------------------------------------------------ ends

// A rank that crashes takes its time when it writes a core file; the others see a closed connection at once,
// and exit before it.
std::optional<std::size_t> Group::member_dumping_core() const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].running && is_dumping_core(members_[i].pid)) return i;
  }
  return std::nullopt;
}

// failed: those that ended since the last look; their true order is unknown.
void Group::note_failure(std::vector<std::size_t>& failed) {
  wait_for_exiting(failed);
  std::ranges::sort(failed);
  std::ranges::stable_sort(failed, std::ranges::greater{},
                           [this](std::size_t i) { return blame_of(outcome_.ends[i]); });
  outcome_.cause = GroupCause::kRankFailed;
  outcome_.first_failure = failed.front();
  if (blame_of(outcome_.ends[failed.front()]) < 2) {
    if (const auto dumping = member_dumping_core()) outcome_.first_failure = dumping;
  }
  stop(SIGTERM);
}

// A process closes its files before its parent can see its end: the others may answer to that sooner.
void Group::wait_for_exiting(std::vector<std::size_t>& failed) {
  const auto answers = [this](std::size_t i) { return blame_of(outcome_.ends[i]) < 2; };
  const auto until = Clock::now() + kExitTakes;
  for (;;) {
    reap_ended(failed);
    const bool exiting =
        std::ranges::any_of(members_, [](const Member& m) { return m.running && is_exiting(m.pid); });
    if (!exiting || !std::ranges::all_of(failed, answers) || Clock::now() >= until) return;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void Group::reap() {
  std::vector<std::size_t> failed;
  reap_ended(failed);
  if (!failed.empty() && phase_ == Phase::kRunning) note_failure(failed);
}

// Adds those that failed.
void Group::reap_ended(std::vector<std::size_t>& failed) {
  const bool told = phase_ != Phase::kRunning;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (!member.running) continue;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(member.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0) {
      continue;
    }
    RankEnd& end = outcome_.ends[i];
    (info.si_code == CLD_EXITED ? end.exit_code : end.signal) = info.si_status;
    end.core_dumped = info.si_code == CLD_DUMPED;
    end.stopped = told;
    end.seconds = std::chrono::duration<double>(Clock::now() - member.started).count();
    // Its children, while its number is still its own.
    if (told || is_failure(end)) ::kill(-member.pid, phase_ == Phase::kKilling ? SIGKILL : SIGTERM);
    waitpid(member.pid, nullptr, 0);
    member.running = false;
    if (is_failure(end)) failed.push_back(i);
  }
}

// Ends what the ranks left behind, and finds out that all is over.
void Group::sweep() {
  if (phase_ == Phase::kRunning && !std::exchange(child_ended_, false)) return;
  const std::vector<int> orphans = adopted_.living(running_pids());
  const bool ranks_run = running_count() > 0;
  if (!ranks_run && orphans.empty()) {
    phase_ = Phase::kOver;
    return;
  }
  if (phase_ == Phase::kRunning && !ranks_run) {
    phase_ = Phase::kLeaving;
    deadline_ = Clock::now() + kLeave;
  }
  if (phase_ != Phase::kStopping && phase_ != Phase::kKilling) return;
  for (const int pid : orphans) {
    if (told_.insert(pid).second) {
      outcome_.swept.push_back({pid, name_of_process(pid)});
      ::kill(pid, SIGTERM);
      ::kill(pid, SIGCONT);
    }
    if (phase_ == Phase::kKilling) ::kill(pid, SIGKILL);
  }
}

void Group::mention_slow_stop() {
  if (mentioned_ || phase_ != Phase::kStopping || Clock::now() - stopped_ < kWorthAWord ||
      running_count() == 0)
    return;
  mentioned_ = true;
  std::string first;
  if (outcome_.cause == GroupCause::kRankFailed && !members_[*outcome_.first_failure].running) {
    first = describe_end(outcome_.ends[*outcome_.first_failure]) + "; ";
  }
  say(fmt::format("{}waiting for {} to end, SIGKILL in {:.0f} s", first,
                  count_of(running_count(), "other rank"),
                  std::chrono::duration<double>(deadline_ - Clock::now()).count()));
}

void Group::mind_deadline() {
  if (phase_ == Phase::kRunning || phase_ == Phase::kOver || Clock::now() < deadline_) return;
  if (phase_ == Phase::kLeaving) return stop(SIGTERM);
  if (phase_ == Phase::kStopping) {
    if (running_count() > 0) {
      say(fmt::format("{} did not end within {:g} s: SIGKILL", count_of(running_count(), "rank"),
                      std::chrono::duration<double>(options_.grace).count()));
    }
    return kill();
  }
  for (const int pid : running_pids())
    outcome_.stuck.push_back({pid, name_of_process(pid)});
  for (const int pid : adopted_.living(running_pids()))
    outcome_.stuck.push_back({pid, name_of_process(pid)});
  phase_ = Phase::kOver;
}

// ------------------------------------------------------------------ the loop

// Milliseconds for poll(2); -1: until something happens.
int Group::patience(Clock::time_point now) const {
  std::optional<Clock::time_point> due = output_.next_flush();
  const auto by = [&](Clock::time_point time) {
    if (!due || time < *due) due = time;
  };
  if (phase_ != Phase::kRunning) by(now + kSweep);
  if (!due) return -1;
  return static_cast<int>(std::max<std::int64_t>(0, std::chrono::ceil<milliseconds>(*due - now).count()));
}

void Group::wait_for_something() {
  std::vector<pollfd> wanted{{inbox_.descriptor(), POLLIN, 0}};
  output_.watch(wanted);
  input_.watch(wanted);
  (void)poll(wanted.data(), wanted.size(), patience(Clock::now()));
}

void Group::loop() {
  while (phase_ != Phase::kOver || (!output_.drained() && !drop_output_)) {
    const bool over = phase_ == Phase::kOver;
    wait_for_something();
    hear_signals();
    input_.pump();
    output_.pump(Clock::now(), over);
    if (const auto complaint = output_.take_complaint()) say(*complaint);
    if (output_.reader_gone() && phase_ == Phase::kRunning) {
      outcome_.cause = GroupCause::kOutputClosed;
      stop(SIGTERM);
    }
    if (over) continue;
    sweep();
    mention_slow_stop();
    mind_deadline();
  }
}

Result<GroupOutcome> Group::run(std::span<const RankCommand> commands) {
  members_.reserve(commands.size());
  const Result<void> started = start_all(commands);
  if (!started) stop(SIGTERM);
  loop();
  if (!started) return std::unexpected(started.error());
  for (const Member& member : members_) {
    if (!member.running) continue;
    RankEnd& end = outcome_.ends[static_cast<std::size_t>(&member - members_.data())];
    end.signal = SIGKILL;
    end.stopped = true;
  }
  if (outcome_.first_failure) {
    outcome_.last_words = output_.last_words(outcome_.ends[*outcome_.first_failure].rank);
  }
  outcome_.exit_code = exit_code_of(outcome_);
  return std::move(outcome_);
}

}  // namespace

Result<GroupOutcome> supervise(std::span<const RankCommand> commands, const GroupOptions& options,
                               const ChildHook& before_exec) {
  if (commands.empty()) return fail(ErrorCode::kInvalidInput, "no ranks to start");
  Group group(options, before_exec);
  return group.run(commands);
}

}  // namespace angio::launch
