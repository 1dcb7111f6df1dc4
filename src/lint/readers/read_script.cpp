#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lint/readers/source.hpp"

namespace angio::lint {
namespace {

// What editors of Windows put in front; no line of any format begins with it.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view without_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

// The file that NCCL_CONF_FILE names: comments and NAME=value, one of them NCCL's.
bool looks_like_nccl_conf(std::string_view text) {
  bool nccl = false;
  for (const std::string_view line : split_lines(text)) {
    const std::string_view words = trim(line);
    if (words.empty() || words.starts_with('#')) continue;
    const std::size_t equals = words.find('=');
    if (equals == std::string_view::npos || !readers::is_name(trim(words.substr(0, equals)))) return false;
    nccl = nccl || words.starts_with("NCCL_");
  }
  return nccl;
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

FileKind by_first_line(std::string_view text) {
  const std::string_view line = first_line(text);
  if (line.starts_with("#!")) return has(line, "python") ? FileKind::kPython : FileKind::kShell;
  if (line.starts_with("# syntax=docker/")) return FileKind::kDockerfile;
  if (line.starts_with("apiVersion:") || line.starts_with("---")) return FileKind::kYaml;
  return FileKind::kShell;
}

}  // namespace

std::string_view name_of(FileKind kind) {
  constexpr std::array<std::string_view, 7> kNames{
      "shell script", "env file", "nccl.conf", "Dockerfile", "YAML", "Python", "process environment"};
  return kNames[static_cast<std::size_t>(kind)];
}

FileKind recognise(std::string_view file_name, std::string_view text) {
  text = without_mark(text);
  const std::string name = to_lower(file_name.substr(file_name.rfind('/') + 1));
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (ends("nccl.conf")) return FileKind::kNcclConf;
  if (name == "dockerfile" || name == "containerfile" || name.starts_with("dockerfile.") ||
      ends(".dockerfile")) {
    return FileKind::kDockerfile;
  }
  if (ends(".yaml") || ends(".yml") || ends(".yaml.j2") || ends(".yml.j2")) return FileKind::kYaml;
  if (ends(".py") || ends(".ipy")) return FileKind::kPython;
  if (ends(".env") || name.starts_with(".env") || ends(".envfile") || name == "environment")
    return FileKind::kEnvFile;
  if (ends(".conf") && looks_like_nccl_conf(text)) return FileKind::kNcclConf;
  return by_first_line(text);
}

Script read_script(std::string name, std::string text, FileKind kind) {
  Script script;
  script.name = std::move(name);
  script.kind = kind;
  script.text = std::move(text);
  readers::Source source(script);
  const std::size_t begin = source.text_begin();
  switch (kind) {
    case FileKind::kShell:
      readers::read_shell(source, {begin, script.text.size(), {}, false, false, 0, {}});
      break;
    case FileKind::kEnvFile:
    case FileKind::kProcess:
      readers::read_env_file(source, begin, script.text.size());
      break;
    case FileKind::kNcclConf:
      readers::read_nccl_conf(source, begin, script.text.size());
      break;
    case FileKind::kDockerfile:
      readers::read_dockerfile(source);
      break;
    case FileKind::kYaml:
      readers::read_yaml(source);
      break;
    case FileKind::kPython:
      readers::read_python(source);
      break;
  }
  source.finish();
  const bool shell = kind == FileKind::kShell;
  if (shell && has(script.text, "\r\n")) {
    script.notes.emplace_back("lines end in CR LF: bash takes the CR as part of the last word of a line");
  }
  return script;
}

Script script_of_environment(std::string name,
                             const std::vector<std::pair<std::string, std::string>>& variables) {
  Script script;
  script.name = std::move(name);
  script.kind = FileKind::kProcess;
  for (const auto& [variable, value] : variables) {
    const std::size_t begin = script.text.size();
    script.text += fmt::format("{}={}\n", variable, value);
    Setting setting;
    setting.name = variable;
    setting.value = value;
    setting.via = "env:";
    // No lines: an environment is a list, and values may hold line ends.
    setting.name_place = {0, 0, begin, variable.size()};
    setting.value_place = {0, 0, begin + variable.size() + 1, value.size()};
    setting.statement_place = {0, 0, begin, script.text.size() - begin};
    script.settings.push_back(std::move(setting));
  }
  return script;
}

}  // namespace angio::lint
