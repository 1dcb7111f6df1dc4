#include "import/xml_mend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace angio::import {
namespace {

constexpr std::string_view kSendWhole = "send the whole file: the piece that is here was read";
constexpr std::size_t kMaxDepth = 200;  // hwloc and NCCL stay below 40

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == ':';
}

std::string_view leading_name(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, is_name);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

std::string_view skip_space(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

// name="value" or name='value' pairs up to the end; `text` is what stands between the name and '>'.
bool are_attributes(std::string_view text) {
  for (text = skip_space(text); !text.empty(); text = skip_space(text)) {
    const std::string_view name = leading_name(text);
    text = skip_space(text.substr(name.size()));
    if (name.empty() || !text.starts_with('=')) return false;
    text = skip_space(text.substr(1));
    if (text.empty() || (text[0] != '"' && text[0] != '\'')) return false;
    const std::size_t end = text.find(text[0], 1);
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return true;
}

class Mender {
 public:
  Mender(std::string_view text, Draft& draft) : text_(text), draft_(draft) { mended_.reserve(text.size()); }

  std::string mend() {
    while (position_ < text_.size()) {
      const std::size_t open = std::min(text_.find('<', position_), text_.size());
      copy_text(open);
      if (position_ < text_.size() && !skip_special()) take_tag();
    }
    if (!open_.empty()) {
      draft_.note(
          "xml.cut-off", line_,
          [&] { return fmt::format("the text ends inside <{}>: it is cut off", open_.back().name); },
          kSendWhole);
    }
    while (!open_.empty())
      close_last();
    return std::move(mended_);
  }

 private:
  struct Open {
    std::string name;
    std::uint32_t line = 0;
  };

  void copy(std::size_t end) {
    const std::string_view part = text_.substr(position_, end - position_);
    line_ += static_cast<std::uint32_t>(std::ranges::count(part, '\n'));
    mended_ += part;
    position_ = end;
  }

  // Leaves out what stands there, keeps its line breaks.
  void blank(std::size_t end) {
    for (; position_ < end; ++position_) {
      if (text_[position_] == '\n') {
        ++line_;
        mended_ += '\n';
      }
    }
  }

  void copy_text(std::size_t end) {
    const std::string_view part = text_.substr(position_, end - position_);
    if (open_.empty() && !is_space(part)) {
      const auto skipped = static_cast<std::uint32_t>(std::count(part.begin(), part.end(), '\n'));
      draft_.note(
          "xml.foreign-text", line_ + (part[0] == '\n' ? 1 : 0),
          [&] { return fmt::format("text outside of the XML is left out: {}", quoted(part)); },
          skipped > 0 ? "give the XML alone" : "nothing to do if this is prose around the XML");
      return blank(end);
    }
    copy(end);
  }

  static bool is_space(std::string_view part) {
    return part.find_first_not_of(" \t\r\n") == std::string_view::npos;
  }

  // Comments, prolog, document type, CDATA: left out. False when a tag stands here.
  bool skip_special() {
    static constexpr std::pair<std::string_view, std::string_view> kSpecial[] = {
        {"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"}};
    for (const auto& [begin, end] : kSpecial) {
      if (!text_.substr(position_).starts_with(begin)) continue;
      const std::size_t found = text_.find(end, position_ + begin.size());
      if (found == std::string_view::npos) {
        draft_.note(
            "xml.cut-off", line_,
            [&] { return fmt::format("{} is never closed: the text is cut off", begin); }, kSendWhole);
      }
      blank(found == std::string_view::npos ? text_.size() : found + end.size());
      return true;
    }
    return false;
  }

  // The end of the tag that begins here: its '>', not one inside quotes. npos when another '<' comes first.
  std::size_t end_of_tag() const {
    char quote = 0;
    for (std::size_t i = position_ + 1; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '<') return std::string_view::npos;
      if (quote == 0 && c == '>') return i;
      if (c == '"' || c == '\'') quote = quote == 0 ? c : (quote == c ? '\0' : quote);
    }
    return std::string_view::npos;
  }

  void take_tag() {
    const std::size_t end = end_of_tag();
    if (end == std::string_view::npos)
      return drop_tag(std::min(text_.find('<', position_ + 1), text_.size()));
    const std::string_view inside = text_.substr(position_ + 1, end - position_ - 1);
    if (inside.starts_with('/')) return take_end(trim(inside.substr(1)), end + 1);
    const std::string_view name = leading_name(inside);
    const bool closed = inside.ends_with('/');
    const std::string_view rest = inside.substr(name.size(), inside.size() - name.size() - (closed ? 1 : 0));
    if (name.empty() || !are_attributes(rest)) return drop_tag(end + 1);
    if (open_.size() == kMaxDepth && !closed) {
      ++too_deep_;
      draft_.note(
          "xml.too-deep", line_, [&] { return fmt::format("<{}> is nested deeper than any topology", name); },
          kSendWhole);
      return blank(end + 1);
    }
    if (!closed) {
      open_.push_back({std::string(name), line_});
      ++names_open_[open_.back().name];
    }
    copy(end + 1);
  }

  void drop_tag(std::size_t end) {
    const std::string_view tag = text_.substr(position_, end - position_);
    draft_.note(
        "xml.broken-tag", line_, [&] { return fmt::format("not understood and left out: {}", quoted(tag)); },
        kSendWhole);
    blank(end);
  }

  void take_end(std::string_view name, std::size_t end) {
    const auto count = names_open_.find(name);
    if (count == names_open_.end() || count->second == 0) {
      if (too_deep_ > 0) {
        --too_deep_;
      } else {
        draft_.note(
            "xml.start-missing", line_,
            [&] { return fmt::format("</{}> closes nothing: the start is missing", printable(name)); },
            kSendWhole);
      }
      return blank(end);
    }
    while (open_.back().name != name) {
      draft_.note(
          "xml.unclosed", open_.back().line,
          [&] {
            return fmt::format("<{}> is not closed before </{}> in line {}", open_.back().name, name, line_);
          },
          kSendWhole);
      close_last();
    }
    close_last();
    blank(end);
  }

  void close_last() {
    mended_ += "</" + open_.back().name + ">";
    --names_open_[open_.back().name];
    open_.pop_back();
  }

  std::string_view text_;
  Draft& draft_;
  std::string mended_;
  std::vector<Open> open_;
  std::map<std::string, std::size_t, std::less<>> names_open_;
  std::size_t position_ = 0;
  std::size_t too_deep_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

std::string mend_xml(std::string_view text, Draft& draft) {
  return Mender(text, draft).mend();
}

}  // namespace angio::import
