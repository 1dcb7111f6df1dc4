#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.hpp"
#include "probe/machine_probe.hpp"
#include "probe/snapshot/escape.hpp"
#include "probe/snapshot/snapshot.hpp"

namespace angio::probe {
namespace {

using host::Answers;
using host::Read;
using host::ReadError;

constexpr std::string_view kMagic = "angio snapshot ";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMaxPath = 4096;  // PATH_MAX

// Text up to the next blank; text then begins behind it.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// Absolute, no empty, "." or ".." component, no NUL.
bool is_sound(std::string_view path) {
  if (path.empty() || path.size() > kMaxPath || path[0] != '/' || path.find('\0') != path.npos) return false;
  if (path == "/") return true;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

std::optional<int> errno_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, int>, 5> kUsual{
      {{"ENOENT", ENOENT}, {"EACCES", EACCES}, {"EINVAL", EINVAL}, {"EPERM", EPERM}, {"E0", 0}}};
  for (const auto& [usual, value] : kUsual) {
    if (name == usual) return value;
  }
  const int value = errno_value(name);
  return value == 0 ? std::nullopt : std::optional(value);
}

class Parser {
 public:
  Parser(std::string_view bytes, std::string name) : rest_(bytes), name_(std::move(name)) {}

  Result<Snapshot> run() {
    if (auto sound = first_line(); !sound) return std::unexpected(std::move(sound.error()));
    while (next_line()) {
      // Half a value is worse than none. A file written by hand may lack its last newline.
      if (!cut_ || result_.tool.empty()) take_line();
    }
    check_end();
    return std::move(result_);
  }

 private:
  bool next_line() {
    if (rest_.empty()) return false;
    ++number_;
    const std::size_t end = rest_.find('\n');
    cut_ = end == rest_.npos;
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(cut_ ? rest_.size() : end + 1);
    if (line_.ends_with('\r'))
      line_.remove_suffix(1);  // plain content never holds one: it is hexadecimal then
    return true;
  }

  Result<void> first_line() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    if (rest_.empty())
      return fail(ErrorCode::kInvalidInput, name_ + ": the file is empty", "collect it again");
    (void)next_line();
    if (!line_.starts_with(kMagic)) {
      return fail(ErrorCode::kInvalidInput, name_ + ":1: expected \"angio snapshot 1\": this is no snapshot",
                  "make one with angio collect");
    }
    const auto version = parse_integer<std::uint32_t>(trim(line_.substr(kMagic.size())));
    if (!version || *version == 0) {
      return fail(ErrorCode::kInvalidInput, name_ + ":1: no version number behind \"angio snapshot\"",
                  "collect it again");
    }
    if (*version > kVersion) {
      return fail(ErrorCode::kUnsupported,
                  name_ + ": snapshot format " + std::to_string(*version) + ", this angio reads up to " +
                      std::to_string(kVersion),
                  "use the angio that made it, or a newer one");
    }
    return {};
  }

  void take_line() {
    if (line_.empty()) return;
    const char letter = line_[0];
    if (letter == '|' || letter == '~') return take_block_line();
    finish_block();
    if (letter == '#') return;
    if (line_.size() >= 2 && line_[1] == ' ') return take_record(letter, line_.substr(2));
    take_header();
  }

  void take_header() {
    std::string_view rest = line_;
    const std::string_view key = take_word(rest);
    const auto text = [&] { return snapshot::unescape(rest).value_or(printable(rest)); };
    if (key == "tool") {
      result_.tool = text();
    } else if (key == "host") {
      result_.host = text();
    } else if (key == "captured") {
      result_.captured = text();
    } else if (key == "scrubbed") {
      result_.scrubbed = true;
    } else if (key == "scope" && (rest == "complete" || rest == "recorded")) {
      result_.scope = rest == "complete" ? host::Scope::kComplete : host::Scope::kRecorded;
    } else if (key == "end") {
      end_ = parse_integer<std::size_t>(rest);
    } else {
      note("snap.unknown-line", "is of no known kind", "a newer angio may know it");
    }
  }

  void take_record(char letter, std::string_view rest) {
    ++records_;
    constexpr std::string_view kLetters = "=-+0>:!?%";
    if (kLetters.find(letter) == kLetters.npos) {
      return note("snap.unknown-record", "has a record of no known kind", "a newer angio may know it");
    }
    std::optional<std::string> path = snapshot::unescape(take_word(rest));
    if (!path || !is_sound(*path)) {
      return note("snap.bad-path", "has a path that is not absolute and plain", "collect it again");
    }
    Answers& answers = at(std::move(*path));
    switch (letter) {
      case '=':
        return set(answers.content, std::string(rest) + "\n");
      case '-':
        return set(answers.content, std::string(rest));
      case '+':
        return begin_block(answers, '\n');
      case '0':
        return begin_block(answers, '\0');
      case '>':
        return take_link(answers, rest);
      case ':':
        return take_names(answers, rest);
      case '!':
        return take_error(answers, rest);
      case '?':
        return set(answers.exists, true);
      default:
        return take_hex(answers, rest);
    }
  }

  // Files are written in the order of paths, so the end is nearly always the right place.
  Answers& at(std::string path) {
    host::Recording& all = result_.recording;
    if (!all.empty() && all.rbegin()->first == path) return all.rbegin()->second;
    return all.try_emplace(all.end(), std::move(path))->second;
  }

  template <typename Slot, typename Value>
  void set(Slot& slot, Value value) {
    if (slot) return note("snap.duplicate", "repeats an earlier record", "the first one counts");
    slot = std::move(value);
  }

  void begin_block(Answers& answers, char separator) {
    if (answers.content) return note("snap.duplicate", "repeats an earlier record", "the first one counts");
    answers.content = std::string();
    block_ = &**answers.content;
    owner_ = &answers;
    separator_ = separator;
  }

  void take_block_line() {
    if (block_ == nullptr) {
      if (!skipping_) note("snap.stray-line", "is content that belongs to no record", "collect it again");
      skipping_ = true;
      return;
    }
    if (block_->size() + line_.size() > host::kMaxFileSize) return overflow();
    block_->append(line_.substr(1));
    if (line_[0] == '|' && !cut_) *block_ += separator_;
    if (line_[0] == '~') block_ = nullptr;
  }

  void overflow() {
    note("snap.too-large", "makes a content larger than any probe reads", "collect it again");
    block_ = nullptr;
    skipping_ = true;
  }

  void finish_block() {
    block_ = nullptr;
    skipping_ = false;
  }

  void take_link(Answers& answers, std::string_view rest) {
    std::optional<std::string> target = snapshot::unescape(rest);
    if (!target || target->size() > kMaxPath)
      return note("snap.bad-link", "has a damaged link", "collect it again");
    set(answers.link, Read<std::string>(std::move(*target)));
  }

  void take_names(Answers& answers, std::string_view rest) {
    host::Names names;
    names.reserve(static_cast<std::size_t>(std::ranges::count(rest, ' ')) + 1);
    while (!rest.empty()) {
      std::optional<std::string> name = snapshot::unescape(take_word(rest));
      const bool sound = name && !name->empty() && *name != "." && *name != ".." &&
                         name->find('/') == name->npos && name->find('\0') == name->npos;
      if (sound) {
        names.push_back(std::move(*name));
      } else {
        note("snap.bad-name", "lists a name that no directory can hold", "collect it again");
      }
    }
    if (!std::ranges::is_sorted(names)) std::ranges::sort(names);
    set(answers.names, Read<host::Names>(std::move(names)));
  }

  void take_error(Answers& answers, std::string_view rest) {
    std::string_view word = take_word(rest);
    std::string_view question;
    if (word == "list" || word == "link" || word == "exists") {
      question = word;
      word = take_word(rest);
    }
    const std::optional<int> value = errno_of(word);
    if (!value) return note("snap.bad-error", "has an error of no known name", "collect it again");
    ReadError error{*value, snapshot::unescape(rest).value_or(printable(rest))};
    if (question == "list") return set(answers.names, Read<host::Names>(std::unexpected(std::move(error))));
    if (question == "link") return set(answers.link, Read<std::string>(std::unexpected(std::move(error))));
    if (question == "exists") return set(answers.exists, false);
    set(answers.content, Read<std::string>(std::unexpected(std::move(error))));
  }

  void take_hex(Answers& answers, std::string_view rest) {
    if (rest.size() / 2 > host::kMaxFileSize) return overflow();
    std::optional<std::string> bytes = snapshot::parse_hex(rest);
    if (!bytes) return note("snap.bad-bytes", "has damaged hexadecimal content", "collect it again");
    set(answers.content, Read<std::string>(std::move(*bytes)));
  }

  // The first of a kind says where; the rest are counted.
  void note(std::string_view id, std::string_view what, std::string_view remedy) {
    for (model::Note& known : result_.notes) {
      if (known.id == id) return void(++known.count);
    }
    result_.notes.push_back({std::string(id),
                             name_ + ":" + std::to_string(number_) + ": " + std::string(what), 1,
                             std::string(remedy)});
  }

  // Written by hand there is no "tool" line, and no "end" is asked for.
  void check_end() {
    const bool unfinished = cut_ || (!result_.tool.empty() && (!end_ || *end_ != records_));
    if (!unfinished) return;
    const std::string_view what = end_ ? "the number of records is not what the end line says"
                                       : "the file ends before its end line: it is cut off";
    note("snap.truncated", what, "collect it again; what was read is used");
    result_.scope = host::Scope::kRecorded;  // what is missing may have been in the part that is lost
    if (!end_ && block_ != nullptr) owner_->content.reset();  // its last lines may be missing
  }

  std::string_view rest_;
  std::string name_;
  std::string_view line_;
  std::size_t number_ = 0;
  std::size_t records_ = 0;
  std::optional<std::size_t> end_;
  bool cut_ = false;              // the line has no newline: the file ends in it
  bool skipping_ = false;         // lines of a block that was refused
  std::string* block_ = nullptr;  // content that the next lines belong to
  Answers* owner_ = nullptr;      // of block_
  char separator_ = '\n';
  Snapshot result_;
};

// Processes whose maps were asked for: those probed when the snapshot was made.
std::vector<std::uint32_t> recorded_processes(const host::Recording& recording) {
  constexpr std::string_view kProc = "/proc/";
  constexpr std::string_view kMaps = "/maps";
  std::vector<std::uint32_t> processes;
  for (auto entry = recording.lower_bound(kProc); entry != recording.end() && entry->first.starts_with(kProc);
       ++entry) {
    const std::string_view path = entry->first;
    if (!path.ends_with(kMaps)) continue;
    const auto id =
        parse_integer<std::uint32_t>(path.substr(kProc.size(), path.size() - kProc.size() - kMaps.size()));
    if (id) processes.push_back(*id);
  }
  return processes;
}

}  // namespace

Result<Snapshot> parse_snapshot(std::string_view bytes, const std::string& name) {
  return Parser(bytes, name).run();
}

model::Machine machine_of(Snapshot snapshot, const std::string& name) {
  ProbeOptions options;
  options.processes = recorded_processes(snapshot.recording);
  const std::unique_ptr<host::Root> root =
      host::make_memory_root(std::move(snapshot.recording), snapshot.scope);
  model::Machine machine = probe_machine(*root, options);
  if (!snapshot.host.empty()) machine.name = snapshot.host;
  if (machine.name.empty()) {
    const std::string_view file = std::string_view(name).substr(name.rfind('/') + 1);
    machine.name = file.ends_with(".snap") ? file.substr(0, file.size() - 5) : file;
  }
  machine.origin = "snapshot " + name;
  machine.scrubbed = snapshot.scrubbed;
  if (!snapshot.captured.empty()) {
    model::Source source;
    source.place = machine.places.add(name);
    machine.captured = model::Observed<std::string>::known(std::move(snapshot.captured), source);
  }
  for (model::Note& note : snapshot.notes)
    machine.notes.push_back(std::move(note));
  return machine;
}

std::size_t count_answers(const host::Recording& recording) {
  std::size_t count = 0;
  for (const auto& [path, answers] : recording) {
    count += std::size_t{answers.content.has_value()} + std::size_t{answers.names.has_value()} +
             std::size_t{answers.link.has_value()} + std::size_t{answers.exists.has_value()};
  }
  return count;
}

}  // namespace angio::probe
