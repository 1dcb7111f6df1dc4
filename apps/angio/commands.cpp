// One line a command.
#include <array>

#include "collect_command.hpp"
#include "command.hpp"
#include "doctor_command.hpp"
#include "explain_command.hpp"
#include "topo_command.hpp"

namespace angio::app {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"collect", setup_collect},
      Command{"topo", setup_topo},
      Command{"doctor", setup_doctor},
      Command{"explain", setup_explain},
  };
  return kCommands;
}

}  // namespace angio::app
