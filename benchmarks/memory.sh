#!/bin/sh
# angio bench memory against likwid-bench and mbw on this machine, one thread, in turns: medians and their ratios.
# usage: benchmarks/memory.sh PATH-OF-ANGIO [ROUNDS] [SIZE-IN-MiB]
set -eu
angio=$(realpath "${1:?path of the angio binary}")
rounds=${2:-15}
size=${3:-960}
for peer in likwid-bench mbw; do
  command -v $peer > /dev/null || { echo "skipped: $peer is not installed (Debian: likwid, mbw)"; exit 0; }
done

# Huge pages for all, or it would be the page size that is compared (glibc 2.35 and newer).
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 exec python3 - "$angio" "$rounds" "$size" <<'PYTHON'
import json, os, re, statistics, subprocess, sys

angio, rounds, mebibytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
size = mebibytes << 20
flags = open("/proc/cpuinfo").read()
suffix = "_avx512" if " avx512f" in flags else "_avx" if " avx2" in flags else "_sse"
one_cpu = str(min(os.sched_getaffinity(0)))
KINDS = {"read": "load", "copy": "copy_mem", "write": "store_mem"}

def output(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout

def ours():
    text = output([angio, "bench", "memory", "--threads", "1", "--seconds", "0.15", "--size", f"{mebibytes}MiB",
                   "--nodes", "0", "--format", "json"])
    cell = json.loads(text)["cells"][0]
    return {kind: cell[kind]["median"] for kind in ("read", "copy", "write", "latency")}, cell["buffer"]["pages"]

def likwid(kind):  # MByte/s, decimal
    text = output(["likwid-bench", "-t", KINDS[kind] + suffix, "-i", "4", "-w", f"N:{size // 1000}kB:1"])
    return float(re.search(r"MByte/s:\s*([0-9.]+)", text).group(1)) * 1e6

def mbw():  # MiB/s of bytes copied once; two arrays of half the size
    text = output(["taskset", "-c", one_cpu, "mbw", "-q", "-t0", "-n", "4", str(mebibytes // 2)])
    return float(re.search(r"AVG.*Copy: ([0-9.]+)", text).group(1)) * 2 * 2**20

values = {}
def keep(name, value):
    values.setdefault(name, []).append(value)

for _ in range(rounds):  # in turns, so that other load meets all
    mine, pages = ours()
    for kind, value in mine.items():
        keep(kind, value)
    for kind in KINDS:
        keep(kind + " likwid", likwid(kind))
    keep("copy mbw", mbw())

print(f"one thread, {mebibytes} MiB, pages of {pages}, load {open('/proc/loadavg').read().split()[0]}, medians of {rounds}")
middle = {name: statistics.median(found) for name, found in values.items()}
best = {name: max(found) for name, found in values.items()}
for kind, peer in [("read", "likwid"), ("copy", "likwid"), ("copy", "mbw"), ("write", "likwid")]:
    theirs = f"{kind} {peer}"
    pairs = statistics.median(a / b for a, b in zip(values[kind], values[theirs]))
    print(f"{kind:6} angio {middle[kind] / 1e9:6.2f}  {peer:6} {middle[theirs] / 1e9:6.2f} GB/s   ratio {pairs:.3f}"
          f"   of the best {best[kind] / best[theirs]:.3f}")
print(f"latency angio {middle['latency']:.1f} ns; no peer: multichase and lmbench are not packaged here")
PYTHON
