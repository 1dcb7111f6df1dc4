#include "views/process_json.hpp"

#include <map>

#include "diagnose/binding.hpp"
#include "diagnose/job.hpp"
#include "diagnose/strays.hpp"
#include "views/notes.hpp"
#include "views/observed_json.hpp"
#include "views/process_words.hpp"

namespace angio::views {
namespace {

using diagnose::Bound;
using diagnose::JobMember;
using diagnose::Role;
using model::Machine;
using model::Process;

const char* word_of(Bound bound) {
  switch (bound) {
    case Bound::kOneNode:
      return "one_node";
    case Bound::kNear:
      return "bound";
    case Bound::kAway:
      return "away";
    case Bound::kNotBound:
      return "not_bound";
    case Bound::kUnknown:
      break;
  }
  return "unknown";
}

const char* word_of(Role role) {
  switch (role) {
    case Role::kRank:
      return "rank";
    case Role::kWorker:
      return "worker";
    case Role::kWrapper:
      return "wrapper";
    case Role::kLauncher:
      return "launcher";
    case Role::kProcess:
      break;
  }
  return "process";
}

Json verdict_json(const diagnose::BindingVerdict& verdict) {
  Json groups = Json::array();
  for (const diagnose::ThreadGroup& group : verdict.groups)
    groups.push_back(
        Json::object({{"cpus", to_list(group.allowed)}, {"threads", std::uint64_t{group.threads}}}));
  Json json = Json::object({{"bound", word_of(verdict.bound)},
                            {"text", verdict.text},
                            {"remarks", plain_json(verdict.remarks)},
                            {"trouble", verdict.trouble},
                            {"cpus", to_list(verdict.allowed)},
                            {"cpu_nodes", to_list(verdict.cpu_nodes)},
                            {"home_nodes", to_list(verdict.home)},
                            {"masks", std::move(groups)},
                            {"threads_beyond_mask", std::uint64_t{verdict.free_threads}},
                            {"threads_last_away", std::uint64_t{verdict.strayed_threads}}});
  if (verdict.local_share) {
    json.set("local_share", *verdict.local_share);
    json.set("remote_bytes", verdict.remote_bytes.value);
    json.set("judged_bytes", verdict.all_bytes.value);
  }
  return json;
}

Json memory_json(const std::map<std::uint32_t, model::MemoryKinds>& nodes) {
  Json list = Json::array();
  for (const auto& [node, kinds] : nodes) {
    list.push_back(Json::object({{"node", node},
                                 {"bytes", sum_of(kinds).value},
                                 {"anonymous_bytes", kinds.anonymous},
                                 {"shared_bytes", kinds.shared},
                                 {"shared_anonymous_bytes", kinds.shared_anonymous},
                                 {"file_bytes", kinds.file},
                                 {"huge_bytes", kinds.huge},
                                 {"device_bytes", kinds.device},
                                 {"unknown_bytes", kinds.other}}));
  }
  return list;
}

Json policies_json(const std::map<std::string, std::uint64_t>& policies) {
  Json json = Json::object();
  for (const auto& [policy, mappings] : policies)
    json.set(policy, mappings);
  return json;
}

Json threads_json(const Machine& machine, const Process& process) {
  Json list = Json::array();
  for (const model::Thread& thread : process.threads) {
    list.push_back(Json::object({{"id", thread.id},
                                 {"name", thread.name},
                                 {"purpose", diagnose::thread_purpose(thread.name)},
                                 {"cpus", observed_json(machine, thread.allowed)},
                                 {"last_cpu", observed_json(machine, thread.last_cpu)}}));
  }
  return list;
}

Json nics_json(const Machine& machine, const std::vector<std::uint32_t>& devices) {
  Json list = Json::array();
  for (const std::uint32_t index : devices) {
    if (index < machine.rdma.size()) list.push_back(machine.rdma[index].name);
  }
  return list;
}

Json process_part(const ProcessReport& report, const JobMember& member) {
  const Machine& machine = *report.machine;
  const Process& process = machine.processes[member.process];
  Json json =
      Json::object({{"pid", process.id}, {"role", word_of(member.role)}, {"command", process.command}});
  if (member.rank) {
    json.set("rank", member.rank->number);
    if (member.rank->local) json.set("local_rank", *member.rank->local);
    json.set("rank_variable", member.rank->variable);
  }
  json.set("user", user_in_words(report.users, process));
  json.set("uid", observed_json(machine, process.user));
  json.set("parent", observed_json(machine, process.parent));
  json.set("gpus", plain_json(process.gpus));
  json.set("opened_gpus", observed_json(machine, process.opened_gpus));
  json.set("nics",
           observed_json(machine, process.rdma, [&](const auto& nics) { return nics_json(machine, nics); }));
  json.set("verdict", verdict_json(diagnose::judge_binding(machine, process)));
  json.set("thread_count", std::uint64_t{process.threads.size()});
  if (report.threads) json.set("threads", threads_json(machine, process));
  json.set("memory_policies", observed_json(machine, process.policies, policies_json));
  json.set("memory", observed_json(machine, process.memory, memory_json));
  json.set("locked_bytes", observed_json(machine, process.locked));
  json.set("registered_bytes", observed_json(machine, process.pinned));
  json.set("allowed_memory_nodes", observed_json(machine, process.allowed_memory));
  Json workers = Json::array();
  for (const std::size_t worker : member.workers)
    workers.push_back(machine.processes[worker].id);
  json.set("workers", std::move(workers));
  return json;
}

Json strays_json(const Machine& machine, const model::ProcessSurvey& survey) {
  Json list = Json::array();
  for (const diagnose::Stray& stray : diagnose::find_strays(machine, survey)) {
    list.push_back(Json::object({{"kind", stray.kind},
                                 {"text", stray.text},
                                 {"command", stray.command},
                                 {"risk", stray.risk},
                                 {"pids", plain_json(stray.processes)}}));
  }
  return list;
}

Json segments_json(const Machine& machine, const model::ProcessSurvey& survey) {
  Json list = Json::array();
  for (const model::SharedSegment& segment : survey.segments) {
    list.push_back(Json::object({{"name", segment.name},
                                 {"bytes", observed_json(machine, segment.size)},
                                 {"uid", observed_json(machine, segment.user)},
                                 {"used", observed_json(machine, segment.used)}}));
  }
  return list;
}

}  // namespace

Json process_json(const ProcessReport& report) {
  const Machine& machine = *report.machine;
  Json processes = Json::array();
  for (const JobMember& member : diagnose::job_members(machine))
    processes.push_back(process_part(report, member));
  Json json = Json::object({{"schema", "angio.processes/1"},
                            {"node", machine.name},
                            {"origin", machine.origin},
                            {"processes", std::move(processes)}});
  json.set("strays",
           strays_json(machine, report.survey != nullptr ? *report.survey : model::ProcessSurvey{}));
  if (report.survey != nullptr) {
    json.set("segments", segments_json(machine, *report.survey));
    json.set("processes_looked_at", std::uint64_t{report.survey->looked_at});
    json.set("processes_hidden", std::uint64_t{report.survey->hidden});
  }
  json.set("notes", notes_json(machine.notes));
  return json;
}

}  // namespace angio::views
