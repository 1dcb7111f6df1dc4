// The host's settings around its adapters: the class that RoCE packets ride in, ARP between rails of one
// subnet, where interrupts go, PCIe ordering.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "diagnose/rules/process.hpp"
#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"
#include "diagnose/subnet.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::rdma {

using model::LinkLayer;
using model::Machine;
using model::NetDevice;

// ---- traffic classes

namespace {

// What mlx5 of OFED shows below qos/ and ecn/; the kernel's own driver shows none of it.
struct Classes {
  std::string trust;                 // "dscp", "pcp"; empty: not known
  std::set<std::uint32_t> lossless;  // priorities with PFC, or with ECN where PFC is not shown
  bool known = false;                // lossless was read
  std::string how;                   // "PFC", "ECN"
};

const std::string* qos_value(const NetDevice& netdev, std::string_view stem) {
  for (const auto& [name, value] : netdev.qos) {
    if (name == stem || name == std::string(stem) + "_state" || name == std::string(stem) + "_enable")
      return &value;
  }
  return nullptr;
}

// "0,0,0,1,0,0,0,0" or the same with blanks: a flag for each priority.
std::optional<std::set<std::uint32_t>> parse_priorities(std::string_view text) {
  std::string flags(text);
  std::ranges::replace(flags, ',', ' ');
  const std::vector<std::string_view> words = split_words(flags);
  constexpr std::size_t kPriorities = 8;
  if (words.size() != kPriorities) return std::nullopt;
  std::set<std::uint32_t> found;
  for (std::uint32_t i = 0; i < kPriorities; ++i) {
    if (words[i] != "0" && words[i] != "1") return std::nullopt;
    if (words[i] == "1") found.insert(i);
  }
  return found;
}

Classes classes_of(const NetDevice& netdev) {
  Classes classes;
  if (const std::string* trust = qos_value(netdev, "qos/trust")) {
    classes.trust = contains(to_lower(*trust), "dscp")  ? "dscp"
                    : contains(to_lower(*trust), "pcp") ? "pcp"
                                                        : "";
  }
  const std::string* pfc = qos_value(netdev, "qos/pfc");
  if (const auto priorities = pfc != nullptr ? parse_priorities(*pfc) : std::nullopt) {
    classes.lossless = *priorities;
    classes.known = true;
    classes.how = "PFC";
    return classes;
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    const auto enabled = netdev.qos.find("ecn/roce_np/enable/" + std::to_string(i));
    if (enabled == netdev.qos.end()) continue;
    classes.known = true;
    classes.how = "ECN";
    if (enabled->second == "1") classes.lossless.insert(i);
  }
  return classes;
}

// What NCCL's queue pairs carry, and who said so.
struct Class {
  std::uint32_t traffic_class = 0;
  std::uint32_t service_level = 0;
  bool forced = false;  // by the driver, over what NCCL asks
  std::vector<model::Evidence> evidence;
};

std::uint32_t number_of(const model::Setting* setting) {
  const auto value = setting != nullptr ? parse_integer<std::int64_t>(trim(setting->value)) : std::nullopt;
  constexpr std::int64_t kLargest = 255;
  return value && *value > 0 && *value <= kLargest ? static_cast<std::uint32_t>(*value) : 0;
}

Class class_of(const Machine& machine, const model::Process* job, const model::RdmaDevice& device) {
  Class found;
  const model::Setting* tc = setting_of(machine, job, "NCCL_IB_TC");
  const model::Setting* sl = setting_of(machine, job, "NCCL_IB_SL");
  found.traffic_class = number_of(tc);
  found.service_level = number_of(sl);
  for (const model::Setting* setting : {tc, sl}) {
    if (setting != nullptr)
      found.evidence.push_back(seen(machine, setting->source, setting->name + "=" + setting->value));
  }
  if (tc == nullptr) found.evidence.push_back({"NCCL_IB_TC is not set: traffic class 0", "environment"});
  const model::RdmaDeviceFacts* facts = facts_of(machine, device);
  const std::uint32_t* forced = facts != nullptr ? facts->traffic_class.get() : nullptr;
  if (forced == nullptr || *forced == 0) return found;
  found.forced = true;
  found.traffic_class = *forced;
  found.evidence.push_back(seen(machine, facts->traffic_class.source(),
                                fmt::format("the driver forces traffic class {} on queue pairs", *forced)));
  return found;
}

// mlx5's own map where nobody changed it: eight DSCP values a priority (DSCP is the upper six bits).
std::uint32_t priority_of(const Class& one, const Classes& classes) {
  return classes.trust == "dscp" ? (one.traffic_class >> 2U) >> 3U : one.service_level & 7U;
}

std::string list_priorities(const std::set<std::uint32_t>& priorities) {
  std::vector<std::string> words;
  for (const std::uint32_t priority : priorities)
    words.push_back(std::to_string(priority));
  return join(words, ", ");
}

bool is_protected(const Class& one, const Classes& classes) {
  return classes.lossless.empty() || classes.lossless.contains(priority_of(one, classes));
}

// Somebody chose this class, and maps of their own (mlnx_qos --dscp2prio) are common: NVIDIA/nccl issue 2383
// has DSCP 59 in priority 5. Files do not show the map. Class 0 is best effort in all of them.
bool depends_on_map(const Class& one, const Classes& classes) {
  return classes.trust == "dscp" && one.traffic_class >> 2U != 0 && !is_protected(one, classes);
}

std::optional<Trouble> class_trouble(const Machine& machine, const PortRef& ref, const NetDevice& netdev,
                                     const Classes& classes, const Class& one) {
  if (is_protected(one, classes)) return std::nullopt;
  const std::uint32_t priority = priority_of(one, classes);
  Draft draft{.title = {}, .evidence = one.evidence, .words = {{"netdev", netdev.name}}};
  const std::string place = place_of(machine, "/sys/class/net/" + netdev.name + "/qos");
  const std::string why =
      classes.trust == "dscp"
          ? fmt::format("it trusts DSCP: class {} is DSCP {}, priority {}", one.traffic_class,
                        one.traffic_class >> 2U, priority)
          : fmt::format("it trusts PCP: the service level {} decides, the traffic class does not",
                        one.service_level);
  draft.evidence.push_back({why, place});
  draft.evidence.push_back(
      {fmt::format("{} is on for priority {}", classes.how, list_priorities(classes.lossless)), place});
  const std::uint32_t first = *classes.lossless.begin();
  draft.words[classes.trust == "dscp" ? "by_class" : "by_trust"] = "";
  draft.words["class"] = std::to_string(first << 5U);  // the lowest DSCP of that priority, as a traffic class
  draft.words["level"] = std::to_string(first);
  const std::string words = fmt::format("NCCL's traffic in priority {}, {} is on for {} only", priority,
                                        classes.how, list_priorities(classes.lossless));
  return Trouble{ref, "carries " + words, "carry " + words, std::move(draft)};
}

// What could not be decided, each interface once.
struct ClassGaps {
  std::vector<std::string> unknown;                        // neither PFC nor trust
  std::map<std::string, std::vector<std::string>> mapped;  // what hangs on the map from DSCP to priority

  static void add(std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  void report(Outcome& outcome) const;
};

void ClassGaps::report(Outcome& outcome) const {
  if (!unknown.empty())
    outcome.undecided("which priorities of " + list_of(unknown) +
                          " are lossless, and what they trust: the driver "
                          "shows it to netlink only",
                      "mlnx_qos -i " + unknown.front() + "; compare its trust and PFC lines with NCCL_IB_TC");
  for (const auto& [what, names] : mapped)
    outcome.undecided(what + " on " + list_of(names) + ": the map is not in files",
                      "mlnx_qos -i " + names.front() + ": its dscp2prio and PFC lines");
}

std::string map_in_words(const Class& one, const Classes& classes) {
  return fmt::format("whether DSCP {} (traffic class {}) is mapped to priority {}, for which {} is on",
                     one.traffic_class >> 2U, one.traffic_class, list_priorities(classes.lossless),
                     classes.how);
}

void judge_classes(const Machine& machine, const model::Process* job, const PortRef& ref,
                   const NetDevice& netdev, ClassGaps& gaps, std::vector<Trouble>& troubles) {
  const Classes classes = classes_of(netdev);
  if (!classes.known || (!classes.lossless.empty() && classes.trust.empty()))
    return ClassGaps::add(gaps.unknown, netdev.name);
  const Class one = class_of(machine, job, *ref.device);
  if (depends_on_map(one, classes))
    return ClassGaps::add(gaps.mapped[map_in_words(one, classes)], netdev.name);
  if (auto trouble = class_trouble(machine, ref, netdev, classes, one))
    troubles.push_back(std::move(*trouble));
}

}  // namespace

std::string qos_options(const NetDevice& netdev) {
  const Classes classes = classes_of(netdev);
  if (!classes.known || classes.how != "PFC" || classes.trust.empty()) return {};
  std::string flags;
  for (std::uint32_t i = 0; i < 8; ++i)
    flags += std::string(i > 0 ? "," : "") + (classes.lossless.contains(i) ? "1" : "0");
  return "--trust " + classes.trust + " --pfc " + flags;
}

void roce_traffic_class(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.empty()) return outcome.not_applicable();
  bool any = false;
  ClassGaps gaps;
  std::vector<Trouble> troubles;
  for (const model::Process* job : jobs_of(machine, {"NCCL_IB_HCA", "NCCL_IB_TC", "NCCL_IB_SL"})) {
    for (const PortRef& ref : ports_in_reach(machine, job)) {
      const NetDevice* netdev = netdev_of(machine, *ref.device);
      if (ref.port->link_layer != LinkLayer::kEthernet || netdev == nullptr || !is_fast(*ref.port)) continue;
      any = true;
      judge_classes(machine, job, ref, *netdev, gaps, troubles);
    }
  }
  if (!any) return outcome.not_applicable();
  fire_grouped(troubles, outcome);
  gaps.report(outcome);
}

// ---- rails that share a subnet

namespace {

struct Rail {
  PortRef ref;
  const NetDevice* netdev;
  const model::NetDeviceFacts* facts;
};

// The kernel takes the larger of "all" and the interface's own: Documentation/networking/ip-sysctl.rst.
std::optional<std::int64_t> arp_ignore_of(const Machine& machine, const Rail& rail) {
  if (rail.facts == nullptr || !rail.facts->arp_ignore.is_known()) return std::nullopt;
  const auto all = machine.rdma_host->sysctls.find("net.ipv4.conf.all.arp_ignore");
  const auto common = all != machine.rdma_host->sysctls.end()
                          ? parse_integer<std::int64_t>(all->second.value_or("0")).value_or(0)
                          : 0;
  return std::max(common, *rail.facts->arp_ignore.get());
}

std::map<std::string, std::vector<Rail>> rails_by_subnet(const Machine& machine) {
  std::map<std::string, std::vector<Rail>> found;
  for (const PortRef& ref : ports_in_reach(machine, nullptr)) {
    const NetDevice* netdev = netdev_of(machine, *ref.device);
    if (ref.port->link_layer != LinkLayer::kEthernet || netdev == nullptr || !is_fast(*ref.port)) continue;
    for (const Subnet& subnet : subnets_of(*netdev)) {
      std::vector<Rail>& rails = found[subnet.text()];
      const bool known = std::ranges::any_of(rails, [&](const Rail& rail) { return rail.netdev == netdev; });
      if (!known) rails.push_back({ref, netdev, facts_of(machine, *netdev)});
    }
  }
  return found;
}

void judge_subnet(const Machine& machine, const std::string& subnet, const std::vector<Rail>& rails,
                  Gaps& gaps, Outcome& outcome) {
  std::vector<std::string> names;
  const Rail* answering = nullptr;
  for (const Rail& rail : rails) {
    names.push_back(rail.netdev->name);
    const auto ignore = arp_ignore_of(machine, rail);
    if (!ignore) gaps.note(rail.netdev->name, model::Reason::kNotCollected, 0);
    if (ignore == 0) answering = &rail;
  }
  if (answering == nullptr) return;
  Draft draft{.title = fmt::format("{} RoCE ports share subnet {} and may answer ARP for each other",
                                   rails.size(), subnet),
              .evidence = {
                  {list_of(names) + " have addresses in " + subnet, place_of(machine, "interface addresses")},
                  seen(machine, answering->facts->arp_ignore.source(),
                       "arp_ignore of " + answering->netdev->name + " is 0, and so is that of all")}};
  for (const Rail& rail : rails)
    draft.devices.push_back(rail.ref.device->name);
  outcome.fire(std::move(draft));
}

}  // namespace

void roce_same_subnet(const Machine& machine, Outcome& outcome) {
  const auto subnets = rails_by_subnet(machine);
  if (machine.gpus.empty() || subnets.empty()) return outcome.not_applicable();
  Gaps gaps("arp_ignore");
  for (const auto& [subnet, rails] : subnets) {
    if (rails.size() > 1) judge_subnet(machine, subnet, rails, gaps, outcome);
  }
  gaps.report(outcome);
}

// ---- interrupts

namespace {

struct Spread {
  CpuSet allowed;  // of all that were looked at
  std::size_t read = 0;
};

Spread spread_of(const model::RdmaDeviceFacts& facts) {
  Spread spread;
  for (const model::Interrupt& interrupt : facts.first_interrupts) {
    const CpuSet* allowed = interrupt.allowed.get();
    if (allowed == nullptr || allowed->empty()) continue;
    ++spread.read;
    spread.allowed |= *allowed;
  }
  return spread;
}

Trouble interrupt_trouble(const Machine& machine, const PortRef& ref, const model::RdmaDeviceFacts& facts,
                          const Spread& spread, const std::string& words, const std::string& plural) {
  Draft draft{
      .title = {},
      .evidence = {seen(machine, facts.first_interrupts.front().allowed.source(),
                        fmt::format("the first {} of its {} interrupts may run on CPUs {}", spread.read,
                                    facts.interrupts.value_or(0), to_list(spread.allowed)))}};
  if (const NumaId* node = ref.device->numa.get())
    draft.evidence.push_back(
        seen(machine, ref.device->numa.source(), "the adapter is on node " + std::to_string(node->value)));
  return {ref, words, plural, std::move(draft)};
}

std::optional<Trouble> judge_interrupts(const Machine& machine, const PortRef& ref,
                                        const model::RdmaDeviceFacts& facts) {
  constexpr std::size_t kFew = 4;  // a device with one or two has nothing to spread
  const Spread spread = spread_of(facts);
  if (spread.read < kFew) return std::nullopt;
  if (spread.allowed.size() == 1 && machine.cpus.online.size() > 1) {
    const bool first = facts.interrupts.value_or(0) > spread.read;  // what the others do is not known
    return interrupt_trouble(
        machine, ref, facts, spread,
        first ? "has its first interrupts on one CPU" : "sends all its interrupts to one CPU",
        first ? "have their first interrupts on one CPU" : "send all their interrupts to one CPU");
  }
  const NumaId* node = ref.device->numa.get();
  const CpuSet near = node != nullptr ? package_cpus(machine, *node) : CpuSet();
  if (near.empty() || spread.allowed.intersects(near)) return std::nullopt;
  return interrupt_trouble(machine, ref, facts, spread, "has its first interrupts on the other socket",
                           "have their first interrupts on the other socket");
}

}  // namespace

// The first interrupts tell: mlx5 hands them out from the adapter's own node outwards, so later ones may well
// lie on the other socket.
void interrupt_affinity(const Machine& machine, Outcome& outcome) {
  bool any = false;
  Gaps gaps("interrupts");
  std::vector<Trouble> troubles;
  std::set<const model::RdmaDevice*> done;
  for (const PortRef& ref : hardware_ports(machine)) {
    if (!is_active(*ref.port) || ref.device->virtual_function || !done.insert(ref.device).second) continue;
    const model::RdmaDeviceFacts* facts = facts_of(machine, *ref.device);
    if (facts == nullptr) {
      gaps.note(ref.device->name, model::Reason::kNotCollected, 0);
      continue;
    }
    if (facts->interrupts.is_unreadable()) gaps.add(ref.device->name, facts->interrupts);
    any = any || facts->interrupts.is_known();
    if (auto trouble = judge_interrupts(machine, ref, *facts)) troubles.push_back(std::move(*trouble));
  }
  if (!any && gaps.empty()) return outcome.not_applicable();
  fire_grouped(troubles, outcome);
  gaps.report(outcome);
}

// ---- PCIe ordering

// The bit allows; whether a request uses it, the card and the memory registration decide.
void relaxed_ordering(const Machine& machine, Outcome& outcome) {
  bool any = false;
  Gaps gaps("relaxed ordering");
  std::vector<Trouble> troubles;
  std::set<const model::RdmaDevice*> done;
  for (const PortRef& ref : hardware_ports(machine)) {
    const bool judged = is_active(*ref.port) && is_fast(*ref.port) && !ref.device->virtual_function;
    if (!judged || machine.gpus.empty() || !done.insert(ref.device).second) continue;
    const model::RdmaDeviceFacts* facts = facts_of(machine, *ref.device);
    if (facts == nullptr || facts->relaxed_ordering.is_unreadable()) {
      gaps.note(ref.device->name,
                facts != nullptr ? facts->relaxed_ordering.reason() : model::Reason::kNotCollected,
                facts != nullptr ? facts->relaxed_ordering.error() : 0);
      any = true;
      continue;
    }
    if (facts->relaxed_ordering.is_absent()) continue;
    any = true;
    if (*facts->relaxed_ordering.get()) continue;
    Draft draft{.title = {},
                .evidence = {seen(machine, facts->relaxed_ordering.source(),
                                  "Device Control: Enable Relaxed Ordering is off")}};
    if (const PciAddress* address = ref.device->address.get()) draft.words["address"] = to_string(*address);
    troubles.push_back({ref, "may not use relaxed ordering on PCIe", "may not use relaxed ordering on PCIe",
                        std::move(draft)});
  }
  if (!any) return outcome.not_applicable();
  fire_grouped(troubles, outcome);
  gaps.report(outcome);
}

}  // namespace angio::diagnose::rdma
