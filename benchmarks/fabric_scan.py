#!/usr/bin/env python3
"""The scan of a fabric beside infiniband-diags, on the same simulated fabric in the same run: 2,000 hosts under 144
switches on ibsim with opensm, tools taking turns, each as a whole process with its output thrown away. Ratios are taken
within a round; medians of the rounds are printed.

    cmake --preset bench && cmake --build --preset bench --target fabric_scan_tool fabric_delay
    benchmarks/fabric_scan.py build/bench/benchmarks/fabric_scan_tool build/bench/benchmarks/libfabric_delay.so [rounds]

Three questions:
  1. one scan (topology, links, counters) against ibnetdiscover + iblinkinfo + ibqueryerrors: at most 1/3 of their time;
  2. the same with 200 us between request and answer, as many side by side as are under way (fabric_delay.cpp, preloaded
     into both): ibnetdiscover takes at least 5 times as long as the scan, which reads the counters besides;
  3. 1 % of the hosts lose every datagram: at most 1.2 times the healthy scan. ibsim hands a lost datagram back at once;
     with fabric_delay it comes back when the sender's timeouts are over, as from the kernel: then what is left to wait
     for is the last try of the last dead host (printed beside, no goal).

Needs ibsim-utils, opensm and infiniband-diags."""

import pathlib
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/peers/ibsim"))
import lab


def seconds(simulator, words, *libraries):
    begin = time.monotonic()
    subprocess.run([str(word) for word in words], cwd=simulator.folder, env=simulator.environment(*libraries),
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=300)
    return time.monotonic() - begin


def median(values):
    return statistics.median(values)


def against_three(simulator, dump, rounds):
    shares, scans, others = [], [], {tool: [] for tool in ("ibnetdiscover", "iblinkinfo", "ibqueryerrors")}
    for _ in range(rounds):
        times = {tool: seconds(simulator, [tool]) for tool in others}
        scans.append(seconds(simulator, [dump]))
        shares.append(scans[-1] / sum(times.values()))
        for tool, taken in times.items():
            others[tool].append(taken)
    words = ", ".join(f"{tool} {median(taken) * 1e3:.0f} ms" for tool, taken in others.items())
    print(f"no delay: scan {median(scans) * 1e3:.0f} ms; {words}; share {median(shares):.3f} (goal: at most 0.333)", flush=True)


def against_discovery(simulator, dump, delay, rounds):
    ratios, scans, theirs = [], [], []
    for _ in range(rounds):
        theirs.append(seconds(simulator, ["ibnetdiscover"], delay))
        scans.append(seconds(simulator, [dump], delay))
        ratios.append(theirs[-1] / scans[-1])
    print(f"200 us: scan {median(scans) * 1e3:.0f} ms, ibnetdiscover {median(theirs) * 1e3:.0f} ms; "
          f"{median(ratios):.2f} times (goal: at least 5)", flush=True)


def with_dead_hosts(simulator, dump, delay, rounds):
    dead = random.Random(11).sample(range(2, 2000), 20)
    ratios = {"no delay": [], "200 us and the kernel's timeouts": []}
    for _ in range(rounds):
        whole = [seconds(simulator, [dump]), seconds(simulator, [dump], delay)]
        simulator.console(*(f'Error "gpu-{host}"[1] 100' for host in dead))
        lame = [seconds(simulator, [dump]), seconds(simulator, [dump], delay)]
        simulator.console(*(f'Error "gpu-{host}"[1] 0' for host in dead))
        for name, healthy, faulty in zip(ratios, whole, lame):
            ratios[name].append((faulty / healthy, faulty, healthy))
    for name, rows in ratios.items():
        print(f"1 % dead, {name}: {median(row[0] for row in rows):.2f} of the healthy scan "
              f"({median(row[1] for row in rows) * 1e3:.0f} ms, {median(row[2] for row in rows) * 1e3:.0f} ms)"
              f"{' (goal: at most 1.2)' if name == 'no delay' else ''}", flush=True)


def main():
    lab.require("ibnetdiscover", "iblinkinfo", "ibqueryerrors")
    dump, delay = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    with lab.Simulator(lab.spread(2000, 20, 20, 44)) as simulator:
        whole = lab.read_dump(simulator.run(dump))
        print(f"{len(whole['nodes'])} nodes, {len(whole['links']) // 2} links, {int(whole['work']['sent'])} MADs", flush=True)
        against_three(simulator, dump, rounds)
        against_discovery(simulator, dump, delay, rounds)
        with_dead_hosts(simulator, dump, delay, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
