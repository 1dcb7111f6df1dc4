// One line a command.
#include <array>

#include "bench_command.hpp"
#include "collect_command.hpp"
#include "command.hpp"
#include "doctor_command.hpp"
#include "explain_command.hpp"
#include "plan_command.hpp"
#include "ps_command.hpp"
#include "run_command.hpp"
#include "topo_command.hpp"

namespace angio::app {

std::span<const Command> commands() {
  // clang-format off
  static constexpr std::array kCommands{
      Command{"collect", setup_collect},
      Command{"topo", setup_topo},
      Command{"doctor", setup_doctor},
      Command{"plan", setup_plan},
      Command{"run", setup_run, run_words},
      Command{"ps", setup_ps},
      Command{"bench", setup_bench},
      Command{"explain", setup_explain},
  };
  // clang-format on
  return kCommands;
}

}  // namespace angio::app
