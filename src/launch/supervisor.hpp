// Starts the ranks of one node as processes, passes their output and signals on, ends all when one fails,
// and leaves no process behind. The launcher form of `angio run`.
// Not where ranks are numbered (rendezvous.hpp) or placed (plan), and not for other nodes (remote.hpp).
// One group at a time in a process, from its main thread: signals and children belong to the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/placement.hpp"

namespace angio::launch {

struct RankCommand {
  std::uint32_t rank = 0;                         // in the whole job; labels the output
  std::vector<std::string> argv;                  // argv[0] is searched in PATH unless it holds a slash
  std::vector<std::string> environment;           // "NAME=value": added to what is inherited, or in its place
  std::optional<model::RankPlacement> placement;  // for the hook
};

enum class OutputMode : std::uint8_t {
  kPrefix,  // "[3] " before each line of rank 3, lines kept whole; on the streams the ranks wrote to
  kFiles,   // DIRECTORY/rank-3.out and rank-3.err, written by the ranks themselves; replaced if they exist
  kRaw,     // inherited as they are
};

struct GroupOptions {
  OutputMode output = OutputMode::kPrefix;
  std::string directory;                    // kFiles: made if it is not there
  std::chrono::milliseconds grace{30'000};  // from SIGTERM to SIGKILL
  // Told in words what happens while the group lives ("SIGINT passed on to 8 ranks; ..."), for standard
  // error. Not used with kPrefix, where the supervisor writes such lines between those of the ranks itself,
  // as "angio: ...". May be empty.
  std::function<void(const std::string&)> notify;
};

// How one rank ended.
struct RankEnd {
  std::uint32_t rank = 0;
  int pid = 0;
  int exit_code = 0;  // if signal is 0
  int signal = 0;     // that killed it
  bool core_dumped = false;
  bool stopped = false;  // ended after the group was told to stop
  double seconds = 0;    // it ran
};

enum class GroupCause : std::uint8_t {
  kFinished,      // every rank exited with 0
  kRankFailed,    // one did not, and the others were stopped
  kSignal,        // angio was told to stop by a signal, and passed it on
  kOutputClosed,  // nobody reads the output any more (`| head`)
};

struct LeftProcess {
  int pid = 0;
  std::string name;
};

struct GroupOutcome {
  GroupCause cause = GroupCause::kFinished;
  std::vector<RankEnd> ends;                 // in the order of the commands
  std::optional<std::size_t> first_failure;  // in ends
  std::string last_words;                    // the last lines of the failed rank's stderr; empty with kRaw
  int signal = 0;                            // kSignal: which one came. The caller may end by it too.
  std::vector<LeftProcess> swept;            // children that outlived their rank and were stopped
  std::vector<LeftProcess> stuck;            // did not even end by SIGKILL (uninterruptible sleep)
  // What angio should exit with: 0; the first failing rank's code; 128+n when signal n killed it or came;
  // 141 (128+SIGPIPE) when the output was closed.
  int exit_code = 0;
};

// The report: "rank 3 (pid 1234) killed by SIGSEGV (core dumped) after 12.3 s; 7 others stopped" and the
// rank's last lines, without a line feed at the end. Empty when all went well and nothing was left behind.
std::string describe(const GroupOutcome& outcome);

// Runs in each child between fork and exec: binding. What it returns as an error ends the group before it
// began. The parent has one thread, so it may allocate; it must not write to stdout, and to
// stderr a few lines only: nobody reads them before exec. May be empty.
using ChildHook = std::function<Result<void>(const RankCommand& command)>;

// Starts all, waits for all. Error: a rank could not be started (the ones before it are stopped first; code
// kNotFound: no such program, kDenied: not executable), the output directory cannot be written, or the limit
// of open files is too low. Rank 0 gets standard input, the others /dev/null.
Result<GroupOutcome> supervise(std::span<const RankCommand> commands, const GroupOptions& options,
                               const ChildHook& before_exec);

}  // namespace angio::launch
