#include "run_binding.hpp"

#include <utility>

#include "base/text.hpp"
#include "command.hpp"
#include "launch/bind.hpp"
#include "views/placement_view.hpp"

namespace angio::app {
namespace {

using launch::BindOutcome;
using launch::BindState;
using launch::VariableChange;

std::string label_of(const model::RankPlacement& rank) {
  return "angio: rank " + std::to_string(rank.local_rank) + ": ";
}

bool is_wanted(const BindOutcome& outcome) {
  return outcome.cpus.state != BindState::kNotWanted || outcome.memory.state != BindState::kNotWanted;
}

std::string verdict(const BindOutcome& outcome) {
  const bool cpus = outcome.cpus.state == BindState::kDone;
  const bool memory = outcome.memory.state == BindState::kDone;
  if (cpus && memory) return "the kernel confirms both";
  if (cpus) return "the kernel confirms the CPUs";
  return memory ? "the kernel confirms the memory policy" : "nothing of it is in force";
}

// What the kernel holds before the command begins: in the wrapper form angio is no more afterwards.
void tell_verified(const model::Machine& machine, const model::RankPlacement& rank,
                   const BindOutcome& outcome) {
  const auto cpus = launch::read_affinity();
  const std::string held = cpus ? "CPUs " + to_list(*cpus) : cpus.error().message;
  std::string line = views::rank_sentence(machine, rank) + "; ";
  if (!is_wanted(outcome))
    line += "not bound, the kernel lets it run on " + held;
  else
    line += verdict(outcome) + (outcome.complete() ? "" : ", it may run on " + held);
  say(line);
}

}  // namespace

PipeSignalIgnored::PipeSignalIgnored() {
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before_);
}

PipeSignalIgnored::~PipeSignalIgnored() {
  sigaction(SIGPIPE, &before_, nullptr);
}

Result<std::vector<VariableChange>> changes_for(const RunOptions& options, const model::Machine& machine,
                                                const model::RankPlacement& rank,
                                                std::span<const std::string> environment) {
  return launch::plan_environment(
      machine, rank, {.own_device = options.devices == "own", .adapters = options.adapters}, environment);
}

Result<void> bind_rank(const RunOptions& options, const model::Machine& machine,
                       const model::RankPlacement& rank) {
  const BindOutcome outcome = launch::apply_placement(rank);
  for (const launch::BindPart* part : {&outcome.cpus, &outcome.memory}) {
    if (part->problem.empty()) continue;
    const bool memory = part == &outcome.memory;
    if (options.strict || (memory && options.placement.memory == "bind"))
      return fail(ErrorCode::kDenied, part->problem, "the command was not started");
    say(label_of(rank) + part->problem);
  }
  const bool asked = options.placement.cpus != "none" || options.placement.memory != "none";
  if (options.strict && asked && !is_wanted(outcome)) {
    return fail(ErrorCode::kUnsupported,
                "rank " + std::to_string(rank.local_rank) + ": its place is not known, nothing was bound",
                "--strict: the command was not started; --why says what is missing");
  }
  if (options.verify) tell_verified(machine, rank, outcome);
  return {};
}

std::string change_words(const VariableChange& change) {
  if (change.kept) return change.name + ": " + change.why;
  std::string words = change.name + "=" + change.value + ": " + change.why;
  if (change.before) words += " (it was \"" + *change.before + "\")";
  return words;
}

void tell_rank(const RunOptions& options, const model::RankPlacement& rank,
               const std::vector<VariableChange>& changes) {
  const std::string label = label_of(rank);
  if (options.why) {
    for (const model::Why& why : rank.why)
      say(label + why.what + ": " + why.text);
  }
  for (const VariableChange& change : changes) {
    const bool replaced = !change.kept && change.before && *change.before != change.value;
    if (options.why || replaced) say(label + change_words(change));
  }
}

void tell_notes(const std::vector<model::Note>& notes) {
  for (const model::Note& note : notes)
    say("angio: " + note.text + (note.remedy.empty() ? "" : ". " + note.remedy));
}

bool insists(const RunOptions& options) {
  return options.strict || options.placement.memory == "bind" || options.devices == "own";
}

std::vector<std::string> command_words(const RunOptions& options) {
  std::vector<std::string> words;
  for (char** word = options.command; *word != nullptr; ++word)
    words.emplace_back(*word);
  return words;
}

}  // namespace angio::app
