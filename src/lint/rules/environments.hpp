// Which settings a program sees together: a prefix, mpirun -x or docker -e belongs to its own command, an
// export to all that follows. Says nothing where it is not certain (an if body, a later line). Used by the
// rules about variables.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lint/rule.hpp"

namespace angio::lint {

// The command that the setting is made for; null when it holds for what follows, or for the whole file.
const Command* command_of(const Script& script, const Setting& setting);
// What the setting's own command says about nodes, else what the file says.
std::optional<bool> several_nodes_for(const Script& script, const Setting& setting, const Context& context);

class Environments {
 public:
  explicit Environments(const Script& script);
  // The setting of `name` that every program sees which sees this one; null when there is none, or not for
  // sure.
  const Setting* beside(const Setting& setting, std::string_view name) const;
  // Each of them is certainly seen with the other.
  bool together(const Setting& a, const Setting& b) const;

 private:
  const Script& script_;
  std::map<std::pair<const Command*, std::string_view>, const Setting*> of_command_;
  std::map<std::string_view, std::vector<const Setting*>> of_file_;  // in the order of the file
};

// A plugin comes before NCCL's own network: the sign of it that the file shows; empty when it shows none.
class Scope;
std::string_view external_network(const Scope& scope);

}  // namespace angio::lint
