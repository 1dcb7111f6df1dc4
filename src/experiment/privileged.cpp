#include "experiment/privileged.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.hpp"

namespace angio::experiment {
namespace {

struct Tool {
  std::string_view name;
  // It changes something when one of these begins a later word; "" when it always does.
  std::string_view changing;
  std::string_view risk;
};

constexpr std::string_view kWholeMachine =
    "it changes the whole machine, for all jobs on it, until somebody sets it back";
constexpr std::string_view kNetwork = "it can cut this machine, or its jobs, off the network";
constexpr std::string_view kCard = "it changes the GPU for all its jobs and outlives the campaign";

constexpr std::array kTools{
    Tool{"sudo", "", "it runs with all rights"},
    Tool{"doas", "", "it runs with all rights"},
    Tool{"pkexec", "", "it runs with all rights"},
    Tool{"run0", "", "it runs with all rights"},
    Tool{"su", "-c -l - root --command --login --session-command", "it runs with all rights"},
    Tool{"runuser", "", "it runs with all rights"},
    Tool{"sysctl", "-w --write -p -f --load --system", kWholeMachine},
    Tool{"swapon", "", kWholeMachine},
    Tool{"swapoff", "", kWholeMachine},
    Tool{"mount", "-o -a -t -B --bind --options --all", kWholeMachine},
    Tool{"umount", "", kWholeMachine},
    Tool{
        "nvidia-smi",
        "-pm -pl -pwr -lgc -rgc -lmc -rmc -ac -rac -c -e -r -am -caa -gom -dm -mig -gtt -cc -cgi -cci -dgi "
        "-dci --gpu-reset "
        "--persistence-mode --power-limit --lock- --reset- --applications-clocks --compute-mode --ecc-config "
        "--multi-instance-gpu",
        kCard},
    Tool{"rocm-smi", "--set --reset", kCard},
    Tool{"amd-smi", "set reset", kCard},
    Tool{"tc", "add del change replace", kNetwork},
    Tool{"ip", "set add del change replace flush", kNetwork},
    Tool{"ethtool", "-s -G -L -K -C -A -X -N -U --set- --change --coalesce --pause --config", kNetwork},
    Tool{"mlnx_qos", "-p -f -t --pfc --trust", kNetwork},
    Tool{"cma_roce_tos", "-t", kNetwork},
    Tool{"mlxconfig", "set s reset", "it changes the adapter's firmware settings"},
    Tool{"setpci", "", "a wrong register can hang the machine"},
    Tool{"modprobe", "", kWholeMachine},
    Tool{"insmod", "", kWholeMachine},
    Tool{"rmmod", "", kWholeMachine},
    Tool{"cpupower", "frequency-set set idle-set", kWholeMachine},
    Tool{"systemctl", "start stop restart enable disable isolate", kWholeMachine},
};

constexpr std::array kRefused{
    RefusedKind{"sysctl", "sudo sysctl -w {name}={level}", kWholeMachine},
    RefusedKind{"write", "echo {level} | sudo tee {name}", kWholeMachine},
    RefusedKind{"nvidia_smi", "sudo nvidia-smi {name} {level}", kCard},
    RefusedKind{"tc", "sudo tc {name} {level}", kNetwork},
    RefusedKind{"ip_link", "sudo ip link set {name} {level}", kNetwork},
    RefusedKind{"ethtool", "sudo ethtool {name} {level}", kNetwork},
    RefusedKind{"module", "sudo modprobe {name} {level}", kWholeMachine},
};

// Shell lines apart into simple commands: "a b; c|(d)" is three. A list of words is one of them, unless a
// word is a line itself. Each ">" that follows no other begins a word.
std::vector<std::vector<std::string>> commands_in(std::span<const std::string> words) {
  std::vector<std::vector<std::string>> commands(1);
  std::string part;
  const auto end_word = [&] {
    if (!part.empty()) commands.back().push_back(std::move(part));
    part.clear();
  };
  for (const std::string& word : words) {
    for (const char c : word) {
      const bool redirects = part.ends_with('>');  // ">|" and ">&" join nothing
      if (std::string_view(" \t\"'").contains(c) || (redirects && std::string_view("|&").contains(c))) {
        if (!redirects) end_word();
      } else if (std::string_view("\n;|&()`").contains(c)) {
        end_word();
        if (!commands.back().empty()) commands.emplace_back();
      } else if (c != '\\') {
        if (c == '>' && !redirects) end_word();
        if (c != '/' || !part.ends_with('/')) part += c;
      }
    }
    if (!part.ends_with('>')) end_word();
  }
  end_word();
  return commands;
}

std::string_view base_name(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

bool is_kernel_path(std::string_view word) {
  return word.starts_with("/proc/") || word.starts_with("/sys/");
}

bool changes(const Tool& tool, std::span<const std::string> rest, std::string& with) {
  if (tool.changing.empty()) return true;
  for (const std::string& word : rest) {
    if (tool.name == "sysctl" && contains(word, "=")) {
      with = word;
      return true;
    }
    for (const std::string_view sign : split_words(tool.changing)) {
      const bool begins = sign.ends_with('-') || sign.starts_with("--");
      const std::string_view option = std::string_view(word).substr(0, word.find('='));  // "-pl=300"
      if (begins ? !option.starts_with(sign) : option != sign) continue;
      with = word;
      return true;
    }
  }
  return false;
}

std::optional<Privileged> find_tool(std::span<const std::string> parts, std::size_t at) {
  for (const Tool& tool : kTools) {
    std::string with;
    if (base_name(parts[at]) != tool.name || !changes(tool, parts.subspan(at + 1), with)) continue;
    return Privileged{std::string(tool.name) + (with.empty() ? "" : " " + with), std::string(tool.risk)};
  }
  return std::nullopt;
}

// What a word of a command writes to, if it is the kernel's: ">/sys/x", "of=/sys/x", the last word of cp.
std::string_view written_path(std::span<const std::string> parts, std::size_t at) {
  constexpr std::array<std::string_view, 2> kToAll{"tee", "truncate"};
  constexpr std::array<std::string_view, 3> kToLast{"cp", "mv", "install"};
  std::string_view word = parts[at];
  if (word.starts_with('>')) {
    word.remove_prefix(std::min(word.find_first_not_of('>'), word.size()));
    return is_kernel_path(word) ? word : "";
  }
  const std::string_view program = base_name(word);
  const std::span<const std::string> rest = parts.subspan(at + 1);
  if (std::ranges::find(kToLast, program) != kToLast.end())
    return !rest.empty() && is_kernel_path(rest.back()) ? std::string_view(rest.back()) : "";
  constexpr std::string_view kTarget = "of=";
  const bool in_place = program == "sed" && std::ranges::any_of(rest, [](const std::string& each) {
                          return each.starts_with("-i") || each.starts_with("--in-place");
                        });
  const bool all = in_place || std::ranges::find(kToAll, program) != kToAll.end();
  for (std::string_view each : rest) {
    const bool target = program == "dd" && each.starts_with(kTarget);
    if (target) each.remove_prefix(kTarget.size());
    if ((all || target) && is_kernel_path(each)) return each;
  }
  return "";
}

std::optional<Privileged> find_write(std::span<const std::string> parts, std::size_t at) {
  const std::string_view path = written_path(parts, at);
  if (path.empty()) return std::nullopt;
  return Privileged{path.starts_with("/sys/") ? "a write below /sys" : "a write below /proc",
                    std::string(kWholeMachine)};
}

}  // namespace

std::optional<Privileged> find_privileged(std::span<const std::string> words) {
  for (const std::vector<std::string>& parts : commands_in(words)) {
    for (std::size_t at = 0; at < parts.size(); ++at) {
      if (auto found = find_tool(parts, at)) return found;
      if (auto found = find_write(parts, at)) return found;
    }
  }
  return std::nullopt;
}

std::span<const RefusedKind> refused_kinds() {
  return kRefused;
}

}  // namespace angio::experiment
