export NCCL_IB_HCA=mlx5_1,bnxt_re0
export NCCL_IB_GID_INDEX=3
export NCCL_SOCKET_IFNAME=ens5
export NCCL_P2P_DISABLE=1
export NCCL_TOPO_FILE=/etc/topology.xml
