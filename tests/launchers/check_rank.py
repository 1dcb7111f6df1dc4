"""One rank: says in JSON where it is and what it was told, and fails if its own mask is not the expected one.

ANGIO_EXPECTED: JSON list of CPU lists by local rank; unset: no expectation."""

import json
import os
import pathlib
import sys
import time

names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT",
         "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "SLURMD_NODENAME", "OMPI_COMM_WORLD_RANK")
mask = sorted(os.sched_getaffinity(0))
policy = pathlib.Path("/proc/self/numa_maps").read_text().split("\n")[0].split()[1] if os.path.exists("/proc/self/numa_maps") else None
me = {name: os.environ[name] for name in names if name in os.environ}
print("RANK " + json.dumps({**me, "mask": mask, "policy": policy, "parent": pathlib.Path(f"/proc/{os.getppid()}/comm").read_text().strip()}), flush=True)
local = int(os.environ.get("LOCAL_RANK") or os.environ["OMPI_COMM_WORLD_LOCAL_RANK"])
expected = json.loads(os.environ.get("ANGIO_EXPECTED", "null"))
if expected is not None and mask != expected[local]:
    sys.exit(f"local rank {local} may run on CPUs {mask}, expected {expected[local]}")
failing = os.environ.get("ANGIO_FAILING_RANK")
if failing is not None:
    if me.get("RANK") == failing:
        sys.exit(7)
    time.sleep(60)
