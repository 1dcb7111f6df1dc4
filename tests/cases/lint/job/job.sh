#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8

export NCCL_DEBUG=INFO
export NCCL_ALGO=Ring,Tree,Coll
export NCCL_PROTO=LL,LL128,Simple
export NCCL_P2P_DISABLE=1
export NCCL_IB_HCA=mlx5_1
export NCCL_IB_GIDINDEX=3
export NCCL_BUFFSIZE=8M
export NCCL_IB_TIMEOUT=022
NCCL_IB_QPS_PER_CONNECTION=4
export NCCL_SOCKET_IFNAME=lo

srun --cpu-bind=none python train.py
