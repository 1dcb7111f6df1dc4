#include "views/process_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/binding.hpp"
#include "diagnose/job.hpp"
#include "diagnose/strays.hpp"
#include "views/notes.hpp"
#include "views/observed_json.hpp"
#include "views/process_words.hpp"

namespace angio::views {

using diagnose::BindingVerdict;
using diagnose::Bound;
using diagnose::JobMember;
using diagnose::Role;
using model::Machine;
using model::Process;
using report::Document;
using report::Fields;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

namespace {

template <typename T>
std::string why_unknown(const model::Observed<T>& value) {
  if (value.reason() == model::Reason::kDenied) return "denied; sudo angio ps";
  if (value.reason() == model::Reason::kNotCollected) return "a snapshot does not tell";
  return std::string(reason_word(value.reason()));
}

std::string numbers(const Machine& machine, const std::vector<std::size_t>& processes) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < processes.size() && i < kShown; ++i)
    words.push_back(std::to_string(machine.processes[processes[i]].id));
  return join(words, ", ") + (processes.size() > kShown ? ", …" : "");
}

class ProcessBlock {
 public:
  ProcessBlock(const ProcessReport& report, const JobMember& member, const BindingVerdict& verdict)
      : report_(report),
        machine_(*report.machine),
        member_(member),
        process_(machine_.processes[member.process]),
        verdict_(verdict) {
    fields_.indent = 2;
  }

  void add_to(Document& document) {
    document.blocks.emplace_back(Paragraph{head()});
    row("verdict", {{verdict_.text, tone()}});
    for (const std::string& remark : verdict_.remarks)
      row("", plain(remark));
    gpu();
    threads();
    memory();
    nics();
    workers();
    document.blocks.emplace_back(std::move(fields_));
    if (report_.threads) document.blocks.emplace_back(thread_table());
  }

 private:
  [[nodiscard]] Tone tone() const {
    if (verdict_.bound == Bound::kUnknown) return Tone::kUnknown;
    if (verdict_.trouble) return Tone::kWarning;
    return verdict_.bound == Bound::kNear ? Tone::kGood : Tone::kPlain;
  }

  [[nodiscard]] Line head() const {
    Line line;
    if (member_.rank) line.push_back({fmt::format("rank {}  ", member_.rank->number), Tone::kStrong});
    line.push_back({fmt::format("process {}", process_.id), Tone::kStrong});
    if (const std::string user = user_in_words(report_.users, process_); !user.empty())
      line.push_back({"  " + user, Tone::kQuiet});
    if (!process_.command.empty()) line.push_back({"  " + printable(process_.command)});
    return line;
  }

  void row(const char* label, Line line) { fields_.rows.emplace_back(label, std::move(line)); }

  void gpu() {
    std::vector<std::string> words;
    for (const std::uint32_t index : process_.gpus) {
      const auto node = diagnose::gpu_node(machine_, index);
      const PciAddress* address = index < machine_.gpus.size() ? machine_.gpus[index].address.get() : nullptr;
      words.push_back(fmt::format("{}{}, {}", index,
                                  address != nullptr ? " (" + to_string(*address) + ")" : "",
                                  node ? fmt::format("node {}", node->value) : "node unknown"));
    }
    if (!words.empty()) return row("gpu", plain(join(words, "; ")));
    if (machine_.gpus.empty()) return;
    const auto* opened = process_.opened_gpus.get();
    if (opened == nullptr)
      return row("gpu", toned("unknown: " + why_unknown(process_.opened_gpus), Tone::kUnknown));
    if (opened->empty()) return row("gpu", toned("none open", Tone::kQuiet));
    CpuSet set;
    for (const std::uint32_t index : *opened)
      set.insert(index);
    row("gpu", toned("has the files of GPUs " + to_list(set) + " open; NVML does not say which it uses",
                     Tone::kUnknown));
  }

  void threads() {
    if (process_.threads.empty()) return row("threads", toned("unknown", Tone::kUnknown));
    CpuSet last;
    for (const model::Thread& thread : process_.threads) {
      if (const std::uint32_t* cpu = thread.last_cpu.get()) last.insert(*cpu);
    }
    std::string words = groups_in_words(machine_, verdict_.groups);
    if (words.empty()) words = count_of(process_.threads.size(), "thread");
    if (!last.empty()) words += "; last ran on " + to_list(last);
    row("threads", plain(words));
    if (const std::string purposes = purposes_in_words(process_); !purposes.empty()) row("", plain(purposes));
  }

  void memory() {
    const auto* nodes = process_.memory.get();
    if (nodes == nullptr) {
      const char* file = process_.memory.is_absent() ? "no numa_maps" : "unknown: numa_maps ";
      return row("memory", toned(file + (process_.memory.is_absent() ? "" : why_unknown(process_.memory)),
                                 Tone::kUnknown));
    }
    Bytes all;
    for (const auto& [node, kinds] : *nodes)
      all = all + sum_of(kinds);
    std::string words = in_words(all) + ", policy " + policies_in_words(process_);
    if (policies_in_words(process_).empty()) words = in_words(all);
    const auto extra = [&](const model::Observed<Bytes>& bytes, const char* what) {
      if (bytes.value_or({}).value > 0) words += fmt::format(", {} {}", in_words(*bytes.get()), what);
    };
    extra(process_.locked, "locked");
    extra(process_.pinned, "registered for devices");
    row("memory", plain(words));
    for (const auto& [node, kinds] : *nodes)
      node_row(node, kinds);
  }

  void node_row(std::uint32_t node, const model::MemoryKinds& kinds) {
    std::vector<std::string> words;
    for (const auto& [name, bytes] : kinds_of(process_, kinds))
      words.push_back(in_words(bytes) + " " + name);
    if (words.empty()) return;
    const bool remote = !verdict_.home.empty() && !verdict_.home.contains(node);
    std::string label = "node " + std::to_string(node);
    fields_.rows.emplace_back(
        std::move(label),
        Line{{in_words(sum_of(kinds)) + (remote ? " remote: " : ": ") + join(words, ", "), Tone::kPlain}});
  }

  void nics() {
    if (machine_.rdma.empty()) return;
    const auto* devices = process_.rdma.get();
    if (devices == nullptr)
      return row("nic", toned("unknown: " + why_unknown(process_.rdma), Tone::kUnknown));
    std::vector<std::string> words;
    for (const std::uint32_t index : *devices) {
      if (index >= machine_.rdma.size()) continue;
      const NumaId* node = machine_.rdma[index].numa.get();
      words.push_back(machine_.rdma[index].name +
                      (node != nullptr ? fmt::format(", node {}", node->value) : ""));
    }
    row("nic", words.empty() ? toned("no RDMA device open; sockets are not looked at", Tone::kQuiet)
                             : plain(join(words, "; ")));
  }

  void workers() {
    if (member_.workers.empty()) return;
    std::map<std::string, diagnose::ThreadGroup> sets;
    for (const std::size_t index : member_.workers) {
      const BindingVerdict verdict = diagnose::judge_binding(machine_, machine_.processes[index]);
      diagnose::ThreadGroup& set = sets[to_list(verdict.allowed)];
      set.allowed = verdict.allowed;
      ++set.threads;
    }
    std::vector<diagnose::ThreadGroup> groups;
    for (auto& [list, group] : sets)
      groups.push_back(std::move(group));
    row("workers", plain(fmt::format("{} ({}): {}", count_of(member_.workers.size(), "child process"),
                                     numbers(machine_, member_.workers), groups_in_words(machine_, groups))));
  }

  [[nodiscard]] std::string node_of(std::uint32_t cpu) const {
    for (const model::NumaNode& node : machine_.numa.nodes) {
      if (node.cpus.contains(cpu)) return std::to_string(node.id.value);
    }
    return "?";
  }

  [[nodiscard]] report::Table thread_table() const {
    using report::Align;
    report::Table table{{{"thread", Align::kRight},
                         {"name"},
                         {"may run on"},
                         {"last on", Align::kRight},
                         {"node", Align::kRight},
                         {"what"}},
                        {}};
    for (const model::Thread& thread : process_.threads) {
      const CpuSet* allowed = thread.allowed.get();
      const std::uint32_t* cpu = thread.last_cpu.get();
      table.rows.push_back(
          {plain(std::to_string(thread.id)), plain(printable(thread.name)),
           plain(allowed != nullptr ? cpus_in_words(machine_, *allowed) : why_unknown(thread.allowed)),
           plain(cpu != nullptr ? std::to_string(*cpu) : "?"), plain(cpu != nullptr ? node_of(*cpu) : "?"),
           plain(std::string(purpose_of(thread)))});
    }
    return table;
  }

  [[nodiscard]] std::string_view purpose_of(const model::Thread& thread) const {
    return thread.id == process_.id ? "main" : diagnose::thread_purpose(thread.name);
  }

  const ProcessReport& report_;
  const Machine& machine_;
  const JobMember& member_;
  const Process& process_;
  const BindingVerdict& verdict_;
  Fields fields_;
};

class View {
 public:
  explicit View(const ProcessReport& report)
      : report_(report), machine_(*report.machine), members_(diagnose::job_members(machine_)) {}

  Document run() {
    for (const JobMember& member : members_) {
      if (is_shown(member))
        shown_.push_back({&member, diagnose::judge_binding(machine_, machine_.processes[member.process])});
    }
    document_.blocks.emplace_back(Paragraph{toned(node() + summary(), Tone::kStrong)});
    for (const auto& [member, verdict] : shown_)
      ProcessBlock(report_, *member, verdict).add_to(document_);
    if (report_.threads) nccl_names();
    launchers();
    strays();
    remarks();
    return std::move(document_);
  }

 private:
  [[nodiscard]] bool is_shown(const JobMember& member) const {
    if (member.role == Role::kWorker) return false;
    return report_.chosen || (member.role != Role::kLauncher && member.role != Role::kWrapper);
  }

  // Of this machine one knows the name.
  [[nodiscard]] std::string node() const {
    return report_.survey == nullptr && !machine_.name.empty() ? printable(machine_.name) + ": "
                                                               : std::string();
  }

  [[nodiscard]] std::string nothing() const {
    if (report_.survey == nullptr) return "no process in this snapshot; angio collect --pid PID takes one in";
    if (!report_.survey->zombies.empty() && report_.chosen) {
      const Process& zombie = report_.survey->zombies.front();
      return fmt::format("process {} ended and its parent {} did not reap it", zombie.id,
                         zombie.parent.value_or(0));
    }
    if (report_.chosen) return "no such process";
    return fmt::format(
        "no training process: none of {} uses a GPU, maps CUDA, NCCL or PyTorch, or has a rank variable",
        count_of(report_.survey->looked_at, "process"));
  }

  [[nodiscard]] std::string summary() const {
    if (shown_.empty()) return nothing();
    std::map<Bound, std::size_t> counts;
    std::size_t ranks = 0;
    for (const auto& [member, verdict] : shown_) {
      ++counts[verdict.bound];
      ranks += member->rank ? 1 : 0;
    }
    const std::string what =
        ranks == shown_.size() ? count_of(ranks, "rank") : count_of(shown_.size(), "process");
    std::vector<std::string> parts;
    const auto part = [&](Bound bound, const char* words) {
      if (counts[bound] > 0) parts.push_back(fmt::format("{} {}", counts[bound], words));
    };
    part(Bound::kNear, "bound");
    part(Bound::kAway, "bound away from the GPU");
    part(Bound::kNotBound, "not bound");
    part(Bound::kUnknown, "unknown");
    if (counts[Bound::kOneNode] > 0) parts.emplace_back("one NUMA node: nothing to bind");
    return what + ": " + join(parts, ", ");
  }

  // NCCL names its threads only when asked to.
  void nccl_names() {
    for (const auto& [member, verdict] : shown_) {
      const Process& process = machine_.processes[member->process];
      const bool mapped = std::ranges::any_of(process.libraries, [](const model::LibraryFile& file) {
        return file.name.starts_with("libnccl.so");
      });
      const bool named = std::ranges::any_of(
          process.threads, [](const model::Thread& thread) { return thread.name.starts_with("NCCL"); });
      if (!mapped || named) continue;
      document_.blocks.emplace_back(Paragraph{
          toned("NCCL's threads bear the process's name; NCCL_SET_THREAD_NAME=1 gives them their own",
                Tone::kQuiet)});
      return;
    }
  }

  void launchers() {
    if (report_.chosen) return;
    Fields fields;
    fields.indent = 0;
    for (const JobMember& member : members_) {
      if (member.role != Role::kLauncher) continue;
      const Process& process = machine_.processes[member.process];
      fields.rows.emplace_back(
          "launcher",
          toned(fmt::format("process {}  {}", process.id, printable(process.command)), Tone::kQuiet));
    }
    if (!fields.rows.empty()) document_.blocks.emplace_back(std::move(fields));
  }

  void strays() {
    static const model::ProcessSurvey kNone{};
    const std::vector<diagnose::Stray> all =
        diagnose::find_strays(machine_, report_.survey != nullptr ? *report_.survey : kNone);
    if (all.empty()) return;
    constexpr std::size_t kShown = 16;
    for (std::size_t i = 0; i < all.size() && i < kShown; ++i) {
      Fields fields;
      fields.indent = 0;
      fields.rows.emplace_back("stray", toned(printable(all[i].text), Tone::kWarning));
      if (!all[i].command.empty()) fields.rows.emplace_back("cure", report::command(all[i].command));
      fields.rows.emplace_back("risk", toned(all[i].risk, Tone::kQuiet));
      document_.blocks.emplace_back(std::move(fields));
    }
    if (all.size() > kShown)
      document_.blocks.emplace_back(
          Paragraph{toned(fmt::format("{} more in --format json", all.size() - kShown), Tone::kQuiet)});
  }

  void remarks() {
    if (report_.survey != nullptr && report_.survey->hidden > 0) {
      document_.blocks.emplace_back(
          Paragraph{toned(count_of(report_.survey->hidden, "process") +
                              " could not be looked at: denied; sudo angio ps sees those of other users",
                          Tone::kUnknown)});
    }
    for (const model::Note& note : machine_.notes) {
      if (note.id.starts_with("process.") || report_.survey == nullptr)
        document_.blocks.emplace_back(Paragraph{toned(note_text(note), Tone::kUnknown)});
    }
  }

  const ProcessReport& report_;
  const Machine& machine_;
  std::vector<JobMember> members_;
  std::vector<std::pair<const JobMember*, BindingVerdict>> shown_;
  Document document_;
};

}  // namespace

Document process_document(const ProcessReport& report) {
  return View(report).run();
}

}  // namespace angio::views
