// Variables that the file sets and the ranks on other nodes never see: mpirun without -x, srun --export, ssh.
#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "lint/rules/launch_rules.hpp"

namespace angio::lint {
namespace {

// What a rank needs to see.
bool matters(std::string_view name) {
  for (const std::string_view prefix :
       {"NCCL_", "UCX_", "TORCH_NCCL_", "TORCH_DISTRIBUTED_", "FI_", "OMP_", "NVSHMEM_"})
    if (name.starts_with(prefix)) return true;
  return name == "MASTER_ADDR" || name == "MASTER_PORT" || name == "LD_PRELOAD";
}

// Exported before the line, each once, in the order of the file.
std::vector<std::string> exported_before(const Line& line) {
  std::vector<std::string> names;
  std::set<std::string, std::less<>> seen;
  for (const auto& setting : line.script->settings) {
    if (setting.name_place.offset >= line.command->place.offset || !matters(setting.name)) continue;
    if (!holds_for_later_lines(setting)) continue;
    if (!setting.exported || setting.unset || !seen.insert(setting.name).second) continue;
    names.push_back(setting.name);
  }
  return names;
}

// "NCCL_DEBUG, NCCL_IB_HCA and 2 more"
std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::string reach(const std::vector<std::string>& names) {
  return names.size() == 1 ? " reaches" : " reach";
}

class Forwarding {
 public:
  Forwarding(const Job& job, Complaints& out) : job_(job), out_(out) {}

  void check() {
    for (const auto& line : job_.lines) {
      if (const auto* mpirun = find_stage(line, {"mpirun"})) by_mpirun(line, *mpirun);
      if (const auto* srun = find_stage(line, {"srun"})) by_srun(line, *srun);
      if (const auto* docker = find_stage(line, {"docker"})) by_docker(line, *docker);
      if (line.command->sudo) by_sudo(line);
      if (const auto* remote = find_stage(line, {"ssh", "pdsh", "clush"})) by_ssh(line, *remote);
    }
  }

 private:
  // Once a file and rule: the variables are the same for each line.
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    said_.insert(std::string(rule));
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  // Only what is certainly Open MPI, started by ssh, on more than one host.
  void by_mpirun(const Line& line, const Stage& mpirun) {
    if (said("launch.mpirun.not-forwarded")) return;
    if (job_.allocation.slurm || job_.allocation.other || !is_open_mpi(mpirun) || !several_hosts(mpirun))
      return;
    std::vector<std::string> missing;
    for (auto& name : exported_before(line))
      if (!name.starts_with("OMPI_") && !forwards(mpirun, name)) missing.push_back(std::move(name));
    if (missing.empty()) return;
    std::string advice;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, missing.size()); ++i)
      advice += (i == 0 ? "" : " ") + ("-x " + missing[i]);
    add("launch.mpirun.not-forwarded", mpirun.place(),
        some(missing) + reach(missing) + " only the ranks of this host: Open MPI forwards nothing without -x",
        "mpirun " + advice + (missing.size() > 3 ? " …" : ""));
  }

  static bool is_open_mpi(const Stage& mpirun) {
    return find_option(mpirun, {"-x", "--mca", "-mca", "--prefix", "--allow-run-as-root",
                                "-allow-run-as-root", "--npernode", "-npernode"})
        .has_value();
  }

  static bool several_hosts(const Stage& mpirun) {
    if (find_option(mpirun, {"--hostfile", "-hostfile", "--machinefile", "-machinefile"})) return true;
    const auto hosts = find_option(mpirun, {"-H", "--host", "-host"});
    return hosts && contains(hosts->value, ",");
  }

  static bool forwards(const Stage& mpirun, std::string_view name) {
    for (std::size_t i = 1; i < mpirun.words.size(); ++i) {
      const auto& text = mpirun.words[i]->text;
      if (contains(text, "mca_base_env_list") || contains(text, "@") ||
          (mpirun.words[i]->dynamic && !contains(text, "=")))
        return true;
      if (mpirun.words[i - 1]->text != "-x") continue;
      if (text.substr(0, text.find('=')) == name) return true;
    }
    return false;
  }

  void by_srun(const Line& line, const Stage& srun) {
    if (said("launch.srun.export-drops")) return;
    const auto option = find_option(srun, {"--export"});
    const auto* directive = job_.allocation.export_directive;
    if (option && option->dynamic) return;
    const std::string exported = option                 ? option->value
                                 : directive != nullptr ? job_.allocation.exported
                                                        : "ALL";
    const auto parts = split(exported, ',');
    if (exported.empty() || std::ranges::any_of(parts, [](auto part) { return to_lower(part) == "all"; }))
      return;
    if (!option && clears_directive()) return;
    std::vector<std::string> missing;
    for (auto& name : exported_before(line)) {
      const auto passed = [&](std::string_view part) { return part.substr(0, part.find('=')) == name; };
      if (std::ranges::none_of(parts, passed)) missing.push_back(std::move(name));
    }
    if (missing.empty()) return;
    add("launch.srun.export-drops", option ? option->word->place : srun.place(),
        some(missing) + " never" + reach(missing) + " the tasks: " + (option ? "srun " : "#SBATCH ") +
            "--export=" + exported + (option ? " drops all other variables" : " holds for srun too"),
        option ? "srun --export=ALL," + (exported == "NONE" ? "NAME=value" : exported) : "srun --export=ALL");
  }

  // unset SLURM_EXPORT_ENV gives srun its default back.
  [[nodiscard]] bool clears_directive() const {
    return std::ranges::any_of(job_.script->settings,
                               [](const Setting& s) { return s.name == "SLURM_EXPORT_ENV"; });
  }

  void by_ssh(const Line& line, const Stage& remote) {
    if (said("launch.ssh.not-forwarded")) return;
    const bool group =
        find_torch(line) != nullptr || find_stage(line, {"accelerate", "deepspeed"}) != nullptr;
    if (!group) return;
    std::vector<std::string> missing;
    for (auto& name : exported_before(line))
      if (!mentions(line, name)) missing.push_back(std::move(name));
    if (missing.empty()) return;
    add("launch.ssh.not-forwarded", remote.place(),
        some(missing) + " never" + reach(missing) + " the ranks there: " + remote.program +
            " passes no variables on",
        "set them in the remote command, or in a file that both sides source");
  }

  static bool is_rank(const Line& line) {
    return find_group_launcher(line) != nullptr || find_stage(line, {"python"}) != nullptr ||
           line.stages.back().program.ends_with("_perf");
  }

  // A container starts with what its image and -e give it.
  void by_docker(const Line& line, const Stage& docker) {
    if (said("launch.docker.not-forwarded") || (docker.module != "run" && docker.module != "exec") ||
        !is_rank(line))
      return;
    std::vector<std::string> missing;
    for (auto& name : exported_before(line)) {
      if (hands_in(docker, name)) continue;
      if (!mentions(line, name)) missing.push_back(std::move(name));
    }
    if (missing.empty()) return;
    std::string advice = "docker " + docker.module;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, missing.size()); ++i)
      advice += " -e " + missing[i];
    add("launch.docker.not-forwarded", docker.place(),
        some(missing) + " never" + reach(missing) +
            " the container: docker passes on only what -e or --env-file names",
        advice + (missing.size() > 3 ? " …" : ""));
  }

  static bool hands_in(const Stage& docker, std::string_view name) {
    for (std::size_t i = 1; i < docker.words.size(); ++i) {
      const std::string_view text = docker.words[i]->text;
      if (text.starts_with("--env-file")) return true;
      if (docker.words[i]->dynamic && !text.starts_with('-') && !contains(text, "=") &&
          !contains(text, ":") && !contains(text, "/"))
        return true;  // $OPTIONS
      std::string_view given = text;
      if (given.starts_with("--env="))
        given.remove_prefix(6);
      else if (given.starts_with("-e") && given.size() > 2)
        given.remove_prefix(2);
      else if (docker.words[i - 1]->text != "-e" && docker.words[i - 1]->text != "--env")
        continue;
      if (given.substr(0, given.find('=')) == name) return true;
    }
    return false;
  }

  // sudo clears the environment unless told or configured otherwise.
  void by_sudo(const Line& line) {
    if (said("launch.sudo.not-forwarded") || !is_rank(line)) return;
    const Place& place = line.command->place;
    const std::string_view text = std::string_view(line.script->text).substr(place.offset, place.length);
    if (contains(text, " -E") || contains(text, "--preserve-env")) return;
    std::vector<std::string> missing;
    for (auto& name : exported_before(line))
      if (!contains(text, name)) missing.push_back(std::move(name));
    if (missing.empty()) return;
    add("launch.sudo.not-forwarded", place,
        some(missing) + " never" + reach(missing) + " the program: sudo drops the environment of its caller",
        "sudo --preserve-env=" + missing.front() + (missing.size() > 1 ? ",…" : "") + ", or no sudo");
  }

  // The remote command sets it, or reads a file that may.
  static bool mentions(const Line& line, std::string_view name) {
    for (const auto& stage : line.stages)
      for (const auto* word : stage.words)
        if (contains(word->text, name) || contains(word->text, "source ") || contains(word->text, ". /") ||
            contains(word->text, "SendEnv") || contains(word->text, "env.sh"))
          return true;
    return false;
  }

  [[nodiscard]] bool said(std::string_view rule) const { return said_.contains(rule); }

  const Job& job_;
  Complaints& out_;
  std::set<std::string, std::less<>> said_;
};

}  // namespace

void check_forwarding(const Job& job, Complaints& out) {
  Forwarding(job, out).check();
}

}  // namespace angio::lint
