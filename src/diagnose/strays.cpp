#include "diagnose/strays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/job.hpp"

namespace angio::diagnose {
namespace {

using model::Machine;
using model::Process;
using model::ProcessSurvey;

// Numbers as a command takes them; a long list is cut, with the words that say so.
std::string numbers(const std::vector<std::uint32_t>& ids) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < ids.size() && i < kShown; ++i)
    words.push_back(std::to_string(ids[i]));
  return join(words, ", ") + (ids.size() > kShown ? fmt::format(" and {} more", ids.size() - kShown) : "");
}

// A name as one word of a shell: whoever made the file chose its name.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return text;
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Programs that start ranks themselves and may be a container's first process.
bool is_starter(std::string_view name) {
  constexpr std::array<std::string_view, 19> kNames{
      "python",    "sh",      "bash",       "dash",  "zsh",     "ksh",  "torchrun",
      "mpirun",    "mpiexec", "orted",      "prted", "prterun", "srun", "slurmstepd",
      "deepspeed", "hydra_",  "accelerate", "ray",   "pt_"};
  return std::ranges::any_of(kNames, [&](std::string_view begin) { return name.starts_with(begin); });
}

// Those that adopt what others leave: process 1, and each user's systemd(1).
bool is_reaper(std::uint32_t id, std::string_view name) {
  return name == "systemd" || (id == 1 && !is_starter(name));
}

class Finder {
 public:
  Finder(const Machine& machine, const ProcessSurvey& survey)
      : machine_(machine), survey_(survey), members_(job_members(machine)) {}

  std::vector<Stray> run() {
    find_contexts();
    find_shared_gpu();
    find_orphans();
    find_zombies();
    find_segments();
    return std::move(strays_);
  }

 private:
  // torch.cuda.set_device forgotten, or called after the first tensor: a second context on GPU 0.
  void find_contexts() {
    std::vector<std::uint32_t> ids;
    for (const Process& process : machine_.processes) {
      if (has_stray_context(process)) ids.push_back(process.id);
    }
    if (ids.empty()) return;
    add({"gpu-0-context",
         fmt::format("GPU 0 holds a context of {} that {} on another GPU: {}",
                     count_of(ids.size(), "process"), ids.size() == 1 ? "works" : "work", numbers(ids)),
         "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))",
         "a line for the script, before its first use of CUDA; the job must start again", ids});
  }

  // Ranks with different local numbers on one GPU.
  void find_shared_gpu() {
    for (const model::Gpu& gpu : machine_.gpus) {
      std::vector<std::uint32_t> ids;
      std::set<std::uint32_t> locals;
      for (const JobMember& member : members_) {
        const Process& process = machine_.processes[member.process];
        if (member.role != Role::kRank || process.gpus != std::vector{gpu.index}) continue;
        ids.push_back(process.id);
        locals.insert(member.rank->local.value_or(member.rank->number));
      }
      if (locals.size() < 2) continue;
      add({"shared-gpu",
           fmt::format("GPU {} is shared by {} ranks that hold no other: {}", gpu.index, ids.size(),
                       numbers(ids)),
           "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))",
           "a line for the script, before its first use of CUDA; not if the ranks share a GPU on purpose "
           "(MPS)",
           ids});
    }
  }

  [[nodiscard]] const model::ParentProcess* parent_of(const Process& process) const {
    const std::uint32_t* id = process.parent.get();
    const auto found = id != nullptr ? survey_.parents.find(*id) : survey_.parents.end();
    return found != survey_.parents.end() ? &found->second : nullptr;
  }

  // A rank that was adopted. A container's first process may start the rank itself; the rank variable then
  // comes from the container and stands in the parent's environment too.
  void find_orphans() {
    for (const JobMember& member : members_) {
      const Process& process = machine_.processes[member.process];
      const model::ParentProcess* parent = parent_of(process);
      if (!member.rank || parent == nullptr || !is_reaper(*process.parent.get(), parent->name) ||
          parent->has_rank.is(true))
        continue;
      std::vector<std::uint32_t> ids{process.id};
      for (const std::size_t worker : member.workers)
        ids.push_back(machine_.processes[worker].id);
      std::string text = fmt::format("rank {} (process {}) has lost its launcher: its parent is {} ({})",
                                     member.rank->number, process.id, *process.parent.get(), parent->name);
      for (const std::uint16_t port : held_ports(process))
        text += fmt::format("; it holds MASTER_PORT {}", port);
      add({"orphan", std::move(text), fmt::format("kill {}", process.id),
           "ends it: right only if nobody waits for it; started by nohup or setsid it may be meant to run",
           ids});
    }
  }

  [[nodiscard]] static std::vector<std::uint16_t> held_ports(const Process& process) {
    const auto setting = std::ranges::find(process.settings, "MASTER_PORT", &model::Setting::name);
    const auto port =
        setting != process.settings.end() ? parse_integer<std::uint16_t>(setting->value) : std::nullopt;
    if (!port || std::ranges::find(process.listening, *port) == process.listening.end()) return {};
    return {*port};
  }

  // Of a rank: brother or child of a process of the job, or an interpreter below a reaper.
  [[nodiscard]] bool is_of_job(const Process& zombie) const {
    const std::uint32_t* parent = zombie.parent.get();
    if (parent == nullptr) return false;
    for (const Process& process : machine_.processes) {
      if (process.id == *parent || process.parent.is(*parent)) return true;
    }
    return zombie.command.starts_with("python") || zombie.command.starts_with("pt_");
  }

  void find_zombies() {
    for (const Process& zombie : survey_.zombies) {
      if (!is_of_job(zombie)) continue;
      const std::uint32_t parent = zombie.parent.value_or(0);
      const model::ParentProcess* facts = parent_of(zombie);
      const std::string name =
          facts != nullptr && !facts->name.empty() ? " (" + facts->name + ")" : std::string();
      add({"zombie",
           fmt::format("process {} ({}) ended and its parent {}{} does not reap it", zombie.id,
                       zombie.command, parent, name),
           parent > 1 ? fmt::format("kill {}", parent) : std::string(),
           parent > 1
               ? "ends the parent, the job's launcher perhaps; a zombie holds only its number, but GPU "
                 "memory of it can stay while a sibling lives"
               : "it holds only its number",
           {zombie.id}});
    }
  }

  void find_segments() {
    std::vector<std::string> names;
    std::set<std::string> users;
    Bytes all;
    for (const model::SharedSegment& segment : survey_.segments) {
      if (!segment.used.is(false)) continue;
      names.push_back(shell_word("/dev/shm/" + segment.name));
      if (const std::uint32_t* user = segment.user.get()) users.insert(std::to_string(*user));
      all = all + segment.size.value_or({});
    }
    if (names.empty()) return;
    constexpr std::size_t kShown = 8;
    const std::size_t shown = std::min(names.size(), kShown);
    const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown));
    add({"segment",
         fmt::format("{} in /dev/shm that no process here has open: {}", count_of(names.size(), "segment"),
                     in_words(all)) +
             (users.empty() ? "" : " of user " + join(std::vector(users.begin(), users.end()), ", ")) +
             (shown < names.size() ? fmt::format("; the first {}", shown) : ""),
         "rm -- " + join(first, " "),
         "frees the memory; a job in another container with the same /dev/shm may still attach to them",
         {}});
  }

  void add(Stray stray) { strays_.push_back(std::move(stray)); }

  const Machine& machine_;
  const ProcessSurvey& survey_;
  std::vector<JobMember> members_;
  std::vector<Stray> strays_;
};

}  // namespace

std::vector<Stray> find_strays(const Machine& machine, const ProcessSurvey& survey) {
  return Finder(machine, survey).run();
}

}  // namespace angio::diagnose
