#!/usr/bin/env python3
"""A plain C loop over MPI_Allreduce against angio-mpi, in turns: mpi_allreduce.py ANGIO_MPI C_LOOP [RANKS [ROUNDS]]

Same sizes, iterations and mpirun. Each round starts both, the first one of a pair by turns. The ratio of a size is that of the
least times of all rounds: what other programs take from a round is in neither. The median of the rounds' ratios stands beside
it."""

import json
import os
import shutil
import statistics
import subprocess
import sys

LEAST, MOST, FACTOR = 8, 1 << 20, 8
ITERATIONS, WARM_UP = 2000, 100
MARK = "angio-collective-run "


def mpirun(ranks, *words):
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    start = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader", "--mca", "oob_tcp_if_include", "lo"]
    done = subprocess.run([*start, "-np", str(ranks), *words], env={**os.environ, **root}, stdout=subprocess.PIPE, timeout=300, check=True)
    return done.stdout.decode()


def plain(loop, ranks):
    lines = mpirun(ranks, loop, *map(str, (LEAST, MOST, FACTOR, ITERATIONS, WARM_UP))).splitlines()
    return {int(size): float(time) for size, time in (line.split() for line in lines)}


def ours(program, ranks):
    wish = {"collectives": ["all_reduce"], "least": LEAST, "most": MOST, "factor": FACTOR, "iterations": ITERATIONS, "warm_up": WARM_UP,
            "in_place": False, "out_of_place": True, "check": False, "samples": False}
    out = mpirun(ranks, program, "collective-rank", json.dumps(wish))
    run = json.loads(next(line for line in out.splitlines() if line.startswith(MARK)).removeprefix(MARK))
    return {row["bytes"]: row["time_us"] for row in run["rows"]}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if not shutil.which("mpirun"):
        print("skipped: no mpirun (openmpi-bin)")
        sys.exit(77)
    program, loop = map(os.path.abspath, sys.argv[1:3])
    ranks = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 9
    times = []
    for turn in range(rounds):
        if turn % 2:
            first = plain(loop, ranks)
            times.append((first, ours(program, ranks)))
        else:
            second = ours(program, ranks)
            times.append((plain(loop, ranks), second))
    print(f"{ranks} ranks, {rounds} rounds in turns, {ITERATIONS} calls each, load {os.getloadavg()[0]:.1f}; goal 1.05")
    print("     bytes   C loop us  angio-mpi us   ratio  median of ratios")
    for size in sorted(times[0][0]):
        least = [min(round_[side][size] for round_ in times) for side in (0, 1)]
        median = statistics.median(theirs[size] / plain_[size] for plain_, theirs in times)
        print(f"{size:>10} {least[0]:>11.2f} {least[1]:>13.2f} {least[1] / least[0]:>7.3f} {median:>17.3f}")


if __name__ == "__main__":
    main()
