#include "knowledge/glossary.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>

#include "base/text.hpp"

namespace angio::knowledge {
namespace {

struct GlossaryName {
  std::string_view name;  // lower case
  std::uint32_t term;
};

#include "glossary_tables.inc"

}  // namespace

std::span<const GlossaryTerm> glossary() {
  return kGlossary;
}
std::span<const LogLine> log_lines() {
  return kLogLines;
}

bool Meanings::empty() const {
  return rules.empty() && lint_rules.empty() && variables.empty() && terms.empty() && log_lines.empty();
}

namespace {

constexpr std::size_t kLongestWord = 80;     // no name is longer: no nearest one is looked for
constexpr std::size_t kLongestLine = 65536;  // of a log; the rest is not looked at
constexpr std::size_t kMostSuggestions = 6;

// Letters in lower case, runs of blanks as one, none at the ends.
std::string normal(std::string_view text) {
  std::string out;
  for (const std::string_view word : split_words(text.substr(0, kLongestLine))) {
    if (!out.empty()) out += ' ';
    out += to_lower(word);
  }
  return out;
}

std::size_t fixed_letters(const LogLine& line) {
  return line.pattern.size() - static_cast<std::size_t>(std::ranges::count(line.pattern, '*'));
}

bool fits(const LogLine& line, std::string_view lower_text) {
  std::size_t at = 0;
  const std::string pattern = normal(line.pattern);
  for (const std::string_view piece : split(pattern, '*')) {
    const std::size_t found = lower_text.find(trim(piece), at);
    if (found == std::string_view::npos) return false;
    at = found + trim(piece).size();
  }
  return true;
}

// GB/s before Gb/s when the former was asked for.
void put_exact_first(std::string_view name, std::vector<const GlossaryTerm*>& terms) {
  std::ranges::stable_partition(terms, [name](const GlossaryTerm* term) {
    return std::ranges::find(term->names, name) != term->names.end();
  });
}

void add_terms(std::string_view lower_name, std::vector<const GlossaryTerm*>& out) {
  const auto found = std::ranges::equal_range(kGlossaryNames, lower_name, {}, &GlossaryName::name);
  for (const GlossaryName& row : found) {
    const GlossaryTerm* term = &glossary()[row.term];
    if (std::ranges::find(out, term) == out.end()) out.push_back(term);
  }
}

void add_variable(std::string_view lower_name, std::vector<const Variable*>& out) {
  for (const Variable& row : variables()) {
    if (to_lower(row.name) == lower_name) out.push_back(&row);
  }
}

// Each exact name; a variable's also without NCCL_.
Meanings look_up_name(const std::string& name) {
  Meanings meanings;
  if (const RuleText* rule = find_rule(name)) meanings.rules.push_back(rule);
  if (const LintRule* rule = find_lint_rule(name)) meanings.lint_rules.push_back(rule);
  add_variable(name, meanings.variables);
  add_terms(name, meanings.terms);
  if (meanings.empty()) add_variable("nccl_" + name, meanings.variables);
  return meanings;
}

// The one with the most fixed letters; several only when they have as many.
std::vector<const LogLine*> fitting_lines(std::string_view lower_text) {
  std::vector<const LogLine*> out;
  for (const LogLine& line : log_lines()) {
    if (!fits(line, lower_text)) continue;
    if (!out.empty() && fixed_letters(line) > fixed_letters(*out.front())) out.clear();
    if (out.empty() || fixed_letters(line) == fixed_letters(*out.front())) out.push_back(&line);
  }
  return out;
}

// The digits behind `at`, past blanks and signs.
std::string_view number_at(std::string_view text, std::size_t at) {
  const std::size_t start = std::min(text.find_first_not_of(" :=", at), text.size());
  return text.substr(start, std::min(text.find_first_not_of("0123456789", start), text.size()) - start);
}

// "nvrm: xid (pci:0000:1b:00): 79, pid=…", "xid: 79".
void add_xid(const std::string& line, std::vector<const GlossaryTerm*>& out) {
  std::size_t at = line.find("xid");
  if (at == std::string::npos) return;
  at += 3;
  if (const std::size_t open = line.find_first_not_of(' ', at);
      open != std::string::npos && line[open] == '(') {
    at = line.find(')', open);
    if (at == std::string::npos) return;
    ++at;
  }
  const std::string_view number = number_at(line, at);
  if (!number.empty() && number.size() < 5) add_terms("xid " + std::string(number), out);
}

// "status=12", "error 12": of a completion; other numbers are many things.
void add_status(const std::string& line, std::vector<const GlossaryTerm*>& out) {
  for (const std::string_view label : {"status", "error"}) {
    if (!line.starts_with(label)) continue;
    const std::string_view rest = std::string_view(line).substr(label.size());
    const std::string_view number = number_at(rest, 0);
    if (number.empty() || !rest.ends_with(number)) continue;
    add_terms(number, out);
    std::erase_if(out, [](const GlossaryTerm* term) { return term->kind != "completion"; });
  }
}

// "via NET/IB/3/GDRDMA": the longest beginning that is known.
void add_transport(std::string_view line, std::vector<const GlossaryTerm*>& out) {
  if (!line.starts_with("via ")) return;
  line.remove_prefix(4);
  while (out.empty() && !line.empty()) {
    add_terms(line, out);
    const std::size_t slash = line.rfind('/');
    line = line.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

// "nccldevkernel_allreduce_sum_f32_ring_ll": all kernels are one entry.
void add_kernel(std::string_view name, std::vector<const GlossaryTerm*>& out) {
  if (name.starts_with("nccldevkernel") || name.starts_with("ncclkernel")) add_terms("nccldevkernel", out);
}

std::vector<const GlossaryTerm*> terms_inside(const std::string& line) {
  std::vector<const GlossaryTerm*> out;
  add_kernel(line, out);
  add_transport(line, out);
  if (out.empty()) add_status(line, out);
  if (out.empty()) add_xid(line, out);
  return out;
}

// A word that a variable takes: INIT of NCCL_DEBUG_SUBSYS. One that many take is nobody's.
Meanings look_up_value(std::string_view word) {
  constexpr std::size_t kShortest = 3, kMostTakers = 2;
  Meanings meanings;
  if (word.size() < kShortest) return meanings;
  for (const Variable& row : variables())
    if (std::ranges::any_of(row.words,
                            [&](const VariableWord& one) { return to_lower(one.word) == to_lower(word); }))
      meanings.variables.push_back(&row);
  if (meanings.variables.size() > kMostTakers) meanings.variables.clear();
  if (!meanings.empty()) meanings.value = std::string(word);
  return meanings;
}

// "export NAME=value" as scripts have it.
Meanings look_up_setting(std::string_view text) {
  Meanings meanings;
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return meanings;
  std::string_view name = trim(text.substr(0, equals));
  if (name.starts_with("export ")) name = trim(name.substr(7));
  if (name.empty() || name.find(' ') != std::string_view::npos) return meanings;
  add_variable(to_lower(name), meanings.variables);
  if (!meanings.empty()) meanings.value = std::string(trim(text.substr(equals + 1)));
  return meanings;
}

// "Rate: 400": the whole is no name, its parts may be. The value only when the field is unknown: 400 is many
// things.
Meanings look_up_field(const std::string& line) {
  Meanings meanings;
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) return meanings;
  add_terms(trim(std::string_view(line).substr(0, colon)), meanings.terms);
  if (meanings.empty()) add_terms(trim(std::string_view(line).substr(colon + 1)), meanings.terms);
  return meanings;
}

}  // namespace

bool matches(const LogLine& line, std::string_view text) {
  return fits(line, normal(text));
}

Meanings look_up(std::string_view word) {
  const std::string name = normal(word);
  if (name.empty()) return {};
  Meanings meanings = look_up_name(name);
  put_exact_first(trim(word), meanings.terms);
  if (meanings.empty()) meanings = look_up_setting(trim(word));
  if (!meanings.empty()) return meanings;
  const bool several = name.find(' ') != std::string::npos;
  if (several) meanings.log_lines = fitting_lines(name);
  if (meanings.empty()) meanings.terms = terms_inside(name);
  if (meanings.empty()) meanings = several ? look_up_field(name) : look_up_value(trim(word));
  return meanings;
}

namespace {

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (const Variable& row : variables())
    names.push_back(row.name);
  for (const RuleText& row : rules())
    names.push_back(row.id);
  for (const LintRule& row : lint_rules())
    names.push_back(row.id);
  for (const GlossaryTerm& row : glossary())
    names.insert(names.end(), row.names.begin(), row.names.end());
  return names;
}

// "NCCL_" is no evidence of being near: the rest is compared.
std::optional<std::string> nearest_nccl_name(std::string_view tail) {
  constexpr std::string_view kPrefix = "NCCL_";
  std::vector<std::string_view> tails;
  for (const Variable& row : variables()) {
    if (row.name.starts_with(kPrefix)) tails.push_back(row.name.substr(kPrefix.size()));
  }
  auto near = did_you_mean(tail, tails);
  if (near) near->insert(0, kPrefix);
  return near;
}

}  // namespace

std::vector<std::string> suggestions(std::string_view word) {
  word = trim(word.substr(0, word.find('=')));
  const std::string name = normal(word);
  // A number or two letters are near to far too many names.
  constexpr std::ptrdiff_t kFewestLetters = 3;
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  if (name.size() > kLongestWord || std::ranges::count_if(name, is_letter) < kFewestLetters) return {};
  std::vector<std::string> out;
  const std::vector<std::string_view> names = all_names();
  for (const std::string_view known : names) {
    if (name.size() > 2 && contains(to_lower(known), name)) out.emplace_back(known);
  }
  std::ranges::stable_sort(out, {}, &std::string::size);
  if (out.size() > kMostSuggestions) out.resize(kMostSuggestions);
  if (!out.empty()) return out;
  const bool is_nccl = name.starts_with("nccl_");
  auto near = is_nccl ? nearest_nccl_name(word.substr(5)) : did_you_mean(word, names);
  if (!near && !is_nccl) near = nearest_nccl_name(word);
  if (near) out.push_back(*std::move(near));
  return out;
}

}  // namespace angio::knowledge
