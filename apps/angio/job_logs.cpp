#include "job_logs.hpp"

#include <csignal>
#include <utility>

#include "command.hpp"

namespace angio::app {
namespace {

volatile std::sig_atomic_t interrupted = 0;  // a handler can write nothing else

// Ctrl-C ends a stream that is being read, not the report on it; one that comes while the
// report is made ends the program.
class Interruptible {
 public:
  explicit Interruptible(bool is_stream) : is_stream_(is_stream) {
    if (!is_stream_) return;
    interrupted = 0;
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = 0;  // no SA_RESTART: a read that waits returns
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &before_);
    // A shell that runs it in the background ignores the signal on purpose.
    if (before_.sa_handler == SIG_IGN) sigaction(SIGINT, &before_, nullptr);
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  ~Interruptible() {
    if (is_stream_) sigaction(SIGINT, &before_, nullptr);
  }
  [[nodiscard]] bool came() const { return is_stream_ && interrupted != 0; }

 private:
  bool is_stream_;
  struct sigaction before_{};
};

}  // namespace

void JobLogs::add(std::string_view bytes, const std::string& name) {
  reader_.add(bytes, name);
}

Result<void> JobLogs::add_file(const std::string& path) {
  reader_.begin(path == "-" ? "standard input" : path);
  const Interruptible interruptible(path == "-");
  auto read = read_pieces(
      path, [this](std::string_view piece) { reader_.feed(piece); }, [&] { return interruptible.came(); });
  reader_.end();
  if (interruptible.came()) say("angio: interrupted; what standard input held up to there");
  return read;
}

JobLogs::Read JobLogs::finish(model::Machine& machine) {
  import::job_evidence::Evidence evidence = reader_.take();
  for (model::JobLog& log : evidence.memory) {
    const std::uint32_t place = machine.places.add(log.name);
    for (model::MemoryEvent& event : log.memory)
      event.source.place = place;
    machine.logs.push_back(std::move(log));
  }
  Read read;
  read.files = evidence.files;
  if (evidence.empty()) return read;
  read.evidence = std::make_shared<const model::NcclEvidence>(std::move(evidence.facts));
  model::JobLog log;
  log.name = read.files.front().name;
  log.nccl = read.evidence;
  machine.logs.push_back(std::move(log));
  return read;
}

}  // namespace angio::app
