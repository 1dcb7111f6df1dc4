#include "compat/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "compat/facts.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::compat {

using knowledge::VersionCondition;
using knowledge::VersionRule;

namespace {

bool matches_words(const std::string& value, std::string_view is) {
  const bool inverted = is.starts_with('!');
  if (inverted) is.remove_prefix(1);
  const auto words = split(is, '|');
  return (std::ranges::find(words, std::string_view(value)) != words.end()) != inverted;
}

bool concerns(const Stack& stack, const VersionRule& rule) {
  const auto known = [&](std::string_view word) {
    const auto part = find_part(word);
    return part && stack.get(*part) != nullptr;
  };
  if (!rule.about.empty()) return std::ranges::any_of(split_words(rule.about), known);
  const auto by_part = [&](const VersionCondition& one) { return known(one.part); };
  return std::ranges::any_of(rule.when, by_part) || std::ranges::any_of(rule.needs, by_part);
}

Constraint draft(const Stack& stack, const VersionRule& rule, Verdict verdict) {
  Constraint made{.id = std::string(rule.id),
                  .verdict = verdict,
                  .title = std::string(rule.title),
                  .explain = std::string(rule.text),
                  .source = std::string(rule.source)};
  for (const auto conditions : {rule.when, rule.needs}) {
    for (const VersionCondition& one : conditions) {
      const auto part = find_part(one.part);
      if (!part || stack.get(*part) == nullptr) continue;
      const std::string text = seen(stack, *part);
      if (std::ranges::find(made.seen, text) == made.seen.end()) made.seen.push_back(text);
    }
  }
  if (!rule.date.empty()) made.source += fmt::format(" ({})", rule.date);
  return made;
}

std::string list_of(const std::vector<const VersionCondition*>& conditions) {
  std::vector<std::string> words;
  for (const VersionCondition* one : conditions)
    words.push_back(in_words(*one));
  return join(words, ", ");
}

void requirement(const Stack& stack, const VersionRule& rule, std::vector<Constraint>& out) {
  if (!concerns(stack, rule)) return;
  const AllHold when = all_hold(stack, rule.when);
  if (!when.all()) return;
  const AllHold needs = all_hold(stack, rule.needs);
  const AllHold unless = all_hold(stack, rule.unless);
  const bool other_way = !rule.unless.empty() && unless.all();
  if (needs.all() || other_way) {
    Constraint made = draft(stack, rule, Verdict::kHolds);
    made.explain.clear();
    if (!needs.all()) {
      made.title += ": not needed here";
      for (const VersionCondition& one : rule.unless)
        made.explain = fmt::format("{}. {}", in_words(one), rule.text);
    }
    return out.push_back(std::move(made));
  }
  const bool open = !rule.unless.empty() && !unless.known_false;
  const Verdict verdict = needs.known_false && !open ? Verdict::kFails : Verdict::kUnknown;
  Constraint made = draft(stack, rule, verdict);
  made.missing = needs.known_false ? unless.missing : needs.missing;
  if (!needs.failing.empty()) made.title += fmt::format(": needs {}", list_of(needs.failing));
  made.satisfy = rule.fix;
  out.push_back(std::move(made));
}

void known_bad(const Stack& stack, const VersionRule& rule, std::vector<Constraint>& out) {
  const AllHold when = all_hold(stack, rule.when);
  if (when.known_false || rule.when.empty() || !holds(stack, rule.when.front()).value_or(false)) return;
  Constraint made = draft(stack, rule, when.all() ? Verdict::kFails : Verdict::kUnknown);
  made.missing = when.missing;
  made.satisfy = rule.fix;
  out.push_back(std::move(made));
}

void remark(const Stack& stack, const VersionRule& rule, std::vector<Constraint>& out) {
  if (!all_hold(stack, rule.when).all() || (!rule.unless.empty() && all_hold(stack, rule.unless).all()))
    return;
  Constraint made = draft(stack, rule, Verdict::kRemark);
  made.satisfy = rule.fix;
  out.push_back(std::move(made));
}

void conflicts(const Stack& stack, std::vector<Constraint>& out) {
  for (const Conflict& one : stack.conflicts) {
    Constraint made{
        .id = fmt::format("input.{}", word_of(one.part)),
        .verdict = Verdict::kRemark,
        .title = fmt::format("Two values for {}: {} counts", title_of(one.part), one.kept.text),
        .explain = "The sources disagree: they may belong to different hosts, containers or environments."};
    for (const Value* value : {&one.kept, &one.other})
      made.seen.push_back(value->where.empty() ? value->text
                                               : fmt::format("{} ({})", value->text, value->where));
    out.push_back(std::move(made));
  }
}

Feature feature_of(const Stack& stack, const VersionRule& rule) {
  Feature made{
      .id = std::string(rule.id), .title = std::string(rule.title), .source = std::string(rule.source)};
  for (const VersionCondition& one : rule.needs)
    if (one.part == word_of(Part::kNccl)) made.since = one.since;
  const AllHold needs = all_hold(stack, rule.needs);
  if (needs.all()) return made;
  made.verdict = needs.known_false ? Verdict::kFails : Verdict::kUnknown;
  if (needs.known_false) {
    // That the release is too old is plain from `since`.
    std::vector<const VersionCondition*> others = needs.failing;
    std::erase_if(others, [](const VersionCondition* one) { return one->part == word_of(Part::kNccl); });
    if (!others.empty()) made.why = "needs " + list_of(others);
  } else {
    std::vector<std::string> words;
    for (const Part part : needs.missing)
      words.emplace_back(title_of(part));
    made.why = join(words, ", ") + " not known";
  }
  return made;
}

bool older(const Feature& left, const Feature& right) {
  return knowledge::compare_versions(left.since, right.since).value_or(0) < 0;
}

}  // namespace

std::optional<bool> holds(const Stack& stack, const VersionCondition& condition) {
  const auto part = find_part(condition.part);
  const std::string* value = part ? stack.get(*part) : nullptr;
  if (value == nullptr) return std::nullopt;
  if (!condition.is.empty()) return matches_words(*value, condition.is);
  return knowledge::version_within(*value, condition.since, condition.until);
}

AllHold all_hold(const Stack& stack, std::span<const VersionCondition> conditions) {
  AllHold result;
  for (const VersionCondition& one : conditions) {
    const auto answer = holds(stack, one);
    if (!answer) {
      if (const auto part = find_part(one.part)) result.missing.push_back(*part);
    } else if (!*answer) {
      result.known_false = true;
      result.failing.push_back(&one);
    }
  }
  return result;
}

std::string in_words(const VersionCondition& condition) {
  const auto part = find_part(condition.part);
  const std::string name(part ? title_of(*part) : condition.part);
  if (condition.part == word_of(Part::kModule)) return fmt::format("the {} kernel module", condition.is);
  if (condition.part == word_of(Part::kPeermem))
    return condition.is == "yes" ? "nvidia_peermem is loaded" : "no nvidia_peermem";
  if (!condition.is.empty())
    return fmt::format("{} {}", name,
                       condition.is.starts_with('!') ? "other than " + std::string(condition.is.substr(1))
                                                     : std::string(condition.is));
  if (condition.until.empty())
    return condition.since.empty() ? name : fmt::format("{} {} or newer", name, condition.since);
  if (condition.since.empty()) return fmt::format("{} up to {}", name, condition.until);
  if (condition.since == condition.until) return fmt::format("{} {}", name, condition.since);
  return fmt::format("{} {} to {}", name, condition.since, condition.until);
}

std::string seen(const Stack& stack, Part part) {
  const auto found = stack.values.find(part);
  if (found == stack.values.end()) return fmt::format("{} unknown", title_of(part));
  const Value& value = found->second;
  const std::string text = fmt::format("{} {}", title_of(part), value.text);
  return value.where.empty() ? text : fmt::format("{} ({})", text, value.where);
}

std::optional<std::uint32_t> major_of(const std::string& version) {
  return parse_integer<std::uint32_t>(split(version, '.').front());
}

namespace {

// What follows from the values where nobody said it.
void complete(Stack& stack) {
  if (const auto disk = stack.values.find(Part::kDiskDriver);
      stack.get(Part::kDriver) == nullptr && disk != stack.values.end()) {
    const std::string& where = disk->second.where;
    stack.set(Part::kDriver, disk->second.text, where.empty() ? "installed" : where + ", installed");
  }
  const std::string* driver = stack.get(Part::kDriver);
  if (driver == nullptr || stack.get(Part::kCudaDriver) != nullptr) return;
  std::string offered = knowledge::newest_cuda_of(*driver);
  if (offered.empty()) {
    offered = knowledge::least_cuda_of(*driver);
    if (!offered.empty()) offered += " or newer";
  }
  stack.set(Part::kCudaDriver, offered, "by the table of toolkits and drivers");
}

}  // namespace

Report check(const Stack& given) {
  Stack stack = given;
  complete(stack);
  Report report;
  driver_constraints(stack, report.constraints);
  cuda_constraints(stack, report.constraints);
  gpu_constraints(stack, report.constraints);
  nccl_constraints(stack, report.constraints);
  firmware_constraints(stack, report.constraints);
  for (const VersionRule& rule : knowledge::version_requirements())
    requirement(stack, rule, report.constraints);
  for (const VersionRule& rule : knowledge::known_bad_versions())
    known_bad(stack, rule, report.constraints);
  for (const VersionRule& rule : knowledge::version_remarks())
    remark(stack, rule, report.constraints);
  conflicts(stack, report.constraints);
  std::ranges::stable_sort(report.constraints, {}, &Constraint::verdict);
  if (stack.get(Part::kNccl) == nullptr && stack.get(Part::kNcclInstalled) != nullptr)
    stack.values[Part::kNccl] = stack.values[Part::kNcclInstalled];
  if (stack.get(Part::kNccl) == nullptr) return report;
  for (const VersionRule& rule : knowledge::nccl_features())
    report.features.push_back(feature_of(stack, rule));
  std::ranges::stable_sort(report.features, older);
  return report;
}

}  // namespace angio::compat
