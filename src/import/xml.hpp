// XML as people send it: whole, cut off, or a piece from the middle. Unclosed elements are closed, stray
// ends and broken tags are left out, each with a note; the rest is a plain tree with line numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/draft.hpp"

namespace angio::import {

struct XmlElement {
  std::string name;
  std::uint32_t line = 0;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  // first run of characters directly inside
  std::vector<XmlElement> children;

  // Null when the element has no such attribute.
  [[nodiscard]] const std::string* find(std::string_view attribute) const;
  [[nodiscard]] std::string_view get(std::string_view attribute) const;  // "" when there is none
};

// The name of the first element; "" when there is none.
std::string_view first_element(std::string_view text);

// The elements at the top. Notes get ids "xml.…".
std::vector<XmlElement> read_xml(std::string_view text, Draft& draft);

}  // namespace angio::import
