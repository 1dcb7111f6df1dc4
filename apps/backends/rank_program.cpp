#include "rank_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <string_view>

#include "base/json.hpp"
#include "base/text.hpp"
#include "collective/run_json.hpp"
#include "host/system_roots.hpp"
#include "step/worker.hpp"
#include "transport_check.hpp"

namespace angio::backend {
namespace {

using collective::Meeting;
using collective::RankProcess;
using collective::Transport;
using collective::Wish;
using Clock = std::chrono::steady_clock;

// As angio's own ranks do it: where the front asks for it, rank 0 says what it is at.
constexpr const char* kProgressVariable = "ANGIO_COLLECTIVE_PROGRESS";
constexpr const char* kProgressMark = "angio-collective-at: ";

constexpr int kOk = 0;
constexpr int kUsage = 2;
constexpr int kFailed = 3;

std::atomic<bool> stop_asked{false};

extern "C" void ask_to_stop(int signal) {
  stop_asked = true;
  (void)std::signal(signal, SIG_DFL);  // a second one ends it
}

// One write for each, so that lines of several ranks stay whole.
void say(int fd, const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(fd, rest.data(), rest.size());
    if (count <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

int tell(const RankProgram& program, const std::string& who, const Error& error) {
  std::string text = fmt::format("{}: {}{}\n", program.name, who, error.message);
  if (!error.hint.empty()) text += fmt::format("  {}\n", error.hint);
  say(STDERR_FILENO, text);
  return error.code == ErrorCode::kInvalidInput ? kUsage : kFailed;
}

std::string usage(const RankProgram& program) {
  return fmt::format(
      "usage: {0} check [COUNT]\n"
      "       {0} collective-rank WISH | step-rank SPEC     as angio bench starts it\n"
      "       {0} --version | --help\n\n"
      "One rank of a benchmark by {1}. angio bench collective and angio bench step\n"
      "start it; check runs every collective once, in all types, and holds the data\n"
      "against what it must be. COUNT: elements of a call, 1000.\n\n"
      "Start as many as there are ranks: {2}\n",
      program.name, program.library, program.start);
}

struct Rank {
  RankProcess process;
  std::unique_ptr<Meeting> meeting;
  std::unique_ptr<Transport> transport;
};

Result<Rank> begin(const RankProgram& program, const Wish& wish, RankProcess process) {
  Rank rank;
  rank.process = std::move(process);
  if (program.meet) {
    auto met = program.meet(rank.process);
    if (!met) return std::unexpected(std::move(met).error());
    rank.meeting = std::move(*met);
  }
  if (rank.meeting == nullptr) {
    auto met = collective::meet_over_tcp(rank.process.place);
    if (!met) return std::unexpected(std::move(met).error());
    rank.meeting = std::move(*met);
  }
  rank.meeting->when_lost(rank.process.lost);
  rank.meeting->working_on("making its communicator");
  auto transport = rank.process.make(*rank.meeting, wish);
  if (!transport) return std::unexpected(std::move(transport).error());
  rank.transport = std::move(*transport);
  return rank;
}

// A meeting ends with a rank that leaves: all are through before one does.
Result<void> part(Meeting& meeting) {
  meeting.when_lost({});
  auto all = meeting.exchange("");
  if (!all) return std::unexpected(std::move(all).error());
  return {};
}

Result<void> check(const RankProgram& program, RankProcess process, std::uint64_t count) {
  auto rank = begin(program, Wish{}, std::move(process));
  if (!rank) return std::unexpected(std::move(rank).error());
  rank->meeting->working_on("check");
  auto checked = check_transport(*rank->transport, count);
  if (!checked) return std::unexpected(std::move(checked).error());
  if (auto parted = part(*rank->meeting); !parted) return parted;
  if (rank->meeting->rank() == 0)
    say(STDOUT_FILENO, fmt::format("{}, {} ranks: {}\n", program.library, rank->meeting->ranks(), *checked));
  return {};
}

Result<void> step(const RankProgram& program, RankProcess process, const std::string& spec) {
  auto rank = begin(program, Wish{}, std::move(process));
  if (!rank) return std::unexpected(std::move(rank).error());
  if (auto done = step::run_step_rank(spec, *rank->transport, *rank->meeting); !done) return done;
  return part(*rank->meeting);
}

// When this process began to work; the start of a library that finds its own peers counts as its own.
struct Beginning {
  collective::RankSelf self;
  Clock::time_point at;
};

Result<std::optional<model::CollectiveRun>> measure_with(const RankProgram& program, RankProcess process,
                                                         const Wish& wish, Beginning beginning) {
  if (!program.meet) return collective::run_rank(process, wish);
  beginning.self.local_rank = process.local_rank;
  auto rank = begin(program, wish, std::move(process));
  if (!rank) return std::unexpected(std::move(rank).error());
  beginning.self.init_seconds = std::chrono::duration<double>(Clock::now() - beginning.at).count();
  return collective::run_worker({*rank->transport, *rank->meeting, wish, std::move(beginning.self),
                                 rank->process.stop, rank->process.progress});
}

Result<void> measure(const RankProgram& program, RankProcess process, const Wish& wish, Beginning beginning) {
  auto run = measure_with(program, std::move(process), wish, std::move(beginning));
  if (!run) return std::unexpected(std::move(run).error());
  if (*run) say(STDOUT_FILENO, collective::kResultMark + to_text(collective::to_json(**run), -1) + "\n");
  return {};
}

struct Asked {
  std::string_view word;
  std::string argument;
  Wish wish;
  std::uint64_t count = 1000;  // elements
};

Result<Asked> parse(int argc, char** argv) {
  Asked asked{argv[1], argc > 2 ? argv[2] : "", {}, 1000};
  constexpr std::uint64_t kMostCount = std::uint64_t{1} << 28U;
  if (asked.word != "check" && asked.word != "collective-rank" && asked.word != step::kWorkerWord)
    return fail(ErrorCode::kInvalidInput,
                fmt::format("\"{}\" is no word of this program", printable(asked.word)), "--help lists them");
  if (argc > 3)
    return fail(ErrorCode::kInvalidInput, fmt::format("\"{}\" is one word too many", printable(argv[3])));
  if (asked.word == "check") {
    if (argc < 3) return asked;
    const auto count = parse_integer<std::uint64_t>(asked.argument);
    if (!count || *count == 0 || *count > kMostCount)
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("\"{}\" is no count of elements", printable(asked.argument)), "1 to 268435456");
    asked.count = *count;
    return asked;
  }
  if (argc < 3)
    return fail(ErrorCode::kInvalidInput,
                fmt::format("{} needs what angio bench puts behind it", asked.word));
  if (asked.word != "collective-rank") return asked;
  auto wish = collective::parse_wish(asked.argument);
  if (!wish) return std::unexpected(std::move(wish).error());
  asked.wish = std::move(*wish);
  return asked;
}

int run_rank(const RankProgram& program, const Asked& asked) {
  Beginning beginning{collective::look_at_self(0), Clock::now()};
  auto process = program.process();
  if (!process) return tell(program, "", process.error());
  const std::string who = fmt::format("rank {}: ", process->place.rank);
  process->place.patience = std::chrono::seconds(asked.wish.patience);
  process->stop = [] { return stop_asked.load(); };
  if (host::find_variable(host::read_environment(), kProgressVariable) == "1")
    process->progress = [](const std::string& line) { say(STDERR_FILENO, kProgressMark + line + "\n"); };
  process->lost = [&program, who](const std::string& words) {
    (void)tell(program, who, {ErrorCode::kIo, words, {}});
    _exit(kFailed);  // the library below waits for data that does not come
  };
  Result<void> done;
  if (asked.word == "check") done = check(program, *process, asked.count);
  if (asked.word == step::kWorkerWord) done = step(program, *process, asked.argument);
  if (asked.word == "collective-rank") done = measure(program, *process, asked.wish, std::move(beginning));
  if (done) {
    if (program.leave) program.leave();
    return kOk;
  }
  const int code = tell(program, who, done.error());
  // Destructors of a library whose peers are gone may wait for them.
  _exit(code);
}

int run(const RankProgram& program, int argc, char** argv) {
  const std::string_view word = argc < 2 ? "" : argv[1];
  if (word == "--version")
    return say(STDOUT_FILENO, fmt::format("{} " ANGIO_VERSION " ({})\n", program.name, program.library)), kOk;
  if (word == "--help" || word == "help") return say(STDOUT_FILENO, usage(program)), kOk;
  if (word.empty()) return say(STDERR_FILENO, usage(program)), kUsage;
  const auto asked = parse(argc, argv);
  if (!asked) return tell(program, "", asked.error());
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGINT, ask_to_stop);
  (void)std::signal(SIGTERM, ask_to_stop);
  return run_rank(program, *asked);
}

}  // namespace

int run_program(const RankProgram& program, int argc, char** argv) {
  const auto bug = [&](const std::string& what) {
    say(STDERR_FILENO, fmt::format("{}: internal error: {}\n", program.name, what));
    return 4;
  };
  try {
    return run(program, argc, argv);
  } catch (const std::exception& error) {
    return bug(error.what());
  } catch (...) {
    return bug("of unknown kind");
  }
}

}  // namespace angio::backend
