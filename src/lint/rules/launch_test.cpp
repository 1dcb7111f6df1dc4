#include "lint/rules/launch_line.hpp"
#include "lint/rules/launch_test_support.hpp"

namespace angio::lint {
namespace {

using testing::Case;
using testing::expect_cases;
using testing::find;
using testing::judged;
using testing::on;
using testing::told;

std::string programs(std::string_view text) {
  const auto script = read_script("job.sh", std::string(text), FileKind::kShell);
  const auto lines = lines_of(script);
  std::string found;
  for (const auto& stage : lines.front().stages)
    found += (found.empty() ? "" : " ") + stage.program;
  return found;
}

TEST(LaunchLine, TakesProgramsApart) {
  EXPECT_EQ(programs("srun -N2 --ntasks-per-node 1 numactl -N 0 python -u -m torch.distributed.run --nnodes "
                     "2 train.py --lr 1\n"),
            "srun numactl python train.py");
  EXPECT_EQ(programs("mpirun -np 8 --mca btl self --unknown-to-us 3 -x A python a.py\n"), "mpirun python");
  EXPECT_EQ(programs("docker run --rm --gpus all -v /a:/b image:tag torchrun --standalone train.py\n"),
            "docker torchrun train.py");
  EXPECT_EQ(programs("nsys profile -t cuda -o out taskset -c 0-3 timeout -k 5 60 ./a --x\n"),
            "nsys taskset timeout a");
  EXPECT_EQ(programs("taskset -pc 0-3 17\n"), "taskset");
  EXPECT_EQ(programs("echo torchrun\n"), "echo");
}

TEST(LaunchLine, KnowsWhatRunsTheInnerShell) {
  const auto script =
      read_script("job.sh", "srun -N 2 bash -c 'torchrun --nnodes 2 train.py'\n", FileKind::kShell);
  const auto lines = lines_of(script);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].stages.front().program, "srun");
  EXPECT_NE(find_torch(lines[1]), nullptr);
}

TEST(LaunchLine, ReadsDirectives) {
  const auto script = read_script("job.sh",
                                  "#!/bin/bash\n#SBATCH -N 4 # nodes\n#SBATCH "
                                  "--gres=gpu:a100:8,nvme:1\n#SBATCH --ntasks=32\n#SBATCH -c16\n",
                                  FileKind::kShell);
  const auto allocation = allocation_of(script);
  EXPECT_EQ(allocation.nodes, 4);
  EXPECT_EQ(allocation.gpus_per_node, 8);
  EXPECT_EQ(allocation.tasks_per_node, 8);
  EXPECT_EQ(allocation.cpus_per_task, 16);
}

constexpr std::string_view kSplit =
    "numactl --cpunodebind=0 --membind=0 python -m torch.distributed.launch --nproc_per_node=4 "
    "--master_port=29500 train.py --gpus 0,1,2,3 &\n"
    "numactl --cpunodebind=1 --membind=1 python -m torch.distributed.launch --nproc_per_node=4 "
    "--master_port=29501 train.py --gpus 4,5,6,7 &\n"
    "wait\n";

TEST(Launch, TwoLaunchesAreTwoJobs) {
  const auto said = judged(kSplit);
  const auto* complaint = find(said, "launch.torch.split-group");
  ASSERT_NE(complaint, nullptr) << told(said);
  EXPECT_EQ(complaint->place.line, 2U);
  EXPECT_EQ(complaint->severity, model::Severity::kCritical);
  EXPECT_EQ(complaint->message,
            "a second launch of the same training beside line 1: two jobs of 4 and 4 ranks that never "
            "exchange gradients, not one of 8");
}

TEST(Launch, SweepsAndSequencesAreNoSplit) {
  static constexpr Case kCases[] = {
      {"launch.torch.split-group", kSplit,
       "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=2 --master-port=1 train.py --lr 1e-3 &\n"
       "CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc-per-node=2 --master-port=2 train.py --lr 1e-4 &\nwait\n"},
      {"launch.torch.split-group",  // seen in a published training log
       "numactl -N 0 torchrun --nproc_per_node=4 --node_rank=0 train.py &\nnumactl -N 1 torchrun "
       "--nproc_per_node=4 --node_rank=1 train.py &\n",
       "numactl -N 0 torchrun --nproc_per_node=4 a.py &\nnumactl -N 1 torchrun --nproc_per_node=4 b.py &\n"},
      {"launch.torch.split-group", kSplit,
       "torchrun --nproc-per-node=8 train.py\ntorchrun --nproc-per-node=8 train.py\n"},
      {"launch.torch.split-group", kSplit,
       "torchrun --nnodes 2 --node-rank 0 --master-addr a train.py &\ntorchrun --nnodes 2 --node-rank 1 "
       "--master-addr a train.py &\n"},
  };
  expect_cases(kCases);
}

TEST(Launch, Torch) {
  static constexpr Case kCases[] = {
      {"launch.torch.deprecated-launch", "python -m torch.distributed.launch --nproc_per_node=8 train.py\n",
       "python -m torch.distributed.run --nproc_per_node=8 train.py\n"},
      {"launch.torch.numa-binding-value", "torchrun --numa-binding=numa --nproc-per-node=8 train.py\n",
       "torchrun --numa-binding=core-complex --nproc-per-node=8 train.py\n"},
      {"launch.torch.renumbered-gpus",
       "CUDA_VISIBLE_DEVICES=4,5,6,7 torchrun --nproc-per-node=4 train.py --gpus 4,5,6,7\n",
       "CUDA_VISIBLE_DEVICES=4,5,6,7 torchrun --nproc-per-node=4 train.py --gpus 0,1,2,3\n"},
      {"launch.ranks.more-than-gpus", "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=4 train.py\n",
       "CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc-per-node=4 train.py\n"},
      {"launch.ranks.more-than-gpus", "export CUDA_VISIBLE_DEVICES=0\ntorchrun --nproc-per-node=2 train.py\n",
       "CUDA_VISIBLE_DEVICES= torchrun --nproc-per-node=4 on_cpus.py\n"},
      {"launch.ranks.more-than-gpus",
       "#!/bin/bash\n#SBATCH --gres=gpu:4\ntorchrun --nproc-per-node=8 train.py\n",
       "#!/bin/bash\n#SBATCH --gres=gpu:8\ntorchrun --nproc-per-node=4 train.py\n"},
  };
  expect_cases(kCases);
}

TEST(Launch, Rendezvous) {
  static constexpr Case kCases[] = {
      {"launch.torch.node-rank-missing",
       "torchrun --nnodes=2 --nproc-per-node=8 --master-addr=10.0.0.1 train.py\n",
       "torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=10.0.0.1:29500 "
       "train.py\n"},
      {"launch.torch.node-rank-missing", "torchrun --nnodes=2 --master-addr=a train.py\n",
       "torchrun --nnodes=2 --node-rank=$RANK --master-addr=a train.py\n"},
      {"launch.torch.node-rank-constant",
       "srun -N 2 torchrun --nnodes=2 --node-rank=0 --master-addr=a train.py\n",
       "srun -N 2 bash -c 'torchrun --nnodes=2 --node-rank=$SLURM_NODEID --master-addr=a train.py'\n"},
      {"launch.torch.node-rank-constant",
       "srun accelerate launch --num_machines 2 --machine_rank 0 train.py\n",
       "accelerate launch --num_machines 2 --machine_rank 0 train.py\n"},
      {"launch.torch.node-rank-equal",
       "# node 0\ntorchrun --nnodes=2 --node_rank=0 --master_addr=a train.py\n# node 1\ntorchrun --nnodes=2 "
       "--node_rank=0 --master_addr=a train.py\n",
       "# node 0\ntorchrun --nnodes=2 --node_rank=0 --master_addr=a train.py\n# node 1\ntorchrun --nnodes=2 "
       "--node_rank=1 --master_addr=a train.py\n"},
      {"launch.torch.master-differs",
       "torchrun --nnodes=2 --node_rank=0 --master_addr=10.0.0.1 train.py\ntorchrun --nnodes=2 --node_rank=1 "
       "--master_addr=10.0.0.2 train.py\n",
       "torchrun --nnodes=2 --node_rank=0 --master_addr=10.0.0.1 train.py\ntorchrun --nnodes=2 --node_rank=1 "
       "--master_addr=10.0.0.1 train.py\n"},
      {"launch.torch.node-rank-equal",
       "torchrun --nnodes=2 --node_rank=0 --master_addr=a train.py\ntorchrun --nnodes=2 --node_rank=0 "
       "--master_addr=a train.py\n",
       "torchrun --nnodes=2 --node_rank=0 --master_addr=a pretrain.py\ntorchrun --nnodes=2 --node_rank=0 "
       "--master_addr=a finetune.py\n"},
      {"launch.rendezvous.localhost", "torchrun --nnodes=2 --node-rank=0 --master-addr=localhost train.py\n",
       "torchrun --nnodes=2 --node-rank=0 --master-addr=localhost train.py &\ntorchrun --nnodes=2 "
       "--node-rank=1 --master-addr=localhost train.py\n"},
      {"launch.rendezvous.localhost",
       "#!/bin/bash\n#SBATCH -N 2\nsrun torchrun --nnodes=1:2 --rdzv-backend=c10d "
       "--rdzv-endpoint=localhost:1 a.py\n",
       "torchrun --nnodes=1:2 --rdzv-backend=c10d --rdzv-endpoint=localhost:1 a.py\n"},
      {"launch.torch.master-ignored",
       "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=a:1 --master-addr=a train.py\n",
       "torchrun --nnodes=2 --node-rank=0 --master-addr=a train.py\n"},
      {"launch.torch.endpoint-missing", "torchrun --nnodes=2 --rdzv-backend=c10d train.py\n",
       "torchrun --nnodes=1 --rdzv-backend=c10d train.py\n"},
      {"launch.torch.standalone-nodes", "torchrun --standalone --nnodes=2 train.py\n",
       "torchrun --standalone --nnodes=1 train.py\n"},
      {"launch.rendezvous.localhost", "torchrun --nnodes=2 --node-rank=1 --master-addr=localhost train.py\n",
       "torchrun --nnodes=1 --node-rank=0 --master-addr=127.0.0.1 train.py\n"},
      {"launch.rendezvous.localhost",
       "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=127.0.0.1:29500 train.py\n",
       "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py\n"},
      {"launch.rendezvous.localhost",
       "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_ADDR=localhost\nsrun python train.py\n",
       "#!/bin/bash\n#SBATCH --nodes=1\nexport MASTER_ADDR=localhost\nsrun python train.py\n"},
      {"launch.rendezvous.fixed-port",
       "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_PORT=29500\nsrun python train.py\n",
       "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))\nsrun python "
       "train.py\n"},
  };
  expect_cases(kCases);
}

TEST(Launch, Allocation) {
  static constexpr Case kCases[] = {
      {"launch.slurm.nodes-differ",
       "#!/bin/bash\n#SBATCH --nodes=4\nsrun torchrun --nnodes=2 --node-rank=$SLURM_NODEID train.py\n",
       "#!/bin/bash\n#SBATCH --nodes=4\nsrun torchrun --nnodes=$SLURM_NNODES --node-rank=$SLURM_NODEID "
       "train.py\n"},
      {"launch.slurm.launcher-per-task",
       "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\nsrun torchrun --nproc-per-node=8 "
       "train.py\n",
       "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\nsrun --ntasks-per-node=1 torchrun "
       "--nproc-per-node=8 train.py\n"},
      {"launch.slurm.launcher-per-task", "srun --ntasks-per-node=4 deepspeed train.py\n",
       "srun --ntasks-per-node=4 python train.py\n"},
      {"launch.slurm.only-first-node",
       "#!/bin/bash\n#SBATCH --nodes=2\ntorchrun --nnodes=$SLURM_NNODES --node-rank=$SLURM_NODEID train.py\n",
       "#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun --nnodes=$SLURM_NNODES --node-rank=$SLURM_NODEID "
       "train.py\n"},
      {"launch.slurm.idle-nodes", "#!/bin/bash\n#SBATCH --nodes=2\ntorchrun --nproc-per-node=8 train.py\n",
       "#!/bin/bash\n#SBATCH --nodes=1\ntorchrun --nproc-per-node=8 train.py\n"},
      {"launch.accelerate.total-processes",
       "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun accelerate launch --num_machines 2 "
       "--num_processes 8 train.py\n",
       "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun accelerate launch --num_machines 2 "
       "--num_processes 16 train.py\n"},
  };
  expect_cases(kCases);
}

TEST(Launch, Variables) {
  static constexpr Case kCases[] = {
      {"launch.mpirun.not-forwarded",
       "export NCCL_DEBUG=INFO\nmpirun -np 16 --hostfile hosts --mca btl self ./train\n",
       "export NCCL_DEBUG=INFO\nmpirun -np 16 --hostfile hosts -x NCCL_DEBUG ./train\n"},
      {"launch.mpirun.not-forwarded", "export NCCL_DEBUG=INFO\nmpirun -np 16 -H a,b -x PATH ./train\n",
       "export NCCL_DEBUG=INFO\nmpirun -np 8 -x PATH ./train\n"},
      {"launch.srun.export-drops", "export NCCL_DEBUG=INFO\nsrun --export=NONE python train.py\n",
       "export NCCL_DEBUG=INFO\nsrun --export=ALL,A=1 python train.py\nsrun --export=all,B=1 python "
       "train.py\n"},
      {"launch.srun.export-drops",
       "#!/bin/bash\n#SBATCH --export=NONE\nexport NCCL_DEBUG=INFO\nsrun python train.py\n",
       "#!/bin/bash\n#SBATCH --export=NONE\nunset SLURM_EXPORT_ENV\nexport NCCL_DEBUG=INFO\nsrun python "
       "train.py\n"},
      {"launch.ssh.not-forwarded",
       "export NCCL_DEBUG=INFO\nssh gpu-b torchrun --nnodes=2 --node-rank=1 --master-addr=a train.py\n",
       "export NCCL_DEBUG=INFO\nssh gpu-b 'source ~/env; torchrun --nnodes=2 --node-rank=1 --master-addr=a "
       "train.py'\n"},
  };
  expect_cases(kCases);
}

TEST(Launch, BenchmarksAndOneLiners) {
  static constexpr Case kCases[] = {
      {"launch.mpirun.no-hosts", "mpirun -np 16 --map-by ppr:8:node ./train\n",
       "mpirun -np 16 --map-by ppr:8:node -H a:8,b:8 ./train\n"},
      {"launch.nccl-tests.too-many-gpus", "mpirun -np 8 ./build/all_reduce_perf -b 8 -e 1G -f 2 -g 8\n",
       "mpirun -np 8 ./build/all_reduce_perf -b 8 -e 1G -f 2 -g 1\n"},
      {"launch.nccl-tests.too-many-gpus", "mpirun -np 8 ./all_gather_perf -g 8\n",
       "mpirun -np 2 -N 1 -H a,b ./all_gather_perf -g 8\n"},
      {"launch.python.init-only",
       "python -c 'import torch; torch.distributed.init_process_group(\"nccl\")'\n",
       "python -c 'import torch.distributed as d; d.init_process_group(\"nccl\"); d.all_reduce(t)'\n"},
      {"launch.shell.broken-continuation", "torchrun --nnodes=2 \\ # two nodes\n  --node-rank=0 train.py\n",
       "torchrun --nnodes=2 \\\n  --node-rank=0 train.py  # two nodes\n"},
  };
  expect_cases(kCases);
}

// What --fix writes, applied to the text.
std::string mended(std::string_view text) {
  const auto script = read_script("job", std::string(text), FileKind::kShell);
  return apply_fixes(script, judged(text));
}

TEST(Launch, Fixes) {
  EXPECT_EQ(mended("python3 -m torch.distributed.launch --use_env --nproc_per_node=8 train.py\n"),
            "python3 -m torch.distributed.run --nproc_per_node=8 train.py\n");
  EXPECT_EQ(mended("python3 -m torch.distributed.launch --nproc_per_node=8 train.py\n"),
            "python3 -m torch.distributed.launch --nproc_per_node=8 train.py\n");
  EXPECT_EQ(mended("  echo a \\ # why\n  b\n"), "  # why\n  echo a \\\n  b\n");
  EXPECT_EQ(mended("echo a \\ # one\n  b \\ # two\n  c\n"), "# one\necho a \\\n  b \\\n  c\n");
  EXPECT_EQ(mended("echo a \\  \n  b\n"), "echo a \\\n  b\n");
  EXPECT_EQ(mended("strace -f -p $(pgrep -f train.py)\n"), "strace -f -p $(pgrep -d, -f train.py)\n");
  EXPECT_EQ(mended("nsys profile --capture-range=cudaProfiler python a.py\n"),
            "nsys profile --capture-range=cudaProfilerApi python a.py\n");
}

// What the manuals themselves show: nothing above information.
TEST(Launch, ExamplesOfTheManualsAreHealthy) {
  static constexpr std::string_view kExamples[] = {
      "torchrun --standalone --nnodes=1 --nproc-per-node=8 train.py --arg1\n",
      "torchrun --nnodes=1:4 --nproc-per-node=8 --max-restarts=3 --rdzv-id=$JOB_ID --rdzv-backend=c10d "
      "--rdzv-endpoint=$HOST_NODE_ADDR train.py\n",
      "#!/bin/bash\n#SBATCH --job-name=multinode-example\n#SBATCH --nodes=4\n#SBATCH --ntasks=4\n#SBATCH "
      "--gpus-per-task=1\n"
      "#SBATCH --cpus-per-task=4\nnodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) "
      ")\nhead_node=${nodes[0]}\n"
      "head_node_ip=$(srun --nodes=1 --ntasks=1 -w \"$head_node\" hostname --ip-address)\nexport "
      "LOGLEVEL=INFO\n"
      "srun torchrun \\\n--nnodes 4 \\\n--nproc_per_node 1 \\\n--rdzv_id $RANDOM \\\n--rdzv_backend c10d \\\n"
      "--rdzv_endpoint $head_node_ip:29500 \\\ntrain.py 50 10\n",
      "./build/all_reduce_perf -b 8 -e 256M -f 2 -g 8\n",
      "mpirun -np 64 -N 8 ./build/all_reduce_perf -b 8 -e 8G -f 2 -g 1\n",
      "docker run --gpus all --rm --ipc=host --ulimit memlock=-1 --ulimit stack=67108864 image torchrun "
      "--nproc-per-node=8 train.py\n",
      "docker run --rm --gpus all nvidia/cuda:12.4.1-base-ubuntu22.04 nvidia-smi\n",
      "deepspeed --hostfile=myhostfile train.py --deepspeed --deepspeed_config ds_config.json\n",
      "accelerate launch --multi_gpu --num_processes 8 train.py\n",
      "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n#SBATCH --ntasks-per-node=8\n#SBATCH "
      "--cpus-per-task=12\n"
      "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\nexport "
      "MASTER_PORT=29500\nsrun --cpus-per-task=12 python train.py\n",
      "mpirun -np 16 -H server1:8,server2:8 -bind-to none -map-by slot -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH "
      "-x PATH -mca pml ob1 python train.py\n",
      "nsys profile -t cuda,nvtx,osrt -o report --capture-range=cudaProfilerApi python train.py\n",
      "nvidia-smi topo -m\nnvidia-smi nvlink -s\nibstat\nibv_devinfo | grep -i mtu\ndcgmi dmon -e "
      "1002,1009,1010\n",
      "numactl --hardware\nnumactl --cpunodebind=0 --membind=0 python train.py\n",
      "torchrun \\\r\n  --standalone \\\r\n  --nproc-per-node=8 train.py\r\n",
      "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node 1\n#SBATCH --exclusive\nGPUS=8\nexport "
      "OMP_NUM_THREADS=8\n"
      "srun -l --container-image ./a.sqsh torchrun --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=$GPUS "
      "--rdzv_id=$SLURM_JOB_ID "
      "--rdzv_backend=c10d --rdzv_endpoint=$(hostname) train.py\n",
      "perf record -g -p $(pgrep -d, -f train.py)\nulimit -l unlimited\n",
  };
  for (const auto example : kExamples)
    EXPECT_EQ(told(judged(example), false), "") << example;
}

TEST(Launch, SurvivesNonsense) {
  EXPECT_TRUE(judged("").empty());
  for (const std::string_view text :
       {"srun\n", "numactl\n", "mpirun -np\n", "torchrun --nnodes\n", "taskset -c\n", "python -m\n", "-\n",
        "docker run\n", "nsys profile -t\n", "ssh\n", "timeout\n", "#SBATCH\n",
        "#SBATCH --nodes\n#SBATCH --gres\n"})
    judged(text);
}

}  // namespace
}  // namespace angio::lint
