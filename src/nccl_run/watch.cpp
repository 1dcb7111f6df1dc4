#include "nccl_run/watch.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::nccl_run {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTurn{50};
constexpr milliseconds kLook{100};  // between two looks at memory
// After the first trouble: the cause may still be under way, as when a node's crash is told by its neighbour
// first, and NCCL's last lines come a little later than its error.
constexpr milliseconds kGrace{300};
constexpr milliseconds kFarewell{5000};  // for nodes that were told to go

// How many processes the kernel has killed for want of memory since boot.
std::uint64_t oom_kills(const host::Root& root) {
  const host::Read<std::string> text = root.read("/proc/vmstat");
  for (const std::string_view line : text ? split_lines(*text) : std::vector<std::string_view>()) {
    constexpr std::string_view kKey = "oom_kill ";
    if (line.starts_with(kKey))
      return parse_integer<std::uint64_t>(trim(line.substr(kKey.size()))).value_or(0);
  }
  return 0;
}

}  // namespace

Watch::Watch(const ClusterRequest& request, const host::Root& root, std::uint64_t memory_limit,
             const Log& log, const Stop& stop)
    : request_(request),
      root_(root),
      log_(log),
      stop_(stop),
      guard_(root, memory_limit),
      start_(Clock::now()),
      next_look_(start_),
      oom_kills_(oom_kills(root)) {
  nodes_.reserve(request.nodes.size());
}

Watch::~Watch() {
  for (NodeProcess& node : nodes_)
    kill_node(node);
}

void Watch::add(NodeProcess node) {
  nodes_.push_back(std::move(node));
  if (nodes_.size() > 1 && !id_.empty()) hand_id_to(nodes_.back());
}

void Watch::hand_id_to(NodeProcess& node) const {
  node.to_send += id_ + "\n";
  send_some(node);
}

void Watch::wait_for_input(milliseconds time) {
  std::vector<pollfd> polled;
  std::vector<std::uint32_t> owners;
  const auto add = [&](const host::Descriptor& fd, short events, std::uint32_t owner) {
    if (fd.get() < 0) return;
    polled.push_back({fd.get(), events, 0});
    owners.push_back(owner);
  };
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    add(nodes_[i].reports, POLLIN, i);
    add(nodes_[i].log, POLLIN, i);
    if (!nodes_[i].to_send.empty()) add(nodes_[i].script, POLLOUT, i);
  }
  if (poll(polled.data(), polled.size(), static_cast<int>(time.count())) <= 0) return;
  std::uint32_t last = UINT32_MAX;
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents == 0 || owners[i] == last) continue;
    last = owners[i];
    take_input(last);
  }
}

void Watch::take_input(std::uint32_t number) {
  nodes_[number].last_heard = Clock::now();
  take_log(number);
  take_reports(number);
  if (nodes_[number].script.get() >= 0) send_some(nodes_[number]);
}

void Watch::take_log(std::uint32_t number) {
  NodeProcess& node = nodes_[number];
  if (node.log.get() < 0) return;
  const std::string bytes = read_some(node.log);
  node.last.add(bytes);
  std::string lines = node.log_lines.add(bytes);
  if (node.log.get() < 0) lines += node.log_lines.end();
  if (!lines.empty() && log_) log_(number, lines);
}

void Watch::take_reports(std::uint32_t number) {
  NodeProcess& node = nodes_[number];
  if (node.reports.get() < 0) return;
  const std::string lines = node.report_lines.add(read_some(node.reports));
  for (const std::string_view line : split_lines(lines)) {
    if (!line.empty()) take_report(number, line);
  }
}

void Watch::take_report(std::uint32_t number, std::string_view line) {
  NodeProcess& node = nodes_[number];
  if (const Result<void> added = add_report(line, node.said); !added)
    return blame(number, {Blame::kCrash, ClusterEnd::kCrashed,
                          fmt::format("node {}: {}", number, added.error().message)});
  if (node.said.failed) blame(number, trouble_of(number, *node.said.failed));
  if (node.said.done) {
    guard_.ask_truly();
    next_look_ = Clock::now();
  }
  if (number == 0 && id_.empty() && !node.said.id.empty()) hand_id_on(node.said.id);
}

void Watch::hand_id_on(const std::string& id) {
  id_ = id;
  for (std::size_t i = 1; i < nodes_.size(); ++i)
    hand_id_to(nodes_[i]);
}

void Watch::blame(std::uint32_t number, Trouble trouble) {
  if (trouble_.blame == Blame::kNone) grace_end_ = Clock::now() + kGrace;
  if (trouble.blame <= trouble_.blame) return;
  trouble_ = std::move(trouble);
  culprit_ = number;
}

// What went wrong before stays the cause: time that runs out, or Ctrl-C, while its last lines are waited for
// only ends the waiting.
void Watch::finish(ClusterEnd end, std::uint32_t number, std::string text) {
  if (over_) return;
  over_ = true;
  if (trouble_.blame != Blame::kNone) return;
  trouble_ = {Blame::kCrash, end, std::move(text)};
  culprit_ = number;
}

// What a node that has ended said last may still be in its pipes.
void Watch::drain(std::uint32_t number) {
  NodeProcess& node = nodes_[number];
  constexpr int kMostReads = 1024;  // of 64 KiB: more than a pipe can hold
  for (int i = 0; i < kMostReads && (node.log.get() >= 0 || node.reports.get() >= 0); ++i) {
    take_log(number);
    take_reports(number);
  }
}

// A node that ends closes its reports; the others are looked at a few times a second.
void Watch::look_at_ends() {
  const Clock::time_point now = Clock::now();
  const bool all = now >= next_ends_;
  if (all) next_ends_ = now + kTurn;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    NodeProcess& node = nodes_[i];
    if (node.end || (!all && node.reports.get() >= 0)) continue;
    look_at(node);
    if (node.end) take_end(i);
  }
}

void Watch::take_end(std::uint32_t number) {
  NodeProcess& node = nodes_[number];
  drain(number);
  const bool fell = node.end->signal != 0 || !node.said.done;
  if (!fell || node.said.failed) return;
  const std::string where = whereabouts(node.said, request_.operations);
  blame(number, node.end->known ? trouble_of(number, node.end->exit_code, node.end->signal, where,
                                             oom_kills(root_) > oom_kills_)
                                : trouble_of_unknown_end(number, where));
}

std::uint32_t Watch::slowest() const {
  // Of several that came equally far, the one that fell silent first.
  const auto found = std::ranges::min_element(
      nodes_, {}, [](const NodeProcess& node) { return std::pair(progress_of(node.said), node.last_heard); });
  return static_cast<std::uint32_t>(found - nodes_.begin());
}

void Watch::look_at_limits() {
  if (nodes_.empty()) return;
  const Clock::time_point now = Clock::now();
  if (stop_ && stop_()) return finish_waiting(ClusterEnd::kInterrupted, "stopped while");
  if (now - start_ >= request_.timeout) {
    const double seconds = std::chrono::duration<double>(request_.timeout).count();
    return finish_waiting(ClusterEnd::kTimeout, fmt::format("not done after {} s:", seconds));
  }
  if (now < next_look_) return;
  next_look_ = now + kLook;
  look_at_memory();
}

void Watch::finish_waiting(ClusterEnd end, const std::string& words) {
  const std::uint32_t last = slowest();
  finish(end, last,
         fmt::format("{} node {} was {}", words, last, whereabouts(nodes_[last].said, request_.operations)));
}

void Watch::look_at_memory() {
  std::vector<int> running;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].end) continue;
    running.push_back(nodes_[i].pid);
    numbers.push_back(i);
  }
  if (guard_.is_beyond(running)) {
    finish(ClusterEnd::kMemory, numbers[guard_.largest()],
           fmt::format("the nodes held more memory than the limit of {}; node {} the most",
                       in_words(Bytes{guard_.limit()}), numbers[guard_.largest()]));
  }
}

void Watch::release_when_done() {
  if (released_ || nodes_.size() < request_.nodes.size()) return;
  const bool done =
      std::ranges::all_of(nodes_, [](const NodeProcess& node) { return node.said.done.has_value(); });
  if (!done) return;
  released_ = true;
  release_end_ = Clock::now() + kFarewell;
  for (NodeProcess& node : nodes_)
    node.script = host::Descriptor();
}

void Watch::turn(milliseconds time) {
  if (over_) return;
  wait_for_input(time);
  look_at_ends();
  look_at_limits();
  if (!over_) release_when_done();
  const Clock::time_point now = Clock::now();
  if (trouble_.blame != Blame::kNone && now >= grace_end_) over_ = true;
  const bool ended =
      nodes_.size() == request_.nodes.size() &&
      std::ranges::all_of(nodes_, [](const NodeProcess& node) { return node.end.has_value(); });
  if (ended || (released_ && now >= release_end_)) over_ = true;
}

void Watch::end_all() {
  for (NodeProcess& node : nodes_)
    kill_node(node);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    drain(i);
}

void Watch::run() {
  while (!over_)
    turn(kTurn);
  end_all();
}

ClusterOutcome Watch::take_outcome() {
  ClusterOutcome outcome;
  outcome.end = trouble_.end;
  outcome.problem = trouble_.text;
  outcome.culprit = culprit_;
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  outcome.peak_memory = guard_.peak();
  outcome.memory_limit = guard_.limit();
  for (NodeProcess& node : nodes_) {
    NodeOutcome& result = outcome.nodes.emplace_back();
    result.reports = std::move(node.said);
    result.exit_code = node.end ? node.end->exit_code : 0;
    result.signal = node.end ? node.end->signal : 0;
    result.last_lines = node.last.text();
  }
  return outcome;
}

}  // namespace angio::nccl_run
