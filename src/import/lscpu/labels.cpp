#include "import/lscpu/labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"

namespace angio::import::lscpu {
namespace {

constexpr std::string_view kRunAgain = "run 'LC_ALL=C lscpu > lscpu.txt' again and send the whole file";

void note_unreadable(Draft& draft, const Label& label) {
  draft.note(
      "lscpu.value-unreadable", label.line,
      [&] { return fmt::format("{}: {}", printable(label.name), quoted(label.value)); }, kRunAgain);
}

template <typename T>
model::Observed<T> observe(Draft& draft, const Label& label, std::optional<T> value) {
  if (value) return draft.known(std::move(*value), label.line);
  if (label.value == "-") return draft.unreadable<T>(model::Reason::kUnsupported, label.line);
  note_unreadable(draft, label);
  return draft.unreadable<T>(model::Reason::kUnparsable, label.line);
}

std::optional<std::string> text_of(const Label& label) {
  return label.value.empty() || label.value == "-" ? std::nullopt : std::optional(printable(label.value));
}

std::optional<std::uint32_t> number_of(const Label& label) {
  return parse_integer<std::uint32_t>(label.value);
}

// "NUMA node12 CPU(s)" → 12.
std::optional<std::uint32_t> numa_node(std::string_view name) {
  constexpr std::string_view kStem = "NUMA node";
  constexpr std::string_view kEnd = " CPU(s)";
  if (!name.starts_with(kStem) || !name.ends_with(kEnd)) return std::nullopt;
  return parse_integer<std::uint32_t>(name.substr(kStem.size(), name.size() - kStem.size() - kEnd.size()));
}

void add_numa_node(Draft& draft, const Label& label, std::uint32_t id) {
  const auto cpus = label.value == "-" ? std::optional(CpuSet()) : parse_cpu_list(label.value);
  auto& nodes = draft.machine.numa.nodes;
  const auto place = std::ranges::lower_bound(nodes, NumaId{id}, {}, &model::NumaNode::id);
  constexpr std::uint32_t kMaxNode = 1023;  // the kernel's largest CONFIG_NODES_SHIFT is 10
  if (!cpus || id > kMaxNode) return note_unreadable(draft, label);
  if (place != nodes.end() && place->id == NumaId{id}) {
    draft.note(
        "lscpu.node-twice", label.line, [&] { return fmt::format("NUMA node {} is listed twice", id); },
        "give one file per node");
    return;
  }
  model::NumaNode node;
  node.id = NumaId{id};
  node.cpus = *cpus;
  node.kind = cpus->empty() ? model::NumaKind::kMemoryOnly : model::NumaKind::kOrdinary;
  nodes.insert(place, std::move(node));
}

struct CacheName {
  std::uint32_t level = 0;
  model::CacheKind kind = model::CacheKind::kUnified;
};

// "L1d", "L1i cache", "L3 cache".
std::optional<CacheName> cache_name(const Label& label) {
  std::string_view name = label.name;
  const bool titled = name.ends_with(" cache");
  if (!titled && !label.section.starts_with("Caches")) return std::nullopt;
  if (titled) name.remove_suffix(6);
  if (name.size() < 2 || name.size() > 3 || name[0] != 'L' || name[1] < '1' || name[1] > '9')
    return std::nullopt;
  CacheName cache{static_cast<std::uint32_t>(name[1] - '0'), model::CacheKind::kUnified};
  if (name.size() == 3 && name[2] != 'd' && name[2] != 'i') return std::nullopt;
  if (name.size() == 3)
    cache.kind = name[2] == 'd' ? model::CacheKind::kData : model::CacheKind::kInstruction;
  return cache;
}

// "1.5 MiB", "32K": one size; the fraction is of a binary unit.
std::optional<std::uint64_t> cache_size(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto amount = parse_double(text.substr(0, end));
  const auto unit = parse_byte_count("1" + std::string(trim(text.substr(end))));
  if (!amount || !unit || *amount < 0 || *amount > 1e9 || *unit > (1ULL << 40U)) return std::nullopt;
  return static_cast<std::uint64_t>(*amount * static_cast<double>(*unit));
}

// New: "24 MiB (48 instances)" is the sum. Old: "512K" is one cache, and nobody says how many there are.
void add_caches(Draft& draft, const Label& label, const CacheName& name) {
  constexpr std::uint64_t kMaxInstances = CpuSet::kMaxCpu;
  const std::size_t bracket = label.value.find('(');
  const auto size = cache_size(trim(label.value.substr(0, bracket)));
  std::optional<std::uint64_t> instances = 1;
  if (bracket != std::string_view::npos) {
    const std::string_view inside = label.value.substr(bracket + 1);
    instances = parse_integer<std::uint64_t>(inside.substr(0, inside.find(' ')));
  }
  if (!size || !instances || *instances == 0 || *instances > kMaxInstances)
    return note_unreadable(draft, label);
  auto& caches = draft.machine.cpus.caches;
  if (caches.size() + *instances > 2 * kMaxInstances) return note_unreadable(draft, label);
  model::Cache cache;
  cache.level = name.level;
  cache.kind = name.kind;
  cache.size = draft.known(Bytes{*size / *instances}, label.line);
  caches.insert(caches.end(), *instances, cache);
}

bool take_model(Draft& draft, const Label& label) {
  model::CpuModel& cpu = draft.machine.cpus.model;
  if (label.name == "Architecture") {
    cpu.architecture = observe(draft, label, text_of(label));
  } else if (label.name == "Vendor ID") {
    cpu.vendor = observe(draft, label, text_of(label));
  } else if (label.name == "Model name") {
    cpu.name = observe(draft, label, text_of(label));
  } else if (label.name == "CPU family") {
    cpu.family = observe(draft, label, number_of(label));
  } else if (label.name == "Model") {
    // POWER and s390 print words ("2.3 (pvr 003f 0203)") where x86 has a number.
    if (const auto model = number_of(label)) cpu.model = draft.known(*model, label.line);
  } else if (label.name == "Stepping") {
    if (const auto stepping = number_of(label)) cpu.stepping = draft.known(*stepping, label.line);
  } else {
    return false;
  }
  return true;
}

bool take_cpus(Draft& draft, const Label& label) {
  model::Cpus& cpus = draft.machine.cpus;
  if (label.name == "On-line CPU(s) list") {
    if (const auto online = parse_cpu_list(label.value)) {
      cpus.online = *online;
    } else {
      note_unreadable(draft, label);
    }
  } else if (label.name == "On-line CPU(s) mask") {
    if (const auto online = parse_cpu_mask(label.value)) {
      cpus.online = *online;
    } else {
      note_unreadable(draft, label);
    }
  } else if (label.name == "Off-line CPU(s) list") {
    cpus.offline = observe(draft, label, parse_cpu_list(label.value));
  } else if (label.name == "Thread(s) per core") {
    cpus.threads_per_core = observe(draft, label, number_of(label));
  } else if (label.name == "Hypervisor vendor") {
    draft.machine.software.virtual_machine = observe(draft, label, text_of(label));
  } else {
    return false;
  }
  return true;
}

constexpr std::array kLeftOut{std::string_view("CPU op-mode(s)"),
                              std::string_view("Address sizes"),
                              std::string_view("Byte Order"),
                              std::string_view("CPU(s)"),
                              std::string_view("Core(s) per socket"),
                              std::string_view("Core(s) per cluster"),
                              std::string_view("Cluster(s)"),
                              std::string_view("Socket(s)"),
                              std::string_view("Book(s)"),
                              std::string_view("Drawer(s)"),
                              std::string_view("Socket(s) per book"),
                              std::string_view("Book(s) per drawer"),
                              std::string_view("CPU socket(s)"),
                              std::string_view("Microcode version"),
                              std::string_view("Machine type"),
                              std::string_view("Frequency boost"),
                              std::string_view("CPU(s) scaling MHz"),
                              std::string_view("CPU scaling MHz"),
                              std::string_view("CPU MHz"),
                              std::string_view("CPU dynamic MHz"),
                              std::string_view("CPU static MHz"),
                              std::string_view("CPU max MHz"),
                              std::string_view("CPU min MHz"),
                              std::string_view("BogoMIPS"),
                              std::string_view("Flags"),
                              std::string_view("Virtualization"),
                              std::string_view("Virtualization type"),
                              std::string_view("Virtualization features"),
                              std::string_view("Hypervisor"),
                              std::string_view("NUMA node(s)"),
                              std::string_view("NUMA"),
                              std::string_view("Dispatching mode"),
                              std::string_view("BIOS Vendor ID"),
                              std::string_view("BIOS Model name"),
                              std::string_view("BIOS CPU family"),
                              std::string_view("Caches (sum of all)"),
                              std::string_view("Vulnerabilities"),
                              std::string_view("Physical sockets"),
                              std::string_view("Physical chips"),
                              std::string_view("Physical cores/chip")};

}  // namespace

bool is_telling_label(std::string_view name) {
  constexpr std::array kTelling{std::string_view("Vendor ID"),
                                std::string_view("Model name"),
                                std::string_view("CPU(s)"),
                                std::string_view("On-line CPU(s) list"),
                                std::string_view("On-line CPU(s) mask"),
                                std::string_view("Thread(s) per core"),
                                std::string_view("Core(s) per socket"),
                                std::string_view("Socket(s)"),
                                std::string_view("CPU op-mode(s)"),
                                std::string_view("NUMA node(s)"),
                                std::string_view("Byte Order")};
  return std::ranges::find(kTelling, name) != kTelling.end() || numa_node(name).has_value();
}

bool take_label(Draft& draft, const Label& label) {
  if (label.section == "Vulnerabilities" || label.name.starts_with("Vulnerability ")) return true;
  if (take_model(draft, label) || take_cpus(draft, label)) return true;
  if (const auto node = numa_node(label.name)) {
    add_numa_node(draft, label, *node);
  } else if (const auto cache = cache_name(label)) {
    add_caches(draft, label, *cache);
  } else {
    return std::ranges::find(kLeftOut, label.name) != kLeftOut.end();
  }
  return true;
}

}  // namespace angio::import::lscpu
