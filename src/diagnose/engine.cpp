// Runs the rules and joins what they found with their words from data/rules.
#include <algorithm>
#include <cctype>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "diagnose/doctor.hpp"
#include "diagnose/rule.hpp"
#include "diagnose/wording.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose {

using model::Diagnosis;
using model::Finding;
using model::Machine;

namespace {

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
    diagnosis.findings.push_back(make_finding(*text, machine.name, std::move(draft)));
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
                           rdma_rules(), process_rules(), memory_rules(), nccl_rules(), cluster_rules()}) {
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
