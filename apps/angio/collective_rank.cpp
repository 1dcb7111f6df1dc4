#include "collective_rank.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "collective/gpu_side.hpp"
#include "collective/nccl_transport.hpp"
#include "collective/run_json.hpp"
#include "collective/worker.hpp"
#include "collective_phantom.hpp"
#include "command.hpp"
#include "host/system_roots.hpp"

namespace angio::app {
namespace {

std::atomic<bool> stop_asked{false};

extern "C" void ask_rank_to_stop(int signal) {
  stop_asked = true;
  (void)std::signal(signal, SIG_DFL);  // a second one ends it
}

// One write, so that lines of several ranks stay whole.
void write_line(int fd, const std::string& line) {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t count = write(fd, rest.data(), rest.size());
    if (count <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

// What a library prints goes to standard error (NCCL's words of NCCL_DEBUG): it would break the line of the
// result. Returns where that goes.
int keep_standard_output() {
  const int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return STDOUT_FILENO;
  (void)setvbuf(stdout, nullptr, _IOLBF, 0);  // a rank may end without flushing
  return kept;
}

int tell(std::uint32_t rank, Error error) {
  error.message = fmt::format("rank {}: {}", rank, error.message);
  return report_error(error);
}

collective::RankProcess fill(collective::RankProcess process, const std::vector<std::string>& environment) {
  const std::uint32_t rank = process.place.rank;
  process.make = [environment, local = process.local_rank](collective::Meeting& meeting,
                                                           const collective::Wish& wish) {
    return collective::make_nccl_transport({wish.nccl, local, environment}, meeting);
  };
  process.stop = [] { return stop_asked.load(); };
  process.lost = [rank](const std::string& words) {
    // NCCL waits for data that does not come, for ever.
    std::_Exit(tell(rank, {ErrorCode::kIo, words, {}}));
  };
  if (host::find_variable(environment, kProgressVariable) == "1") {
    process.progress = [](const std::string& line) {
      write_line(STDERR_FILENO, kProgressMark + line + "\n");
    };
  }
  return process;
}

int run_rank(const collective::Wish& wish, const std::vector<std::string>& environment, char** argv) {
  auto process = collective::rank_process(environment);
  if (!process) return report_error(process.error());
  const std::string topology = host::find_variable(environment, kPhantomVariable);
  if (!topology.empty() && !collective::has_phantom()) {
    const Error error = become_phantom({topology, host::find_variable(environment, kPhantomSharedVariable),
                                        wish.nccl, process->place.rank, process->place.ranks},
                                       environment, argv);
    return tell(process->place.rank, error);
  }
  const std::uint32_t rank = process->place.rank;
  const int output = keep_standard_output();
  const auto run = collective::run_rank(fill(std::move(*process), environment), wish);
  if (!run) return tell(rank, run.error());
  if (*run) write_line(output, collective::kResultMark + to_text(collective::to_json(**run), -1) + "\n");
  return kOk;
}

}  // namespace

int run_collective_rank_words(int argc, char** argv) {
  if (argc != 2) {
    (void)report_error({ErrorCode::kInvalidInput, "angio collective-rank is a part of angio bench collective",
                        "run angio bench collective, which starts it"});
    return kUsage;
  }
  const auto wish = collective::parse_wish(argv[1]);
  if (!wish) {
    (void)report_error(wish.error());
    return kUsage;
  }
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGINT, ask_rank_to_stop);
  (void)std::signal(SIGTERM, ask_rank_to_stop);
  std::_Exit(run_rank(*wish, host::read_environment(), argv));
}

}  // namespace angio::app
