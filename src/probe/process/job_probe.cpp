// Threads: a thousand processes are 100,000 small files; only the kernel's share of that work can be spread.
#include "probe/process/job_probe.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <new>
#include <set>
#include <system_error>
#include <thread>

#include "base/text.hpp"
#include "probe/process/job_reader.hpp"
#include "probe/process/process_facts.hpp"
#include "probe/process/process_parts.hpp"

namespace angio::probe {
namespace {

using process::Look;
using process::Wanted;

constexpr std::size_t kMaxListed = 100'000;  // processes looked at
constexpr std::size_t kMaxDepth = 8;         // of children below a named process

class Survey {
 public:
  Survey(const host::Root& root, const JobOptions& options, model::Machine& machine)
      : root_(root),
        options_(options),
        machine_(machine),
        users_(process::gpu_users(root, machine)),
        devices_(process::find_device_files(root, machine)) {}

  model::ProcessSurvey run() {
    find_segments();
    choose();
    read();
    take_looks();
    find_parents();
    return std::move(survey_);
  }

 private:
  void choose() {
    if (!options_.named.empty()) {
      find_children();
      for (const std::uint32_t id : options_.named)
        add_with_children(id, 0);
    } else {
      const std::uint32_t own = own_id();
      for (const std::string& name : root_.list("/proc").value_or(host::Names{})) {
        const auto id = parse_integer<std::uint32_t>(name);
        if (id && *id != own && ids_.size() < kMaxListed) ids_.push_back(*id);
      }
    }
    std::ranges::sort(ids_);
    ids_.erase(std::ranges::unique(ids_).begin(), ids_.end());
    if (options_.user) std::erase_if(ids_, [&](std::uint32_t id) { return owner_of(id) != options_.user; });
    for (const std::uint32_t id : ids_)
      places_.emplace_back(root_, machine_, "/proc/" + std::to_string(id));
  }

  [[nodiscard]] std::uint32_t own_id() const {
    const host::Read<std::string> self = root_.read_link("/proc/self");
    return self ? parse_integer<std::uint32_t>(*self).value_or(0) : 0;
  }

  [[nodiscard]] std::optional<std::uint32_t> owner_of(std::uint32_t id) const {
    const auto owner = root_.read("/@tasks/owner/" + std::to_string(id));
    return owner ? parse_integer<std::uint32_t>(*owner) : std::nullopt;
  }

  void add_with_children(std::uint32_t id, std::size_t depth) {
    if (std::ranges::find(ids_, id) != ids_.end() || ids_.size() >= kMaxListed) return;
    ids_.push_back(id);
    const auto children = children_.find(id);
    if (depth == kMaxDepth || children == children_.end()) return;
    for (const std::uint32_t child : children->second)
      add_with_children(child, depth + 1);
  }

  // By the parents of all: /proc/PID/task/TID/children is not in every kernel, and is one thread's only.
  void find_children() {
    for (const std::string& name : root_.list("/proc").value_or(host::Names{})) {
      const auto id = parse_integer<std::uint32_t>(name);
      if (!id) continue;
      const host::Read<std::string> status = root_.read("/proc/" + name + "/status");
      const std::string text = status.value_or("");
      const auto parent = process::status_field(text, "PPid");
      if (const auto number = parent ? parse_integer<std::uint32_t>(*parent) : std::nullopt)
        children_[*number].push_back(*id);
    }
  }

  // Files that dead jobs may have left; a look at one job is not the place for it.
  void find_segments() {
    if (!options_.named.empty()) return;
    const Place place(root_, machine_, "/dev/shm");
    for (const std::string& name : root_.list("/@tasks/shm").value_or(host::Names{})) {
      model::SharedSegment segment;
      segment.name = name;
      const host::Read<std::string> facts = root_.read("/@tasks/shm/" + name);
      const std::vector<std::string_view> words = split_words(facts ? std::string_view(*facts) : "");
      if (words.size() != 2) continue;  // gone meanwhile
      if (const auto size = parse_integer<std::uint64_t>(words[0]))
        segment.size = Observed<Bytes>::known(Bytes{*size}, place.source(""));
      if (const auto user = parse_integer<std::uint32_t>(words[1]))
        segment.user = Observed<std::uint32_t>::known(*user, place.source(""));
      survey_.segments.push_back(std::move(segment));
    }
  }

  [[nodiscard]] Wanted wanted(std::uint32_t id) const {
    Wanted wanted;
    wanted.forced = !options_.named.empty() || users_.contains(id);
    wanted.anything = options_.all || options_.user.has_value();
    wanted.threads = options_.threads;
    wanted.segments = !survey_.segments.empty();
    return wanted;
  }

  void read_from(std::atomic<std::size_t>& next) {
    // A thread that runs out of memory leaves its process out; the others go on.
    for (std::size_t i = next++; i < ids_.size(); i = next++) {
      try {
        looks_[i] = process::JobReader(places_[i], devices_, ids_[i]).run(wanted(ids_[i]));
      } catch (const std::bad_alloc&) {
        looks_[i] = {};
      }
    }
  }

  void read() {
    looks_.resize(ids_.size());
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> helpers;
    helpers.reserve(options_.workers);
    try {
      for (unsigned i = 1; i < options_.workers && i < ids_.size(); ++i)
        helpers.emplace_back([&] { read_from(next); });
    } catch (const std::system_error&) {  // no more threads for this user: fewer do
    }
    read_from(next);
    for (std::thread& helper : helpers)
      helper.join();
  }

  void take_looks() {
    std::set<std::string, std::less<>> used;
    for (std::size_t i = 0; i < looks_.size(); ++i) {
      Look& look = looks_[i];
      used.insert(look.segments.begin(), look.segments.end());
      if (look.hidden) hide(ids_[i]);
      if (!look.process) continue;
      if (look.zombie) {
        survey_.zombies.push_back(std::move(*look.process));
      } else {
        take_gpus(*look.process);
        machine_.processes.push_back(std::move(*look.process));
      }
    }
    survey_.looked_at = looks_.size();
    for (model::SharedSegment& segment : survey_.segments)
      segment.used = use_of(segment, used.contains(segment.name));
    for (const std::uint32_t id : options_.named) {
      const bool found = std::ranges::any_of(machine_.processes, [&](const auto& p) { return p.id == id; }) ||
                         std::ranges::any_of(survey_.zombies, [&](const auto& p) { return p.id == id; });
      if (!found)
        machine_.notes.push_back({"process.gone", "process " + std::to_string(id) + " is not to be seen here",
                                  1, "it ended, or runs in another container: look on the host itself"});
    }
  }

  void hide(std::uint32_t id) {
    ++survey_.hidden;
    // Process 1 starts others; where nobody may look at it, it still holds no segment of NCCL.
    if (id != 1) hidden_users_.insert(owner_of(id));
  }

  // Unused only if everybody was asked who could have it open: segments are open to their user alone.
  [[nodiscard]] Observed<bool> use_of(const model::SharedSegment& segment, bool found) const {
    if (found) return Observed<bool>::known(true, {});
    if (options_.user) return Observed<bool>();  // others were not asked
    const std::uint32_t* user = segment.user.get();
    const bool hidden = user == nullptr ? !hidden_users_.empty() : hidden_users_.contains(*user);
    if (hidden) return Observed<bool>::unreadable(model::Reason::kDenied, {}, EACCES);
    return Observed<bool>::known(false, {});
  }

  // NVML counts in the host's process numbers: inside a container such a number may be somebody else's here.
  void take_gpus(model::Process& process) const {
    const auto user = users_.find(process.id);
    const auto* opened = process.opened_gpus.get();
    const bool believable = opened == nullptr || devices_.gpus.empty() || !opened->empty();
    if (user != users_.end() && believable) process.gpus = user->second;
    if (process.gpus.empty() && opened != nullptr && opened->size() == 1) process.gpus = *opened;
  }

  void find_parents() {
    std::vector<const model::Process*> children;
    for (const model::Process& process : machine_.processes)
      children.push_back(&process);
    for (const model::Process& zombie : survey_.zombies)
      children.push_back(&zombie);
    for (const model::Process* child : children) {
      const std::uint32_t* parent = child->parent.get();
      if (parent == nullptr || *parent == 0 || survey_.parents.contains(*parent)) continue;
      if (std::ranges::binary_search(machine_.processes, *parent, {}, &model::Process::id)) continue;
      const Place place(root_, machine_, "/proc/" + std::to_string(*parent));
      model::ParentProcess& facts = survey_.parents[*parent];
      facts.name = trim(root_.read(place.path("comm")).value_or(""));
      const host::Read<std::string> environ = root_.read(place.path("environ"));
      facts.has_rank = environ ? Observed<bool>::known(process::has_rank(*environ), place.source("environ"))
                               : place.missing<bool>("environ", environ.error());
    }
  }

  const host::Root& root_;
  const JobOptions& options_;
  model::Machine& machine_;
  process::GpusByProcess users_;
  process::DeviceFiles devices_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> children_;
  std::vector<std::uint32_t> ids_;
  std::vector<Place> places_;
  std::vector<Look> looks_;
  std::set<std::optional<std::uint32_t>> hidden_users_;
  model::ProcessSurvey survey_;
};

}  // namespace

model::ProcessSurvey probe_jobs(const host::Root& root, const JobOptions& options, model::Machine& machine) {
  return Survey(root, options, machine).run();
}

}  // namespace angio::probe
