#!/usr/bin/env python3
"""A snapshot with a running job, to standard output: the example node gpu-a and five processes on it.

rank 0 is right; rank 1 is bound to the other node; rank 2 is not bound and left three of its threads elsewhere;
rank 3 is bound, a quarter of its pages is not, and it has a context on GPU 0; a fifth could not be read.
"""

import pathlib

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "snapshots/example/gpu-a.snap"
NEAR, FAR, ALL = "0-31,64-95", "32-63,96-127", "0-127"
GIB = 1 << 18  # in pages of 4 KiB


def block(path, *lines):
    return [f"+ {path}"] + [f"|{line}" for line in lines]


def strings(path, *values):
    return [f"0 {path}"] + [f"|{value}" for value in values]


def process(pid, rank, gpus, masks, pages, policy, threads=()):
    """masks: of the threads, in order; pages: {node: GiB}."""
    at = f"/proc/{pid}"
    lines = block(f"{at}/status", "Name:\tpython", "State:\tR (running)", "PPid:\t4000", "VmLck:\t       0 kB",
                  "VmPin:\t 2097152 kB", "Mems_allowed_list:\t0-1")
    lines += strings(f"{at}/cmdline", "python", "train.py")
    lines += strings(f"{at}/environ", f"RANK={rank}", f"LOCAL_RANK={rank}", "WORLD_SIZE=4")
    lines += block(f"{at}/maps", "0-0 r-xp 0 00:00 0 /usr/lib/x86_64-linux-gnu/libcuda.so.570.86.15")
    nodes = " ".join(f"N{node}={int(size * GIB)}" for node, size in pages.items())
    lines += block(f"{at}/numa_maps", f"0 {policy} anon=1 {nodes} mappings=300 kernelpagesize_kB=4",
                   f"0 {policy} file=(zero) N0={GIB} mappings=4 kernelpagesize_kB=4")
    lines.append(f": {at}/task " + " ".join(str(pid + i) for i in range(len(masks))))
    for i, mask in enumerate(masks):
        name = threads[i] if i < len(threads) else "python"
        cpu = mask.split("-")[0]
        lines += block(f"{at}/task/{pid + i}/status", f"Name:\t{name}", f"Cpus_allowed_list:\t{mask}")
        lines += block(f"{at}/task/{pid + i}/stat", f"{pid + i} ({name}) S" + " 0" * 35 + f" {cpu}")
    gpu_users = {gpu: pid for gpu in gpus}
    return lines, gpu_users


def denied(pid):
    at = f"/proc/{pid}"
    lines = block(f"{at}/status", "Name:\tpython", "PPid:\t1", "Mems_allowed_list:\t0-1")
    lines += [f"! {at}/{leaf} EACCES" for leaf in ("maps", "numa_maps", "environ")]
    lines += [f": {at}/task {pid}"] + block(f"{at}/task/{pid}/status", "Name:\tpython", f"Cpus_allowed_list:\t{ALL}")
    lines += block(f"{at}/task/{pid}/stat", f"{pid} (python) S" + " 0" * 35 + " 7")
    return lines, {7: pid}


def main():
    names = ["pt_main_thread", "cuda-EvtHandlr", "NCCL Progress 0", "pt_autograd_0", "pt_autograd_1"]
    made = [
        process(4100, 0, [0], [NEAR] * 12, {0: 16, 1: 0.2}, "bind:0", names),
        process(4200, 1, [1], [FAR] * 12, {1: 16}, "default", names),
        process(4300, 2, [4], [ALL] * 12, {0: 8, 1: 8}, "default", names),
        process(4400, 3, [0, 5], [FAR] * 9 + [ALL] * 3, {0: 4, 1: 12}, "prefer:1", names),
        denied(4500),
    ]
    users = {}
    lines = EXAMPLE.read_text().split("\n")
    lines = lines[:lines.index(next(line for line in lines if line.startswith("end ")))]
    for more, gpus in made:
        lines += more
        for gpu, pid in gpus.items():
            users.setdefault(gpu, []).append(pid)
    for gpu, pids in users.items():
        place = next(i for i, line in enumerate(lines) if line.startswith(f"= /@nvml/gpu/{gpu}/processes "))
        lines[place:place + 1] = block(f"/@nvml/gpu/{gpu}/processes", *(f"{pid} 1048576" for pid in pids))
    count = sum(line[:2] in ("= ", "- ", "+ ", "0 ", "> ", ": ", "! ", "? ", "% ") for line in lines)
    print("\n".join(lines))
    print(f"end {count}")


if __name__ == "__main__":
    main()
