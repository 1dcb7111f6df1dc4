// The form of a setting in its file: empty, quoted where nothing takes quotes off, a comment that becomes
// part of the value, set twice, never exported.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "base/text.hpp"
#include "lint/rules/environments.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

using knowledge::VariableKind;

std::string_view raw_value(const Known& known) {
  return std::string_view(known.script.text)
      .substr(known.setting.value_place.offset, known.setting.value_place.length);
}

void check_empty(const Known& known, Complaints& out) {
  const bool text = known.variable.kind == VariableKind::kText || known.variable.kind == VariableKind::kList;
  if (!known.setting.value.empty() || known.setting.dynamic || known.variable.component != "nccl") return;
  // "export NCCL_DEBUG= INFO" is a complaint of its own.
  const std::string_view rest = std::string_view(known.script.text).substr(known.setting.value_place.offset);
  const std::string_view line = rest.substr(0, rest.find_first_of("\r\n#;&|"));
  if (known.setting.via.ends_with("export") && line.starts_with(' ') && !trim(line).empty()) return;
  out.push_back(complain("env.value.empty", known.script, known.setting.name_place,
                         fmt::format("{} is empty: NCCL goes on as if it were not set", known.variable.name),
                         text ? "unset it" : "unset it; an empty number is not 0"));
}

// From the end of the value to the end of its line.
Edit rest_of_line(const Script& script, std::size_t begin) {
  const std::size_t end = std::min(script.text.find_first_of("\r\n", begin), script.text.size());
  return {begin, end - begin, ""};
}

void check_comment(const Known& known, Complaints& out) {
  if (!known.setting.comment_glued) return;
  const std::string_view kind = known.script.kind == FileKind::kNcclConf
                                    ? "nccl.conf has no comments behind a value"
                                : known.script.kind == FileKind::kDockerfile
                                    ? "ENV has no comments behind a value"
                                    : "docker --env-file and systemd have no comments behind a value";
  auto complaint = complain("env.value.glued-comment", known.script, known.setting.value_place,
                            fmt::format("{}: {}, so it becomes part of it", shown(known.setting), kind),
                            "put the comment on its own line");
  const std::string_view text = known.script.text;
  const std::size_t begin = known.setting.value_place.offset;
  const std::size_t line_end = std::min(text.find('\n', begin), text.size());
  std::size_t mark = text.substr(0, line_end).find(" #", begin);
  if (mark == std::string_view::npos) mark = text.substr(0, line_end).find("\t#", begin);
  const bool one_setting = known.script.kind != FileKind::kDockerfile ||
                           text.substr(begin, line_end - begin).find('=') == std::string_view::npos;
  if (mark != std::string_view::npos && one_setting) {
    while (mark > begin && (text[mark - 1] == ' ' || text[mark - 1] == '\t'))
      --mark;
    complaint.fix.push_back(rest_of_line(known.script, mark));
  }
  if (known.script.kind == FileKind::kEnvFile) {
    complaint.severity = model::Severity::kInfo;
    complaint.fix.clear();
  }
  out.push_back(std::move(complaint));
}

bool is_quoted(std::string_view raw) {
  return raw.size() >= 2 && (raw.front() == '"' || raw.front() == '\'') && raw.back() == raw.front();
}

void check_quotes(const Known& known, Complaints& out) {
  const std::string_view raw = raw_value(known);
  if (!is_quoted(raw)) return;
  if (known.script.kind == FileKind::kNcclConf) {
    auto complaint = complain(
        "env.value.quoted", known.script, known.setting.value_place,
        fmt::format("{}: nccl.conf takes no quotes off, they become part of the value", shown(known.setting)),
        "write it without quotes");
    complaint.fix.push_back(
        {known.setting.value_place.offset, raw.size(), std::string(raw.substr(1, raw.size() - 2))});
    out.push_back(std::move(complaint));
  } else if (known.script.kind == FileKind::kEnvFile && known.setting.via == "env file") {
    auto complaint =
        complain("env.value.quoted", known.script, known.setting.value_place,
                 fmt::format("{}: docker --env-file keeps the quotes in the value", shown(known.setting)),
                 "write it without quotes if docker reads this file; systemd and compose take them off");
    complaint.severity = model::Severity::kInfo;
    out.push_back(std::move(complaint));
  }
}

// nccl.conf: a blank in front of or behind '=' belongs to the name or the value.
void check_conf_blanks(const Known& known, Complaints& out) {
  if (known.script.kind != FileKind::kNcclConf) return;
  const Place& name = known.setting.name_place;
  const Place& value = known.setting.value_place;
  const bool marked = name.line == 1 && known.script.text.starts_with("\xEF\xBB\xBF");
  const bool before = name.column != (marked ? 4U : 1U);
  const bool behind = name.offset + name.length + 1 != value.offset;
  const std::string_view raw = raw_value(known);
  const std::string_view bare = trim(raw);
  if (!before && !behind && raw.size() == bare.size()) return;
  const std::string_view start = std::string_view(known.script.text).substr(name.offset - (name.column - 1));
  std::string_view what = "nccl.conf keeps blanks, so the value has one";
  if (before || behind) what = "nccl.conf keeps blanks, so the name has one and nothing reads it";
  if (start.starts_with("export "))
    what = "nccl.conf is no shell script: \"export\" becomes part of the name";
  auto complaint =
      complain("env.conf.blanks", known.script, name, fmt::format("{}: {}", known.variable.name, what),
               "write NAME=value without blanks");
  if (!known.setting.comment_glued) {
    const std::size_t begin = name.offset - (name.column - 1) + (marked ? 3 : 0);
    complaint.fix.push_back(
        {begin, value.offset + value.length - begin, fmt::format("{}={}", known.setting.name, bare)});
  }
  out.push_back(std::move(complaint));
}

void check_list_blanks(const Known& known, Complaints& out) {
  const bool list = known.variable.kind == VariableKind::kList && known.variable.component == "nccl";
  const std::string_view value = known.setting.value;
  if (!list || known.setting.dynamic || known.setting.comment_glued || trim(value) != value) return;
  if (value.find_first_of(" \t") == std::string_view::npos) return;
  std::string bare(value);
  std::erase_if(bare, [](char c) { return c == ' ' || c == '\t'; });
  const bool commas =
      value.find(',') != std::string_view::npos || trim(value).find_first_of(" \t") == std::string_view::npos;
  auto complaint =
      complain("env.value.blank-in-list", known.script, known.setting.value_place,
               fmt::format("{}: blanks belong to the names, which then match nothing", shown(known.setting)),
               commas ? fmt::format("write {}", shown(bare)) : "separate the names by commas");
  if (commas) fix_with(complaint, new_value(known.script, known.setting, bare));
  out.push_back(std::move(complaint));
}

// Blanks at the ends of a quoted value; numbers are read over them.
void check_end_blanks(const Known& known, Complaints& out) {
  const std::string_view value = known.setting.value;
  const std::string_view bare = trim(value);
  const FileKind kind = known.script.kind;
  if (bare == value || bare.empty() || kind == FileKind::kNcclConf || known.setting.dynamic) return;
  if (known.setting.comment_glued || reads_number(known.variable)) return;
  auto complaint =
      complain("env.value.end-blank", known.script, known.setting.value_place,
               fmt::format("{}=\"{}\": the blank at the {} belongs to the value, which then matches "
                           "nothing",
                           known.variable.name, shown(value), value.ends_with(bare) ? "start" : "end"),
               fmt::format("write \"{}\"", shown(bare)));
  fix_with(complaint, new_value(known.script, known.setting, bare));
  out.push_back(std::move(complaint));
}

// os.environ["X"] = True raises TypeError too.
bool check_python_word(const Known& known, std::string_view raw, Complaints& out) {
  if (raw != "True" && raw != "False" && raw != "None") return false;
  const std::string_view wanted = raw == "True" ? "1" : "0";
  auto complaint = complain(
      "python.environ.not-a-string", known.script, known.setting.value_place,
      fmt::format("{}={}: os.environ takes strings; {} raises TypeError", known.variable.name, raw, raw),
      raw == "None" ? std::string("leave it out, or del os.environ[…]")
                    : fmt::format("write \"{}\"", wanted));
  if (raw != "None" && reads_number(known.variable))
    complaint.fix.push_back({known.setting.value_place.offset, raw.size(), fmt::format("\"{}\"", wanted)});
  out.push_back(std::move(complaint));
  return true;
}

// os.environ["X"] = 1 raises TypeError.
void check_python(const Known& known, Complaints& out) {
  if (known.script.kind != FileKind::kPython) return;
  if (known.setting.via.starts_with("os.") && check_python_word(known, trim(raw_value(known)), out)) return;
  if (known.setting.dynamic) return;
  const bool environment = known.setting.via.starts_with("os.");
  const std::string_view raw = raw_value(known);
  if (!environment || raw.empty() || raw.front() < '0' || raw.front() > '9') return;
  auto complaint =
      complain("python.environ.not-a-string", known.script, known.setting.value_place,
               fmt::format("{}: os.environ takes strings; a number raises TypeError", shown(known.setting)),
               fmt::format("write \"{}\"", shown(raw)));
  complaint.fix.push_back({known.setting.value_place.offset, raw.size(), fmt::format("\"{}\"", raw)});
  out.push_back(std::move(complaint));
}

// Kubernetes wants strings; 1 and true are none in YAML.
void check_kubernetes(const Known& known, bool kubernetes, Complaints& out) {
  const bool value = known.setting.via == "env" || known.setting.via == "KEY: value";
  if (!value || known.setting.dynamic || known.setting.value.empty() || !kubernetes) return;
  const std::string_view raw = raw_value(known);
  if (raw != known.setting.value) return;  // quoted
  const bool number = parse_double(raw).has_value();
  const bool boolean = known.is_kubernetes_boolean();
  if (!number && !boolean) return;
  // NCCL reads words as 0: what was meant is a digit.
  const bool digit = boolean && reads_number(known.variable);
  const std::string wanted = digit ? (truth_of(raw).value_or(false) ? "1" : "0") : std::string(raw);
  auto complaint = complain("kubernetes.env.not-a-string", known.script, known.setting.value_place,
                            fmt::format("{}: Kubernetes refuses a {} here, values are strings",
                                        shown(known.setting), number ? "number" : "boolean"),
                            fmt::format("write \"{}\"{}", wanted, digit ? "; NCCL reads a number here" : ""));
  complaint.fix.push_back({known.setting.value_place.offset, raw.size(), fmt::format("\"{}\"", wanted)});
  out.push_back(std::move(complaint));
}

void check_run(const Known& known, Complaints& out) {
  if (known.setting.via != "RUN export") return;
  out.push_back(complain("docker.run.export-lost", known.script, known.setting.name_place,
                         fmt::format("{}: set in RUN, gone when that layer is built", shown(known.setting)),
                         fmt::format("ENV {}={} keeps it", known.setting.name, shown(known.setting.value))));
}

// --export=ALL,NCCL_IB_HCA=mlx5_0,mlx5_1: Slurm splits at every comma, the value ends at the first.
void check_slurm_list(const Known& known, Complaints& out) {
  if (!known.setting.via.ends_with("--export")) return;
  const std::string_view text = known.script.text;
  const std::size_t end = known.setting.value_place.offset + known.setting.value_place.length;
  if (end >= text.size() || text[end] != ',') return;
  const std::size_t stop = std::min(text.find_first_of(", \t\r\n\"'", end + 1), text.size());
  const std::string_view next = text.substr(end + 1, stop - end - 1);
  const bool variable = next.find('=') != std::string_view::npos ||
                        std::ranges::none_of(next, [](char c) { return c >= 'a' && c <= 'z'; });
  if (next.empty() || variable) return;
  out.push_back(
      complain("slurm.export.comma", known.script, known.setting.value_place,
               fmt::format("{}: Slurm splits --export at commas, \"{}\" is no longer part of the value",
                           shown(known.setting), shown(next)),
               "export the variable in the script and pass --export=ALL"));
}

// Names behind a '$' anywhere in the text.
std::set<std::string_view> names_used(std::string_view text) {
  std::set<std::string_view> names;
  for (std::size_t i = text.find('$'); i != std::string_view::npos; i = text.find('$', i + 1)) {
    std::size_t begin = i + 1;
    if (begin < text.size() && text[begin] == '{') ++begin;
    std::size_t end = begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    names.insert(text.substr(begin, end - begin));
  }
  return names;
}

bool unconditional(const Setting& setting) {
  return setting.statement_place.length > 0;
}

// Offsets of commands that may start a job. An export behind one is the next run of a sweep, no repeat.
std::vector<std::size_t> runs_of(const Script& script) {
  constexpr std::array<std::string_view, 20> kQuiet{
      "export", "declare", "typeset", "readonly", "local", "unset", "setenv", "unsetenv", "set",    "echo",
      "printf", "cd",      "test",    "[",        "[[",    "mkdir", "ulimit", "module",   "source", "."};
  std::vector<std::size_t> offsets;
  for (const Command& command : script.commands)
    if (std::ranges::find(kQuiet, command.words.front().text) == kQuiet.end())
      offsets.push_back(command.place.offset);
  return offsets;
}

bool runs_between(const std::vector<std::size_t>& runs, const Setting& first, const Setting& second) {
  const auto next = std::ranges::upper_bound(runs, first.name_place.offset);
  return next != runs.end() && *next < second.name_place.offset;
}

}  // namespace

bool is_kubernetes(const Script& script) {
  return script.kind == FileKind::kYaml && script.text.find("apiVersion:") != std::string::npos &&
         script.text.find("kind:") != std::string::npos;
}

void check_form(const Known& known, bool kubernetes, Complaints& out) {
  check_empty(known, out);
  check_comment(known, out);
  check_quotes(known, out);
  check_conf_blanks(known, out);
  check_list_blanks(known, out);
  check_end_blanks(known, out);
  check_python(known, out);
  check_kubernetes(known, kubernetes, out);
  check_run(known, out);
  check_slurm_list(known, out);
}

// The same variable twice at the top level of one file.
void check_repeats(const Script& script, Complaints& out) {
  std::map<std::string_view, const Setting*> seen;
  const bool first_wins = script.kind == FileKind::kNcclConf;
  const auto runs = runs_of(script);
  for (const Setting& setting : script.settings) {
    if (setting.unset) seen.erase(setting.name);
    if (setting.unset || !unconditional(setting) || setting.dynamic ||
        knowledge::find_variable(setting.name) == nullptr)
      continue;
    if (command_of(script, setting) != nullptr) continue;
    const auto [before, fresh] = seen.emplace(setting.name, &setting);
    if (fresh) continue;
    const Setting& earlier = *before->second;
    if (earlier.via != setting.via) continue;
    if (runs_between(runs, earlier, setting)) {
      before->second = &setting;
      continue;
    }
    const bool same = earlier.value == setting.value;
    auto complaint =
        complain("env.set.twice", script, setting.name_place,
                 same ? fmt::format("{}: already set in line {}", shown(setting), earlier.name_place.line)
                      : fmt::format("{}: line {} sets {}; {}", shown(setting), earlier.name_place.line,
                                    shown(earlier.value),
                                    first_wins ? "in nccl.conf the first line wins" : "this one wins"),
                 "keep one of them");
    if (same) complaint.severity = model::Severity::kInfo;
    out.push_back(std::move(complaint));
    if (!first_wins) before->second = &setting;
  }
}

// NAME=value on its own line without export: no child sees it. Used as $NAME it may be meant for the script.
void check_exports(const Script& script, Complaints& out) {
  std::optional<std::set<std::string_view>> used;
  for (const Setting& setting : script.settings) {
    if (setting.exported || setting.unset || setting.via != "assignment") continue;
    const knowledge::Variable* variable = knowledge::find_variable(setting.name);
    if (variable == nullptr || variable->component == "build" || variable->component == "slurm") continue;
    const bool covered = setting.name.starts_with("NCCL_") || setting.name.starts_with("TORCH_NCCL_") ||
                         setting.name.starts_with("UCX_");
    if (!covered) continue;
    if (!used) used = names_used(script.text);
    if (used->contains(setting.name)) continue;
    out.push_back(
        complain("env.export.missing", script, setting.name_place,
                 fmt::format("{}: a shell variable without export, no program sees it", shown(setting)),
                 fmt::format("export {}={}", setting.name, shown(setting.value))));
  }
}

}  // namespace angio::lint
