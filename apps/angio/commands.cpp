// One line a command.
#include <array>

#include "advise_command.hpp"
#include "bench_command.hpp"
#include "bench_step.hpp"
#include "collect_command.hpp"
#include "collective_rank.hpp"
#include "command.hpp"
#include "compat_command.hpp"
#include "doctor_command.hpp"
#include "dryrun_command.hpp"
#include "dryrun_node.hpp"
#include "explain_command.hpp"
#include "fabric_command.hpp"
#include "history_command.hpp"
#include "judge_command.hpp"
#include "lint_command.hpp"
#include "log_command.hpp"
#include "mesh_command.hpp"
#include "mesh_node.hpp"
#include "nccl_topo_command.hpp"
#include "plan_command.hpp"
#include "profile_command.hpp"
#include "ps_command.hpp"
#include "rdma_command.hpp"
#include "run_command.hpp"
#include "scaling_command.hpp"
#include "topo_command.hpp"
#include "tune_command.hpp"
#include "tuner_command.hpp"

namespace angio::app {

std::span<const Command> commands() {
  // clang-format off
  static constexpr std::array kCommands{
      Command{"collect", setup_collect},
      Command{"topo", setup_topo},
      Command{"doctor", setup_doctor},
      Command{"log", setup_log},
      Command{"lint", setup_lint},
      Command{"nccl-topo", setup_nccl_topo},
      Command{"dryrun", setup_dryrun},
      Command{"plan", setup_plan},
      Command{"run", setup_run, run_words},
      Command{"ps", setup_ps},
      Command{"tuner", setup_tuner},
      Command{"profile", setup_profile},
      Command{"bench", setup_bench},
      Command{"tune", setup_tune},
      Command{"judge", setup_judge},
      Command{"scaling", setup_scaling},
      Command{"fabric", setup_fabric},
      Command{"rdma", setup_rdma},
      Command{"mesh", setup_mesh},
      Command{"history", setup_history},
      Command{"compat", setup_compat},
      Command{"advise", setup_advise},
      Command{"explain", setup_explain},
      Command{"dryrun-node", nullptr, run_dryrun_node_words},  // of angio dryrun
      Command{"mesh-node", nullptr, run_mesh_node_words},      // of angio mesh
      Command{"collective-rank", nullptr, run_collective_rank_words},  // of angio bench collective
      Command{"step-rank", nullptr, run_step_rank_words},      // of angio bench step
  };
  // clang-format on
  return kCommands;
}

}  // namespace angio::app
