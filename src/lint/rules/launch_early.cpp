// What the batch shell makes of a script before srun starts anything: SLURM_PROCID and its kin are those of
// the batch step there, and #SBATCH lines behind the first command are comments.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lint/rules/launch_rules.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

constexpr std::array<std::string_view, 3> kRanks{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"};

// "SLURM_NODEID" of "$SLURM_NODEID" and "${SLURM_NODEID…"; the text begins at the '$'.
std::string_view rank_at(std::string_view text) {
  text.remove_prefix(1);
  if (text.starts_with('{')) text.remove_prefix(1);
  for (const std::string_view name : kRanks)
    if (text.starts_with(name) && (text.size() == name.size() || !is_word(text[name.size()]))) return name;
  return {};
}

struct Use {
  std::size_t offset = 0;
  std::string_view name;
};

// Expansions that the outermost shell makes: not in single quotes, not behind a backslash.
std::vector<Use> expanded_here(std::string_view text, std::size_t begin, std::size_t end) {
  std::vector<Use> uses;
  bool single = false;
  bool twice = false;
  for (std::size_t i = begin; i < end; ++i) {
    const char c = text[i];
    if (single) {
      single = c != '\'';
    } else if (c == '\\') {
      ++i;
    } else if (c == '"') {
      twice = !twice;
    } else if (c == '\'') {
      single = !twice;
    } else if (c == '$') {
      if (const auto name = rank_at(text.substr(i, end - i)); !name.empty()) uses.push_back({i, name});
    }
  }
  return uses;
}

class Early {
 public:
  Early(const Job& job, Complaints& out) : job_(job), out_(out), lines_(job.script->text) {}

  void late_directives() {
    for (const auto& directive : job_.script->directives) {
      if (!directive.late) continue;
      out_.push_back(complain(
          "launch.slurm.directive-late", *job_.script, directive.place,
          printable(directive.text) + ": stands behind the first command, sbatch reads it as a comment",
          "move it above the first command, below #!"));
    }
  }

  void ranks() {
    if (!job_.allocation.slurm || job_.script->kind != FileKind::kShell) return;
    // A function that is handed to the tasks is expanded there; a script that starts itself is too.
    if (contains(job_.script->text, "export -f") || contains(job_.script->text, "srun \"$0\"") ||
        contains(job_.script->text, "srun $0"))
      return;
    find_here_documents();
    std::size_t outer_end = 0;
    for (const auto& line : job_.lines) {
      const Place& place = line.command->place;
      if (place.offset < outer_end) continue;  // stands in another command's text
      outer_end = place.offset + place.length;
      if (in_here_document(place.offset)) continue;
      if (starts_ranks(line)) {
        of_launch(line);
      } else if (line.command->words.front().text == "export") {
        const auto uses = place_uses(place);
        exports_.insert(exports_.end(), uses.begin(), uses.end());
      }
    }
    plain_assignments();
    of_exports();
  }

 private:
  std::vector<Use> place_uses(const Place& place) const {
    return expanded_here(job_.script->text, place.offset, place.offset + place.length);
  }

  static bool starts_ranks(const Line& line) {
    return find_group_launcher(line) != nullptr || find_stage(line, {"srun"}) != nullptr;
  }

  // RANK=$SLURM_PROCID alone, exported elsewhere.
  void plain_assignments() {
    for (const auto& setting : job_.script->settings) {
      if (setting.via != "assignment" || !setting.exported || in_here_document(setting.name_place.offset))
        continue;
      const auto uses = place_uses(setting.value_place);
      exports_.insert(exports_.end(), uses.begin(), uses.end());
    }
  }

  void of_launch(const Line& line) {
    for (const auto& use : place_uses(line.command->place))
      if (!is_right(use.name, &line)) return add(use, "the batch shell expands it before the launch");
  }

  // Before a line that starts several ranks.
  void of_exports() {
    for (const auto& use : exports_) {
      const auto last = std::ranges::find_if(job_.lines.rbegin(), job_.lines.rend(), [&](const Line& line) {
        const auto* srun = find_stage(line, {"srun"});
        return srun != nullptr && line.stages.size() > 1 && !is_right(use.name, &line);
      });
      if (last == job_.lines.rend()) return;
      if (last->command->place.offset > use.offset) add(use, "srun hands this value to every task");
    }
  }

  // One task, or one node: 0 is what it should be.
  [[nodiscard]] bool is_right(std::string_view name, const Line* line) const {
    const auto& wanted = job_.allocation;
    const Stage* srun = line != nullptr ? find_stage(*line, {"srun"}) : nullptr;
    auto nodes = srun != nullptr ? number_option(*line, *srun, {"--nodes", "-N"}) : std::nullopt;
    if (!nodes) nodes = wanted.nodes;
    if (name == "SLURM_NODEID") return nodes == 1;
    auto tasks = srun != nullptr ? number_option(*line, *srun, {"--ntasks", "-n"}) : std::nullopt;
    if (!tasks) tasks = wanted.tasks;
    if (tasks == 1) return true;
    auto each = srun != nullptr ? number_option(*line, *srun, {"--ntasks-per-node"}) : std::nullopt;
    if (!each) each = wanted.tasks_per_node;
    return each == 1 && (name == "SLURM_LOCALID" || nodes == 1);
  }

  void add(const Use& use, std::string_view why) {
    const std::string name(use.name);
    const std::string_view each = name == "SLURM_NODEID" ? "node" : "task";
    out_.push_back(complain(
        "launch.slurm.rank-expanded-early", *job_.script, lines_.place(use.offset, use.name.size() + 1),
        "$" + name + " is 0 for every " + std::string(each) + " here: " + std::string(why),
        "srun bash -c '… $" + name + " …' in single quotes, so that each " + std::string(each) +
            " expands it"));
  }

  // Text of here-documents is no command of the batch shell; <<'EOF' is not expanded at all.
  void find_here_documents() {
    for (std::size_t i = 0; i < lines_.count(); ++i) {
      const std::string_view line = lines_.line(i);
      const auto mark = line.find("<<");
      if (mark == std::string_view::npos || line.substr(mark).starts_with("<<<") ||
          trim(line).starts_with('#'))
        continue;
      std::string_view word = line.substr(mark + 2);
      if (word.starts_with('-')) word.remove_prefix(1);
      word = trim(word);
      if (!word.empty() && (word[0] == '\'' || word[0] == '"' || word[0] == '\\')) word.remove_prefix(1);
      std::size_t length = 0;
      while (length < word.size() && is_word(word[length]))
        ++length;
      if (length == 0) continue;
      const std::size_t first = i + 1;
      std::size_t last = first;
      while (last < lines_.count() && trim(lines_.line(last)) != word.substr(0, length))
        ++last;
      if (last >= lines_.count()) return;  // no end: a shift, or a broken file
      documents_.push_back({lines_.start(std::min(first, lines_.count() - 1)), lines_.start(last)});
      i = last;
    }
  }

  [[nodiscard]] bool in_here_document(std::size_t offset) const {
    const auto after =
        std::ranges::upper_bound(documents_, offset, {}, &std::pair<std::size_t, std::size_t>::first);
    return after != documents_.begin() && offset < (after - 1)->second;
  }

  const Job& job_;
  Complaints& out_;
  TextLines lines_;
  std::vector<Use> exports_;
  std::vector<std::pair<std::size_t, std::size_t>> documents_;
};

}  // namespace

void check_early(const Job& job, Complaints& out) {
  Early early(job, out);
  early.late_directives();
  early.ranks();
}

}  // namespace angio::lint
