# ümlaut
export X=é NCCL_IB_DISABLE=true
