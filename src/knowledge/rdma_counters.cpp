#include "knowledge/rdma_counters.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "knowledge/glossary.hpp"

namespace angio::knowledge {
namespace {

#include "rdma_counters_tables.inc"

}  // namespace

std::span<const RdmaCounterFact> rdma_counters() {
  return kRdmaCounters;
}

std::string without_priority(std::string_view name) {
  constexpr std::string_view kWord = "_prio";
  std::string plain(name);
  const std::size_t at = plain.find(kWord);
  if (at == std::string::npos) return plain;
  const std::size_t digit = at + kWord.size();
  if (digit < plain.size() && plain[digit] >= '0' && plain[digit] <= '7') plain.erase(digit, 1);
  return plain;
}

const RdmaCounterFact* find_rdma_counter(std::string_view name) {
  const std::string plain = without_priority(name);
  const auto all = rdma_counters();
  const auto found = std::ranges::lower_bound(all, std::string_view(plain), {}, &RdmaCounterFact::name);
  return found != all.end() && found->name == plain ? &*found : nullptr;
}

std::string_view meaning_of_rdma_counter(std::string_view name) {
  const std::string plain = without_priority(name);
  for (const GlossaryTerm& term : glossary()) {
    if (term.kind == "counter" && std::ranges::find(term.names, std::string_view(plain)) != term.names.end())
      return term.text;
  }
  return {};
}

}  // namespace angio::knowledge
