// The catalogue of environment variables: data/env/*.toml as tables. What each means, which releases read it,
// what it accepts and what it does when left alone. Lookups only; src/lint judges, views show.
// Versions are those of the component that reads the variable; empty is open.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace angio::knowledge {

// How the reading library understands the text.
enum class VariableKind : std::uint8_t {
  kBool,       // 0 or 1. NCCL reads a number ("true" is 0); elsewhere the grammar names other words
  kInteger,    // strtoll(…, 0): "8M" is 8, "true" is 0, "022" is 18
  kSize,       // bytes with a suffix, where the library takes one (UCX)
  kTime,       // with a unit, where the library takes one (UCX)
  kEnum,       // one of words
  kEnumList,   // several of words
  kPathClass,  // LOC … SYS or an old integer
  kList,       // devices, interfaces
  kPath,       // a file
  kPlugin,     // a library by path, suffix or "none"
  kText,
};

struct VariableDefault {
  std::string_view since;  // empty: from the first release on
  std::string_view value;  // as the library prints it, "(unset)" included
};

// An accepted word of an enumeration and the releases that know it.
struct VariableWord {
  std::string_view word;
  std::string_view since;
  std::string_view until;
  std::string_view meaning;
};

struct VariableInteraction {
  std::string_view with;  // another variable
  std::string_view text;  // what happens between the two
};

struct Variable {
  std::string_view name;
  std::string_view
      component;  // who reads it: "nccl", "pytorch", "ucx", "aws-ofi-plugin", "sharp-plugin", "cuda" …
  VariableKind kind;
  std::string_view grammar;  // the accepted form in words or as in the component's guide
  bool has_range;
  std::int64_t minimum;  // with has_range, special values such as -2 not counted
  std::int64_t maximum;
  std::span<const std::string_view> special_values;  // numbers outside the range with a meaning: "-2"
  std::span<const VariableWord> words;
  std::span<const VariableDefault> defaults;  // oldest first
  std::string_view since;                     // first release that reads it
  std::string_view until;                     // last release that reads it
  std::string_view deprecated_since;  // "?": deprecated, the release is not known; empty: not deprecated
  std::string_view replaced_by;
  std::string_view subsystem;  // "NET/IB", "graph", …
  std::string_view effect;     // what it does
  std::string_view risk;       // what goes wrong when set without need; empty: nothing known
  std::span<const VariableInteraction> interactions;
  bool documented;  // in the component's own guide
  bool uniform;     // must be equal on all ranks of a communicator
  std::string_view source;
  std::string_view not_read;  // why nobody reads it though people set it; empty: it is read
};

std::span<const Variable> variables();  // by name
const Variable* find_variable(std::string_view name);

enum class VariableLife : std::uint8_t { kRead, kNotYet, kRemoved };
// kRead too when version is empty or no number: nothing is claimed then.
VariableLife life_at(const Variable& variable, std::string_view version);
// The default of that release; the newest for an empty version. None when the catalogue has none.
std::optional<std::string_view> default_at(const Variable& variable, std::string_view version);
// A word of an enumeration, case-insensitive, whatever the version.
const VariableWord* find_word(const Variable& variable, std::string_view word);

// The words of a lint rule: data/lint/*.toml.
struct LintRule {
  std::string_view id;        // "nccl.algo.unknown-token"
  std::string_view summary;   // one line, for the list
  std::string_view explain;   // what it looks at, why it matters, when it stays silent
  std::string_view severity;  // "error", "warning", "info"
  bool documented;            // else a heuristic of ours
  std::span<const std::string_view> sources;
};
std::span<const LintRule> lint_rules();  // by id
const LintRule* find_lint_rule(std::string_view id);

}  // namespace angio::knowledge
