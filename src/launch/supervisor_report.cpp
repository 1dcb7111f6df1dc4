#include "launch/supervisor_report.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::launch {
namespace {

constexpr int kSignalBase = 128;  // as shells do

std::string seconds_in_words(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<unsigned long long>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string list_of(const std::vector<LeftProcess>& processes) {
  constexpr std::size_t kNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(processes.size(), kNamed); ++i) {
    const LeftProcess& process = processes[i];
    text += fmt::format("{}{} (pid {})", i > 0 ? ", " : "", process.name.empty() ? "process" : process.name,
                        process.pid);
  }
  if (processes.size() > kNamed) text += fmt::format(" and {} more", processes.size() - kNamed);
  return text;
}

// What a signal that came from outside usually means.
std::string usual_cause(const RankEnd& end) {
  if (end.signal == SIGKILL) {
    return "Not sent by angio. The kernel's out-of-memory killer ends a process so: "
           "dmesg | grep -i 'killed process', or memory.events of the cgroup.\n";
  }
  // A page of a full tmpfs cannot be backed: shmem_fault answers VM_FAULT_SIGBUS.
  if (end.signal == SIGBUS) return "SIGBUS: often /dev/shm is full (df /dev/shm).\n";
  return {};
}

std::string failure_text(const GroupOutcome& outcome) {
  const RankEnd& failed = outcome.ends[*outcome.first_failure];
  std::size_t stopped = 0;
  std::size_t killed = 0;
  for (const RankEnd& end : outcome.ends) {
    if (!end.stopped || &end == &failed) continue;
    ++stopped;
    if (end.signal == SIGKILL) ++killed;
  }
  std::string text = describe_end(failed);
  if (stopped > 0) text += fmt::format("; {} {} stopped", stopped, stopped == 1 ? "other" : "others");
  if (killed > 0) text += fmt::format(" ({} by SIGKILL)", killed);
  text += "\n" + usual_cause(failed);
  if (outcome.last_words.empty()) return text;
  text += fmt::format("The last lines of rank {}:\n", failed.rank);
  for (const std::string_view line : split_lines(outcome.last_words))
    text += "  " + printable(line) + "\n";
  return text;
}

std::string signal_text(const GroupOutcome& outcome) {
  double longest = 0;
  std::size_t killed = 0;
  for (const RankEnd& end : outcome.ends) {
    longest = std::max(longest, end.seconds);
    if (end.signal == SIGKILL) ++killed;
  }
  std::string text =
      fmt::format("stopped by {} after {}", signal_name(outcome.signal), seconds_in_words(longest));
  if (killed > 0) text += fmt::format("; {} had to be killed", count_of(killed, "rank"));
  return text + "\n";
}

}  // namespace

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  if (name != nullptr) return std::string("SIG") + name;
  if (signal >= SIGRTMIN && signal <= SIGRTMAX) return fmt::format("SIGRTMIN+{}", signal - SIGRTMIN);
  return fmt::format("signal {}", signal);
}

std::string describe_end(const RankEnd& end) {
  const std::string how =
      end.signal != 0 ? "killed by " + signal_name(end.signal) : fmt::format("exited with {}", end.exit_code);
  return fmt::format("rank {} (pid {}) {}{} after {}", end.rank, end.pid, how,
                     end.core_dumped ? " (core dumped)" : "", seconds_in_words(end.seconds));
}

int blame_of(const RankEnd& end) {
  if (end.signal == 0) return 0;
  return end.signal == SIGABRT || end.signal == SIGPIPE ? 1 : 2;
}

int exit_code_of(const GroupOutcome& outcome) {
  const auto own_code = [](const RankEnd& end) { return end.signal == 0 && end.exit_code != 0; };
  switch (outcome.cause) {
    case GroupCause::kFinished:
      return 0;
    case GroupCause::kOutputClosed:
      return kSignalBase + SIGPIPE;
    case GroupCause::kRankFailed: {
      const RankEnd& end = outcome.ends[outcome.first_failure.value_or(0)];
      return end.signal != 0 ? kSignalBase + end.signal : end.exit_code;
    }
    case GroupCause::kSignal: {
      // A program may answer SIGTERM with a code of its own ("requeue me"), or by ending well.
      const auto end = std::find_if(outcome.ends.begin(), outcome.ends.end(), own_code);
      if (end != outcome.ends.end()) return end->exit_code;
      const bool died = std::any_of(outcome.ends.begin(), outcome.ends.end(),
                                    [](const RankEnd& other) { return other.signal != 0; });
      return died ? kSignalBase + outcome.signal : 0;
    }
  }
  return 0;
}

std::string describe(const GroupOutcome& outcome) {
  std::string text;
  if (outcome.cause == GroupCause::kRankFailed && outcome.first_failure) text = failure_text(outcome);
  if (outcome.cause == GroupCause::kSignal) text = signal_text(outcome);
  if (outcome.cause == GroupCause::kFinished && !outcome.swept.empty()) {
    text += fmt::format("{} outlived the ranks, stopped: {}\n",
                        count_of(outcome.swept.size(), "background process"), list_of(outcome.swept));
  }
  if (!outcome.stuck.empty()) {
    text += fmt::format(
        "Not even SIGKILL ended {}: uninterruptible in the kernel (a device or file system hangs)\n",
        list_of(outcome.stuck));
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace angio::launch
