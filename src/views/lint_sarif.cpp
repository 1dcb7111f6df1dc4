// SARIF 2.1.0 (OASIS Standard, 27 March 2020): the linter's complaints for code hosts and editors.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "knowledge/variables.hpp"
#include "views/lint_view.hpp"

namespace angio::views {
namespace {

std::string_view level_of(std::string_view severity) {
  return severity == "info" ? "note" : severity;
}

Json text_json(std::string_view text) {
  return Json::object({{"text", text}});
}

std::string_view words_of(std::string_view text) {
  return trim(text);
}

Json rule_json(const knowledge::LintRule& rule) {
  std::string help(words_of(rule.explain));
  for (const std::string_view source : rule.sources)
    help += fmt::format("\nSource: {}", source);
  return Json::object({{"id", rule.id},
                       {"shortDescription", text_json(rule.summary)},
                       {"fullDescription", text_json(words_of(rule.explain))},
                       {"help", text_json(help)},
                       {"defaultConfiguration", Json::object({{"level", level_of(rule.severity)}})}});
}

// RFC 3986: what is no unreserved character of a path becomes %XX.
std::string uri_of(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri == "-" ? "stdin" : uri;
}

// Lines and columns of one text; columns count characters, not bytes (columnKind).
class Regions {
 public:
  explicit Regions(std::string_view text) : text_(text) {
    starts_.push_back(0);
    for (std::size_t i = text.find('\n'); i != std::string_view::npos; i = text.find('\n', i + 1))
      starts_.push_back(i + 1);
  }

  Json region(std::size_t offset, std::size_t length) const {
    const auto [line, column] = position(offset);
    const auto [end_line, end_column] = position(std::min(offset + length, text_.size()));
    return Json::object(
        {{"startLine", line}, {"startColumn", column}, {"endLine", end_line}, {"endColumn", end_column}});
  }

 private:
  std::pair<std::uint64_t, std::uint64_t> position(std::size_t offset) const {
    offset = std::min(offset, text_.size());
    const auto after = std::ranges::upper_bound(starts_, offset);
    const std::size_t start = *(after - 1);
    std::uint64_t column = 1;
    for (const char c : text_.substr(start, offset - start))
      column += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    return {static_cast<std::uint64_t>(after - starts_.begin()), column};
  }

  std::string_view text_;
  std::vector<std::size_t> starts_;
};

Json replacement_json(const lint::Edit& edit, const Regions& regions) {
  Json replacement = Json::object({{"deletedRegion", regions.region(edit.offset, edit.length)}});
  if (!edit.replacement.empty()) replacement.set("insertedContent", text_json(edit.replacement));
  return replacement;
}

Json fixes_json(const lint::Complaint& complaint, const Regions& regions) {
  Json replacements = Json::array();
  for (const lint::Edit& edit : complaint.fix)
    replacements.push_back(replacement_json(edit, regions));
  const Json change = Json::object({{"artifactLocation", Json::object({{"uri", uri_of(complaint.file)}})},
                                    {"replacements", std::move(replacements)}});
  return Json::array({Json::object(
      {{"description", text_json(complaint.advice.empty() ? complaint.message : complaint.advice)},
       {"artifactChanges", Json::array({change})}})});
}

Json location_json(const lint::Complaint& complaint, const Regions* regions) {
  Json physical = Json::object({{"artifactLocation", Json::object({{"uri", uri_of(complaint.file)}})}});
  if (complaint.place.line > 0 && regions != nullptr)
    physical.set("region", regions->region(complaint.place.offset, complaint.place.length));
  return Json::object({{"physicalLocation", std::move(physical)}});
}

Json result_json(const lint::Complaint& complaint, std::size_t rule, const Regions* regions) {
  const std::string text =
      complaint.advice.empty() ? complaint.message : complaint.message + ". " + complaint.advice;
  Json result = Json::object({{"ruleId", complaint.rule},
                              {"ruleIndex", std::uint64_t{rule}},
                              {"level", level_of(lint_severity(complaint.severity))},
                              {"message", text_json(printable(text))},
                              {"locations", Json::array({location_json(complaint, regions)})}});
  if (!complaint.fix.empty() && regions != nullptr) result.set("fixes", fixes_json(complaint, *regions));
  return result;
}

}  // namespace

Json lint_sarif(const LintView& view) {
  std::map<std::string_view, std::size_t> indices;
  Json rules = Json::array();
  for (const knowledge::LintRule& rule : knowledge::lint_rules()) {
    indices.emplace(rule.id, indices.size());
    rules.push_back(rule_json(rule));
  }
  std::map<std::string_view, Regions> texts;
  for (const lint::Script& script : view.scripts)
    texts.emplace(script.name, Regions(script.text));
  Json results = Json::array();
  for (const lint::Complaint& complaint : view.report.complaints) {
    const auto text = texts.find(complaint.file);
    const auto rule = indices.find(complaint.rule);
    if (rule == indices.end()) continue;
    results.push_back(result_json(complaint, rule->second, text == texts.end() ? nullptr : &text->second));
  }
  const std::string_view version = std::string_view(view.tool).substr(view.tool.rfind(' ') + 1);
  const Json driver =
      Json::object({{"name", "angio lint"}, {"version", version}, {"rules", std::move(rules)}});
  const Json run = Json::object({{"tool", Json::object({{"driver", driver}})},
                                 {"columnKind", "unicodeCodePoints"},
                                 {"results", std::move(results)}});
  return Json::object({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                       {"version", "2.1.0"},
                       {"runs", Json::array({run})}});
}

}  // namespace angio::views
