// `angio explain`: what a word means, everything that is known of it, and lists by kind; as a document and as
// versioned JSON {"schema": "angio.explain/1", …}. Rules of the doctor look as rule_document() shows them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "knowledge/glossary.hpp"
#include "report/document.hpp"

namespace angio::views {

// version: of the component that reads a variable, "2.28.9"; empty: its history is told.
report::Document explain_document(std::span<const knowledge::Meanings> words, std::string_view version);
Json explain_json(std::span<const knowledge::Meanings> words, std::string_view version);

struct ExplainKind {
  std::string name;  // "variable", "rule", "path-class" …
  std::size_t count = 0;
  std::vector<std::string> examples;
};
std::vector<ExplainKind> explain_kinds();

report::Document kinds_document();
// No blocks when there is no such kind.
report::Document kind_document(std::string_view kind);
Json kinds_json();
Json kind_json(std::string_view kind);  // null when there is no such kind

}  // namespace angio::views
