#include "step/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <vector>

#include "host/descriptor.hpp"
#include "step/compute.hpp"
#include "step/loader.hpp"
#include "step/rank_log.hpp"
#include "step/schedule.hpp"
#include "step/spec.hpp"

namespace angio::step {
namespace {

using collective::Call;
using collective::Element;
using collective::Group;
using collective::Memory;
using collective::Transport;
using model::StepTime;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

Result<Element> element_of(const std::string& type) {
  for (const Element element : {Element::kFloat, Element::kHalf, Element::kBfloat16, Element::kDouble}) {
    if (collective::label(element) == type) return element;
  }
  return fail(ErrorCode::kInvalidInput, "\"" + type + "\" is no type of gradients",
              "float, half, bfloat16 or double");
}

// Adds the time of its life to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), begin_(Clock::now()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { sum_ += milliseconds(Clock::now() - begin_); }

 private:
  double& sum_;
  Clock::time_point begin_;
};

class Stepper {
 public:
  Stepper(const StepSpec& spec, const Schedule& schedule, Transport& transport)
      : spec_(spec),
        schedule_(schedule),
        transport_(transport),
        loader_(spec.loader),
        computer_(spec.compute.value_or(transport.facts().name == "nccl" ? Compute::kIdle : Compute::kWork)),
        factor_(spec.slow_rank == transport.rank() ? spec.slow_factor : 1) {}

  Result<void> prepare();
  Result<StepTime> step(bool communication);
  // All ranks begin what follows together.
  Result<void> meet();

 private:
  Result<void> start(const StepOp& op);
  Result<void> run(const StepOp& op, bool communication, StepTime& time);

  const StepSpec& spec_;
  const Schedule& schedule_;
  Transport& transport_;
  BatchLoader loader_;
  Computer computer_;
  double factor_;
  Element element_ = Element::kFloat;
  std::vector<Group> groups_;
  std::vector<Memory> buffers_;
  Memory meeting_ = 0;
};

Result<void> Stepper::prepare() {
  const auto element = element_of(spec_.type);
  if (!element) return std::unexpected(element.error());
  element_ = *element;
  groups_.push_back(0);
  for (std::size_t i = 1; i < schedule_.groups.size(); ++i) {
    const auto group = transport_.make_group(schedule_.groups[i]);
    if (!group) return std::unexpected(group.error());
    groups_.push_back(*group);
  }
  const auto allocate = [this](std::uint64_t elements) -> Result<Memory> {
    return transport_.allocate(Bytes{std::max<std::uint64_t>(elements, 1) * collective::size_of(element_)});
  };
  for (const std::uint64_t elements : schedule_.buffers) {
    const auto memory = allocate(elements);
    if (!memory) return std::unexpected(memory.error());
    buffers_.push_back(*memory);
  }
  const auto memory = allocate(1);
  if (!memory) return std::unexpected(memory.error());
  meeting_ = *memory;
  return {};
}

Result<void> Stepper::meet() {
  Call call;
  call.send = call.receive = meeting_;
  call.count = 1;
  call.element = element_;
  if (auto started = transport_.start(call); !started) return started;
  return transport_.finish();
}

Result<void> Stepper::start(const StepOp& op) {
  Call call;
  call.collective = op.collective;
  call.group = groups_[op.group];
  call.send = buffers_[op.send];
  call.receive = buffers_[op.receive];
  call.count = op.count;
  call.element = element_;
  call.peer = op.peer == kNobody ? Call::kNobody : op.peer;
  call.source = op.source == kNobody ? Call::kNobody : op.source;
  return transport_.start(call);
}

Result<void> Stepper::run(const StepOp& op, bool communication, StepTime& time) {
  switch (op.kind) {
    case OpKind::kInput: {
      const Stopwatch watch(time.input);
      loader_.next();
      return {};
    }
    case OpKind::kCompute: {
      const Stopwatch watch(op.phase == Phase::kForward ? time.forward : time.backward);
      computer_.work(op.ms * factor_);
      return {};
    }
    case OpKind::kStart:
    case OpKind::kWait:
      break;
  }
  if (!communication) return {};
  const Stopwatch watch(*time.exposed);
  return op.kind == OpKind::kStart ? start(op) : transport_.finish_group(groups_[op.group]);
}

Result<StepTime> Stepper::step(bool communication) {
  StepTime time;
  time.communication = communication;
  time.exposed = 0;
  {
    const Stopwatch watch(time.step);
    for (const StepOp& op : schedule_.ops) {
      if (auto done = run(op, communication, time); !done) return std::unexpected(std::move(done.error()));
    }
    if (auto done = transport_.finish(); !done) return std::unexpected(std::move(done.error()));
  }
  return time;
}

// ------------------------------------------------------------------ what comes out

Result<void> write_file(const std::string& path, const std::string& text, int flags) {
  const host::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600));
  if (file.get() < 0) return fail(ErrorCode::kIo, path + ": " + errno_text(errno));
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorCode::kIo, path + ": " + errno_text(errno));
    done += static_cast<std::size_t>(count);
  }
  return {};
}

class Log {
 public:
  Log(const StepSpec& spec, std::uint32_t rank)
      : shared_(spec.shared), path_(fmt::format("{}/rank-{}.jsonl", spec.folder, rank)) {}
  Result<void> add(const std::string& line) {
    if (shared_) return write_file(path_, line, O_APPEND);
    text_ += line;
    return {};
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool shared_;
  std::string path_;
  std::string text_;
};

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::uint32_t local_rank_of(std::uint32_t rank) {
  const char* text = getenv("LOCAL_RANK");
  return text == nullptr ? rank : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

Bytes most_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Bytes{static_cast<std::uint64_t>(usage.ru_maxrss) << 10U};
}

std::string implementation_of(const StepSpec& spec) {
  return spec.layout.sharded ? "sharded traffic" : "bucket traffic";
}

RankLog log_of(const StepSpec& spec, const Schedule& schedule, const Transport& transport) {
  const collective::TransportFacts& facts = transport.facts();
  RankLog log;
  log.rank.rank = transport.rank();
  log.rank.local_rank = local_rank_of(transport.rank());
  log.rank.host = host_name();
  log.rank.pid = static_cast<std::uint64_t>(getpid());
  log.rank.device = facts.device;
  log.rank.sent = schedule.sent;
  log.ranks = transport.ranks();
  log.framework = "traffic";
  log.implementation = implementation_of(spec);
  log.version = facts.version;
  log.backend = facts.name;
  log.parameters = spec.shape.parameters;
  log.phantom = facts.phantom;
  log.buckets = schedule.buckets;
  if (!transport.overlaps())
    log.notes.push_back(facts.name + " moves data only while a rank waits: nothing is hidden behind compute");
  return log;
}

Result<void> run_steps(const StepSpec& spec, const Schedule& schedule, Transport& transport, Log& log) {
  const Clock::time_point begin = Clock::now();
  Stepper stepper(spec, schedule, transport);
  if (auto ready = stepper.prepare(); !ready) return ready;
  for (std::uint32_t i = 0; i < spec.warm_up; ++i) {
    if (auto time = stepper.step(true); !time) return std::unexpected(std::move(time.error()));
  }
  if (auto met = stepper.meet(); !met) return met;
  RankLog first = log_of(spec, schedule, transport);
  first.rank.start_seconds = milliseconds(Clock::now() - begin) / 1e3;
  if (auto added = log.add(first_line(first)); !added) return added;
  for (std::uint32_t i = 0; i < spec.steps; ++i) {
    for (const bool communication : {true, false}) {
      if (!communication && !spec.compare) continue;
      if (spec.compare) {
        if (auto met = stepper.meet(); !met) return met;
      }
      const auto time = stepper.step(communication);
      if (!time) return std::unexpected(time.error());
      if (auto added = log.add(step_line(*time)); !added) return added;
    }
  }
  first.rank.memory = most_memory();
  return log.add(last_line(first.rank));
}

// Ranks of other hosts cannot reach the folder: rank 0 puts down what all say.
Result<void> hand_over(const StepSpec& spec, const Log& log, collective::Meeting& meeting) {
  if (spec.shared) return {};
  const auto all = meeting.exchange(log.text());
  if (!all) return std::unexpected(all.error());
  if (meeting.rank() != 0) return {};
  std::string text;
  for (const std::string& one : *all)
    text += one;
  return write_file(spec.folder + "/ranks.jsonl", text, O_TRUNC);
}

}  // namespace

Result<void> run_step_rank(const std::string& spec_words, Transport& transport,
                           collective::Meeting& meeting) {
  const auto spec = parse_spec(spec_words);
  if (!spec) return std::unexpected(spec.error());
  if (transport.ranks() != ranks_of(spec->layout))
    return fail(ErrorCode::kInvalidInput, fmt::format("the layout needs {} ranks, and {} are here",
                                                      ranks_of(spec->layout), transport.ranks()));
  const auto schedule = make_schedule(*spec, transport.rank());
  if (!schedule) return std::unexpected(schedule.error());
  Log log(*spec, transport.rank());
  if (auto done = run_steps(*spec, *schedule, transport, log); !done) {
    const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
    (void)log.add(failure_line(done.error().message, now.count()));
    return done;
  }
  return hand_over(*spec, log, meeting);
}

}  // namespace angio::step
