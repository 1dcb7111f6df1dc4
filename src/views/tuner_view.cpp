#include "views/tuner_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "tuner/choices.hpp"

namespace angio::views {

using report::Document;
using report::Fields;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;
using tuner::Choices;
using tuner::Collective;
using tuner::kUnlimited;
using tuner::Remark;
using tuner::Rule;

namespace {

// Exact, in the words of a table: "64K", "65537", "*".
std::string size_words(std::uint64_t bytes) {
  if (bytes == kUnlimited) return "*";
  constexpr std::array<const char*, 5> kUnits{"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits.at(unit);
}

std::string format_word(const tuner::Table& table) {
  return table.format == tuner::Format::kToml ? "TOML" : "CSV";
}

std::string channels_words(const Rule& rule) {
  return rule.channels == 0 ? "NCCL's own" : std::to_string(rule.channels);
}

void add_remarks(const std::vector<Remark>& remarks, std::size_t more, Tone tone, Document& document) {
  if (remarks.empty()) return;
  Fields fields;
  fields.indent = 0;
  for (const Remark& one : remarks) {
    fields.rows.emplace_back(one.line == 0 ? "file" : fmt::format("line {}", one.line),
                             toned(one.message, tone));
    if (!one.hint.empty()) fields.rows.emplace_back("", toned(one.hint, Tone::kQuiet));
  }
  if (more > 0)
    fields.rows.emplace_back("more", plain(fmt::format("{} of the same kind are not listed", more)));
  document.blocks.emplace_back(std::move(fields));
}

void add_refusal(const TunerTable& given, Document& document) {
  const tuner::Table& table = *given.table;
  const std::size_t count = table.problems.size() + table.more_problems;
  document.blocks.emplace_back(
      Paragraph{{{fmt::format("{} is refused: {}.", printable(given.file), count_of(count, "problem")),
                  Tone::kCritical},
                 {" With it NCCL's own choices stand."}}});
  add_remarks(table.problems, table.more_problems, Tone::kPlain, document);
}

void add_acceptance(const TunerTable& given, Document& document) {
  const tuner::Table& table = *given.table;
  document.blocks.emplace_back(
      Paragraph{{{printable(given.file), Tone::kStrong},
                 {fmt::format(" holds: {} of {}, hash {}.", count_of(table.rules.size(), "row"),
                              format_word(table), tuner::hash_text(table.hash))}}});
  add_remarks(table.remarks, table.more_remarks, Tone::kPlain, document);
}

Json limit_json(std::uint64_t value) {
  return value == kUnlimited ? Json() : Json(value);
}

Json range_json(const tuner::Range& range) {
  return Json::object({{"min", Json(range.low)}, {"max", limit_json(range.high)}});
}

Json rule_json(const Rule& rule) {
  Json json = Json::object({{"line", rule.line},
                            {"collective", to_word(rule.collective)},
                            {"bytes", range_json(rule.bytes)},
                            {"nodes", range_json(rule.nodes)},
                            {"ranks", range_json(rule.ranks)},
                            {"num_pipe_ops", range_json(rule.pipe_ops)},
                            {"algorithm", to_word(rule.algorithm)},
                            {"protocol", to_word(rule.protocol)},
                            {"channels", rule.channels == 0 ? Json() : Json(rule.channels)}});
  json.set("reg_buff", rule.registered.low == rule.registered.high ? Json(rule.registered.low == 1) : Json());
  return json;
}

Json remarks_json(const std::vector<Remark>& remarks) {
  Json list = Json::array();
  for (const Remark& one : remarks)
    list.push_back(Json::object({{"line", one.line}, {"message", one.message}, {"hint", one.hint}}));
  return list;
}

struct Decision {
  Collective collective = Collective::kAllReduce;
  Choices::Interval interval;
};

std::vector<Decision> decisions_of(const TunerTable& given, const TunerQuestion& question) {
  const Choices choices(given.table, question.nodes, question.ranks);
  std::vector<Decision> decisions;
  for (std::size_t i = 0; i < tuner::kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (question.collective && *question.collective != collective) continue;
    for (const Choices::Interval& one : choices.intervals(collective, question.pipe_ops, question.registered))
      if (!question.bytes || one.bytes.has(*question.bytes)) decisions.push_back({collective, one});
  }
  return decisions;
}

// Those of which some size has a row.
std::vector<Collective> decided_in(const std::vector<Decision>& decisions) {
  std::vector<Collective> decided;
  for (const Decision& one : decisions)
    if (one.interval.rule != nullptr && (decided.empty() || decided.back() != one.collective))
      decided.push_back(one.collective);
  return decided;
}

void add_undecided(const std::vector<Decision>& decisions, const std::vector<Collective>& decided,
                   Document& document) {
  std::vector<std::string> words;
  for (const Decision& one : decisions) {
    const std::string word(to_word(one.collective));
    if (std::ranges::find(decided, one.collective) == decided.end() &&
        (words.empty() || words.back() != word))
      words.push_back(word);
  }
  if (words.empty()) return;
  document.blocks.emplace_back(
      Paragraph{plain("No row fits for " + join(words, ", ") + ": NCCL's own choice stands.")});
}

std::vector<Line> row_of(const Decision& decision) {
  const Choices::Interval& one = decision.interval;
  std::vector<Line> row{plain(std::string(to_word(decision.collective))), plain(size_words(one.bytes.low)),
                        plain(size_words(one.bytes.high))};
  if (one.rule == nullptr) {
    row.push_back(toned("NCCL's own choice", Tone::kQuiet));
    return row;
  }
  row.push_back(plain(std::string(to_word(one.rule->algorithm))));
  row.push_back(plain(std::string(to_word(one.rule->protocol))));
  row.push_back(plain(channels_words(*one.rule)));
  row.push_back(plain(std::to_string(one.rule->line)));
  return row;
}

std::string question_words(const TunerQuestion& question) {
  std::string words =
      fmt::format("{}, {}", count_of(question.nodes, "node"), count_of(question.ranks, "rank"));
  if (question.pipe_ops != 1) words += fmt::format(", {} operations taken together", question.pipe_ops);
  return words + (question.registered ? ", registered buffers" : "");
}

}  // namespace

Document tuner_check_document(const TunerTable& given) {
  Document document;
  given.table->usable() ? add_acceptance(given, document) : add_refusal(given, document);
  return document;
}

Json tuner_check_json(const TunerTable& given) {
  const tuner::Table& table = *given.table;
  Json rows = Json::array();
  for (const Rule& rule : table.rules)
    rows.push_back(rule_json(rule));
  return Json::object({{"schema", "angio.tuner-table/1"},
                       {"file", given.file},
                       {"format", to_lower(format_word(table))},
                       {"hash", tuner::hash_text(table.hash)},
                       {"usable", table.usable()},
                       {"rows", std::move(rows)},
                       {"problems", remarks_json(table.problems)},
                       {"more_problems", std::uint64_t{table.more_problems}},
                       {"remarks", remarks_json(table.remarks)},
                       {"more_remarks", std::uint64_t{table.more_remarks}}});
}

Document tuner_choice_document(const TunerTable& given, const TunerQuestion& question) {
  Document document;
  const std::string asked = question.bytes ? "size " + size_words(*question.bytes) : "every size";
  document.blocks.emplace_back(Paragraph{
      plain(fmt::format("{} on {}, by {}:", asked, question_words(question), printable(given.file)))});
  report::Table table;
  table.columns = {{"collective"},
                   {"from", report::Align::kRight},
                   {"to", report::Align::kRight},
                   {"algorithm"},
                   {"protocol"},
                   {"channels"},
                   {"line", report::Align::kRight}};
  const std::vector<Decision> decisions = decisions_of(given, question);
  const std::vector<Collective> decided = decided_in(decisions);
  for (const Decision& decision : decisions)
    if (std::ranges::find(decided, decision.collective) != decided.end())
      table.rows.push_back(row_of(decision));
  if (!decided.empty()) document.blocks.emplace_back(std::move(table));
  add_undecided(decisions, decided, document);
  if (!decided.empty())
    document.blocks.emplace_back(Paragraph{
        toned("What NCCL marks as not available on the machine is not enabled: its own choice stands then.",
              Tone::kQuiet)});
  return document;
}

Json tuner_choice_json(const TunerTable& given, const TunerQuestion& question) {
  Json list = Json::array();
  for (const Decision& decision : decisions_of(given, question)) {
    const Rule* rule = decision.interval.rule;
    list.push_back(Json::object({{"collective", to_word(decision.collective)},
                                 {"bytes", range_json(decision.interval.bytes)},
                                 {"rule", rule == nullptr ? Json() : rule_json(*rule)}}));
  }
  return Json::object({{"schema", "angio.tuner-choice/1"},
                       {"file", given.file},
                       {"hash", tuner::hash_text(given.table->hash)},
                       {"nodes", question.nodes},
                       {"ranks", question.ranks},
                       {"num_pipe_ops", question.pipe_ops},
                       {"reg_buff", question.registered},
                       {"choices", std::move(list)}});
}

}  // namespace angio::views
