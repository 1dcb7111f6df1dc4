#include "dryrun/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/compare_log.hpp"

namespace angio::dryrun {
namespace {

using model::DryRun;
using model::DryRunEnd;
using model::DryRunMemory;
using model::DryRunOperation;

std::string end_in_words(const DryRun& run) {
  std::string text(words_of(run.end));
  if (run.end != DryRunEnd::kComplete && !run.problem.empty()) text += ": " + printable(run.problem);
  return text;
}

std::string most_memory(const DryRun& run, std::uint64_t DryRunMemory::* member) {
  if (run.memory.empty()) return {};
  const auto most = std::ranges::max_element(run.memory, {}, member);
  return in_words(Bytes{(*most).*member});
}

void compare_memory(const DryRun& a, const DryRun& b, Facts& facts) {
  struct Kind {
    const char* what;
    std::uint64_t DryRunMemory::* member;
  };
  for (const Kind& kind : {Kind{"memory of a GPU after init", &DryRunMemory::after_init},
                           Kind{"memory of a GPU at its peak", &DryRunMemory::peak},
                           Kind{"pinned host memory of a rank", &DryRunMemory::host}})
    facts.add(kind.what, most_memory(a, kind.member), most_memory(b, kind.member));
}

using Key = std::pair<std::string, std::uint64_t>;
std::map<Key, const DryRunOperation*> by_key(const DryRun& run) {
  std::map<Key, const DryRunOperation*> found;
  for (const DryRunOperation& operation : run.operations)
    found.try_emplace({operation.collective, operation.bytes}, &operation);
  return found;
}

struct KernelChange {
  const DryRunOperation* a = nullptr;  // the first
  const DryRunOperation* b = nullptr;
  std::size_t different = 0;
  std::size_t all = 0;
};

void note_kernel(const DryRunOperation& a, const DryRunOperation& b, KernelChange& change) {
  if (a.kernel.empty() || b.kernel.empty()) return;
  ++change.all;
  if (a.kernel == b.kernel) return;
  if (change.different++ == 0) {
    change.a = &a;
    change.b = &b;
  }
}

double ratio(const DryRunOperation& a, const DryRunOperation& b) {
  if (!a.estimate_us || !b.estimate_us || *a.estimate_us <= 0 || *b.estimate_us <= 0) return 0;
  return *b.estimate_us / *a.estimate_us;
}

void compare_kernels(const KernelChange& change, Facts& facts) {
  if (change.all == 0) return;
  if (change.different == 0) return facts.same();
  facts.add(
      fmt::format("kernel of {} {}", change.a->collective, in_words(Bytes{change.a->bytes})),
      printable(change.a->kernel), printable(change.b->kernel),
      fmt::format("the kernel differs in {} of {}", change.different, count_of(change.all, "operation")));
}

// The operations of both, in the order of a; kernels are noted on the way.
void compare_choices(const DryRun& a, const DryRun& b, Comparison& into, KernelChange& kernels) {
  const auto others = by_key(b);
  for (const DryRunOperation& one : a.operations) {
    const auto there = others.find({one.collective, one.bytes});
    if (there == others.end()) continue;
    const DryRunOperation& other = *there->second;
    note_kernel(one, other, kernels);
    // Logs of some releases name no algorithm: nothing to compare.
    if (one.reached && other.reached && one.algorithm.empty() != other.algorithm.empty()) continue;
    std::string before = choice_text(one);
    std::string after = choice_text(other);
    if (before == after)
      ++into.equal_choices;
    else
      into.choices.push_back(
          {one.collective, one.bytes, std::move(before), std::move(after), ratio(one, other)});
  }
}

std::string operations_in_words(const DryRun& run) {
  if (run.operations.empty()) return {};
  const auto reached = std::ranges::count_if(run.operations, &DryRunOperation::reached);
  return fmt::format("{} of {}", reached, run.operations.size());
}

std::string network_name(const DryRun& run) {
  return run.net == "phantom" ? "phantom NICs" : printable(run.net);
}

}  // namespace

std::string choice_text(const DryRunOperation& operation) {
  if (!operation.reached) return "not reached";
  std::string text = operation.algorithm;
  if (!operation.protocol.empty()) text += (text.empty() ? "" : " ") + operation.protocol;
  if (operation.channels) text += (text.empty() ? "" : ", ") + count_of(*operation.channels, "channel");
  return text.empty() ? "not named" : printable(text);
}

void Facts::add(std::string what, std::string a, std::string b, std::string meaning) {
  if (a == b) {
    if (!a.empty()) ++comparison_.equal_facts;
    return;
  }
  if (only_shared_ && (a.empty() || b.empty())) return;
  if (a.empty()) a = "not shown";
  if (b.empty()) b = "not shown";
  comparison_.facts.push_back({std::move(what), std::move(a), std::move(b), std::move(meaning)});
}

void Facts::remark(std::string what, std::string meaning) {
  comparison_.facts.push_back({std::move(what), {}, {}, std::move(meaning)});
}

Comparison compare(const DryRun& a, const DryRun& b) {
  Facts facts(a.end != DryRunEnd::kComplete || b.end != DryRunEnd::kComplete);
  facts.add("end", end_in_words(a), end_in_words(b));
  facts.add("NCCL", printable(a.nccl), printable(b.nccl));
  facts.add("topology", printable(a.topology), printable(b.topology));
  facts.add("network of the run", network_name(a), network_name(b));
  facts.add("operations reached", operations_in_words(a), operations_in_words(b));
  if (a.evidence.log && b.evidence.log) compare_logs(*a.evidence.log, *b.evidence.log, facts);
  compare_memory(a, b, facts);
  Comparison choices;
  KernelChange kernels;
  compare_choices(a, b, choices, kernels);
  compare_kernels(kernels, facts);
  Comparison comparison = facts.take();
  comparison.choices = std::move(choices.choices);
  comparison.equal_choices = choices.equal_choices;
  return comparison;
}

}  // namespace angio::dryrun
