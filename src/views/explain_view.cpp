#include "views/explain_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.hpp"
#include "views/doctor_view.hpp"
#include "views/explain_words.hpp"

namespace angio::views {

using report::Document;
using report::Fields;
using report::Heading;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

namespace {

using knowledge::GlossaryTerm;
using knowledge::LintRule;
using knowledge::LogLine;
using knowledge::Variable;

void add(Fields& fields, const char* label, std::string_view text) {
  if (!text.empty()) fields.rows.emplace_back(label, plain(std::string(text)));
}

void add_list(Fields& fields, const char* label, std::span<const std::string_view> items) {
  std::vector<std::string> words(items.begin(), items.end());
  add(fields, label, join(words, ", "));
}

void put_heading(Document& document, std::string_view name, std::string_view kind) {
  document.blocks.emplace_back(Heading{std::string(name), 1});
  document.blocks.emplace_back(Paragraph{toned(std::string(kind), Tone::kQuiet)});
}

Fields flush_left() {
  Fields fields;
  fields.indent = 0;
  return fields;
}

void add_words(const Variable& variable, std::string_view version, Fields& fields) {
  const char* label = "words";
  for (const knowledge::VariableWord& word : variable.words) {
    add(fields, label, word_sentence(variable, word, version));
    label = "";
  }
}

void add_interactions(const Variable& variable, Fields& fields) {
  const char* label = "with";
  for (const knowledge::VariableInteraction& other : variable.interactions) {
    add(fields, label, fmt::format("{}: {}", other.with, other.text));
    label = "";
  }
}

void add_value(const Variable& variable, const std::string& value, Fields& fields) {
  const char* label = "set to";
  for (const std::string& sentence : value_sentences(variable, value)) {
    add(fields, label, sentence);
    label = "";
  }
}

void put_variable(Document& document, const Variable& variable, std::string_view version,
                  const std::string& value) {
  put_heading(document, variable.name, kind_line(variable));
  document.blocks.emplace_back(Paragraph{plain(std::string(variable.effect) + ".")});
  Fields fields = flush_left();
  add(fields, "not read", variable.not_read);
  add_value(variable, value, fields);
  add(fields, "takes", takes_words(variable));
  add_words(variable, version, fields);
  add(fields, "default", default_words(variable, version));
  add(fields, "read by", life_words(variable, version));
  add(fields, "instead", variable.replaced_by);
  add(fields, "risk", variable.risk);
  add_interactions(variable, fields);
  if (variable.uniform) add(fields, "ranks", "must be equal on all ranks of a communicator");
  add(fields, "status", status_words(variable));
  add(fields, "source", variable.source);
  document.blocks.emplace_back(std::move(fields));
}

void put_lint_rule(Document& document, const LintRule& rule) {
  put_heading(document, rule.id, "rule of angio lint");
  document.blocks.emplace_back(Paragraph{toned(std::string(rule.summary), Tone::kStrong)});
  document.blocks.emplace_back(Paragraph{plain(std::string(trim(rule.explain)))});
  Fields fields = flush_left();
  add(fields, "severity", rule.severity);
  add(fields, "grounds", rule.documented ? "documented" : "heuristic");
  for (const std::string_view source : rule.sources)
    add(fields, "source", source);
  document.blocks.emplace_back(std::move(fields));
}

void put_term(Document& document, const GlossaryTerm& term) {
  put_heading(document, term.names.front(), kind_in_words(term.kind));
  document.blocks.emplace_back(Paragraph{plain(std::string(term.text))});
  if (!term.more.empty()) document.blocks.emplace_back(Paragraph{plain(std::string(term.more))});
  Fields fields = flush_left();
  add_list(fields, "also", term.names.subspan(1));
  add_list(fields, "see", term.see);
  add(fields, "source", term.source);
  document.blocks.emplace_back(std::move(fields));
}

// A leading "*" says nothing: a line may begin with anything.
std::string_view shown_pattern(const LogLine& line) {
  return line.pattern.starts_with('*') ? trim(line.pattern.substr(1)) : line.pattern;
}

void put_log_line(Document& document, const LogLine& line) {
  put_heading(document, shown_pattern(line), kind_in_words("log-line"));
  document.blocks.emplace_back(Paragraph{plain(std::string(line.meaning) + ".")});
  Fields fields = flush_left();
  add(fields, "cause", line.cause);
  add(fields, "look at", line.next);
  add_list(fields, "see", line.see);
  add(fields, "source", line.source);
  document.blocks.emplace_back(std::move(fields));
}

void put_rule(Document& document, const knowledge::RuleText& rule) {
  for (report::Block& block : rule_document(rule.id).blocks)
    document.blocks.push_back(std::move(block));
}

void put_meanings(Document& document, const knowledge::Meanings& meanings, std::string_view version) {
  for (const knowledge::RuleText* rule : meanings.rules)
    put_rule(document, *rule);
  for (const LintRule* rule : meanings.lint_rules)
    put_lint_rule(document, *rule);
  for (const Variable* variable : meanings.variables)
    put_variable(document, *variable, variable->component == "nccl" ? version : "", meanings.value);
  for (const GlossaryTerm* term : meanings.terms)
    put_term(document, *term);
  for (const LogLine* line : meanings.log_lines)
    put_log_line(document, *line);
}

}  // namespace

Document explain_document(std::span<const knowledge::Meanings> words, std::string_view version) {
  Document document;
  for (const knowledge::Meanings& meanings : words)
    put_meanings(document, meanings, version);
  return document;
}

Document kinds_document() {
  Document document;
  report::Table table;
  table.columns = {{"kind"}, {"count", report::Align::kRight}, {"for example"}};
  for (const ExplainKind& kind : explain_kinds())
    table.rows.push_back(
        {plain(kind.name), plain(std::to_string(kind.count)), plain(join(kind.examples, ", "))});
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(
      Paragraph{plain("angio explain WORD tells what it means, --kind KIND lists one kind. A line of a log "
                      "goes in quotes.")});
  return document;
}

namespace {

// "effect" up to its first full stop or semicolon: enough for a list.
std::string_view first_part(std::string_view text) {
  return text.substr(0, std::min(text.find(". "), text.find("; ")));
}

Document variables_document() {
  Document document;
  std::map<std::string_view, int> counts;
  for (const Variable& variable : knowledge::variables())
    ++counts[variable.component];
  std::vector<std::string_view> components;
  for (const auto& [component, count] : counts)
    components.push_back(component);
  std::ranges::stable_sort(components, std::ranges::greater{},
                           [&](std::string_view name) { return counts[name]; });
  for (const std::string_view component : components) {
    document.blocks.emplace_back(Heading{component_in_words(component), 2});
    Fields fields;
    fields.indent = 2;
    for (const Variable& variable : knowledge::variables()) {
      if (variable.component == component)
        add(fields, std::string(variable.name).c_str(), first_part(variable.effect));
    }
    document.blocks.emplace_back(std::move(fields));
  }
  return document;
}

Document terms_document(std::string_view kind) {
  Document document;
  Fields fields;
  fields.indent = 0;
  for (const GlossaryTerm& term : knowledge::glossary()) {
    if (term.kind == kind) add(fields, std::string(term.names.front()).c_str(), first_part(term.text));
  }
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
  return document;
}

Document lint_rules_document() {
  Document document;
  Fields fields = flush_left();
  for (const LintRule& rule : knowledge::lint_rules())
    add(fields, std::string(rule.id).c_str(), rule.summary);
  document.blocks.emplace_back(std::move(fields));
  return document;
}

// Patterns are long: each on a line of its own.
Document log_lines_document() {
  Document document;
  for (const LogLine& line : knowledge::log_lines()) {
    Fields fields;
    fields.indent = 2;
    document.blocks.emplace_back(Paragraph{toned(std::string(shown_pattern(line)), Tone::kStrong)});
    add(fields, "", line.meaning);
    document.blocks.emplace_back(std::move(fields));
  }
  return document;
}

}  // namespace

Document kind_document(std::string_view kind) {
  if (kind == "variable") return variables_document();
  if (kind == "rule") return rules_document();
  if (kind == "lint-rule") return lint_rules_document();
  if (kind == "log-line") return log_lines_document();
  return terms_document(kind);
}

}  // namespace angio::views
