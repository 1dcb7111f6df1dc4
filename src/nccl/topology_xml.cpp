#include "nccl/topology_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace angio::nccl {
namespace {

// Ours, for hostile text: NCCL itself stops at 256 elements of one topology file and has no nesting beyond
// pci.
constexpr std::size_t kMostElements = 500000;
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kKeptAttributes = 256;  // of one element
constexpr std::size_t kDetailed = 16;         // remarks of one kind that are kept one by one

constexpr std::string_view kFails = "stops here: initialization fails with ncclInternalError";

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool ends_name(char c) {
  return is_blank(c) || c == '=' || c == '>' || c == '/' || c == '<';
}

// The characters of the text with their places.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return position_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[position_]; }
  [[nodiscard]] bool starts_with(std::string_view part) const {
    return text_.substr(position_).starts_with(part);
  }
  [[nodiscard]] TextPlace place() const {
    return {line_, static_cast<std::uint32_t>(position_ - line_start_ + 1)};
  }
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::string_view since(std::size_t start) const {
    return text_.substr(start, position_ - start);
  }

  void advance(std::size_t count = 1) {
    for (; count > 0 && !at_end(); --count) {
      if (text_[position_] == '\n') {
        ++line_;
        line_start_ = position_ + 1;
      }
      ++position_;
    }
  }

  template <typename Stop>
  std::string_view take_until(Stop stop) {
    const std::size_t start = position_;
    while (!at_end() && !stop(peek()))
      advance();
    return since(start);
  }

  // The text in front of the mark, which is skipped; false when the mark never comes.
  bool skip_past(std::string_view mark) {
    const std::size_t found = text_.find(mark, position_);
    advance((found == std::string_view::npos ? text_.size() : found + mark.size()) - position_);
    return found != std::string_view::npos;
  }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
};

class Reader {
 public:
  Reader(std::string_view text, Remarks& remarks) : cursor_(text), remarks_(remarks) {}

  XmlText run() {
    skip_mark();
    while (!cursor_.at_end())
      step();
    while (!open_.empty()) {
      error("xml.unterminated", open_.back().place,
            fmt::format("<{}> is never closed", name_of(open_.back())),
            "write the closing tags; a file that ends early may have been cut off");
      close_last();
    }
    return std::move(result_);
  }

 private:
  static std::string name_of(const Element& element) { return printable(element.name.substr(0, 40)); }

  void error(std::string_view id, TextPlace place, std::string text, std::string_view instead) {
    remarks_.add(
        {Weight::kError, std::string(id), place, std::move(text), std::string(kFails), std::string(instead)});
  }
  void warn(std::string_view id, TextPlace place, std::string text, std::string_view nccl,
            std::string_view instead) {
    remarks_.add(
        {Weight::kWarning, std::string(id), place, std::move(text), std::string(nccl), std::string(instead)});
  }

  void skip_mark() {
    if (!cursor_.starts_with("\xef\xbb\xbf")) return;
    error("xml.byte-order-mark", cursor_.place(), "the file begins with a byte order mark",
          "save it as UTF-8 without a byte order mark");
    cursor_.advance(3);
  }

  void step() {
    const char c = cursor_.peek();
    if (c == ' ' || c == '\n' || c == '\r') {
      cursor_.advance();
    } else if (c == '<') {
      markup();
    } else {
      stray(c);
    }
  }

  void stray(char c) {
    const TextPlace place = cursor_.place();
    if (c == '\t') {
      error("xml.tab", place, "a tab between tags", "indent with blanks");
      cursor_.advance();
      return;
    }
    const std::string_view text = cursor_.take_until([](char each) { return each == '<' || each == '\n'; });
    error("xml.text", place, fmt::format("text between tags: \"{}\"", printable(text.substr(0, 40))),
          "remove it; everything is an attribute in this format");
  }

  void markup() {
    const TextPlace place = cursor_.place();
    if (cursor_.starts_with("<!--")) {
      comment(place);
    } else if (cursor_.starts_with("<?")) {
      error("xml.prolog", place, "an XML declaration (<?xml …?>)",
            "remove the line: the file begins with <system version=\"1\">");
      cursor_.skip_past(">");
    } else if (cursor_.starts_with("<!")) {
      error("xml.declaration", place, "a <!…> declaration", "remove it");
      cursor_.skip_past(">");
    } else if (cursor_.starts_with("</")) {
      closing(place);
    } else {
      opening(place);
    }
  }

  // NCCL takes the first word of a comment for an element's name, so "=" in it ends the reading.
  void comment(TextPlace place) {
    cursor_.advance(4);
    const std::size_t start = cursor_.position();
    const bool closed = cursor_.skip_past("-->");
    const std::string_view text = cursor_.since(start);
    if (!closed) {
      error("xml.comment-open", place, "a comment that never ends", "close it with -->");
      return;
    }
    const std::string_view word = text.substr(0, text.find_first_of(" >/\n\r"));
    if (contains(word, "=") || word.size() > kLongestText) {
      error("xml.comment-word", place, "the first word of a comment has a \"=\" in it or is very long",
            "write a blank behind <!--");
    }
  }

  void closing(TextPlace place) {
    cursor_.advance(2);
    const std::string name(cursor_.take_until(ends_name));
    if (cursor_.peek() != '>') {
      error("xml.closing-tag", place, fmt::format("</{}> has something behind its name", printable(name)),
            "nothing stands between the name and >");
      cursor_.take_until([](char c) { return c == '>' || c == '<'; });
    }
    if (cursor_.peek() == '>') cursor_.advance();
    close(name, place);
  }

  void close(const std::string& name, TextPlace place) {
    const auto found = std::find_if(open_.rbegin(), open_.rend(),
                                    [&](const Element& element) { return element.name == name; });
    if (found != open_.rbegin() || open_.empty()) {
      error("xml.mismatch", place,
            open_.empty() ? fmt::format("</{}> closes nothing", printable(name))
                          : fmt::format("</{}> where <{}> of line {} is open", printable(name),
                                        name_of(open_.back()), open_.back().place.line),
            "close the elements in the order they were opened");
    }
    if (found == open_.rend()) return;
    const auto keep = static_cast<std::size_t>(std::distance(found, open_.rend())) - 1;
    while (open_.size() > keep)
      close_last();
  }

  void close_last() {
    Element done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done));
  }

  void add(Element element) {
    (open_.empty() ? result_.roots : open_.back().children).push_back(std::move(element));
  }

  void opening(TextPlace place) {
    cursor_.advance();
    Element element;
    element.place = place;
    element.name = cursor_.take_until(ends_name);
    if (element.name.empty() || element.name.size() > kLongestText) {
      error("xml.name", place, "an element without a name, or with a very long one", "name it");
    }
    const bool single = attributes(element);
    if (element.name.empty()) return;
    if (++result_.elements > kMostElements || open_.size() >= kDeepest) {
      too_much(place);
      return;
    }
    if (single) {
      add(std::move(element));
    } else {
      open_.push_back(std::move(element));
    }
  }

  void too_much(TextPlace place) {
    const bool deep = open_.size() >= kDeepest;
    error(deep ? "xml.depth" : "xml.size", place,
          deep ? fmt::format("elements nested more than {} deep", kDeepest)
               : fmt::format("more than {} elements; the rest is not read", kMostElements),
          "no machine looks like this: check where the file is from");
    if (!deep) cursor_.advance(std::string_view::npos);
  }

  // Up to and with the end of the tag; true for <…/>.
  bool attributes(Element& element) {
    std::size_t count = 0;
    while (!cursor_.at_end()) {
      blanks(element);
      const char c = cursor_.peek();
      if (c == '>') {
        cursor_.advance();
        return false;
      }
      if (c == '/') {
        cursor_.advance();
        end_of_single(element);
        return true;
      }
      if (c == '<' || cursor_.at_end()) {
        error("xml.tag-open", element.place, fmt::format("the tag <{}> is not closed", name_of(element)),
              "end it with > or />");
        return false;
      }
      attribute(element, ++count);
    }
    return false;
  }

  void end_of_single(const Element& element) {
    if (cursor_.peek() == '>') {
      cursor_.advance();
      return;
    }
    error("xml.slash", cursor_.place(), fmt::format("\"/\" inside the tag <{}>", name_of(element)),
          "end the tag with />");
    cursor_.take_until([](char c) { return c == '>' || c == '<'; });
    if (cursor_.peek() == '>') cursor_.advance();
  }

  void blanks(const Element& element) {
    const TextPlace place = cursor_.place();
    const std::string_view text = cursor_.take_until([](char c) { return !is_blank(c); });
    if (text.find_first_of("\t\n\r") != std::string_view::npos) {
      error("xml.line-break", place, fmt::format("a line break or tab inside the tag <{}>", name_of(element)),
            "write each tag on one line, with single blanks");
    } else if (text.size() > 1) {
      remarks_.add({Weight::kNote, "xml.blanks", place,
                    fmt::format("more than one blank inside the tag <{}>", name_of(element)),
                    "keeps a nameless attribute for each further blank; they count to its 16",
                    "write single blanks"});
    }
  }

  void attribute(Element& element, std::size_t number) {
    Attribute attribute;
    attribute.place = cursor_.place();
    attribute.name = cursor_.take_until([](char c) { return ends_name(c); });
    if (cursor_.peek() == ' ') {
      const std::size_t before = cursor_.position();
      cursor_.take_until([](char c) { return c != ' '; });
      if (cursor_.peek() == '=') {
        remarks_.add({Weight::kError, "xml.equal-sign", attribute.place,
                      fmt::format("a blank in front of \"=\" of {}", printable(attribute.name)),
                      "reads the attribute as empty and its value as one without a name",
                      "write name=\"value\" without blanks"});
      } else if (cursor_.position() != before) {
        no_value(element, std::move(attribute), number);
        return;
      }
    }
    if (cursor_.peek() != '=') {
      no_value(element, std::move(attribute), number);
      return;
    }
    cursor_.advance();
    value(attribute);
    keep(element, std::move(attribute), number);
  }

  void no_value(Element& element, Attribute attribute, std::size_t number) {
    if (attribute.name.empty()) {  // never stand still
      cursor_.advance();
      return;
    }
    warn("xml.no-value", attribute.place, fmt::format("{} has no value", printable(attribute.name)),
         "takes it for empty", "write name=\"value\"");
    keep(element, std::move(attribute), number);
  }

  void value(Attribute& attribute) {
    if (cursor_.peek() == ' ') {
      error("xml.equal-sign-behind", attribute.place,
            fmt::format("a blank behind \"=\" of {}", printable(attribute.name)),
            "write name=\"value\" without blanks");
      cursor_.take_until([](char c) { return c != ' '; });
    }
    const char quote = cursor_.peek();
    if (quote != '"' && quote != '\'') {
      attribute.value = cursor_.take_until([](char c) { return is_blank(c) || c == '>' || c == '/'; });
      std::erase_if(attribute.value, [](char c) { return c == '"' || c == '\''; });
      error("xml.quotes", attribute.place, fmt::format("{} has no quotes", printable(attribute.name)),
            "write name=\"value\"");
      return;
    }
    cursor_.advance();
    attribute.value = cursor_.take_until([&](char c) { return c == quote; });
    if (cursor_.at_end()) {
      error("xml.quote-open", attribute.place,
            fmt::format("the value of {} never ends", printable(attribute.name)), "close the quotes");
      return;
    }
    cursor_.advance();
  }

  void keep(Element& element, Attribute attribute, std::size_t number) {
    const TextPlace place = attribute.place;
    const std::string name = printable(attribute.name.substr(0, 40));
    if (attribute.value.size() > kLongestText || attribute.name.size() > kLongestText) {
      error(
          "xml.length", place,
          fmt::format("{} has {} characters", name, std::max(attribute.value.size(), attribute.name.size())),
          fmt::format("at most {}: NCCL's buffer of 255 also holds the quote and the end", kLongestText));
    }
    if (number > kMostAttributes) {
      warn("xml.attributes", place, fmt::format("{} is attribute {} of <{}>", name, number, name_of(element)),
           "reads 16 and drops the rest with an INFO line", "remove the ones that say nothing");
    }
    if (contains(attribute.value, "&")) {
      warn("xml.entity", place, fmt::format("{} holds \"&\"", name),
           "knows no entities: &amp; stays as the five characters", "write the character itself");
    }
    if (number > kKeptAttributes) return;
    if (element.find(attribute.name) != nullptr) {
      warn("xml.twice", place, fmt::format("{} stands twice in <{}>", name, name_of(element)),
           "uses the first", "keep one");
    }
    element.attributes.push_back(std::move(attribute));
  }

  Cursor cursor_;
  Remarks& remarks_;
  XmlText result_;
  std::vector<Element> open_;
};

void write(const Element& element, std::size_t indent, std::string& out) {
  out.append(indent, ' ');
  out += '<';
  out += element.name;
  for (const Attribute& attribute : element.attributes) {
    const char quote = contains(attribute.value, "\"") ? '\'' : '"';
    out += ' ';
    out += attribute.name;
    out += '=';
    out += quote;
    out += attribute.value;
    out += quote;
  }
  if (element.children.empty()) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  for (const Element& each : element.children)
    write(each, indent + 2, out);
  out.append(indent, ' ');
  out += "</" + element.name + ">\n";
}

}  // namespace

const std::string* Element::find(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &Attribute::name);
  return found == attributes.end() ? nullptr : &found->value;
}

std::string_view Element::get(std::string_view attribute) const {
  const std::string* value = find(attribute);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

void Element::set(std::string_view attribute, std::string_view value) {
  const auto found = std::ranges::find(attributes, attribute, &Attribute::name);
  if (found != attributes.end()) {
    found->value = value;
  } else {
    attributes.push_back({std::string(attribute), std::string(value), {}});
  }
}

bool Element::remove(std::string_view attribute) {
  return std::erase_if(attributes, [&](const Attribute& each) { return each.name == attribute; }) > 0;
}

const Element* Element::child(std::string_view element) const {
  const auto found = std::ranges::find(children, element, &Element::name);
  return found == children.end() ? nullptr : &*found;
}

void Remarks::add(Remark remark) {
  Kind& kind = kinds_[remark.id];
  if (kind.kept == kDetailed) {
    ++remarks_[kind.last].count;
    return;
  }
  ++kind.kept;
  kind.last = remarks_.size();
  remarks_.push_back(std::move(remark));
}

XmlText read_topology_xml(std::string_view text, Remarks& remarks) {
  return Reader(text, remarks).run();
}

std::string write_topology_xml(const Element& root) {
  std::string out;
  write(root, 0, out);
  return out;
}

bool can_stand_in_attribute(std::string_view value) {
  return value.size() <= kLongestText && !(contains(value, "\"") && contains(value, "'"));
}

}  // namespace angio::nccl
