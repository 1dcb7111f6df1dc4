// Test helper: what a reader found, as short lines, so that a test states all of it. Not for the product.
#pragma once

#include <string>
#include <vector>

#include "lint/lint.hpp"

namespace angio::lint {

// "NAME=value via[, dynamic][, unset][, unexported][, glued]", places checked against the text.
inline std::vector<std::string> settings_of(const Script& script) {
  std::vector<std::string> lines;
  for (const Setting& setting : script.settings) {
    std::string line = setting.name + "=" + setting.value + " " + setting.via;
    if (setting.dynamic) line += ", dynamic";
    if (setting.unset) line += ", unset";
    if (!setting.exported) line += ", unexported";
    if (setting.comment_glued) line += ", glued";
    if (script.text.substr(setting.name_place.offset, setting.name_place.length) != setting.name)
      line += ", WRONG NAME PLACE";
    lines.push_back(std::move(line));
  }
  return lines;
}

inline std::vector<std::string> commands_of(const Script& script) {
  std::vector<std::string> lines;
  for (const Command& command : script.commands) {
    std::string line;
    for (const Word& word : command.words)
      line += (line.empty() ? "" : "|") + word.text;
    if (command.background) line += " &";
    if (command.sudo) line += " sudo";
    if (!command.comment_after_backslash.empty()) line += " \\" + command.comment_after_backslash;
    lines.push_back(std::move(line));
  }
  return lines;
}

inline std::string value_text(const Script& script, const Setting& setting) {
  return script.text.substr(setting.value_place.offset, setting.value_place.length);
}

}  // namespace angio::lint
