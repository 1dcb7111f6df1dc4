#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "probe/snapshot/escape.hpp"
#include "probe/snapshot/snapshot.hpp"

namespace angio::probe {
namespace {

using host::Read;
using host::ReadError;

class Writer {
 public:
  void header(std::string_view key, std::string_view value) {
    out_.append(key).append(" ");
    snapshot::append_escaped(out_, value, true);
    out_ += '\n';
  }
  void flag(std::string_view key) { out_.append(key).append("\n"); }

  void write(std::string_view path, const host::Answers& answers) {
    if (answers.content) content(path, *answers.content);
    if (answers.names) names(path, *answers.names);
    if (answers.link) link(path, *answers.link);
    if (answers.exists) exists(path, *answers.exists);
  }

  std::string finish() {
    out_ += "end " + std::to_string(records_) + "\n";
    return std::move(out_);
  }

 private:
  void record(char letter, std::string_view path) {
    ++records_;
    out_ += letter;
    out_ += ' ';
    snapshot::append_escaped(out_, path);
  }

  void error(std::string_view path, std::string_view question, const ReadError& error) {
    if (error.error == host::kNotCollected) return;  // that is what silence means
    record('!', path);
    if (!question.empty()) out_.append(" ").append(question);
    out_ += ' ';
    out_ += error.error == 0 ? "E0" : errno_name(error.error);
    if (!error.detail.empty()) {
      out_ += ' ';
      snapshot::append_escaped(out_, error.detail, true);
    }
    out_ += '\n';
  }

  void content(std::string_view path, const Read<std::string>& answer) {
    if (!answer) return error(path, {}, answer.error());
    const std::string_view text = *answer;
    const std::size_t newlines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    const bool ended = text.ends_with('\n');
    if (newlines <= 1 && ended == (newlines == 1) &&
        snapshot::is_plain(text.substr(0, text.size() - newlines))) {
      record(ended ? '=' : '-', path);
      if (text.size() > newlines) out_.append(" ").append(text.substr(0, text.size() - newlines));
      out_ += '\n';
      return;
    }
    if (block(path, text, '+', '\n') || (newlines == 0 && block(path, text, '0', '\0'))) return;
    record('%', path);
    out_ += ' ';
    snapshot::append_hex(out_, text);
    out_ += '\n';
  }

  // False, and nothing written, when a line is not plain text.
  bool block(std::string_view path, std::string_view text, char letter, char separator) {
    const bool ended = text.ends_with(separator);
    const std::vector<std::string_view> lines =
        split(ended ? text.substr(0, text.size() - 1) : text, separator);
    if (!std::ranges::all_of(lines, snapshot::is_plain)) return false;
    record(letter, path);
    out_ += '\n';
    for (const std::string_view& line : lines) {
      const bool cut = !ended && &line == &lines.back();
      out_.append(cut ? "~" : "|").append(line).append("\n");
    }
    return true;
  }

  void names(std::string_view path, const Read<host::Names>& answer) {
    if (!answer) return error(path, "list", answer.error());
    record(':', path);
    for (const std::string& name : *answer) {
      out_ += ' ';
      snapshot::append_escaped(out_, name);
    }
    out_ += '\n';
  }

  void link(std::string_view path, const Read<std::string>& answer) {
    if (!answer) return error(path, "link", answer.error());
    record('>', path);
    out_ += ' ';
    snapshot::append_escaped(out_, *answer);
    out_ += '\n';
  }

  void exists(std::string_view path, bool answer) {
    if (!answer) return error(path, "exists", {ENOENT, {}});
    record('?', path);
    out_ += '\n';
  }

  std::string out_;
  std::size_t records_ = 0;
};

}  // namespace

std::string render_snapshot(const Snapshot& snapshot) {
  Writer writer;
  writer.flag("angio snapshot 1");
  if (!snapshot.tool.empty()) writer.header("tool", snapshot.tool);
  if (!snapshot.host.empty()) writer.header("host", snapshot.host);
  if (!snapshot.captured.empty()) writer.header("captured", snapshot.captured);
  writer.header("scope", snapshot.scope == host::Scope::kComplete ? "complete" : "recorded");
  if (snapshot.scrubbed) writer.flag("scrubbed");
  for (const auto& [path, answers] : snapshot.recording)
    writer.write(path, answers);
  return writer.finish();
}

}  // namespace angio::probe
