// `angio explain --format json`.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "views/doctor_view.hpp"
#include "views/explain_view.hpp"
#include "views/explain_words.hpp"

namespace angio::views {
namespace {

using knowledge::GlossaryTerm;
using knowledge::LintRule;
using knowledge::LogLine;
using knowledge::RuleText;
using knowledge::Variable;

constexpr const char* kSchema = "angio.explain/1";

Json strings(std::span<const std::string_view> items) {
  Json list = Json::array();
  for (const std::string_view item : items)
    list.push_back(item);
  return list;
}

Json strings(const std::vector<std::string>& items) {
  Json list = Json::array();
  for (const std::string& item : items)
    list.push_back(item);
  return list;
}

Json text_or_null(std::string_view text) {
  return text.empty() ? Json() : Json(text);
}

Json rule_json(const RuleText& rule) {
  return Json::object({{"kind", "rule"},
                       {"name", rule.id},
                       {"summary", rule.summary},
                       {"explain", trim(rule.explain)},
                       {"severity", in_words(rule.severity)},
                       {"confidence", in_words(rule.confidence)},
                       {"layer", in_words(rule.layer)},
                       {"disprove", rule.disprove},
                       {"sources", strings(rule.sources)}});
}

Json lint_rule_json(const LintRule& rule) {
  return Json::object({{"kind", "lint-rule"},
                       {"name", rule.id},
                       {"summary", rule.summary},
                       {"explain", trim(rule.explain)},
                       {"severity", rule.severity},
                       {"documented", rule.documented},
                       {"sources", strings(rule.sources)}});
}

Json word_list(const Variable& variable) {
  Json words = Json::array();
  for (const knowledge::VariableWord& word : variable.words) {
    words.push_back(Json::object({{"word", word.word},
                                  {"since", text_or_null(word.since)},
                                  {"until", text_or_null(word.until)},
                                  {"meaning", text_or_null(word.meaning)}}));
  }
  return words;
}

Json default_list(const Variable& variable) {
  Json defaults = Json::array();
  for (const knowledge::VariableDefault& row : variable.defaults)
    defaults.push_back(Json::object({{"since", text_or_null(row.since)}, {"value", row.value}}));
  return defaults;
}

Json interaction_list(const Variable& variable) {
  Json others = Json::array();
  for (const knowledge::VariableInteraction& other : variable.interactions)
    others.push_back(Json::object({{"with", other.with}, {"text", other.text}}));
  return others;
}

Json at_version(const Variable& variable, std::string_view version) {
  const auto value = default_at(variable, version);
  return Json::object({{"version", version},
                       {"life", in_words(life_at(variable, version))},
                       {"default", value ? Json(*value) : Json()}});
}

Json variable_json(const Variable& variable, std::string_view version) {
  Json json = Json::object({{"kind", "variable"},
                            {"name", variable.name},
                            {"component", variable.component},
                            {"subsystem", text_or_null(variable.subsystem)},
                            {"effect", variable.effect},
                            {"type", in_words(variable.kind)},
                            {"grammar", text_or_null(variable.grammar)}});
  json.set("minimum", variable.has_range ? Json(variable.minimum) : Json());
  json.set("maximum", variable.has_range ? Json(variable.maximum) : Json());
  json.set("special_values", strings(variable.special_values));
  json.set("words", word_list(variable));
  json.set("defaults", default_list(variable));
  json.set("since", text_or_null(variable.since));
  json.set("until", text_or_null(variable.until));
  json.set("deprecated_since", text_or_null(variable.deprecated_since));
  json.set("replaced_by", text_or_null(variable.replaced_by));
  json.set("risk", text_or_null(variable.risk));
  json.set("interactions", interaction_list(variable));
  json.set("documented", variable.documented);
  json.set("uniform", variable.uniform);
  json.set("not_read", text_or_null(variable.not_read));
  json.set("source", variable.source);
  if (!version.empty() && variable.component == "nccl") json.set("at", at_version(variable, version));
  return json;
}

Json term_json(const GlossaryTerm& term) {
  return Json::object({{"kind", term.kind},
                       {"name", term.names.front()},
                       {"names", strings(term.names)},
                       {"text", term.text},
                       {"more", text_or_null(term.more)},
                       {"see", strings(term.see)},
                       {"source", term.source}});
}

Json log_line_json(const LogLine& line) {
  return Json::object({{"kind", "log-line"},
                       {"name", line.pattern},
                       {"meaning", line.meaning},
                       {"cause", text_or_null(line.cause)},
                       {"next", text_or_null(line.next)},
                       {"see", strings(line.see)},
                       {"source", line.source}});
}

void add_meanings(const knowledge::Meanings& meanings, std::string_view version, Json& all) {
  for (const RuleText* rule : meanings.rules)
    all.push_back(rule_json(*rule));
  for (const LintRule* rule : meanings.lint_rules)
    all.push_back(lint_rule_json(*rule));
  for (const Variable* variable : meanings.variables)
    all.push_back(variable_json(*variable, version));
  for (const GlossaryTerm* term : meanings.terms)
    all.push_back(term_json(*term));
  for (const LogLine* line : meanings.log_lines)
    all.push_back(log_line_json(*line));
}

}  // namespace

Json explain_json(std::span<const knowledge::Meanings> words, std::string_view version) {
  Json all = Json::array();
  for (const knowledge::Meanings& meanings : words)
    add_meanings(meanings, version, all);
  return Json::object({{"schema", kSchema}, {"meanings", std::move(all)}});
}

Json kinds_json() {
  Json kinds = Json::array();
  for (const ExplainKind& kind : explain_kinds()) {
    kinds.push_back(Json::object({{"kind", kind.name},
                                  {"count", static_cast<std::uint64_t>(kind.count)},
                                  {"examples", strings(kind.examples)}}));
  }
  return Json::object({{"schema", kSchema}, {"kinds", std::move(kinds)}});
}

namespace {

template <typename Entry, typename Write>
void add_all(std::span<const Entry> entries, Write write, Json& out) {
  for (const Entry& entry : entries)
    out.push_back(write(entry));
}

}  // namespace

Json kind_json(std::string_view kind) {
  Json entries = Json::array();
  if (kind == "variable")
    add_all(knowledge::variables(), [](const Variable& row) { return variable_json(row, {}); }, entries);
  if (kind == "rule") add_all(knowledge::rules(), rule_json, entries);
  if (kind == "lint-rule") add_all(knowledge::lint_rules(), lint_rule_json, entries);
  if (kind == "log-line") add_all(knowledge::log_lines(), log_line_json, entries);
  for (const GlossaryTerm& term : knowledge::glossary()) {
    if (term.kind == kind) entries.push_back(term_json(term));
  }
  if (entries.as_array()->empty()) return {};
  return Json::object({{"schema", kSchema}, {"kind", kind}, {"entries", std::move(entries)}});
}

std::vector<ExplainKind> explain_kinds() {
  using Words = std::vector<std::string>;
  const auto lint_example = [] {
    return knowledge::lint_rules().empty() ? Words{} : Words{std::string(knowledge::lint_rules().front().id)};
  };
  std::vector<ExplainKind> kinds = {
      {"variable", knowledge::variables().size(), {"NCCL_IB_TIMEOUT", "CUDA_VISIBLE_DEVICES"}},
      {"rule", knowledge::rules().size(), {"pcie.link.width-reduced"}},
      {"lint-rule", knowledge::lint_rules().size(), lint_example()},
      {"log-line", knowledge::log_lines().size(), {"\"Using network Socket\""}},
      {"path-class", 0, {"PHB", "NODE"}},
      {"algorithm", 0, {"Ring", "NVLS"}},
      {"protocol", 0, {"LL128"}},
      {"transport", 0, {"SHM/direct"}},
      {"unit", 0, {"Gb/s", "busbw"}},
      {"counter", 0, {"port_xmit_wait", "symbol_error"}},
      {"dcgm-field", 0, {"1004"}},
      {"ibstat", 0, {"\"Physical state: Polling\""}},
      {"result", 0, {"\"unhandled system error\""}},
      {"completion", 0, {"12", "IBV_WC_WR_FLUSH_ERR"}},
      {"xid", 0, {"\"Xid 79\""}},
      {"term", 0, {"rail", "IMEX"}},
  };
  for (const GlossaryTerm& term : knowledge::glossary()) {
    const auto found = std::ranges::find(kinds, term.kind, &ExplainKind::name);
    if (found != kinds.end()) ++found->count;
  }
  std::erase_if(kinds, [](const ExplainKind& kind) { return kind.count == 0; });
  return kinds;
}

}  // namespace angio::views
