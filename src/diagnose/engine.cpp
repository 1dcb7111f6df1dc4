// Runs the rules and joins what they found with their words from data/rules.
#include <algorithm>
#include <cctype>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "diagnose/doctor.hpp"
#include "diagnose/rule.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose {

using model::Diagnosis;
using model::Finding;
using model::Machine;

namespace {

bool is_word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// {name} becomes its word; a name nobody filled becomes <name>, for the reader to fill. Other braces stay.
std::string fill(std::string_view text, const std::map<std::string, std::string>& words) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return out += text.substr(open);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    if (!is_word(name)) {
      out += '{';
      text.remove_prefix(open + 1);
      continue;
    }
    const auto word = words.find(std::string(name));
    out += word != words.end() ? word->second : "<" + std::string(name) + ">";
    text.remove_prefix(close + 1);
  }
  return out;
}

Finding make_finding(const knowledge::RuleText& text, const Machine& machine, Draft draft) {
  draft.words.emplace("node", machine.name);
  if (!draft.devices.empty()) draft.words.emplace("device", draft.devices.front());
  draft.words.emplace("devices", join(draft.devices, ", "));

  Finding finding;
  finding.rule = text.id;
  finding.severity = draft.severity.value_or(text.severity);
  finding.confidence = text.confidence;
  finding.layer = text.layer;
  finding.node = machine.name;
  finding.title = std::move(draft.title);
  finding.devices = std::move(draft.devices);
  finding.evidence = std::move(draft.evidence);
  finding.cost = std::move(draft.cost);
  finding.rank = draft.rank;
  for (const knowledge::FixText& fix : text.fixes) {
    if (!fix.when.empty() && !draft.words.contains(std::string(fix.when))) continue;
    finding.fixes.push_back({fill(fix.text, draft.words), fill(fix.command, draft.words),
                             fill(fix.risk, draft.words), fix.needs_root, fix.needs_reboot});
  }
  finding.disprove = fill(text.disprove, draft.words);
  finding.sources.assign(text.sources.begin(), text.sources.end());
  return finding;
}

// What stands in the way of every value that NVML gives; empty when nothing does, or when nobody knows.
std::string nvml_trouble(const Machine& machine) {
  const model::Software& software = machine.software;
  const auto nvidia = [](const model::Gpu& gpu) { return gpu.vendor == model::GpuVendor::kNvidia; };
  const auto listed = [](const model::Gpu& gpu) { return gpu.library_index.is_known(); };
  if (std::ranges::none_of(machine.gpus, nvidia) || std::ranges::any_of(machine.gpus, listed)) return {};
  const std::string again = ", then angio collect";
  if (const std::string* words = software.nvml_error.get()) {
    const bool mismatch = contains(to_lower(*words), "mismatch");
    return "first cure " + std::string(mismatch ? "version.driver.mismatch" : "gpu.driver.nvml-failed") +
           " (NVML said: " + *words + ")" + again;
  }
  if (software.nvml_error.is_absent() && !software.nvml_driver.is_known())
    return "first install the driver's user libraries (libnvidia-ml.so.1 is not here)" + again;
  const bool failed =
      software.nvml_error.is_unreadable() && software.nvml_error.reason() == model::Reason::kFailed;
  if (!failed) return {};
  return "first find out why NVML does not answer (" + errno_text(software.nvml_error.error()) +
         "): nvidia-smi and dmesg on the node" + again;
}

void run_rule(const Rule& rule, const Machine& machine, Diagnosis& diagnosis) {
  const knowledge::RuleText* text = knowledge::find_rule(rule.id);
  if (text == nullptr) return;  // a rule without words says nothing; a test and tools/check_data.py forbid it
  Outcome outcome;
  rule.check(machine, outcome);
  for (Draft& draft : outcome.drafts) {
    diagnosis.findings.push_back(make_finding(*text, machine, std::move(draft)));
  }
  for (Outcome::Gap& gap : outcome.gaps) {
    std::string help = gap.asked == Asked::kNvml ? nvml_trouble(machine) : std::string();
    if (help.empty()) help = std::move(gap.collect);
    diagnosis.undecided.push_back({rule.id, machine.name, std::move(gap.missing), std::move(help)});
  }
  if (!outcome.drafts.empty() || !outcome.gaps.empty()) return;
  (outcome.applicable ? diagnosis.held : diagnosis.not_applicable).emplace_back(rule.id);
}

std::vector<Rule> collect_rules() {
  std::vector<Rule> rules;
  for (const auto topic : {numa_rules(), pcie_rules(), gpu_rules(), system_rules(), version_rules(),
                           rdma_rules(), process_rules(), memory_rules(), nccl_rules()}) {
    rules.insert(rules.end(), topic.begin(), topic.end());
  }
  std::ranges::sort(rules, {}, [](const Rule& rule) { return std::string_view(rule.id); });
  return rules;
}

}  // namespace

std::span<const Rule> all_rules() {
  static const std::vector<Rule> rules = collect_rules();
  return rules;
}

void rank(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    if (a.rank != b.rank) return a.rank > b.rank;
    return a.rule < b.rule;
  });
}

Diagnosis diagnose(const Machine& machine) {
  Diagnosis diagnosis;
  for (const Rule& rule : all_rules())
    run_rule(rule, machine, diagnosis);
  rank(diagnosis.findings);
  return diagnosis;
}

}  // namespace angio::diagnose
