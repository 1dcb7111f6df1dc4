#!/usr/bin/env python3
"""angio fabric on simulated fat trees with planted faults: every fault is named at its place, and nothing else is; a
healthy fabric has no warning. Scans run over ibsim with opensm; show --expect and diff compare with the healthy scan.

usage: fabric_faults_test.py angio [hosts]   a number of hosts: that fat tree alone, up to 4,096"""

import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import lab

ANGIO = pathlib.Path(sys.argv[1]).resolve()
failures = []


def same(ours, theirs, what):
    if ours == theirs:
        return
    failures.append(what)
    print(f"FAILED: {what}", flush=True)
    for row in sorted(ours - theirs)[:8]:
        print(f"    told, not planted: {row}")
    for row in sorted(theirs - ours)[:8]:
        print(f"    planted, not told: {row}")


def angio(*words):
    done = subprocess.run([ANGIO, "fabric", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{words}: exit {done.returncode}: {done.stderr.decode()[-500:]}")
    return json.loads(done.stdout)


def scan(simulator, out):
    done = subprocess.run([ANGIO, "fabric", "scan", "--out", out, "--format", "json"], cwd=simulator.folder,
                          env=simulator.environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"scan: exit {done.returncode}: {done.stderr.decode()[-500:]}")


def place(end):
    return end["name"]


def findings(report):
    """(rule, where) of all that is worth a warning; where: its ports, else its nodes, else what it is about."""
    rows = set()
    for one in report["findings"]:
        if one["severity"] == "info":
            continue
        ports = " - ".join(sorted(place(end) for end in one["ports"]))
        nodes = " - ".join(sorted(place(node) for node in one["nodes"]))
        rows.add((one["rule"].removeprefix("fabric."), ports or nodes or one["node"]))
    return rows


def changes(diff):
    return {(one["kind"], " - ".join(sorted(re.split(" to | and ", one["where"])))) for one in diff["changes"] if one["severity"] != "info"}


class Case:
    """A net with faults, each with what must be told of it by the scan alone, beside the healthy scan, and by diff."""

    def __init__(self, net):
        self.net = net
        self.commands = []
        self.alone, self.beside, self.differ = set(), set(), set()

    def words(self, name, port):
        return f"{self.net.titles.get(name, name)} port {port}"

    def ends(self, name, port):
        other, at, _ = self.net.cables[(name, port)]
        return self.words(name, port), self.words(other, at)

    def cable(self, name, port):
        return " - ".join(sorted(self.ends(name, port)))

    def degrade(self, leaf, port, speed):
        """Slower or narrower, as ibsim has it: both ends allow no more."""
        full = self.net.speed
        self.net.slow(leaf, port, speed)
        both = self.cable(leaf, port)
        self.alone.add(("link.restricted", both))
        self.beside.add(("link.restricted", both))
        self.differ.add(("width" if speed.split("x")[0] != full.split("x")[0] else "speed", self.cable(leaf, port)))

    def lose_uplink(self, leaf, port):
        self.commands.append(f'Unlink "{leaf}"[{port}]')
        self.alone.add(("link.missing", leaf))
        self.beside.add(("link.missing", leaf))
        self.beside.add(("plan.link-missing", self.cable(leaf, port)))
        self.differ.add(("link gone", self.cable(leaf, port)))

    def lose_host(self, leaf, port):
        """The only cable of an adapter: nobody but the healthy scan knows that there was one."""
        other = self.net.cables[(leaf, port)][0]
        self.commands.append(f'Unlink "{leaf}"[{port}]')
        self.gone(other)

    def die(self, host):
        """A host whose every packet is lost behind a link that is up."""
        leaf, port, _ = self.net.cables[(host, 1)]
        self.commands.append(f'Error "{host}"[1] 100')
        self.alone.add(("node.no-answer", self.words(leaf, port)))
        self.beside.add(("node.no-answer", self.words(leaf, port)))
        self.gone(host)

    def gone(self, adapter):
        name = self.net.titles[adapter].split()[0]
        self.beside.add(("plan.node-missing", name))
        self.differ.add(("node gone", name))

    def errors(self, leaf, port):
        """Far more than any limit, for what the port received."""
        self.commands.append(f'PerformanceSet "{leaf}"[{port}] PortCounters.SymbolErrorCounter=60000')
        self.commands.append(f'PerformanceSet "{leaf}"[{port}] PortCounters.LinkDownedCounter=20')
        self.alone.add(("link.symbol-errors", self.cable(leaf, port)))
        self.beside |= {("link.symbol-errors", self.cable(leaf, port)), ("link.downed", self.cable(leaf, port))}
        self.differ.add(("counter", self.words(leaf, port)))

    def swap(self, host, a, b):
        """Two adapters of a host, each on the other's leaf."""
        leaves = [self.net.cables[(f"{host}.{rail}", 1)][:2] for rail in (a, b)]
        self.net.swap(*leaves[0], *leaves[1])
        both = " - ".join(f"{host} mlx5_{rail}" for rail in sorted((a, b)))
        ends = " - ".join(sorted([self.words(f"{host}.{rail}", 1) for rail in (a, b)] + [self.words(*leaf) for leaf in leaves]))
        self.alone.add(("rail.misaligned", both))
        self.beside |= {("rail.misaligned", both), ("plan.cable-elsewhere", ends)}
        self.differ.add(("cable moved", " - ".join(sorted(self.words(*leaf) for leaf in leaves))))

    def lose_adapter(self, host, rail, count):
        leaf, port, _ = self.net.cables[(f"{host}.{rail}", 1)]
        self.commands.append(f'Unlink "{leaf}"[{port}]')
        rest = " - ".join(f"{host} mlx5_{other}" for other in range(count) if other != rail)
        self.alone.add(("host.adapter-missing", rest))
        self.beside |= {("host.adapter-missing", rest), ("plan.node-missing", host)}
        self.differ.add(("node gone", f"{host} mlx5_{rail}"))

    def lose_leaf(self, leaf, below):
        """With its hosts: one thing."""
        for port in range(1, self.net.switches[leaf][1] + 1):
            if (leaf, port) in self.net.cables:
                self.commands.append(f'Unlink "{leaf}"[{port}]')
        self.beside.add(("plan.node-missing", leaf))
        self.differ.add(("node gone", leaf))


def simulate(net):
    manager, seat = list(net.hosts)[:2]
    return lab.Simulator(net, seat, manager)


def run(name, build, plant):
    """A healthy scan, then one of the same net with faults."""
    with tempfile.TemporaryDirectory() as folder:
        good, bad = pathlib.Path(folder) / "good.json", pathlib.Path(folder) / "bad.json"
        with simulate(build()) as simulator:
            scan(simulator, good)
        begun = time.monotonic()
        same(findings(angio("show", good, "--format", "json")), set(), f"{name}: healthy")
        case = Case(build())
        plant(case)
        with simulate(case.net) as simulator:
            simulator.console(*case.commands)
            simulator.sweep()
            time.sleep(max(0, begun + 1.1 - time.monotonic()))  # scans tell their second
            scan(simulator, bad)
        same(findings(angio("show", bad, "--format", "json")), case.alone, f"{name}: the scan alone")
        same(findings(angio("show", bad, "--expect", good, "--format", "json")), case.beside, f"{name}: beside the healthy one")
        same(changes(angio("diff", good, bad, "--format", "json")), case.differ, f"{name}: diff")
        same(changes(angio("diff", good, good, "--format", "json")), set(), f"{name}: diff with itself")
        print(f"{name}: {len(case.differ)} faults told by diff, {len(case.beside)} findings beside the healthy scan", flush=True)


def tree(hosts, below, spines, links):
    """Faults of every kind at places drawn by chance, no two at one switch."""
    leaves = hosts // below

    def plant(case):
        draw = random.Random(hosts)
        places = draw.sample(range(1, leaves), min(leaves - 1, 5))
        kinds = [lambda leaf: case.degrade(leaf, draw.randrange(below) + 1, "1xHDR"),
                 lambda leaf: case.degrade(leaf, below + 1 + draw.randrange(spines * links), "4xEDR"),
                 lambda leaf: case.lose_uplink(leaf, below + 1 + draw.randrange(spines * links)),
                 lambda leaf: case.die(case.net.cables[(leaf, draw.randrange(below) + 1)][0]),
                 lambda leaf: case.lose_host(leaf, draw.randrange(below) + 1)]
        for leaf, kind in zip(places, kinds):
            kind(f"leaf-{leaf}")

    run(f"{hosts} hosts", lambda: lab.two_levels(hosts, below, spines, links=links, spare=2), plant)


def rails():
    def plant(case):
        case.swap("gpu-3", 0, 1)
        case.lose_adapter("gpu-12", 2, 4)
        case.degrade("leaf-0-3", 6, "1xHDR")

    run("16 hosts of 4 adapters", lambda: lab.rails(16, 4, 8, 4), plant)


def errors_and_a_leaf():
    def plant(case):
        case.errors("leaf-5", 3)
        case.errors("spine-2", 4)
        case.lose_leaf("leaf-6", 8)

    run("a leaf gone, and errors", lambda: lab.two_levels(64, 8, 4, links=1), plant)


def main():
    lab.require()
    if len(sys.argv) > 2:
        tree(int(sys.argv[2]), 32, 32, 1)
    else:
        tree(8, 2, 2, 2)
        tree(64, 8, 4, 2)
        tree(512, 16, 16, 1)
        rails()
        errors_and_a_leaf()
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
