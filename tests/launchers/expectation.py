"""Which CPUs the ranks of one node should get, told from sysfs alone and without angio: on a machine without GPUs and
with one NUMA node, its cores divided among the ranks; where ranks are more than cores, they take turns."""

import os
import pathlib


def cpu_list(text):
    found = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def has_gpu():
    """A display or 3D controller of NVIDIA or AMD."""
    for device in pathlib.Path("/sys/bus/pci/devices").glob("*"):
        try:
            if (device / "vendor").read_text().strip() in ("0x10de", "0x1002") and (device / "class").read_text().startswith("0x03"):
                return True
        except OSError:
            pass
    return False


def reason_against():
    """Why the expectation is not known here; None: it is."""
    if len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) > 1:
        return "this machine has several NUMA nodes: the VM tests say what is expected there"
    return "this machine has GPUs" if has_gpu() else None


def masks(ranks, allowed=None):
    allowed = set(allowed if allowed is not None else os.sched_getaffinity(0))
    cores = []
    for cpu in sorted(allowed):
        siblings = cpu_list(pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text())
        core = sorted(set(siblings) & allowed)
        if core not in cores:
            cores.append(core)
    if len(cores) < ranks:
        return [cores[rank % len(cores)] for rank in range(ranks)]
    base, more = divmod(len(cores), ranks)
    result, at = [], 0
    for rank in range(ranks):
        end = at + base + (rank < more)
        result.append(sorted(cpu for core in cores[at:end] for cpu in core))
        at = end
    return result
