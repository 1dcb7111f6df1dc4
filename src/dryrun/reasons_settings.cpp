// What became of each setting of a run: not handed on, not known, read, or not to be told.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "dryrun/reasons_case.hpp"
#include "knowledge/variables.hpp"

namespace angio::dryrun {
namespace {

constexpr std::string_view kOwn = "ANGIO_";
constexpr std::string_view kTuner = "ANGIO_TUNER_";
constexpr std::string_view kProfiler = "ANGIO_PROFILER_";

// "NCCL_SOCKET_IFNAME=eth9 is not handed on: the nodes …", a note of the run; the reason, or empty.
std::string kept_out(const Case& one, const std::string& name, const std::string& value) {
  const std::string start = fmt::format("{}={} is not handed on: ", name, printable(value));
  for (const std::string& note : one.run.notes)
    if (note.starts_with(start)) return printable(note.substr(start.size()));
  return {};
}

// As NCCL reads and prints numbers: "0x10" is 16.
bool is_same_value(std::string_view given, std::string_view read) {
  given = trim(given);
  read = trim(read);
  if (given == read) return true;
  const auto number = [](std::string_view text) {
    return text.starts_with("0x") ? parse_integer<std::int64_t>(text.substr(2), 16)
                                  : parse_integer<std::int64_t>(text);
  };
  const auto one = number(given);
  return one && one == number(read);
}

// What NCCL says that it read; the value that was given before any other.
const model::NcclSetting* find_read(const Case& one, const std::string& name, const std::string& value) {
  if (one.log == nullptr) return nullptr;
  for (const model::NcclSetting& setting : one.log->settings)
    if (setting.name == name && is_same_value(value, setting.value)) return &setting;
  return read_setting(*one.log, name);
}

// NCCL 2.21 and 2.22 say of their plugins "TUNER/Plugin: NCCL_TUNER_PLUGIN set to …".
const model::NcclPlugin* find_plugin(const Case& one, const std::string& name) {
  if (one.log == nullptr) return nullptr;
  const auto found = std::ranges::find_if(one.log->plugins, [&](const model::NcclPlugin& plugin) {
    return contains(plugin.text, name + " set to ");
  });
  return found == one.log->plugins.end() ? nullptr : &*found;
}

// The first line of Angio's own plugin, a complaint before what it took.
std::string cite_own(const Case& one, std::string_view plugin, const Answers& answers) {
  if (one.log == nullptr) return {};
  for (const model::NcclEvent& event : one.log->events)
    if (contains(event.text, plugin)) return answers.cite(event.source, event.text);
  for (const model::NcclPlugin& each : one.log->plugins)
    if (each.text.starts_with(plugin)) return answers.cite(each.source, each.text);
  return {};
}

Answer of_angio(const Case& one, const std::string& name, const Answers& answers) {
  const bool tuner = name.starts_with(kTuner);
  if (!tuner && !name.starts_with(kProfiler)) return {"It is Angio's own, not NCCL's.", {}};
  const std::string plugin = tuner ? "TUNER/Angio" : "PROFILER/Angio";
  Answer answer{
      fmt::format("It is Angio's own: its {} plugin reads it, not NCCL.", tuner ? "tuner" : "profiler"), {}};
  std::string line = cite_own(one, plugin, answers);
  if (line.empty())
    answer.text += fmt::format(" The log has no line of {}.", plugin);
  else
    answer.evidence.push_back(std::move(line));
  return answer;
}

std::string not_read(const Case& one, const knowledge::Variable* variable, const std::string& name) {
  if (variable == nullptr)
    return "No release of NCCL that is catalogued reads a variable of this name: see angio lint.";
  if (variable->component != "nccl") return fmt::format("It is {}'s, not NCCL's.", variable->component);
  if (!one.release.empty()) {
    const knowledge::VariableLife life = knowledge::life_at(*variable, one.release);
    if (life == knowledge::VariableLife::kNotYet)
      return fmt::format("NCCL {} does not know it: it came with {}.", one.release, variable->since);
    if (life == knowledge::VariableLife::kRemoved)
      return fmt::format("NCCL {} no longer reads it: {} was the last.", one.release, variable->until);
  }
  if (name.starts_with("NCCL_DEBUG"))
    return "It was not handed on: a dry run sets NCCL's log itself, to be able to read it.";
  return fmt::format("{}the log does not say that NCCL read it; what it is for may not have come up.",
                     kCannotTell);
}

std::string effect_of(const knowledge::Variable* variable) {
  const std::string effect = variable == nullptr || variable->effect.empty()
                                 ? std::string("NCCL read it.")
                                 : fmt::format("NCCL read it. It is for: {}.", variable->effect);
  return effect + " What changed by it shows beside a run without it (--set-a, --set-b).";
}

// The adapters that NCCL was offered on the first node; empty: the log has no list.
std::string offered(const Case& one) {
  if (one.nodes.empty()) return {};
  std::vector<std::string> names;
  for (const auto& [number, name] : one.nodes.front().offered)
    names.push_back(printable(name));
  return join(names, " ");
}

Answer fate_of(const Case& one, const std::string& name, const std::string& value, const Answers& answers) {
  if (const std::string why = kept_out(one, name, value); !why.empty())
    return {fmt::format("It was not handed on: {}.", why), {}};
  if (name == "NCCL_IB_HCA" && one.run.net == "phantom" && !offered(one).empty())
    return {fmt::format("The phantom network keeps to it: NCCL was offered {}.", offered(one)), {}};
  if (name.starts_with(kOwn)) return of_angio(one, name, answers);
  const knowledge::Variable* variable = knowledge::find_variable(name);
  if (const model::NcclSetting* read = find_read(one, name, value)) {
    const std::string cited = answers.cite(read->source, fmt::format("{} set to {}", name, read->value));
    if (is_same_value(value, read->value)) return {effect_of(variable), {cited}};
    return {fmt::format("Nothing: NCCL read another value, {}={}.", name, printable(read->value)), {cited}};
  }
  if (const model::NcclPlugin* plugin = find_plugin(one, name))
    return {effect_of(variable), {answers.cite(plugin->source, plugin->text)}};
  return {not_read(one, variable, name), {}};
}

}  // namespace

void explain_settings(const Case& one, Answers& answers) {
  std::map<std::string, std::string> settings;  // the last of a name holds
  for (const auto& [name, value] : one.run.settings)
    settings[name] = value;
  for (const auto& [name, value] : settings) {
    Answer answer = fate_of(one, name, value, answers);
    answers.add(printable(fmt::format("What did {}={} do?", name, value)), std::move(answer.text),
                std::move(answer.evidence));
  }
}

}  // namespace angio::dryrun
