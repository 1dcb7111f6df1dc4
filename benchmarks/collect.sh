#!/bin/sh
# angio collect against hwloc-gather-topology on this machine, in the same run: wall and CPU time, as ratios.
# usage: benchmarks/collect.sh PATH-OF-ANGIO [ROUNDS]
set -eu
angio=$(realpath "${1:?path of the angio binary}")
rounds=${2:-10}
command -v hwloc-gather-topology > /dev/null || { echo "skipped: hwloc-gather-topology is not installed (Debian: hwloc)"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 - "$angio" "$rounds" <<'PYTHON'
import os, resource, statistics, subprocess, sys, time

def measure(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

angio, rounds = sys.argv[1], int(sys.argv[2])
commands = {"angio": [angio, "collect", "--out", "a.snap"], "hwloc": ["hwloc-gather-topology", "h"]}
times = {name: [] for name in commands}
for _ in range(rounds):  # in turns, so that other load meets both
    for name, command in commands.items():
        times[name].append(measure(command))
middle = {n: [statistics.median(t[i] for t in ts) for i in (0, 1)] for n, ts in times.items()}
for name, (wall, cpu) in middle.items():
    print(f"{name:6} wall {wall * 1e3:8.1f} ms   cpu {cpu * 1e3:8.1f} ms   median of {rounds}")
print(f"ratio  wall {middle['angio'][0] / middle['hwloc'][0]:8.3f}      cpu {middle['angio'][1] / middle['hwloc'][1]:8.3f}")
PYTHON
