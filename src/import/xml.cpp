#include "import/xml.hpp"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "import/xml_mend.hpp"

namespace angio::import {
namespace {

constexpr std::size_t kMaxElements = 200'000;  // a large hwloc export has 5000

class LineIndex {
 public:
  explicit LineIndex(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') breaks_.push_back(i);
    }
  }
  [[nodiscard]] std::uint32_t line_at(std::ptrdiff_t offset) const {
    const auto position = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
    return static_cast<std::uint32_t>(std::ranges::lower_bound(breaks_, position) - breaks_.begin()) + 1;
  }

 private:
  std::vector<std::size_t> breaks_;
};

XmlElement element_of(const pugi::xml_node& node, const LineIndex& lines) {
  XmlElement element;
  element.name = node.name();
  element.line = lines.line_at(node.offset_debug());
  for (const pugi::xml_attribute& attribute : node.attributes()) {
    element.attributes.emplace_back(attribute.name(), attribute.value());
  }
  element.text = node.child_value();
  return element;
}

struct Copier {
  const LineIndex& lines;
  Draft& draft;
  std::size_t left = kMaxElements;

  // Depth is bounded by mend_xml.
  void add_children(const pugi::xml_node& node, std::vector<XmlElement>& children) {
    for (const pugi::xml_node& child : node.children()) {
      if (child.type() != pugi::node_element) continue;
      if (left == 0) {
        draft.note("xml.too-many-elements", lines.line_at(child.offset_debug()),
                   "more elements than any topology has; the rest is not read",
                   "check that this is one topology");
        return;
      }
      --left;
      children.push_back(element_of(child, lines));
      add_children(child, children.back().children);
    }
  }
};

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &std::pair<std::string, std::string>::first);
  return found != attributes.end() ? &found->second : nullptr;
}

std::string_view XmlElement::get(std::string_view attribute) const {
  const std::string* value = find(attribute);
  return value != nullptr ? std::string_view(*value) : std::string_view();
}

std::string_view first_element(std::string_view text) {
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    if (text.substr(at).starts_with("<!--")) {
      at = text.find("-->", at);
      if (at == std::string_view::npos) return {};
      continue;
    }
    const std::string_view name = text.substr(at + 1, 64);
    const bool named = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
    if (named) return name.substr(0, name.find_first_of(" \t\r\n/>"));
  }
  return {};
}

std::vector<XmlElement> read_xml(std::string_view text, Draft& draft) {
  const std::string mended = mend_xml(text, draft);
  const LineIndex lines(mended);
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(mended.data(), mended.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed && parsed.status != pugi::status_no_document_element) {
    draft.note(
        "xml.not-read", lines.line_at(parsed.offset),
        [&] {
          return fmt::format("the XML stops making sense here ({}); what follows is not read",
                             parsed.description());
        },
        "send the whole file: what stands above this line was read");
  }
  std::vector<XmlElement> top;
  Copier{lines, draft}.add_children(document, top);
  return top;
}

}  // namespace angio::import
