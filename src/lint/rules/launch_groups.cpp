// Launchers of one file against each other: two process groups where the file means one; nodes that disagree.
#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "lint/rules/launch_rules.hpp"

namespace angio::lint {
namespace {

// Options of a training script that say on which GPUs, not what is trained.
bool names_devices(std::string_view option) {
  const auto lower = to_lower(option);
  for (const std::string_view part :
       {"gpu", "device", "port", "rank", "cuda", "numa", "log", "output", "out-dir"})
    if (contains(lower, part)) return true;
  return false;
}

// What is trained: the script and its arguments without those that name devices.
std::string work_of(const Line& line, const Stage& launcher) {
  std::string work;
  for (const auto& stage : line.stages) {
    if (&stage <= &launcher) continue;
    for (std::size_t i = 0; i < stage.words.size(); ++i) {
      const auto& text = stage.words[i]->text;
      if (text.starts_with('-') && names_devices(text.substr(0, text.find('=')))) {
        const bool value =
            !contains(text, "=") && i + 1 < stage.words.size() && !stage.words[i + 1]->text.starts_with('-');
        if (value) ++i;
        continue;
      }
      work += text + '\n';
    }
  }
  return work;
}

struct Launch {
  const Line* line;
  const Stage* torch;
};

long ranks_or_one(const Job& job, const Launch& launch) {
  return local_ranks(*launch.line, *launch.torch, job.allocation).value_or(1);
}

void split_group(const Job& job, const std::vector<Launch>& launches, Complaints& out) {
  const auto& first = launches.front();
  long sum = 0;
  std::string sizes;
  for (const auto& launch : launches) {
    sum += ranks_or_one(job, launch);
    sizes += (sizes.empty() ? "" : " and ") + std::to_string(ranks_or_one(job, launch));
  }
  for (std::size_t i = 1; i < launches.size(); ++i) {
    out.push_back(complain("launch.torch.split-group", *job.script, launches[i].torch->place(),
                           "a second launch of the same training beside line " +
                               std::to_string(first.torch->place().line) + ": two jobs of " + sizes +
                               " ranks that never exchange gradients, not one of " + std::to_string(sum),
                           "one launch: torchrun --nproc-per-node=" + std::to_string(sum) +
                               " --numa-binding=node SCRIPT, or angio run --ranks " + std::to_string(sum) +
                               " -- SCRIPT"));
  }
}

// Launches on one host that run beside each other and train the same.
void check_split(const Job& job, Complaints& out) {
  std::map<std::string, std::vector<Launch>> alike;
  std::vector<Launch> order;
  for (const auto& line : job.lines) {
    const auto* torch = find_torch(line);
    if (torch == nullptr || &line.stages.front() + line.own > torch) continue;
    if (nodes_of(line, *torch) != 1 || find_stage(line, {"srun", "ssh", "mpirun", "pdsh"}) != nullptr)
      continue;
    const auto work = work_of(line, *torch);
    if (!work.empty()) alike[work].push_back({&line, torch});
  }
  for (const auto& [work, launches] : alike) {
    if (launches.size() < 2) continue;
    const bool beside = std::all_of(launches.begin(), launches.end() - 1,
                                    [](const Launch& launch) { return launch.line->command->background; });
    if (beside) split_group(job, launches, out);
  }
}

struct Member {
  const Stage* torch;
  std::string work;
  long nodes;
  std::string rank;
  std::string master;
  std::string port;
};

std::optional<Member> member_of(const Line& line) {
  const auto* torch = find_torch(line);
  if (torch == nullptr) return std::nullopt;
  const auto nodes = nodes_of(line, *torch);
  const auto rank = find_option(*torch, {"--node-rank"});
  if (nodes.value_or(1) < 2 || !rank || rank->dynamic) return std::nullopt;
  const auto master = find_option(*torch, {"--master-addr"});
  const auto port = find_option(*torch, {"--master-port"});
  if ((master && master->dynamic) || (port && port->dynamic)) return std::nullopt;
  return Member{torch,       work_of(line, *torch),       *nodes,
                rank->value, master ? master->value : "", port ? port->value : ""};
}

// The launches of node 0, node 1 … written one after the other.
void check_members(const Job& job, Complaints& out) {
  std::map<std::pair<std::string, long>, Member> groups;  // the first launch of each training and size
  for (const auto& line : job.lines) {
    const auto member = member_of(line);
    if (!member || member->work.empty()) continue;
    const auto [entry, fresh] = groups.try_emplace({member->work, member->nodes}, *member);
    if (fresh) continue;
    const auto* first = &entry->second;
    if (first->torch == member->torch) continue;
    const auto at = " on line " + std::to_string(first->torch->place().line);
    if (member->rank == first->rank && member->master == first->master && member->port == first->port) {
      out.push_back(
          complain("launch.torch.node-rank-equal", *job.script,
                   find_option(*member->torch, {"--node-rank"})->word->place,
                   "--node-rank " + member->rank + " stands here and" + at + ": each node needs its own",
                   "0 on the node of --master-addr, 1 … N-1 on the others"));
    } else if (member->rank != first->rank &&
               (member->master != first->master || member->port != first->port)) {
      const auto name = member->master != first->master ? "--master-addr" : "--master-port";
      const auto option = find_option(*member->torch, {name});
      out.push_back(complain("launch.torch.master-differs", *job.script,
                             option ? option->word->place : member->torch->place(),
                             std::string(name) + " differs from the one" + at + ": the nodes never meet",
                             "all nodes name the address and port of node 0; only --node-rank changes"));
    }
  }
}

}  // namespace

void check_groups(const Job& job, Complaints& out) {
  check_split(job, out);
  check_members(job, out);
}

}  // namespace angio::lint
