#!/bin/bash
# angio: ignore-file placement.numactl.strict-memory
# angio: ignore nccl.p2p.disabled, nccl.debug.left-on measured on this board
export NCCL_P2P_DISABLE=1
export NCCL_DEBUG=INFO

# One socket for the small model, on purpose.
# angio: ignore placement.numactl.all-ranks-one-node
numactl --cpunodebind=0 --membind=0 \
  torchrun --standalone --nproc-per-node=8 train.py
perf record -g -p $(pgrep -f train.py)  # angio: ignore tools.pgrep.lists
