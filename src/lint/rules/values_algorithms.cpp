// NCCL_ALGO and NCCL_PROTO: words and grammar by release, and what a list leaves without an algorithm.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "lint/rules/algorithm_list.hpp"
#include "lint/rules/environments.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {

std::vector<AlgorithmEntry> parse_algorithms(std::string_view value, bool entries) {
  std::vector<AlgorithmEntry> result;
  for (std::string_view part : entries ? split(value, ';') : std::vector{value}) {
    AlgorithmEntry entry;
    if (const std::size_t colon = part.find(':'); entries && colon != std::string_view::npos) {
      entry.function = part.substr(0, colon);
      part.remove_prefix(colon + 1);
    }
    entry.excluded = part.starts_with('^');
    if (entry.excluded) part.remove_prefix(1);
    entry.words = split(part, ',');
    result.push_back(std::move(entry));
  }
  return result;
}

namespace {

constexpr std::string_view kStrict = "lint.algo.strict";  // the parser of 2.24

bool is_algorithm(const Known& known) {
  return known.variable.name == "NCCL_ALGO";
}

// "broadcast:Ring reduce:Ring …": which algorithms serve which function.
struct Served {
  std::string_view function;
  std::vector<std::string_view> algorithms;
};
std::vector<Served> served_functions() {
  std::vector<Served> result;
  const knowledge::NcclFact* fact = knowledge::find_nccl_fact("lint.algo.serves");
  for (const std::string_view part : split_words(fact == nullptr ? std::string_view() : fact->text)) {
    const std::size_t colon = part.find(':');
    if (colon != std::string_view::npos)
      result.push_back({part.substr(0, colon), split(part.substr(colon + 1), ',')});
  }
  return result;
}

bool same(std::string_view a, std::string_view b) {
  return to_lower(a) == to_lower(b);
}
bool holds_word(const std::vector<std::string_view>& words, std::string_view word) {
  return std::ranges::any_of(words, [&](std::string_view other) { return same(other, word); });
}

// Known to this release; a version that is not known admits every word.
bool is_valid(const Known& known, std::string_view word, const Context& context) {
  const knowledge::VariableWord* found = knowledge::find_word(known.variable, word);
  if (found == nullptr) return false;
  if (context.nccl_version.empty()) return true;
  const auto order = [&](std::string_view other) {
    return knowledge::compare_versions(context.nccl_version, other).value_or(0);
  };
  return (found->since.empty() || order(found->since) >= 0) &&
         (found->until.empty() || order(found->until) <= 0);
}

std::string consequence(bool strict) {
  return strict ? "2.24 and newer refuse to start"
                : "2.23 and older skip it silently and turn off what is not listed";
}

// The list without the words that no release knows; empty when nothing is left of an entry.
std::string without_invalid(const Known& known, const Context& context, bool strict) {
  std::string value;
  for (const AlgorithmEntry& entry : parse_algorithms(known.setting.value, strict)) {
    std::string list;
    for (const std::string_view word : entry.words) {
      if (is_valid(known, word, context)) list += (list.empty() ? "" : ",") + std::string(word);
    }
    if (list.empty()) return {};
    if (!value.empty()) value += ';';
    if (!entry.function.empty()) value += std::string(entry.function) + ":";
    value += (entry.excluded ? "^" : "") + list;
  }
  return value;
}

// "Coll" was never an algorithm: what it is meant to say, automatic, is what NCCL does when left alone.
void fix_automatic(const Known& known, const Context& context, bool strict, Complaint& complaint) {
  complaint.advice = "did you mean to let NCCL choose? then remove the word";
  const std::string rest = without_invalid(known, context, strict);
  if (rest.empty()) {
    complaint.advice = "did you mean to let NCCL choose? then leave NCCL_ALGO unset";
    if (!known.is_used_elsewhere()) fix_with(complaint, removal(known.setting));
  } else {
    fix_with(complaint, new_value(known.script, known.setting, rest));
  }
}

std::string advice_for(const Known& known, std::string_view word, const Context& context) {
  std::vector<std::string_view> candidates;
  for (const knowledge::VariableWord& candidate : known.variable.words) {
    if (is_valid(known, candidate.word, context)) candidates.push_back(candidate.word);
  }
  const std::string_view bare = trim(word);
  if (bare != word && holds_word(candidates, bare))
    return "blanks are not trimmed: write the list without them";
  if (const auto meant = did_you_mean(bare, candidates)) return fmt::format("did you mean {}?", *meant);
  std::vector<std::string> all(candidates.begin(), candidates.end());
  return fmt::format("it knows {}; leave {} unset to let NCCL choose", join(all, ", "), known.variable.name);
}

void unknown_word(const Known& known, std::string_view word, const Context& context, bool strict,
                  Complaints& out) {
  const std::string_view what = is_algorithm(known) ? "algorithm" : "protocol";
  const knowledge::VariableWord* other_release = knowledge::find_word(known.variable, word);
  const std::string_view rule = is_algorithm(known) ? "nccl.algo.unknown-token" : "nccl.proto.unknown-token";
  std::string message =
      fmt::format("{}: \"{}\" is no {}; {}", known.variable.name, shown(word), what, consequence(strict));
  if (other_release != nullptr) {
    const bool later = other_release->until.empty();
    message = fmt::format("{}: {} is known {} {}, not to {}; {}", known.variable.name, other_release->word,
                          later ? "from" : "up to", later ? other_release->since : other_release->until,
                          context.nccl_version, consequence(strict));
  }
  auto complaint = complain(rule, known.script, known.setting.value_place, std::move(message),
                            advice_for(known, word, context));
  if (!strict) complaint.severity = model::Severity::kWarning;
  const knowledge::NcclFact* automatic = knowledge::find_nccl_fact("lint.algo.automatic-word");
  if (is_algorithm(known) && automatic != nullptr &&
      same(trim(word), automatic->text.substr(0, automatic->text.find(':')))) {
    fix_automatic(known, context, strict, complaint);
  }
  out.push_back(std::move(complaint));
}

bool check_grammar(const Known& known, bool strict, Complaints& out) {
  const std::string_view value = known.setting.value;
  const std::size_t special = value.find_first_of(":;");
  if (special == std::string_view::npos) return true;
  const auto wrong = [&](std::string message, std::string advice) {
    out.push_back(complain("nccl.algo.grammar", known.script, known.setting.value_place, std::move(message),
                           std::move(advice)));
    return false;
  };
  if (!strict) {
    return wrong(
        fmt::format("{}: \"function:list;…\" is understood from 2.24 on; older releases match no word of it",
                    shown(known.setting)),
        "one comma list for all functions, or leave it unset");
  }
  const auto functions = served_functions();
  bool first = true;
  for (const AlgorithmEntry& entry : parse_algorithms(value, true)) {
    const bool known_function =
        std::ranges::any_of(functions, [&](const Served& one) { return same(one.function, entry.function); });
    if (entry.function.empty() && !first) {
      return wrong(
          fmt::format("{}: every entry but the first needs a function in front; NCCL refuses to start",
                      shown(known.setting)),
          "write function:list;function:list");
    }
    if (!entry.function.empty() && !known_function) {
      return wrong(fmt::format("{}: \"{}\" is no function; NCCL refuses to start", shown(known.setting),
                               shown(entry.function)),
                   "functions are broadcast, reduce, allgather, reducescatter, allreduce");
    }
    first = false;
  }
  return true;
}

// Whether one function keeps an algorithm; later entries replace earlier ones for their function.
bool keeps_algorithm(const Served& function, const std::vector<AlgorithmEntry>& entries) {
  const AlgorithmEntry* valid = nullptr;
  for (const AlgorithmEntry& entry : entries) {
    if (entry.function.empty() || same(entry.function, function.function)) valid = &entry;
  }
  if (valid == nullptr) return true;
  return std::ranges::any_of(function.algorithms, [&](std::string_view algorithm) {
    return holds_word(valid->words, algorithm) != valid->excluded;
  });
}

// What the benchmark of this command calls: all_reduce_perf calls AllReduce and nothing else.
std::optional<std::string> benchmarked(const Known& known) {
  const Command* command = command_of(known.script, known.setting);
  if (command == nullptr) return std::nullopt;
  for (const Word& word : command->words) {
    std::string_view program = std::string_view(word.text).substr(word.text.rfind('/') + 1);
    if (!program.ends_with("_perf")) continue;
    program.remove_suffix(std::string_view("_perf").size());
    std::string function(program);
    std::erase(function, '_');
    return function;
  }
  return std::nullopt;
}

bool check_left_without(const Known& known, bool strict, Complaints& out) {
  const auto entries = parse_algorithms(known.setting.value, strict);
  std::vector<std::string> without;
  const auto called = benchmarked(known);
  for (const Served& function : served_functions()) {
    if (called && *called != function.function) continue;
    if (!keeps_algorithm(function, entries)) without.emplace_back(function.function);
  }
  if (without.empty()) return false;
  auto complaint =
      complain("nccl.algo.no-ring", known.script, known.setting.value_place,
               fmt::format("{} leaves {} without an algorithm; {}", shown(known.setting), join(without, ", "),
                           strict ? "from 2.24 on that call fails" : "2.23 and older use Ring there"),
               strict ? "add Ring, name the function (allreduce:…), or leave it unset"
                      : "from 2.24 on the call fails");
  if (!strict) complaint.severity = model::Severity::kInfo;
  out.push_back(std::move(complaint));
  return strict;
}

bool has_nvswitch(const Context& context) {
  for (const model::Machine& machine : context.machines) {
    for (const model::Gpu& gpu : machine.gpus) {
      if (std::ranges::any_of(gpu.links, [](const model::GpuLink& link) {
            return link.peer_kind == model::PeerKind::kSwitch;
          }))
        return true;
    }
  }
  return false;
}

void check_forced(const Known& known, const Context& context, bool strict, Complaints& out) {
  const auto entries = parse_algorithms(known.setting.value, strict);
  const bool nvls = std::ranges::any_of(
      entries, [](const AlgorithmEntry& entry) { return entry.excluded || holds_word(entry.words, "NVLS"); });
  std::string message = fmt::format(
      "{}: NCCL chooses by message size, nodes and links; a fixed list stays behind every release",
      shown(known.setting));
  if (!nvls && has_nvswitch(context) && is_valid(known, "NVLS", context)) {
    message = fmt::format("{}: leaves out NVLS, which this machine's NVSwitch offers", shown(known.setting));
  }
  out.push_back(complain("nccl.algo.forced", known.script, known.setting.value_place, std::move(message),
                         "leave it unset unless a measurement on this cluster says otherwise"));
}

void check_protocols(const Known& known, bool strict, Complaints& out) {
  const auto entries = parse_algorithms(known.setting.value, strict);
  const bool ll128 = std::ranges::any_of(entries, [](const AlgorithmEntry& entry) {
    return !entry.excluded && holds_word(entry.words, "LL128");
  });
  const bool forced =
      std::ranges::any_of(entries, [](const AlgorithmEntry& entry) { return !entry.excluded; });
  if (ll128) {
    auto complaint = complain(
        "nccl.proto.ll128-forced", known.script, known.setting.value_place,
        fmt::format(
            "{}: naming LL128 turns off the check whether this hardware carries it; data can be corrupted",
            shown(known.setting)),
        "leave NCCL_PROTO unset: every protocol that is safe is already on");
    out.push_back(std::move(complaint));
  } else if (forced) {
    out.push_back(complain(
        "nccl.proto.forced", known.script, known.setting.value_place,
        fmt::format("{}: keeps NCCL from choosing the protocol by message size", shown(known.setting)),
        "leave it unset; its guide asks not to set it beyond debugging"));
  }
}

}  // namespace

void check_algorithms(const Known& known, const Context& context, Complaints& out) {
  if ((!is_algorithm(known) && known.variable.name != "NCCL_PROTO") || known.setting.value.empty()) return;
  const bool strict = context.nccl_version.empty() || holds(kStrict, context);
  if (!check_grammar(known, strict, out)) return;
  bool clean = true;
  for (const AlgorithmEntry& entry : parse_algorithms(known.setting.value, strict)) {
    for (const std::string_view word : entry.words) {
      if (is_valid(known, word, context)) continue;
      unknown_word(known, word, context, strict, out);
      clean = false;
    }
  }
  if (!is_algorithm(known)) {
    check_protocols(known, strict, out);
  } else if (clean && !check_left_without(known, strict, out)) {
    check_forced(known, context, strict, out);
  }
}

}  // namespace angio::lint
