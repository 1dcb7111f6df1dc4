import os

os.environ["NCCL_IB_DISABLE"] = 1
os.environ.setdefault("NCCL_ASYNC_ERROR_HANDLING", "1")
os.environ.update({"NCCL_BUFFSIZE": "16M", "NCCL_DEBUG": level})
os.environ["NCCL_SOCKET_IFNAME"] = f"{interface}"
