// Lists of CPU numbers written into a file: taskset, numactl --physcpubind, docker --cpuset-cpus, Python.
#include <algorithm>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "lint/rules/placement_rules.hpp"

namespace angio::lint {
namespace {

struct Found {
  CpuSet cpus;
  std::string text;  // "taskset -c 0-3"
  Place place;
};

// "0,1,2" or "range(0, 4)" behind "sched_setaffinity(…, " up to the closing bracket.
std::optional<CpuSet> literal_cpus(std::string_view arguments) {
  const auto comma = arguments.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  auto list = trim(arguments.substr(comma + 1));
  for (const std::string_view wrapper : {"set(", "list("})
    if (list.starts_with(wrapper)) list = trim(list.substr(wrapper.size()));
  if (list.starts_with("range(")) {
    const auto numbers = split(list.substr(6, list.find(')') - 6), ',');
    const auto first = numbers.size() == 2 ? parse_integer<std::uint32_t>(trim(numbers[0]))
                                           : std::optional<std::uint32_t>(0);
    const auto end = numbers.size() <= 2 ? parse_integer<std::uint32_t>(trim(numbers.back())) : std::nullopt;
    if (!first || !end || *end <= *first) return std::nullopt;
    return parse_cpu_list(std::to_string(*first) + "-" + std::to_string(*end - 1));
  }
  if (!list.starts_with('[') && !list.starts_with('{')) return std::nullopt;
  CpuSet cpus;
  for (const auto part : split(list.substr(1, list.find_first_of("]}") - 1), ',')) {
    if (trim(part).empty()) continue;
    const auto cpu = parse_integer<std::uint32_t>(trim(part));
    if (!cpu) return std::nullopt;
    cpus.insert(*cpu);
  }
  return cpus.empty() ? std::nullopt : std::optional(cpus);
}

void find_in_python(const Script& script, std::vector<Found>& found) {
  constexpr std::string_view kCall = "sched_setaffinity(";
  constexpr std::size_t kLongest = 4096;  // of arguments worth reading
  const TextLines lines(script.text);
  for (const auto at : find_in_code(script.text, lines, kCall)) {
    const auto begin = at + kCall.size();
    const auto arguments =
        std::string_view(script.text).substr(begin, std::min(kLongest, script.text.size() - begin));
    if (const auto cpus = literal_cpus(arguments.substr(0, arguments.find('\n'))))
      found.push_back(
          {*cpus, "sched_setaffinity to CPUs " + to_list(*cpus), lines.place(at, kCall.size() - 1)});
  }
}

void find_taskset(const Stage& stage, std::vector<Found>& found) {
  if (const auto list = find_option(stage, {"-c", "--cpu-list", "-ac"});
      list && list->value.empty() == false) {
    if (const auto cpus = parse_cpu_list(list->value); cpus && !cpus->empty() && !list->dynamic)
      found.push_back({*cpus, "taskset -c " + list->value, list->word->place});
    return;
  }
  for (const auto* word : stage.words)
    if (word->text.starts_with("0x"))
      if (const auto cpus = parse_cpu_mask(std::string_view(word->text).substr(2)); cpus && !cpus->empty())
        found.push_back({*cpus, "taskset " + word->text, word->place});
}

void find_option_list(const Stage& stage, std::initializer_list<std::string_view> names,
                      std::vector<Found>& found) {
  const auto option = find_option(stage, names);
  if (!option || option->dynamic) return;
  const auto cpus = parse_cpu_list(option->value);
  if (cpus && !cpus->empty())
    found.push_back({*cpus, stage.program + " " + shown(*option), option->word->place});
}

std::vector<Found> cpu_lists(const Job& job) {
  std::vector<Found> found;
  if (job.script->kind == FileKind::kPython) find_in_python(*job.script, found);
  for (const auto& line : job.lines) {
    for (auto i = line.own; i < line.stages.size(); ++i) {
      const auto& stage = line.stages[i];
      if (stage.program == "taskset" && i + 1 < line.stages.size()) find_taskset(stage, found);
      if (stage.program == "numactl") find_option_list(stage, {"--physcpubind", "-C"}, found);
      if (stage.program == "docker") find_option_list(stage, {"--cpuset-cpus"}, found);
    }
  }
  return found;
}

CpuSet nodes_under(const model::Machine& machine, const CpuSet& cpus) {
  CpuSet nodes;
  for (const auto& node : machine.numa.nodes)
    if (node.cpus.intersects(cpus)) nodes.insert(node.id.value);
  return nodes;
}

// What a known machine says of the list. True when it settles the matter.
bool judge_on_machines(const Job& job, const Context& context, const Found& found, Complaints& out) {
  bool known = false;
  for (const auto& machine : context.machines) {
    if (machine.cpus.online.empty() || machine.numa.nodes.empty()) continue;
    known = true;
    if (!found.cpus.is_subset_of(machine.cpus.online)) {
      out.push_back(complain(
          "placement.cpus.missing", *job.script, found.place,
          found.text + ": " + machine.name + " has no CPU " + to_list(found.cpus - machine.cpus.online),
          "CPUs of " + machine.name + ": " + to_list(machine.cpus.online)));
      return true;
    }
    const auto nodes = nodes_under(machine, found.cpus);
    if (nodes.size() < 2 || found.cpus == machine.cpus.online) continue;
    out.push_back(complain("placement.cpus.across-nodes", *job.script, found.place,
                           found.text + " lies on NUMA nodes " + to_list(nodes) + " of " + machine.name,
                           "take the CPUs of the GPU's node: angio plan --format taskset"));
    return true;
  }
  return known;
}

// Pinned pages come from the thread of the parent that pins them, never from the workers.
void worker_pins(const Job& job, Complaints& out) {
  const auto& script = *job.script;
  if (script.kind != FileKind::kPython || !contains(script.text, "sched_setaffinity")) return;
  const TextLines lines(script.text);
  const auto pins = find_in_code(script.text, lines, "pin_memory=True");
  const auto hooks = find_in_code(script.text, lines, "worker_init_fn");
  if (pins.empty() || hooks.empty()) return;
  const auto at = hooks.front();
  out.push_back(
      complain("placement.affinity.worker-pins", script, lines.place(at, 14),
               "worker_init_fn binds the workers; pinned pages come from the parent's pin-memory thread",
               "bind the process before the DataLoader is made; its threads and workers inherit that"));
}

}  // namespace

void check_cpu_lists(const Job& job, const Context& context, Complaints& out) {
  bool said = false;
  for (const auto& found : cpu_lists(job)) {
    if (judge_on_machines(job, context, found, out) || said) continue;
    said = true;
    out.push_back(
        complain("placement.cpus.hard-coded", *job.script, found.place,
                 found.text + ": CPU numbers are no NUMA node; which node they lie on differs between hosts",
                 "bind by node or by GPU: numactl --cpunodebind, torchrun --numa-binding, angio run"));
  }
  worker_pins(job, out);
}

}  // namespace angio::lint
