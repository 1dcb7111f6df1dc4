#!/usr/bin/env python3
"""What a dry run costs: seconds and memory by number of ranks and by network. No other tool does this, so there is
no peer; the share of NCCL's own init in the whole is the ratio to watch.

usage: dryrun.py ANGIO LIBNCCL"""

import json
import subprocess
import sys

TOPOLOGY = "8xh100-sxm+8x400g/2"
ROUNDS = 3


def run(angio, library, nodes, net):
    command = [angio, "dryrun", "--nccl", library, "--redirect", "yes", "--topo", TOPOLOGY, "--nodes", str(nodes),
               "--net", net, "--sizes", "1M", "--format", "json", "--timeout", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    angio, library = sys.argv[1:]
    print(f"{'ranks':>5}  {'network':>8}  {'init s':>7}  {'all s':>7}  {'MiB a node':>10}  {'redirect ms':>11}  {'init/all':>8}")
    for nodes, net in ((1, "phantom"), (2, "socket"), (2, "phantom"), (8, "socket"), (8, "phantom")):
        runs = [run(angio, library, nodes, net) for _ in range(ROUNDS)]
        best = min(runs, key=lambda each: each["seconds"])
        print(f"{8 * nodes:5}  {net:>8}  {best['init_seconds']:7.2f}  {best['seconds']:7.2f}"
              f"  {best['resident_peak_bytes'] / nodes / 2**20:10.0f}  {min(r['redirect_ms'] for r in runs):11.2f}"
              f"  {best['init_seconds'] / best['seconds']:8.2f}")


if __name__ == "__main__":
    main()
