// What the rules about variables share: settings with their entry of the catalogue, numbers as strtoll reads
// them, versions, edits of values. Not for rules about commands.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/variables.hpp"
#include "lint/rule.hpp"

namespace angio::lint {

// How often a name stands in a text.
struct Mentions {
  std::size_t all = 0;
  std::size_t uses = 0;  // in code and without '=' behind: $NAME, mpirun -x NAME, docker -e NAME
};
using MentionIndex = std::map<std::string_view, Mentions>;

// A setting that some process will see, and who reads it.
struct Known {
  const Script& script;
  const Setting& setting;
  const knowledge::Variable& variable;
  std::shared_ptr<const MentionIndex> mentions;
  bool kubernetes = false;

  [[nodiscard]] Mentions mentions_of(std::string_view name) const;
  // Something else in the file relies on this name.
  [[nodiscard]] bool is_used_elsewhere() const;
  // off, true, no: without quotes no string in a Kubernetes object.
  [[nodiscard]] bool is_kubernetes_boolean() const;
};

// Settings of the script that the catalogue knows, removals and unexported ones left out.
std::vector<Known> known_settings(const Script& script);

// The version of the component that reads the variable; empty when not known.
std::string_view version_for(const Context& context, const knowledge::Variable& variable);
bool holds(std::string_view fact, const Context& context);  // an id of [[nccl]] at the context's NCCL version
// "2.28.9", or "this NCCL" when it is not known.
std::string nccl_words(const Context& context);

// How NCCL reads a number: strtoll with base 0; text without digits is 0.
struct Number {
  std::int64_t value = 0;
  bool any = false;       // there were digits
  bool octal = false;     // a leading 0 made it octal
  std::string_view rest;  // what stands behind the digits
};
Number read_number(std::string_view text);

// NCCL reads this variable as a number, flags included.
bool reads_number(const knowledge::Variable& variable);
// yes, on, true: true; none for other words.
std::optional<bool> truth_of(std::string_view word);

// "NCCL_IB_HCA=mlx5_1", printable and cut to a readable length.
std::string shown(const Setting& setting);
std::string shown(std::string_view text);

// Replaces the value, quotes kept; none where the text is not the plain value.
std::optional<Edit> new_value(const Script& script, const Setting& setting, std::string_view value);
// Takes the setting out; none where that could break what stands around it.
std::optional<Edit> removal(const Setting& setting);
void fix_with(Complaint& complaint, std::optional<Edit> edit);

// The last setting of each variable in one script: what a process started at its end sees.
class Scope {
 public:
  explicit Scope(const Script& script);
  const Setting* find(std::string_view name) const;
  // Only known values: a dynamic one answers none.
  std::optional<std::string_view> text(std::string_view name) const;
  std::optional<std::int64_t> number(std::string_view name) const;
  bool is(std::string_view name, std::int64_t value) const { return number(name) == value; }
  const Script& script() const { return script_; }

 private:
  const Script& script_;
  std::map<std::string_view, const Setting*> last_;
};

bool is_word(char c);                   // a letter, digit or _ of a variable's name
bool is_digits(std::string_view text);  // nothing else; empty too

// The parts of check_values.
void check_names(const Input& input, Complaints& out);
void check_versions(const Known& known, const Context& context, Complaints& out);
void check_number(const Known& known, const Context& context, Complaints& out);
void check_words(const Known& known, const Context& context, Complaints& out);
void check_algorithms(const Known& known, const Context& context, Complaints& out);
bool is_kubernetes(const Script& script);
void check_form(const Known& known, bool kubernetes, Complaints& out);
void check_repeats(const Script& script, Complaints& out);
void check_exports(const Script& script, Complaints& out);
void check_writing(const Script& script, Complaints& out);  // blanks around '=', typographic characters

// The parts of check_meaning.
void check_switches(const Scope& scope, const Context& context, Complaints& out);  // what should not be off
void check_debugging(const Scope& scope, Complaints& out);                         // NCCL_DEBUG and its kin
void check_conflicts(const Scope& scope, const Context& context,
                     Complaints& out);  // two variables against each other
void check_arithmetic(const Scope& scope, const Context& context,
                      Complaints& out);                                            // timeouts, buffers, DSCP
void check_adapters(const Scope& scope, const Context& context, Complaints& out);  // NCCL_IB_HCA, GIDs
void check_interfaces(const Scope& scope, const Context& context, Complaints& out);  // NCCL_SOCKET_IFNAME
void check_libraries(const Scope& scope, const Context& context,
                     Complaints& out);  // UCX, plugins, preloading, files

}  // namespace angio::lint
