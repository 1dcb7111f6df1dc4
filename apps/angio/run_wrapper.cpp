#include "run_wrapper.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "host/system_roots.hpp"
#include "launch/exec.hpp"
#include "launch/rank.hpp"
#include "launch/remote.hpp"
#include "launch/rendezvous.hpp"
#include "place/own_place.hpp"
#include "run_binding.hpp"
#include "views/placement_view.hpp"

namespace angio::app {
namespace {

using Environment = std::vector<std::string>;

// Where this rank goes, on which machine.
struct Plan : place::OwnPlace {
  std::vector<launch::VariableChange> changes;
};

// RANK, WORLD_SIZE, MASTER_ADDR and the like, where srun or mpirun set their own variables only.
Result<void> add_rendezvous(const launch::LocalRank& local, const Environment& environment,
                            std::vector<launch::VariableChange>& changes) {
  const auto missing = launch::missing_rendezvous(local, environment);
  if (!missing) return std::unexpected(missing.error());
  for (const std::string& entry : *missing) {
    const std::size_t equals = entry.find('=');
    changes.push_back(
        {entry.substr(0, equals), entry.substr(equals + 1), {}, false, "--rendezvous: by " + local.origin});
  }
  return {};
}

Result<Plan> make_plan(const RunOptions& options, const Environment& environment) {
  auto own = place::find_own_place({options.rank, options.ranks}, to_request(options.placement),
                                   options.adapters, environment);
  if (!own) return std::unexpected(std::move(own).error());
  return Plan{*std::move(own), {}};
}

// "what happened. hint" on one line, so that the lines of many ranks do not mix.
std::string in_one_line(const Error& error) {
  return error.hint.empty() ? error.message : error.message + ". " + error.hint;
}

std::optional<int> refuse(const RunOptions& options, const Error& error) {
  if (insists(options) || options.dry_run || options.rendezvous) return report_error(error);
  say("angio: not bound: " + in_one_line(error));
  return std::nullopt;
}

int show_dry_run(const RunOptions& options, const Plan& plan) {
  std::string text = report::render_terminal(
      views::placement_document(plan.machine, plan.placement, options.why), terminal_style());
  for (const launch::VariableChange& change : plan.changes)
    text += change_words(change) + "\n";
  return print(text + "would run: " + launch::shell_quoted(command_words(options)) + "\n");
}

Result<void> make_changes(const RunOptions& options, const Environment& environment, Plan& plan) {
  auto changes = changes_for(options, plan.machine, plan.placement.ranks.front(), environment);
  if (!changes) return std::unexpected(std::move(changes).error());
  plan.changes = *std::move(changes);
  return options.rendezvous ? add_rendezvous(plan.local, environment, plan.changes) : Result<void>{};
}

// Binds, and makes the environment the command's. An exit code: the command is not to be started.
std::optional<int> prepare(const RunOptions& options, Environment& environment) {
  const PipeSignalIgnored quiet;
  auto plan = make_plan(options, environment);
  if (!plan) return refuse(options, plan.error());
  if (const auto made = make_changes(options, environment, *plan); !made) return report_error(made.error());
  if (options.dry_run) return show_dry_run(options, *plan);
  const model::RankPlacement& rank = plan->placement.ranks.front();
  if (options.why) tell_notes(plan->placement.notes);
  tell_rank(options, rank, plan->changes);
  if (const auto bound = bind_rank(options, plan->machine, rank); !bound) return report_error(bound.error());
  environment = launch::apply_changes(environment, plan->changes);
  return std::nullopt;
}

}  // namespace

int run_wrapped(const RunOptions& options) {
  Environment environment = host::read_environment();
  if (const std::optional<int> code = prepare(options, environment)) return *code;
  const launch::ExecFailure failure = launch::exec_program(options.command, environment);
  const PipeSignalIgnored quiet;
  (void)report_error(failure.error);
  return failure.exit_code;
}

}  // namespace angio::app
