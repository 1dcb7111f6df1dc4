// Where a result was measured: hardware, versions and settings that figures depend on, as facts of three
// groups, and their fingerprint. Results are compared with those of the same fingerprint; what differs
// between two is named. Made of a machine, kept with a record, written as the member "environment" of a
// result's JSON.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "model/machine.hpp"

namespace angio::history {

struct Fact {
  std::string group;  // "hardware", "versions", "settings"
  std::string name;   // "GPUs", "driver", "NCCL_ALGO"
  std::string value;  // "8 x NVIDIA H100 80GB HBM3", "570.86.15"
  auto operator<=>(const Fact&) const = default;
};

struct Environment {
  std::vector<Fact> facts;  // by group and name; empty: not known
  [[nodiscard]] bool is_known() const { return !facts.empty(); }
  bool operator==(const Environment&) const = default;
};

using Versions = std::vector<std::pair<std::string, std::string>>;

// What the machine tells; what could not be read is no fact. versions: what the caller used, as {"nccl",
// "2.28.9"},
// {"angio", "0.1.0"}; without a value they are left out.
Environment environment_of(const model::Machine& machine, const Versions& versions);

// Settings of NCCL, UCX and what else changes how fast a collective is. Not of logs, files, addresses and
// names, which differ from run to run.
bool is_setting_of_speed(std::string_view name);

// 16 hexadecimal digits of FNV-1a over all facts; empty of an unknown environment.
std::string fingerprint_of(const Environment& environment);

// {"fingerprint": "…", "hardware": {"GPUs": "…"}, "versions": {…}, "settings": {…}}; null where it is not
// known.
Json environment_json(const Environment& environment);
// Of that JSON. The fingerprint in it is not believed. Error: what is wrong with it.
Result<Environment> parse_environment(const Json& json);

struct FactChange {
  std::string group, name;
  std::string before, after;  // empty: not there
};
std::vector<FactChange> changes_between(const Environment& before, const Environment& after);
// "driver 550.90 -> 570.86", "NCCL_ALGO unset -> Ring".
std::string in_words(const FactChange& change);

}  // namespace angio::history
