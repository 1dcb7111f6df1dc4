// The linter: files that set variables or start jobs, read into Scripts, judged by rules, mended by edits.
// It never runs what it reads and never guesses a value it cannot know (expansions are kept as unknown).
// Data flow: read_script (readers/) → Script → lint (rules/) → Complaints → apply_fixes → new text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/finding.hpp"
#include "model/machine.hpp"

namespace angio::lint {

enum class FileKind : std::uint8_t {
  kShell,     // Slurm batch files too
  kEnvFile,   // KEY=VALUE, docker --env-file, systemd EnvironmentFile
  kNcclConf,  // nccl.conf: KEY=VALUE, no quotes
  kDockerfile,
  kYaml,  // Kubernetes objects, compose files, anything with name/value pairs or KEY: value
  kPython,
  kProcess,  // the environment of a running process or of a process in a snapshot
};
std::string_view name_of(FileKind kind);  // "shell script"
// By name (job.sh, Dockerfile, *.yaml, nccl.conf) and first line (#!); shell when nothing tells.
FileKind recognise(std::string_view file_name, std::string_view text);

// Where in the text. offset and length are bytes into Script::text.
struct Place {
  std::uint32_t line = 0;    // from 1; 0: the whole file
  std::uint32_t column = 0;  // from 1
  std::size_t offset = 0;
  std::size_t length = 0;
};

// A variable that the file sets or removes.
struct Setting {
  std::string name;
  std::string value;     // unquoted; with expansions left as written when dynamic
  bool dynamic = false;  // has $…, `…`, {{…}} or an f-string: not known before the job runs
  bool unset = false;    // unset NAME, env -u, os.environ.pop
  bool exported = true;  // false: a plain assignment that no export follows; it reaches no child
  bool comment_glued =
      false;  // text follows the value where the format has no comments (Dockerfile ENV, nccl.conf)
  std::string
      via;  // "export", "assignment", "env", "mpirun -x", "srun --export", "ENV", "os.environ", "env:" …
  Place name_place;
  Place value_place;      // of the raw text, quotes included
  Place statement_place;  // the whole statement or line, for removal
};

struct Word {
  std::string text;  // unquoted
  bool dynamic = false;
  Place place;
};

// A simple command: "numactl --membind=0 python train.py". Continued lines are joined.
struct Command {
  // Without leading assignments and redirections, and without sudo, env, exec, nohup, time in front; never
  // empty.
  std::vector<Word> words;
  std::vector<Setting> environment;  // NAME=value in front of it
  Place place;
  bool background = false;   // ends in &
  bool sudo = false;         // sudo in front, taken out of words
  std::size_t pipeline = 0;  // commands joined by | share it
  std::string
      comment_after_backslash;  // "\ # text": the shell ends the command here; " ": only blanks follow
};

struct Directive {  // "#SBATCH --nodes=4"
  std::string text;
  Place place;
  bool late = false;  // behind the first command: sbatch no longer reads it
};

struct Script {
  std::string name;
  FileKind kind = FileKind::kShell;
  std::string text;
  std::vector<Setting> settings;  // in the order of the file, those of commands and launchers included
  std::vector<Command> commands;
  std::vector<Directive> directives;
  std::vector<std::string> notes;  // what could not be read: "line 12: quote never closed"
};

// Never fails: what cannot be read becomes a note.
Script read_script(std::string name, std::string text, FileKind kind);
// The environment of a process, already an allow-list.
Script script_of_environment(std::string name,
                             const std::vector<std::pair<std::string, std::string>>& variables);

// What is known beyond the file.
struct Context {
  std::string nccl_version;  // "2.28.9"; empty: not known
  std::string
      nccl_version_source;  // "--nccl", "libnccl.so.2.28.9 mapped by process 4711", "newest in the catalogue"
  std::map<std::string, std::string>
      versions;                          // "pytorch" → "2.7.0", "ucx" → "1.17": what is known of others
  std::optional<bool> several_nodes;     // none: not known; else from --nodes, #SBATCH, hosts
  std::vector<model::Machine> machines;  // snapshots given with --snap; may be empty
};

struct Edit {  // replaces length bytes at offset
  std::size_t offset = 0;
  std::size_t length = 0;
  std::string replacement;
};

struct Complaint {
  std::string rule;                                      // a key of data/lint
  model::Severity severity = model::Severity::kWarning;  // kCritical is printed as "error"
  std::string file;
  Place place;
  std::string message;    // one line, names variable and value
  std::string advice;     // what to do; may be empty
  std::vector<Edit> fix;  // only what is certainly right; empty: none
};

// A setting's standing after all files: what the job will see and where it came from.
struct Effective {
  std::string name;
  std::string value;
  std::string origin;  // "job.sh:12", "~/.nccl.conf:3", "default of 2.28.9"
  std::string effect;  // in words: "no effect: …" or what it changes
  bool has_effect = true;
};

// The release that files were judged by.
struct Release {
  std::string version;
  std::string source;  // "--nccl", "job.sh:4", "assumed: the newest in the catalogue"
  std::size_t files = 0;
};

struct Report {
  std::vector<Complaint> complaints;  // by file, line, column, rule
  std::vector<Release> releases;
  std::vector<Effective> effective;  // by name
};
Report lint(const std::vector<Script>& scripts, const Context& context);

// The text after the fixes of this file's complaints; overlapping edits: the first wins.
std::string apply_fixes(const Script& script, const std::vector<Complaint>& complaints);
// Unified diff with three lines of context.
std::string diff_text(std::string_view name, std::string_view before, std::string_view after);

}  // namespace angio::lint
