#!/usr/bin/env python3
"""What `angio run` adds to starting a program, against what `numactl` adds, in turns: wrapper.py ANGIO [ROUNDS]

Both bind to node 0's CPUs and memory before they become /bin/true. Added time is over a bare /bin/true."""

import os
import statistics
import sys
import time

PROGRAM = "/bin/true"


def start(command, environment):
    """Seconds from spawn to exit."""
    begin = time.perf_counter()
    child = os.posix_spawnp(command[0], command, environment)
    _, status = os.waitpid(child, 0)
    seconds = time.perf_counter() - begin
    if status != 0:
        raise SystemExit(f"{command}: status {status}")
    return seconds


def main():
    angio, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500
    environment = dict(os.environ, LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
    commands = {"bare": [PROGRAM],
                "numactl": ["numactl", "--cpunodebind=0", "--membind=0", PROGRAM],
                "angio": [os.path.abspath(angio), "run", PROGRAM]}
    walls = {name: [] for name in commands}
    for turn in range(rounds):
        names = list(commands)
        for name in names[turn % 3:] + names[:turn % 3]:
            walls[name].append(start(commands[name], environment))
    bare = statistics.median(walls["bare"])
    added = {name: statistics.median(walls[name]) - bare for name in ("numactl", "angio")}
    print(f"bare {bare * 1e6:.0f} us; added by numactl {added['numactl'] * 1e6:.0f} us, by angio run {added['angio'] * 1e6:.0f} us: "
          f"ratio {added['angio'] / added['numactl']:.2f} (goal 1.5; medians of {rounds} in turns, "
          f"load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
