#include "import/nccl_log/parser.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "import/nccl_log/events.hpp"
#include "import/nccl_log/rules.hpp"

namespace angio::import::nccl_log {

namespace {

constexpr std::size_t kMaxProcesses = std::size_t{1} << 20U;
constexpr std::size_t kMaxThreads = std::size_t{1} << 21U;
constexpr std::size_t kMaxEvents = 65536;
constexpr std::uint32_t kMaxEventsPerProcess = 64;
constexpr std::size_t kMaxUnknownShown = 5;
constexpr std::size_t kMaxLoose = 64;
constexpr std::size_t kMaxPrefix = 80;
constexpr std::size_t kHostsTried = 64;
constexpr std::size_t kProcessesTried = 1024;  // for each new process of a file

// Salts: facts of several kinds share one table of keys.
constexpr std::uint64_t kVersionKey = 101;

std::string_view trim_end(std::string_view text) {
  while (!text.empty() &&
         (text.back() == ' ' || text.back() == '\r' || text.back() == '\t' || text.back() == '\0')) {
    text.remove_suffix(1);
  }
  return text;
}

// The value of one escape of JSON at text[at], behind the backslash; how many letters it takes.
std::size_t append_json_escape(std::string_view text, std::size_t at, std::string& out) {
  switch (text[at]) {
    case 't':
      out += ' ';
      return 1;
    case 'n':
    case 'r':
      return 1;  // the end of the message, or a blank line in front of a warning
    case 'u': {
      unsigned code = 0;
      const auto digits = text.substr(at + 1, 4);
      const auto* end = digits.data() + digits.size();
      if (digits.size() == 4 && std::from_chars(digits.data(), end, code, 16).ptr == end && code >= 0x20 &&
          code < 0x7f) {
        out += static_cast<char>(code);
        return 5;
      }
      return 1;
    }
    default:
      out += text[at];
      return 1;
  }
}

// A line of a container runtime: {"log":"host:1:2 [0] NCCL INFO ...\n","stream":"stdout"}. The escapes are
// undone, and what follows the message goes away with its closing quote.
void undo_json(std::string_view line, std::string& out) {
  out.clear();
  bool in_message = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\\' && at + 1 < line.size()) {
      at += append_json_escape(line, at + 1, out);
    } else if (line[at] == '"' && in_message) {
      break;
    } else {
      out += line[at];
    }
    in_message = in_message || out.ends_with("NCCL INFO ") || out.ends_with("NCCL WARN ");
  }
}

// Escape sequences and NULs away; a carriage return inside ends the message.
void undo_terminal(std::string_view line, std::string& out) {
  out.clear();
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char letter = line[at];
    if (letter == '\x1b') {
      if (at + 1 < line.size() && line[at + 1] == '[') {
        at += 2;
        while (at < line.size() && (line[at] < '@' || line[at] > '~'))
          ++at;
      }
    } else if (letter == '\r') {
      // Before the anchor it is a progress bar that was overwritten, behind it the end.
      if (find_anchor(out)) return;
      out += ' ';
    } else if (letter != '\0') {
      out += letter;
    }
  }
}

}  // namespace

std::string keep_text(std::string_view text) {
  return printable(text.substr(0, kMaxText));
}

void Parser::begin(const std::string& name, bool gzip) {
  model::NcclFile next;
  next.name = name;
  next.gzip = gzip;
  next.place = log_.places.add(name, "");
  source_ = {next.place, 0, ""};
  log_.files.push_back(std::move(next));
  thread_index_.clear();
  heads_.clear();
  last_head_ = 0;
  process_index_.clear();
  loose_.clear();
  last_process_ = model::kNoNcclIndex;
  has_last_thread_ = false;
  error_follows_ = false;
  first_process_ = static_cast<model::NcclIndex>(log_.processes.size());
  open_ = true;
}

void Parser::line(std::string_view text, bool dirty) {
  ++file().lines;
  ++source_.line;
  text = trim_end(text);
  if (text.empty()) return;
  if (dirty && text.find_first_of("\x1b\r") != std::string_view::npos) {
    undo_terminal(text, clean_);
    text = clean_;
  }
  if (known_head(text)) return;
  const auto anchor = find_anchor(text);
  if (!anchor) foreign(text);
  const bool taken = anchor && take_nccl(text, *anchor);
  if (other_ && !taken) other_(source_.line, text);
}

bool Parser::take_nccl(std::string_view text, const Anchor& anchor) {
  if (text.front() == '{') {
    std::string plain;
    undo_json(text, plain);
    const auto inner = find_anchor(plain);
    const auto envelope = inner ? parse_envelope(std::string_view(plain).substr(0, inner->at)) : std::nullopt;
    if (!envelope) return false;
    nccl_line(trim_end(plain), *inner, *envelope);
    return inner->level != Level::kWarn;
  }
  const auto envelope = parse_envelope(text.substr(0, anchor.at));
  if (!envelope) {
    foreign(text);
    return false;
  }
  nccl_line(text, anchor, *envelope);
  keep_head(text, anchor, *envelope);
  return anchor.level != Level::kWarn;
}

std::size_t Parser::head_slot(std::string_view line) {
  return static_cast<std::size_t>(hash_text(line.substr(0, kHeadKey))) & (kHeads - 1);
}

// Takes the line when it begins as an earlier one and nothing else is on it.
bool Parser::known_head(std::string_view line) {
  if (line.size() < kHeadKey || heads_.empty()) return false;
  // Ranks write in bursts: the last head first.
  if (!heads_[last_head_].begins(line)) {
    last_head_ = head_slot(line);
    if (!heads_[last_head_].begins(line)) return false;
  }
  const Head& head = heads_[last_head_];
  if (find_anchor(line, head.size)) return false;
  Envelope envelope;
  envelope.device = head.device;
  tell({line.substr(head.size), head.thread, threads_[head.thread].process, source_, &envelope},
       Level::kInfo);
  return true;
}

// Only what is told by the head alone: no place in the code, no time, which differs from line to line.
void Parser::keep_head(std::string_view line, const Anchor& anchor, const Envelope& envelope) {
  Head head;
  if (anchor.level != Level::kInfo || envelope.cut || envelope.host.empty() || !envelope.location.empty() ||
      !envelope.function.empty() || anchor.message < kHeadKey || anchor.message > head.text.size() ||
      line.front() == '{' || !has_last_thread_ || find_time(envelope.prefix))
    return;
  head.size = static_cast<std::uint32_t>(anchor.message);
  line.copy(head.text.data(), anchor.message);
  head.thread = last_thread_;
  head.device = envelope.device;
  if (heads_.empty()) heads_.resize(kHeads);
  heads_[head_slot(line)] = head;
}

// One line, or several that were written at once and stand behind one another.
void Parser::nccl_line(std::string_view line, Anchor anchor, Envelope envelope) {
  for (;;) {
    if (anchor.message > line.size()) anchor.message = line.size();
    const auto next = find_anchor(line, anchor.message);
    if (!next) break;
    auto inner = parse_envelope(line.substr(anchor.message, next->at - anchor.message));
    if (!inner || inner->host.empty()) break;
    mend_host(*inner);
    ++file().glued_lines;
    message(trim_end(line.substr(anchor.message, inner->prefix.size())), anchor.level, envelope);
    envelope = *inner;
    envelope.prefix = {};
    anchor = *next;
  }
  message(line.substr(anchor.message), anchor.level, envelope);
}

// Behind a message that was cut, "via P2P/CUnode-1:12:13 [0] NCCL INFO": the host is the known one at the
// end.
void Parser::mend_host(Envelope& envelope) const {
  std::size_t tried = 0;
  std::string_view known;
  for (auto process = log_.processes.rbegin(); process != log_.processes.rend() && tried < kHostsTried;
       ++process, ++tried) {
    if (envelope.host == process->host) return;
    if (process->host.size() > known.size() && envelope.host.ends_with(process->host)) known = process->host;
  }
  if (known.empty()) return;
  const auto extra = envelope.host.size() - known.size();
  envelope.prefix = std::string_view(envelope.prefix.data(), envelope.prefix.size() + extra);
  envelope.host.remove_prefix(extra);
  envelope.thread.remove_prefix(extra);
}

model::NcclIndex Parser::find_process(const Envelope& envelope) {
  const auto key = mix(hash_text(envelope.host), envelope.pid);
  const auto known = process_index_.find(key);
  if (known != Index::kNone) return known;
  const auto whole = find_whole_host(envelope);
  if (whole != model::kNoNcclIndex) return whole;
  if (log_.processes.size() >= kMaxProcesses) {
    ++log_.left_out;
    return static_cast<model::NcclIndex>(log_.processes.size() - 1);
  }
  const auto index = static_cast<model::NcclIndex>(log_.processes.size());
  process_index_.put(key, index);
  model::NcclProcess process;
  process.host = printable(envelope.host);
  process.pid = envelope.pid;
  process.file = static_cast<model::NcclIndex>(log_.files.size() - 1);
  process.first = source_;
  process.launcher_rank = find_launcher_rank(envelope.prefix);
  process.first_time_us = find_time(envelope.prefix);
  log_.processes.push_back(std::move(process));
  announced_.emplace_back();
  last_prefix_.emplace_back();
  event_count_.push_back(0);
  return index;
}

// "sum -1node-1:12:13 [0] NCCL INFO": something else was being written on the line. It is the process of this
// number whose host the text ends with.
model::NcclIndex Parser::find_whole_host(const Envelope& envelope) const {
  std::size_t tried = 0;
  for (std::size_t i = log_.processes.size(); i > first_process_ && tried < kProcessesTried; --i, ++tried) {
    const auto& process = log_.processes[i - 1];
    if (process.pid == envelope.pid && !process.host.empty() && envelope.host.ends_with(process.host))
      return static_cast<model::NcclIndex>(i - 1);
  }
  return model::kNoNcclIndex;
}

std::uint32_t Parser::find_thread(const Envelope& envelope) {
  const auto key = hash_text(envelope.thread);
  if (has_last_thread_ && key == last_thread_key_) return last_thread_;
  auto found = thread_index_.find(key);
  if (found == Index::kNone) {
    const auto process = find_process(envelope);
    if (threads_.size() >= kMaxThreads) {  // forgets who initialised what, keeps the facts
      threads_.clear();
      heads_.clear();
    }
    found = static_cast<std::uint32_t>(threads_.size());
    threads_.emplace_back();
    threads_.back().process = process;
    if (found == 0) thread_index_.clear();
    thread_index_.put(key, found);
    ++log_.processes[process].threads;
  }
  has_last_thread_ = true;
  last_thread_key_ = key;
  last_thread_ = found;
  return found;
}

void Parser::keep_time(model::NcclProcess& process, std::string_view prefix) {
  if (prefix.empty()) return;
  auto& kept = last_prefix_[static_cast<std::size_t>(&process - log_.processes.data())];
  kept.assign(prefix.substr(prefix.size() > kMaxPrefix ? prefix.size() - kMaxPrefix : 0));
  if (!process.launcher_rank) process.launcher_rank = find_launcher_rank(prefix);
  if (!process.first_time_us) process.first_time_us = find_time(prefix);
}

void Parser::message(std::string_view text, Level level, const Envelope& envelope) {
  const auto thread = find_thread(envelope);
  const auto process = threads_[thread].process;
  if (envelope.cut) ++file().damaged_lines;
  if (level == Level::kInfo || level == Level::kWarn) keep_time(log_.processes[process], envelope.prefix);
  tell({text, thread, process, source_, &envelope}, level);
}

void Parser::tell(const Message& message, Level level) {
  auto& process = log_.processes[message.process];
  ++threads_[message.thread].messages;
  ++file().nccl_lines;
  ++process.lines;
  process.last = source_;
  last_process_ = message.process;
  if (level == Level::kTrace || level == Level::kCall) {
    ++log_.trace_lines;
  } else if (level == Level::kWarn) {
    ++log_.warn_lines;
    ++process.warn_lines;
    warn(message);
  } else {
    ++log_.info_lines;
    if (!read_info(*this, message)) count_unknown(message);
  }
}

// look-ups.
void Parser::warn(const Message& message) {
  const auto words = words_key(message.text);
  auto kind = kinds_.find(words);
  if (kind == Index::kNone) {
    kind = static_cast<std::uint32_t>(classify(message.text));
    if (kinds_.size() < kMaxEvents) kinds_.put(words, kind);
  }
  event(message, static_cast<model::NcclEventKind>(kind), true);
}

void Parser::count_unknown(const Message& message) {
  ++file().unknown_lines;
  if (file().unknown.size() < kMaxUnknownShown)
    file().unknown.push_back({keep_text(message.text), message.source});
}

namespace {

// Both are small numbers: side by side, for an exclusive or would give one key to several pairs.
std::uint64_t device_key(const Message& message, int device) {
  return (std::uint64_t{message.process} << 32U) | static_cast<std::uint32_t>(device);
}

}  // namespace

std::uint32_t Parser::new_rank(const Message& message) {
  const auto member = members_.add(message.process, message.source);
  if (member == Members::kNone) {
    ++log_.left_out;
    return member;
  }
  threads_[message.thread].member = member;
  remember_device(message, member);
  return member;
}

void Parser::remember_device(const Message& message, std::uint32_t member) {
  const auto device =
      members_.at(member).rank.cuda_device ? members_.at(member).rank.cuda_device : message.envelope->device;
  if (device) device_members_.put(device_key(message, *device), member);
  ++ranks_told_;
}

std::uint32_t Parser::init_rank(const Message& message) {
  const auto member = threads_[message.thread].member;
  if (member != Members::kNone) {
    const Member& known = members_.at(member);
    if (known.has_start || known.rank.state == model::NcclRankState::kUnknown) return member;
    return new_rank(message);
  }
  const auto device = message.envelope->device;
  if (device) {
    const auto other = device_members_.find(device_key(message, *device));
    if (other != Index::kNone && members_.at(other).has_start) return other;
  }
  return new_rank(message);
}

std::uint32_t Parser::rank(const Message& message) {
  const auto member = threads_[message.thread].member;
  if (member != Members::kNone) return member;
  if (const auto device = message.envelope->device) {
    const auto other = device_members_.find(device_key(message, *device));
    if (other != Index::kNone) return other;
  }
  const auto& all = members_.of_process(message.process);
  return all.empty() ? new_rank(message) : all.back();
}

std::vector<model::NcclNetDevice>& Parser::announced(const Message& message, bool is_virtual) {
  auto& announced = announced_[message.process];
  return is_virtual ? announced.virtual_devices : announced.devices;
}

void Parser::event(const Message& message, model::NcclEventKind kind, bool is_warning) {
  const auto key = mix(event_key(message, kind), is_warning ? 1 : 2);
  auto index = events_.find(key);
  // A trace that was handled says nothing of the next one.
  const bool over = index != Index::kNone && kind == model::NcclEventKind::kErrorChain &&
                    log_.events[index].handled && !aborting(message);
  if (index != Index::kNone && !over) {
    ++log_.events[index].count;
  } else if (log_.events.size() >= kMaxEvents || event_count_[message.process] >= kMaxEventsPerProcess) {
    ++log_.events_left_out;
    return;
  } else {
    ++event_count_[message.process];
    index = static_cast<std::uint32_t>(log_.events.size());
    events_.put(key, index);
    log_.events.push_back(make_event(message, kind));
    log_.events.back().is_warning = is_warning;
  }
  auto& thread = threads_[message.thread];
  thread.last_event = index;
  thread.last_event_at = thread.messages;
  wrapped_event_ = index;
  wrapped_line_ = source_.line;
}

model::NcclEvent* Parser::last_event(const Message& message, std::uint64_t back) {
  const auto& thread = threads_[message.thread];
  const bool near = thread.last_event != Members::kNone && thread.messages - thread.last_event_at <= back;
  return near ? &log_.events[thread.last_event] : nullptr;
}

void Parser::version(std::string_view text, bool is_rccl, model::NcclIndex process, model::Source source) {
  Scan scan(text);
  const auto whole = scan.rest().substr(0, std::min(scan.rest().find_first_of(" ,)'\""), std::size_t{64}));
  const auto plus = whole.find('+') != std::string_view::npos ? whole.find('+') : whole.find('-');
  const auto number = printable(whole.substr(0, plus));
  const auto built = plus == std::string_view::npos ? std::string() : printable(whole.substr(plus + 1));
  if (auto* kept = once(hash_text(whole, mix(kVersionKey, is_rccl ? 1 : 0)), log_.versions, 256)) {
    if (kept->count++ == 0) *kept = {number, built, is_rccl, process, source, 1};
  }
  if (process != model::kNoNcclIndex) {
    auto& owner = log_.processes[process];
    owner.version = number;
    owner.built_for = built;
    owner.is_rccl = is_rccl;
    owner.version_source = source;
  } else if (loose_.size() < kMaxLoose) {
    loose_.push_back({std::nullopt, number, built, is_rccl, source, false, last_process_});
  }
}

// Old versions print the version without an envelope: it is the process's of that launcher's rank, of the
// file's only process, else of NCCL's line above, which the same rank 0 printed.
void Parser::assign_versions() {
  const bool only_a_version =
      file().nccl_lines == 0 && std::ranges::any_of(loose_, [](const Loose& one) { return one.is_bare; });
  if (only_a_version) file().nccl_lines = 1;
  const std::size_t count = log_.processes.size() - first_process_;
  for (const Loose& loose : loose_) {
    for (std::size_t i = first_process_; i < log_.processes.size(); ++i) {
      auto& process = log_.processes[i];
      if (!process.version.empty()) continue;
      const bool above =
          loose.is_bare && !loose.launcher_rank && (loose.before == i || loose.before == model::kNoNcclIndex);
      const bool launched = loose.launcher_rank && process.launcher_rank == loose.launcher_rank;
      if (count != 1 && !above && !launched) continue;
      process.version = loose.version;
      process.built_for = loose.built_for;
      process.is_rccl = loose.is_rccl;
      process.version_source = loose.source;
      break;
    }
  }
}

void Parser::end() {
  if (!open_) return;
  assign_versions();
  for (std::size_t i = first_process_; i < log_.processes.size(); ++i) {
    log_.processes[i].last_time_us = find_time(last_prefix_[i]);
    last_prefix_[i].clear();
  }
  open_ = false;
}

void Parser::add_tallies() {
  for (const Tally& tally : tallies_) {
    Member& member = members_.at(tally.member);
    auto& connection = member.rank.connections[tally.connection];
    connection.count += tally.lines;
    connection.channel_mask |= tally.channels;
    const auto way = member.ways[tally.connection];
    if (way != Index::kNone) member.rank.transports[way].count += tally.lines;
  }
  tallies_.clear();
}

model::NcclLog Parser::take() {
  end();
  add_tallies();
  log_.communicators = members_.take();
  auto log = std::move(log_);
  *this = Parser{};
  return log;
}

}  // namespace angio::import::nccl_log
