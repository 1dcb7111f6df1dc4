// Words of the field and lines of NCCL's log with their meaning: data/glossary/*.toml as tables, and one
// lookup over these, the variables and the rules. Lookups only: what a word means, not what is wrong here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/knowledge.hpp"
#include "knowledge/variables.hpp"

namespace angio::knowledge {

struct GlossaryTerm {
  std::span<const std::string_view> names;  // the first is the heading
  std::string_view kind;                    // "path-class", "algorithm", "counter" …
  std::string_view text;
  std::string_view more;
  std::span<const std::string_view> see;  // other words that look_up() knows
  std::string_view source;
};
std::span<const GlossaryTerm> glossary();  // by heading, in any case

struct LogLine {
  std::string_view pattern;  // fixed words and "*"; anywhere in a line
  std::string_view meaning;
  std::string_view cause;
  std::string_view next;  // what to look at
  std::span<const std::string_view> see;
  std::string_view source;
};
std::span<const LogLine> log_lines();  // by pattern without a leading "*"
// In any case of letters; linear in the length of both.
bool matches(const LogLine& line, std::string_view text);

// All that one word or line means. A word may be several things: 12 is a status of verbs.
struct Meanings {
  std::vector<const RuleText*> rules;
  std::vector<const LintRule*> lint_rules;
  std::vector<const Variable*> variables;
  std::vector<const GlossaryTerm*> terms;
  std::vector<const LogLine*> log_lines;  // the most specific one
  std::string value;                      // of "NAME=value"

  [[nodiscard]] bool empty() const;
};
// Names in any case; "NAME=value" is NAME, "IB_TIMEOUT" is NCCL_IB_TIMEOUT, "Rate: 400" is Rate, a sentence
// is held against the lines of logs.
Meanings look_up(std::string_view word);

// What the writer may have meant: names that hold the word, else the nearest one. A few, best first.
std::vector<std::string> suggestions(std::string_view word);

}  // namespace angio::knowledge
