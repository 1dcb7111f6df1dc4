// What a receiving port counts when its cable, or the sender at the other end, is bad.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "fabric/counts.hpp"
#include "fabric/rules.hpp"
#include "knowledge/fabric_limits.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::fabric {

using model::FabricCounter;
using model::FabricPort;
using model::PortRef;
using model::Severity;

namespace {

bool has_cable(const Layout& layout, PortRef ref) {
  return layout.port(ref).number != 0 || !layout.is_switch(ref.node);  // a switch's port 0 is inside it
}

// Ports with this counter; tells an absence of counters as a gap.
std::vector<std::pair<PortRef, Count>> counted(const Case& look, FabricCounter counter,
                                               FabricOutcome& outcome) {
  std::vector<std::pair<PortRef, Count>> found;
  for (std::uint32_t n = 0; n < look.layout.fabric->nodes.size(); ++n)
    for (std::uint32_t p = 0; p < look.layout.fabric->nodes[n].ports.size(); ++p) {
      const PortRef ref{n, p};
      if (!has_cable(look.layout, ref)) continue;
      if (const auto count = count_at(look, ref, counter)) found.emplace_back(ref, *count);
    }
  if (found.empty()) outcome.undecided(no_counter(look, counter), kCounters);
  return found;
}

// A receiving port: the far end sends, so both stand as evidence.
FabricDraft about(const Case& look, PortRef ref, std::string title) {
  const Layout& layout = look.layout;
  FabricDraft found;
  found.subject = subject_of(layout, ref.node);
  found.draft.title = std::move(title);
  found.draft.devices = {name_of_port(*layout.fabric, ref)};
  found.draft.evidence.push_back(seen(layout, end_words(layout, ref)));
  found.ports = {ref};
  for (const std::uint32_t c : layout.cables_at(ref.node)) {
    const Cable& cable = layout.cables[c];
    if (cable.a != ref && cable.b != ref) continue;
    const PortRef far = cable.a == ref ? cable.b : cable.a;
    found.draft.evidence.push_back(seen(layout, "its cable leads to " + end_words(layout, far)));
    found.ports.push_back(far);
    add_cable_words(layout, cable, found.draft);
    break;
  }
  found.draft.words["by_cable"] = "";
  return found;
}

std::string counter_words(FabricCounter counter, const Count& count) {
  return fmt::format("{} {}{} {}", model::name_of(counter), count.stuck ? "at its maximum, at least " : "",
                     grouped(count.value), base_words(count));
}

std::uint64_t plain(const Case& look, PortRef ref, FabricCounter counter) {
  const auto count = count_at(look, ref, counter);
  return count ? count->value : 0;
}

// What errors mean: the ratio against the limits of the link's speed; without a ratio what else points at the
// line.
Severity weigh_symbols(const Case& look, PortRef ref, const Count& errors, FabricDraft& found) {
  const FabricPort& port = look.layout.port(ref);
  const knowledge::LinkErrorLimit* limit = knowledge::find_link_errors(model::name_of(port.speed));
  const auto ratio = error_ratio(look, ref, errors);
  const bool many = static_cast<double>(errors.value) >= knowledge::threshold("fabric.errors.enough");
  if (ratio && limit != nullptr) {
    found.draft.evidence.push_back(
        {fmt::format("{:.1e} errors a bit {}; {} should stay below {:.0e}, {:.0e} is bad", *ratio,
                     errors.seconds ? "of the line" : "received (an idle line counts errors too: at most)",
                     limit->speed, limit->normal, limit->limit),
         std::string(limit->source)});
    if (*ratio < limit->normal && !errors.stuck) return Severity::kInfo;
    if (*ratio >= limit->limit && many) return Severity::kWarning;
  } else {
    found.draft.evidence.push_back(
        seen(look.layout, ratio ? "no limit is known for this speed"
                                : "no rate: neither a time nor the bytes received are known"));
  }
  const std::uint64_t recoveries = plain(look, ref, FabricCounter::kLinkErrorRecoveries);
  const std::uint64_t integrity = plain(look, ref, FabricCounter::kLocalLinkIntegrityErrors);
  if (!errors.stuck || recoveries + integrity == 0) return Severity::kInfo;
  found.draft.evidence.push_back(seen(
      look.layout,
      fmt::format("the link also retrained {} times, LocalLinkIntegrityErrors {}", recoveries, integrity)));
  return Severity::kWarning;
}

void symbol_errors(const Case& look, FabricOutcome& outcome) {
  for (const auto& [ref, errors] : counted(look, FabricCounter::kSymbolErrors, outcome)) {
    if (static_cast<double>(errors.value) <= knowledge::threshold("fabric.errors.few")) continue;
    FabricDraft found =
        about(look, ref,
              fmt::format("{} receives bad symbols: {}{} {}", name_of_port(*look.layout.fabric, ref),
                          errors.stuck ? "at least " : "", grouped(errors.value), base_words(errors)));
    found.draft.evidence.push_back(seen(look.layout, counter_words(FabricCounter::kSymbolErrors, errors)));
    const Severity severity = weigh_symbols(look, ref, errors, found);
    const auto ratio = error_ratio(look, ref, errors);
    const knowledge::LinkErrorLimit* limit =
        knowledge::find_link_errors(model::name_of(look.layout.port(ref).speed));
    if (severity == Severity::kInfo && !errors.stuck && ratio && limit != nullptr && *ratio < limit->normal)
      continue;  // as few as the speed's limit allows
    found.draft.severity = severity;
    outcome.fire(std::move(found));
  }
}

void receive_errors(const Case& look, FabricOutcome& outcome) {
  for (const auto& [ref, errors] : counted(look, FabricCounter::kReceiveErrors, outcome)) {
    if (static_cast<double>(errors.value) <= knowledge::threshold("fabric.errors.few")) continue;
    const auto packets = count_at(look, ref, FabricCounter::kReceivePackets);
    FabricDraft found =
        about(look, ref,
              fmt::format("{} receives damaged packets: {} {}", name_of_port(*look.layout.fabric, ref),
                          grouped(errors.value), base_words(errors)));
    found.draft.evidence.push_back(seen(look.layout, counter_words(FabricCounter::kReceiveErrors, errors)));
    found.draft.severity = Severity::kInfo;
    if (packets && packets->value > 0 && packets->seconds.has_value() == errors.seconds.has_value()) {
      const double ratio = static_cast<double>(errors.value) / static_cast<double>(packets->value);
      const double limit = knowledge::threshold("fabric.packets.error-ratio");
      found.draft.evidence.push_back(seen(look.layout, fmt::format("{:.1e} of {} packets; {:.0e} is too many",
                                                                   ratio, grouped(packets->value), limit)));
      if (ratio < limit) continue;
      found.draft.severity = Severity::kWarning;
    } else {
      found.draft.evidence.push_back(seen(look.layout, "no ratio: the packets received are not known"));
    }
    outcome.fire(std::move(found));
  }
}

// Totals since an unknown reset are held against the other ports of the same scan: they were counted as long,
// as far as anybody knows.
void against_siblings(const Case& look, FabricCounter counter, double many, const char* verb,
                      FabricOutcome& outcome) {
  const auto counts = counted(look, counter, outcome);
  std::vector<std::uint64_t> values;
  for (const auto& [ref, count] : counts)
    values.push_back(count.value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  if (!values.empty()) std::ranges::nth_element(values, middle);
  const std::uint64_t median = values.empty() ? 0 : *middle;
  constexpr std::uint64_t kStandsOut = 4;  // shape: so many times the median is no longer the same history
  for (const auto& [ref, count] : counts) {
    if (static_cast<double>(count.value) <= (count.seconds ? 1.0 : many)) continue;
    FabricDraft found =
        about(look, ref,
              fmt::format("{} {} {}{} times {}", name_of_port(*look.layout.fabric, ref), verb,
                          count.stuck ? "at least " : "", grouped(count.value), base_words(count)));
    found.draft.evidence.push_back(
        seen(look.layout, fmt::format("{}; the median of {} is {}", counter_words(counter, count),
                                      count_of(counts.size(), "port"), median)));
    if (!count.seconds && count.value < kStandsOut * std::max<std::uint64_t>(median, 1))
      found.draft.severity = Severity::kInfo;
    outcome.fire(std::move(found));
  }
}

void recoveries(const Case& look, FabricOutcome& outcome) {
  against_siblings(look, FabricCounter::kLinkErrorRecoveries, knowledge::threshold("rdma.link-recoveries"),
                   "retrained its link", outcome);
}

void downed(const Case& look, FabricOutcome& outcome) {
  against_siblings(look, FabricCounter::kLinkDowned, knowledge::threshold("rdma.link-downed"),
                   "lost its link", outcome);
}

// Each of these is an event in which the port gave up for the moment; a handful comes from training.
void buffer_errors(const Case& look, FabricOutcome& outcome) {
  FabricOutcome unused;
  const auto overruns = counted(look, FabricCounter::kExcessiveBufferOverruns, unused);
  const auto fire = [&](const auto& counts, FabricCounter counter, const char* what) {
    for (const auto& [ref, count] : counts) {
      if (static_cast<double>(count.value) <= knowledge::threshold("fabric.errors.few")) continue;
      FabricDraft found = about(look, ref,
                                fmt::format("{} {}: {} {}", name_of_port(*look.layout.fabric, ref), what,
                                            grouped(count.value), base_words(count)));
      found.draft.evidence.push_back(seen(look.layout, counter_words(counter, count)));
      outcome.fire(std::move(found));
    }
  };
  fire(counted(look, FabricCounter::kLocalLinkIntegrityErrors, outcome),
       FabricCounter::kLocalLinkIntegrityErrors, "found its line bad beyond its own limit");
  fire(overruns, FabricCounter::kExcessiveBufferOverruns, "received more than its buffers hold");
}

}  // namespace

std::span<const Rule> error_rules() {
  static constexpr std::array kRules = {
      Rule{"fabric.link.symbol-errors", symbol_errors}, Rule{"fabric.link.receive-errors", receive_errors},
      Rule{"fabric.link.recoveries", recoveries},       Rule{"fabric.link.downed", downed},
      Rule{"fabric.link.buffer-errors", buffer_errors},
  };
  return kRules;
}

}  // namespace angio::fabric
