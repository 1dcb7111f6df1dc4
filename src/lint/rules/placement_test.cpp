#include "lint/rules/launch_test_support.hpp"

namespace angio::lint {
namespace {

using testing::Case;
using testing::expect_cases;
using testing::find;
using testing::judged;
using testing::on;
using testing::told;

constexpr std::string_view kTwoNodes = "2 numa cores:8 { 4 gpu nvlink:full }";  // 16 CPUs, GPUs 0-3 and 4-7

TEST(Placement, Numactl) {
  static constexpr Case kCases[] = {
      {"placement.numactl.different-nodes", "numactl --cpunodebind=0 --membind=1 python train.py\n",
       "numactl --cpunodebind=0 --membind=0 python train.py\n"},
      {"placement.numactl.several-nodes", "numactl --cpunodebind=0,1 --membind=0,1 python train.py\n",
       "numactl --cpunodebind=0 --membind=0 python train.py\n"},
      {"placement.numactl.several-nodes", "numactl -N all -m all python train.py\n",
       "numactl -N 0 -m 0 python train.py\n"},
      {"placement.numactl.memory-without-cpus", "numactl --membind 1 python train.py\n",
       "numactl --membind 1 ./on_mcdram\n"},
      {"placement.numactl.memory-without-cpus", "numactl --membind 1 python train.py\n",
       "taskset -c 0-7 numactl --membind 1 python train.py\n"},
      {"placement.numactl.strict-memory", "numactl -N0 -m0 python train.py\n",
       "numactl -N0 --preferred=0 python train.py\n"},
      {"placement.numactl.around-srun", "numactl --cpunodebind=0 srun -n 8 python train.py\n",
       "srun -n 8 numactl --cpunodebind=0 python train.py\n"},
      {"placement.numactl.all-ranks-one-node",
       "numactl --cpunodebind=0 --membind=0 torchrun --nproc_per_node=8 train.py\n",
       "numactl --cpunodebind=0 --membind=0 python train.py --gpu 0\n"},
      {"placement.numactl.all-ranks-one-node", "numactl -N 1 mpirun -np 8 ./train\n",
       "mpirun -np 8 numactl -N 1 ./train\n"},
      {"placement.numactl.all-ranks-one-node", "numactl -N 1 deepspeed train.py\n",
       "numactl -N 1 deepspeed --num_gpus 1 train.py\n"},
      {"placement.numactl.group-of-ranks",
       "numactl -N0 torchrun --nproc-per-node=4 a.py &\nnumactl -N1 torchrun --nproc-per-node=4 b.py &\n",
       "numactl -N0 torchrun --nproc-per-node=1 a.py &\nnumactl -N1 torchrun --nproc-per-node=1 b.py &\n"},
      {"placement.numactl.interleave", "numactl --interleave=all python train.py\n",
       "numactl --interleave=all ./stream\n"},
  };
  expect_cases(kCases);
}

TEST(Placement, NumactlOnAKnownMachine) {
  static constexpr Case kCases[] = {
      {"placement.numactl.missing-node", "numactl --cpunodebind=2 python train.py\n",
       "numactl --cpunodebind=1 python train.py\n"},
      {"placement.numactl.missing-node", "numactl -N0 --membind=0-3 python train.py\n",
       "numactl --cpunodebind=netdev:eth0 python train.py\n"},
      {"placement.cpus.missing", "numactl --physcpubind=0-63 python train.py\n",
       "numactl --physcpubind=0-7 python train.py\n"},
      {"placement.cpus.missing", "docker run --cpuset-cpus=12-40 image python train.py\n",
       "docker run --cpuset-cpus=8-15 image python train.py\n"},
      {"placement.numactl.far-gpu", "CUDA_VISIBLE_DEVICES=4 numactl --cpunodebind=0 python train.py\n",
       "CUDA_VISIBLE_DEVICES=4 numactl --cpunodebind=1 python train.py\n"},
      {"placement.cpus.across-nodes", "taskset -c 4-11 python train.py\n",
       "taskset -c 8-15 python train.py\n"},
      {"placement.numactl.all-ranks-one-node", "numactl -N0 torchrun --nproc-per-node=8 train.py\n",
       "numactl -N0 torchrun --nproc-per-node=4 train.py\n"},
      {"placement.numactl.several-nodes", "numactl -N0 --membind=0,1 python train.py\n",
       "numactl -N0 -m0 python train.py\n"},
  };
  expect_cases(kCases, on(kTwoNodes));
  EXPECT_EQ(find(judged("taskset -c 0-3 python a.py\n", FileKind::kShell, on(kTwoNodes)),
                 "placement.cpus.hard-coded"),
            nullptr);
}

TEST(Placement, SaysWhichGpusAreFar) {
  const auto said = judged("numactl --cpunodebind=0 --membind=0 torchrun --nproc_per_node=8 train.py\n",
                           FileKind::kShell, on(kTwoNodes));
  const auto* complaint = find(said, "placement.numactl.all-ranks-one-node");
  ASSERT_NE(complaint, nullptr) << told(said);
  EXPECT_EQ(complaint->message,
            "--cpunodebind=0 holds all 8 ranks on NUMA node 0: GPUs 4-7 of gpu-a hang off node 1");
  EXPECT_EQ(complaint->severity, model::Severity::kWarning);
  EXPECT_EQ(complaint->place.line, 1U);
}

TEST(Placement, PartOfAMachineWithMoreNodesIsNoMistake) {
  const auto context = on("4 numa cores:4 { 2 gpu nvlink:full }");
  EXPECT_EQ(find(judged("numactl -N 0,1 -m 0,1 python train.py\n", FileKind::kShell, context),
                 "placement.numactl.several-nodes"),
            nullptr);
  const auto unknown = judged("numactl -N 2,3 -m 2,3 python train.py\n");
  ASSERT_NE(find(unknown, "placement.numactl.several-nodes"), nullptr);
  EXPECT_EQ(find(unknown, "placement.numactl.several-nodes")->severity, model::Severity::kInfo);
}

TEST(Placement, VisibleGpusOfTheNodeMakeItAGroup) {
  const auto said = judged("CUDA_VISIBLE_DEVICES=0,1,2,3 numactl -N0 torchrun --nproc-per-node=4 train.py\n");
  EXPECT_EQ(find(said, "placement.numactl.all-ranks-one-node"), nullptr) << told(said);
  ASSERT_NE(find(said, "placement.numactl.group-of-ranks"), nullptr) << told(said);
  EXPECT_EQ(find(said, "placement.numactl.group-of-ranks")->severity, model::Severity::kInfo);
}

TEST(Placement, CpuLists) {
  static constexpr Case kCases[] = {
      {"placement.cpus.hard-coded", "taskset -c 0-3 python train.py\n", "taskset -cp 0-3 4711\n"},
      {"placement.cpus.hard-coded", "numactl -C 0-13 python train.py\n", "numactl -N 0 python train.py\n"},
      {"placement.cpus.hard-coded", "docker run --cpuset-cpus=0-15 image python train.py\n",
       "docker run image python train.py\n"},
      {"placement.cpus.hard-coded", "import os\nos.sched_setaffinity(0, [0, 1, 2, 3])\n",
       "import os\nos.sched_setaffinity(0, cpus_of(node))\n", FileKind::kPython},
      {"placement.cpus.hard-coded", "import os\nos.sched_setaffinity(0, range(0, 4))\n",
       "# os.sched_setaffinity(0, [0, 1])\n", FileKind::kPython},
      {"placement.cpus.outside-mask", "taskset -c 0-7 numactl --physcpubind=4-11 python train.py\n",
       "taskset -c 0-7 numactl --physcpubind=4-7 python train.py\n"},
      {"placement.cpus.outside-mask",
       "docker run --cpuset-cpus=0-15 image numactl -C 16-31 python train.py\n",
       "docker run --cpuset-cpus=0-15 image numactl -N 0 python train.py\n"},
      {"placement.affinity.worker-pins",
       "loader = DataLoader(data, pin_memory=True, worker_init_fn=lambda i: os.sched_setaffinity(0, [0, "
       "1]))\n",
       "loader = DataLoader(data, pin_memory=True, worker_init_fn=seed)\n", FileKind::kPython},
  };
  expect_cases(kCases);
}

TEST(Placement, Slurm) {
  static constexpr Case kCases[] = {
      {"placement.srun.gpus-per-task",
       "srun --nodes=2 --ntasks-per-node=8 --gpus-per-task=1 python train.py\n",
       "srun --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 python train.py\n"},
      {"placement.srun.gpus-per-task",
       "#!/bin/bash\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-task=1\nsrun python train.py\n",
       "#!/bin/bash\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-task=1\n#SBATCH --gpu-bind=none\nsrun "
       "python train.py\n"},
      {"placement.srun.gpus-per-task", "srun --ntasks-per-node=4 --gpu-bind=closest python train.py\n",
       "srun --ntasks-per-node=1 --gpus-per-task=8 torchrun --nproc-per-node=8 train.py\n"},
      {"placement.srun.cpus-per-task", "#!/bin/bash\n#SBATCH --cpus-per-task=16\nsrun python train.py\n",
       "#!/bin/bash\n#SBATCH --cpus-per-task=16\nexport SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\nsrun python "
       "train.py\n"},
      {"placement.srun.cpus-per-task", "#!/bin/bash\n#SBATCH -c 16\nsrun python train.py\n",
       "#!/bin/bash\n#SBATCH -c 16\nsrun hostname\nsrun -c $SLURM_CPUS_PER_TASK python train.py\n"},
      {"placement.srun.one-cpu", "#!/bin/bash\n#SBATCH --gres=gpu:8\nsrun python train.py\n",
       "#!/bin/bash\n#SBATCH --gres=gpu:8\n#SBATCH --exclusive\nsrun python train.py\n"},
      {"placement.binding.twice", "srun --cpu-bind=cores numactl --cpunodebind=0 python train.py\n",
       "srun --cpu-bind=verbose,none numactl --cpunodebind=0 python train.py\n"},
      {"placement.binding.twice", "mpirun -np 8 --bind-to numa taskset -c 0-7 python train.py\n",
       "mpirun -np 8 --bind-to numa numactl --membind=0 python train.py\n"},
  };
  expect_cases(kCases);
}

TEST(Placement, Mpirun) {
  static constexpr Case kCases[] = {
      {"placement.mpirun.one-core", "export NCCL_DEBUG=WARN\nmpirun -np 8 --bind-to core python train.py\n",
       "mpirun -np 8 --bind-to core python solve_with_petsc.py\n"},
      {"placement.mpirun.one-core", "# 8 GPUs\nmpirun -np 8 --bind-to core python train.py\n",
       "# 8 GPUs\nexport OMP_NUM_THREADS=1\nmpirun -np 8 --bind-to core python train.py\n"},
      {"placement.mpirun.one-core", "module load cuda\nmpirun -np 8 --bind-to core python train.py\n",
       "mpirun -np 8 --map-by ppr:4:numa:PE=8 --bind-to core python train.py\n"},
      {"placement.mpirun.one-core", "export OMP_NUM_THREADS=8\nmpirun -np 8 --bind-to core ./solver\n",
       "mpirun -np 8 --bind-to core ./solver\n"},
      {"placement.mpirun.pe-conflict", "mpirun -np 8 --map-by slot:PE=4 --bind-to socket ./solver\n",
       "mpirun -np 8 --map-by slot:PE=4 --bind-to core ./solver\n"},
      {"placement.mpirun.unbound", "module load cuda\nmpirun -np 8 --bind-to none python train.py\n",
       "mpirun -np 8 --bind-to none ./build/all_reduce_perf -b 8 -e 1G -f 2 -g 1\n"},
  };
  expect_cases(kCases);
}

TEST(Placement, Threads) {
  static constexpr Case kCases[] = {
      {"placement.threads.oversubscribed",
       "#!/bin/bash\n#SBATCH --cpus-per-task=16\nexport OMP_NUM_THREADS=8\nsrun -c 16 torchrun "
       "--nproc-per-node=8 train.py\n",
       "#!/bin/bash\n#SBATCH --cpus-per-task=64\nexport OMP_NUM_THREADS=8\nsrun -c 64 torchrun "
       "--nproc-per-node=8 train.py\n"},
      {"placement.threads.same-cpus", "export GOMP_CPU_AFFINITY=0-7\ntorchrun --nproc-per-node=8 train.py\n",
       "export GOMP_CPU_AFFINITY=0-7\npython train.py\n"},
      {"placement.threads.unbound-ranks",
       "export OMP_PROC_BIND=close\ntorchrun --nproc-per-node=8 train.py\n",
       "export OMP_PROC_BIND=close\ntorchrun --numa-binding=node --nproc-per-node=8 train.py\n"},
  };
  expect_cases(kCases);
  const auto said =
      judged("OMP_NUM_THREADS=4 torchrun --nproc-per-node=8 train.py\n", FileKind::kShell, on(kTwoNodes));
  ASSERT_NE(find(said, "placement.threads.oversubscribed"), nullptr) << told(said);
  EXPECT_EQ(find(said, "placement.threads.oversubscribed")->message,
            "8 ranks x OMP_NUM_THREADS=4 = 32 threads on the 16 CPUs of gpu-a");
}

}  // namespace
}  // namespace angio::lint
