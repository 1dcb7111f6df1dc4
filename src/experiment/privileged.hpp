// What changes more than the processes of a run: settings of the kernel, a driver, a card or the network.
// angio tune refuses them and prints what a person would have to decide. Words are looked at, scripts behind
// them are not.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace angio::experiment {

struct Privileged {
  std::string what;  // "sudo", "nvidia-smi -pl", "a write below /sys"
  std::string risk;
};

// In the words of a command; a word may be a whole shell line.
std::optional<Privileged> find_privileged(std::span<const std::string> words);

// A kind of factor that people ask for and that is refused: sysctl, write, nvidia_smi, tc, ip_link, ethtool,
// module.
struct RefusedKind {
  std::string_view key;
  std::string_view command;  // with {name} and {level}
  std::string_view risk;
};
std::span<const RefusedKind> refused_kinds();

}  // namespace angio::experiment
