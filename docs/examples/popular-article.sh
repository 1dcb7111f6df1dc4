#!/bin/bash
# What a popular tuning article tells people to paste, each piece once. Nearly every line of it is wrong, or
# right for another reason than given. It is here to be read by: angio lint docs/examples/popular-article.sh

# --- 1. NUMA -----------------------------------------------------------------------------------------------
# Eight GPUs, four on each socket: bind each half to its own node.
numactl --cpunodebind=0 --membind=0 \
  python -m torch.distributed.launch --nproc_per_node=4 --nnodes=1 --node_rank=0 \
  --master_addr=127.0.0.1 --master_port=29500 train.py --gpus 0,1,2,3 &
numactl --cpunodebind=1 --membind=1 \
  python -m torch.distributed.launch --nproc_per_node=4 --nnodes=1 --node_rank=0 \
  --master_addr=127.0.0.1 --master_port=29501 train.py --gpus 4,5,6,7 &
wait
# The big model gets both sockets; on several machines the first one does for all.
numactl --cpunodebind=0,1 --membind=0,1 python serve.py
numactl --cpunodebind=0 --membind=0 torchrun --nproc_per_node=8 pretrain.py

# --- 2. NCCL's topology and algorithms ---------------------------------------------------------------------
sudo apt-get install -y libnccl-dev  # brings the nccl-tools
nccl-topo -v > topo.xml
export NCCL_TOPO_FILE=$PWD/topo.xml
export NCCL_ALGO=Ring,Tree,Coll
export NCCL_PROTO=Simple,LL,LL128
export NCCL_P2P_DISABLE=1  # no PCIe, so NVLink it is
export NCCL_DEBUG=INFO
python -c 'import torch; torch.distributed.init_process_group("nccl")'
# The log now shows "Using topology file" and "Ring algorithm selected".

# --- 3. RDMA -----------------------------------------------------------------------------------------------
export NCCL_IB_DISABLE=0
export NCCL_IB_HCA=mlx5_0:1
export NCCL_IB_GID_INDEX=3
export NCCL_SOCKET_IFNAME=ib0
export NCCL_UCX_TLS=rc,sm,self
export NCCL_UCX_NET_DEVICES=mlx5_0:1
export UCX_TLS=rc,sm,self
export UCX_NET_DEVICES=mlx5_0:1
export UCX_IB_GID_INDEX=3
export UCX_RNDV_SCHEME=get_am  # active messages for big models
export LD_PRELOAD=/usr/lib/libibverbs.so.1
# The pair that is known to be stable: CUDA 12.1 with driver 515.65.01 and NCCL 2.12.12.
sudo ./mlnxofedinstall --upstream-libs --enable-ethernet --with-ucx
sudo /etc/init.d/openibd restart
ibstat | grep MTU
sudo ibdev2netdev
sudo ip link set dev ib0 mtu 4096
ibstat -v | grep -A 10 GID
ibping -G 3 192.168.10.11
ulimit -l 65536
torchrun --nnodes=2 --nproc_per_node=8 --node_rank=0 --master_addr=192.168.10.10 \  # the InfiniBand address
  --master_port=29500 train.py

# --- 4. Benchmarks -----------------------------------------------------------------------------------------
mpirun -np 8 ./build/all_reduce_perf -b 8 -e 1G -f 2 -g 8
# Avg bus bandwidth 12.3, theoretical peak 15.7: close enough.
git clone https://github.com/NVIDIA/DeepLearningExamples
cd PyTorch/benchmarks/distributed_benchmark && python benchmark.py --backend nccl
nsys profile -t nvtx,cuda,nvml,osrt --capture-range=cudaProfiler --duration=30s python train.py
iblinkinfo -p | grep -i error
ibswitches -v | grep Buffer
configure buffer-profile create high_perf
# A 100G port goes from 32 GB/s to 92 GB/s with larger switch buffers.
ib_write_bw --report_gbits 192.168.10.11

# --- 5. Monitoring -----------------------------------------------------------------------------------------
nvidia-smi nvlink -gt  # NVLink bandwidth in GB/s
dcgmi dmon -e 1001,1002,1003  # 1001=PCIe Rx/Tx, 1002=NVLink Rx/Tx, 1003=SM utilization
perf record -e cycles,instructions,cache-misses -g -p $(pgrep -f train.py)
strace -p $(pgrep -f train.py) -e trace=connect,sendto,recvfrom
# When htop shows other CPUs, press 1 for its NUMA view.
export NCCL_ASYNC_ERROR_HANDLING=1  # NCCL then resets itself
