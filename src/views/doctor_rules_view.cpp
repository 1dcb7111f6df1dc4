// `angio explain`: the rules' own texts.
#include <fmt/format.h>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "views/doctor_view.hpp"

namespace angio::views {

using report::Document;
using report::Fields;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

namespace {

std::string topic_of(std::string_view id) {
  return std::string(id.substr(0, id.find('.')));
}

void add_fixes(const knowledge::RuleText& rule, Fields& fields) {
  const char* label = "fix";
  for (const knowledge::FixText& fix : rule.fixes) {
    fields.rows.emplace_back(label, plain(std::string(fix.text)));
    if (!fix.command.empty()) fields.rows.emplace_back("", report::command(std::string(fix.command)));
    if (!fix.risk.empty()) fields.rows.emplace_back("", plain("risk: " + std::string(fix.risk)));
    label = "or";
  }
}

}  // namespace

Document rules_document() {
  Document document;
  std::string topic;
  Fields fields;
  fields.indent = 2;
  for (const knowledge::RuleText& rule : knowledge::rules()) {
    if (topic_of(rule.id) != topic) {
      if (!fields.rows.empty()) document.blocks.emplace_back(fields);
      fields.rows.clear();
      topic = topic_of(rule.id);
      document.blocks.emplace_back(report::Heading{topic, 2});
    }
    fields.rows.emplace_back(std::string(rule.id), plain(std::string(rule.summary)));
  }
  if (!fields.rows.empty()) document.blocks.emplace_back(fields);
  document.blocks.emplace_back(
      Paragraph{plain(fmt::format("{} rules. angio explain RULE tells more", knowledge::rules().size()))});
  return document;
}

Document rule_document(std::string_view id) {
  Document document;
  const knowledge::RuleText* rule = knowledge::find_rule(id);
  if (rule == nullptr) return document;
  document.blocks.emplace_back(report::Heading{std::string(rule->id), 1});
  document.blocks.emplace_back(Paragraph{toned(std::string(rule->summary), Tone::kStrong)});
  document.blocks.emplace_back(Paragraph{plain(std::string(rule->explain))});
  Fields fields;
  fields.indent = 0;
  fields.rows.emplace_back("severity", plain(in_words(rule->severity)));
  fields.rows.emplace_back("layer", plain(in_words(rule->layer)));
  fields.rows.emplace_back("grounds", plain(in_words(rule->confidence)));
  add_fixes(*rule, fields);
  fields.rows.emplace_back("test", plain(std::string(rule->disprove)));
  for (const std::string_view source : rule->sources)
    fields.rows.emplace_back("source", plain(std::string(source)));
  document.blocks.emplace_back(std::move(fields));
  return document;
}

}  // namespace angio::views
