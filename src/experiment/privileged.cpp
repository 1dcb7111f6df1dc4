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
    Tool{"sysctl", "-w --write -p --load --system", kWholeMachine},
    Tool{
        "nvidia-smi",
        "-pm -pl -pwr -lgc -rgc -lmc -rmc -ac -rac -c -e -r -am -caa -gom -dm -mig -gtt -cc --gpu-reset "
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

// A shell line apart: "a;b|(c)" is three.
std::vector<std::string> apart(std::span<const std::string> words) {
  std::vector<std::string> parts;
  for (const std::string& word : words) {
    std::string part;
    for (const char c : word) {
      const bool joint = std::string_view(" \t\n;|&()`\"'").contains(c);
      if (!joint) part += c;
      if (joint && !part.empty()) parts.push_back(std::move(part));
      if (joint) part.clear();
      if (c == '>' && part.size() > 1 && part[part.size() - 2] != '>') {
        parts.push_back(part.substr(0, part.size() - 1));
        part = ">";
      }
    }
    if (!part.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

std::string_view base_name(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

bool is_kernel_path(std::string_view word) {
  while (word.starts_with('>'))
    word.remove_prefix(1);
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
      if (begins ? !std::string_view(word).starts_with(sign) : word != sign) continue;
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

std::optional<Privileged> find_write(std::span<const std::string> parts, std::size_t at) {
  const std::string_view word = parts[at];
  const bool joined = word.starts_with('>') && is_kernel_path(word);
  const bool apart = (word == ">" || word == ">>" || word == "tee" || word == "-a") &&
                     at + 1 < parts.size() && is_kernel_path(parts[at + 1]);
  if (!joined && !apart) return std::nullopt;
  std::string_view path = joined ? word : std::string_view(parts[at + 1]);
  path.remove_prefix(path.find('/'));
  return Privileged{path.starts_with("/sys/") ? "a write below /sys" : "a write below /proc",
                    std::string(kWholeMachine)};
}

}  // namespace

std::optional<Privileged> find_privileged(std::span<const std::string> words) {
  const std::vector<std::string> parts = apart(words);
  for (std::size_t at = 0; at < parts.size(); ++at) {
    if (auto found = find_tool(parts, at)) return found;
    if (auto found = find_write(parts, at)) return found;
  }
  return std::nullopt;
}

std::span<const RefusedKind> refused_kinds() {
  return kRefused;
}

}  // namespace angio::experiment
