#include "lint/lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "lint/circumstances.hpp"
#include "lint/effective.hpp"
#include "lint/ignore.hpp"
#include "lint/rule.hpp"

namespace angio::lint {
namespace {

// Scripts with the same release and the same number of nodes are judged together.
struct Group {
  Context context;
  std::vector<Script> scripts;
};

std::vector<Group> groups_of(const std::vector<Script>& scripts, const Context& context) {
  std::vector<Group> groups;
  std::map<std::tuple<std::string, int>, std::size_t> by_key;
  for (const Script& script : scripts) {
    Context own = circumstances_of(script, context);
    const int several = own.several_nodes ? (*own.several_nodes ? 1 : 0) : -1;
    const auto [entry, fresh] = by_key.try_emplace({own.nccl_version, several}, groups.size());
    if (fresh) {
      own.versions = context.versions;
      own.machines = context.machines;
      groups.push_back({std::move(own), {}});
    }
    groups[entry->second].scripts.push_back(script);
  }
  return groups;
}

// A running process cannot be rewritten.
void drop_fixes_of_processes(const std::vector<Script>& scripts, std::vector<Complaint>& complaints) {
  std::set<std::string_view> processes;
  for (const Script& script : scripts) {
    if (script.kind == FileKind::kProcess) processes.insert(script.name);
  }
  for (Complaint& complaint : complaints) {
    if (processes.contains(complaint.file)) complaint.fix.clear();
  }
}

auto position(const Complaint& complaint) {
  return std::tie(complaint.file, complaint.place.line, complaint.place.column, complaint.rule,
                  complaint.message);
}

}  // namespace

Report lint(const std::vector<Script>& scripts, const Context& context) {
  Report report;
  for (const Group& group : groups_of(scripts, context)) {
    const Input input{group.scripts, group.context};
    check_values(input, report.complaints);
    check_meaning(input, report.complaints);
    check_placement(input, report.complaints);
    check_launch(input, report.complaints);
    check_tools(input, report.complaints);
    check_system(input, report.complaints);
    report.releases.push_back(
        {group.context.nccl_version, group.context.nccl_version_source, group.scripts.size()});
  }
  check_uniform(scripts, report.complaints);
  apply_ignores(scripts, report.complaints);
  drop_fixes_of_processes(scripts, report.complaints);
  std::ranges::stable_sort(report.complaints,
                           [](const Complaint& a, const Complaint& b) { return position(a) < position(b); });
  const auto repeated = std::ranges::unique(
      report.complaints, [](const Complaint& a, const Complaint& b) { return position(a) == position(b); });
  report.complaints.erase(repeated.begin(), repeated.end());
  report.effective = effective_of(scripts, context);
  return report;
}

}  // namespace angio::lint
