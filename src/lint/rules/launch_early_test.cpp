#include <array>

#include "lint/rules/launch_line.hpp"
#include "lint/rules/launch_test_support.hpp"

namespace angio::lint {
namespace {

using testing::Case;
using testing::expect_cases;
using testing::find;
using testing::judged;
using testing::told;

const std::string kJob = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n";

std::size_t line_of(const std::string& text, std::string_view rule = "launch.slurm.rank-expanded-early") {
  const auto complaints = judged(text);
  const auto* found = find(complaints, rule);
  return found == nullptr ? 0 : found->place.line;
}

TEST(LaunchEarly, BatchShellExpandsRanks) {
  EXPECT_EQ(line_of(kJob + "srun torchrun --nnodes=2 --node_rank=$SLURM_NODEID t.py\n"), 4U);
  EXPECT_EQ(line_of(kJob + "srun bash -c \"torchrun --nnodes=2 --node_rank=$SLURM_NODEID t.py\"\n"), 4U);
  EXPECT_EQ(line_of(kJob + "srun accelerate launch --num_machines 2 --machine_rank ${SLURM_NODEID} t.py\n"),
            4U);
  EXPECT_EQ(line_of(kJob + "export RANK=$SLURM_PROCID\nsrun python t.py\n"), 4U);
  EXPECT_EQ(line_of(kJob + "RANK=$SLURM_PROCID LOCAL_RANK=\"$SLURM_LOCALID\" srun python t.py\n"), 4U);
}

TEST(LaunchEarly, SilentWhereTasksExpand) {
  EXPECT_EQ(line_of(kJob + "srun bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID t.py'\n"), 0U);
  EXPECT_EQ(line_of(kJob + "srun bash -c \"torchrun --nnodes=2 --node_rank=\\$SLURM_NODEID t.py\"\n"), 0U);
  EXPECT_EQ(line_of("srun torchrun --nnodes=2 --node_rank=$SLURM_NODEID t.py\n"), 0U);
  EXPECT_EQ(line_of("#SBATCH --ntasks=1\nexport RANK=$SLURM_PROCID\nsrun python t.py\n"), 0U);
  EXPECT_EQ(line_of(kJob + "srun python t.py\nexport RANK=$SLURM_PROCID\n"), 0U);
  EXPECT_EQ(line_of(kJob + "export RANK=$SLURM_JOB_ID\nsrun python t.py # $SLURM_PROCID\n"), 0U);
  EXPECT_EQ(line_of(kJob + "srun bash <<'EOF'\ntorchrun --node_rank=$SLURM_NODEID t.py\nEOF\n"), 0U);
  EXPECT_EQ(line_of(kJob + "f() { torchrun --node_rank=$SLURM_NODEID t.py; }\nexport -f f\nsrun bash -c f\n"),
            0U);
}

TEST(LaunchEarly, AdviceIsRightWhenPasted) {
  const auto complaints = judged(kJob + "srun torchrun --nnodes=2 t.py\n");
  const auto* missing = find(complaints, "launch.torch.node-rank-missing");
  ASSERT_NE(missing, nullptr);
  EXPECT_EQ(missing->advice.rfind("srun bash -c 'torchrun --node-rank=$SLURM_NODEID …'", 0), 0U)
      << missing->advice;
}

TEST(LaunchEarly, LateDirectives) {
  const std::string late =
      "#!/bin/bash\n#SBATCH --nodes=1\n\nset -e\n#SBATCH --nodes=4\nsrun torchrun t.py\n";
  EXPECT_EQ(line_of(late, "launch.slurm.directive-late"), 5U);
  EXPECT_EQ(line_of(late, "launch.slurm.lone-nodes"), 0U);
  EXPECT_EQ(allocation_of(read_script("job.sh", late, FileKind::kShell)).nodes, 1);
  EXPECT_EQ(line_of(kJob + "# more\n\n#SBATCH --gres=gpu:4\nset -e\n", "launch.slurm.directive-late"), 0U);
}

TEST(LaunchEarly, Cases) {
  static constexpr std::array kCases{
      Case{"launch.slurm.lone-nodes", "#SBATCH -N 4\nsrun torchrun --nproc_per_node=8 t.py\n",
           "#SBATCH -N 4\nsrun torchrun --nnodes=4 --nproc_per_node=8 t.py\nsrun -N1 torchrun t.py\n"},
      Case{"launch.slurm.lone-nodes", "srun -N 2 bash -c 'torchrun --nproc_per_node=8 t.py'\n",
           "#SBATCH -N 2\ntorchrun --nproc_per_node=8 t.py\nsrun -n1 torchrun t.py\n"},
      Case{"launch.ranks.more-than-gpus",
           "#SBATCH --ntasks-per-node=8 --gres=gpu:4\nexport NCCL_DEBUG=WARN\nsrun python t.py\n",
           "#SBATCH --ntasks-per-node=4 --gres=gpu:4\nexport NCCL_DEBUG=WARN\nsrun python t.py\n"},
      Case{"placement.numactl.all-ranks-one-node",
           "#SBATCH --nodes=1 --ntasks-per-node=8 --gres=gpu:8\nsrun numactl --cpunodebind=0 --membind=0 "
           "python "
           "t.py\n",
           "#SBATCH --nodes=1 --ntasks-per-node=1 --gres=gpu:8\nsrun numactl --cpunodebind=0 --membind=0 "
           "python "
           "t.py\n"},
      Case{"launch.docker.not-forwarded", "export NCCL_DEBUG=INFO\ndocker run --rm img torchrun t.py\n",
           "export NCCL_DEBUG=INFO\ndocker run -e NCCL_DEBUG img torchrun t.py\ndocker run --env-file e img "
           "torchrun "
           "t.py\ndocker build .\n"},
      Case{"launch.sudo.not-forwarded", "export NCCL_DEBUG=INFO\nsudo python t.py\n",
           "export NCCL_DEBUG=INFO\nsudo -E python t.py\nsudo NCCL_DEBUG=INFO python t.py\nsudo dmesg\n"},
      Case{"placement.srun.one-cpu", "#SBATCH --gres=gpu:8\nsrun python t.py\n",
           "#SBATCH --gres=gpu:8\nmpirun -np 8 python t.py\n"},
      Case{"placement.srun.cpus-per-task", "#SBATCH --cpus-per-task=8\nsrun python t.py\n",
           "#SBATCH --cpus-per-task=8\nsrun --cpu-bind=mask_cpu:0xff,0xff00 python t.py\n"},
  };
  expect_cases(kCases);
}

}  // namespace
}  // namespace angio::lint
