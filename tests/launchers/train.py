"""Data-parallel training by gloo, as small as it gets: every rank ends with the same weights, the loss falls, and
every thread of the rank is where it should be.

ANGIO_EXPECTED: JSON list of CPU lists by local rank; unset: no expectation."""

import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

expected = json.loads(os.environ.get("ANGIO_EXPECTED", "null"))
local = int(os.environ["LOCAL_RANK"])
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
model = DistributedDataParallel(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(256, 32)
y = x.sum(dim=1, keepdim=True)
losses = []
for _ in range(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
weights = torch.cat([p.detach().flatten() for p in model.parameters()])
lowest, highest = weights.clone(), weights.clone()
dist.all_reduce(lowest, dist.ReduceOp.MIN)
dist.all_reduce(highest, dist.ReduceOp.MAX)
if not torch.equal(lowest, highest):
    sys.exit(f"rank {rank}: the weights differ between ranks")
if losses[-1] >= losses[0] / 2:
    sys.exit(f"rank {rank}: the loss went from {losses[0]} to {losses[-1]}")
masks = set()
for task in pathlib.Path("/proc/self/task").iterdir():
    for line in (task / "status").read_text().splitlines():
        if line.startswith("Cpus_allowed_list:"):
            masks.add(line.split()[1])
threads = len(list(pathlib.Path("/proc/self/task").iterdir()))
mask = sorted(os.sched_getaffinity(0))
if expected is not None and (mask != expected[local] or len(masks) != 1):
    sys.exit(f"rank {rank}: CPUs {mask}, threads on {masks}, expected {expected[local]}")
print("TRAINED " + json.dumps({"rank": rank, "size": size, "mask": mask, "threads": threads, "loss": losses[-1]}), flush=True)
dist.barrier()
dist.destroy_process_group()
