export NCCL_DEBUG=VERSION
export NCCL_IB_DISABLE=1
export NCCL_IB_TIMEOUT=20
torchrun --standalone --nproc-per-node=8 train.py
