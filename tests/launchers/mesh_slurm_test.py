#!/usr/bin/env python3
"""angio mesh in a Slurm of four nodes, each in a network namespace of its own with a port of 100 Mb/s (veth, bridge, tbf): a
node with a slower port is named, one that dies is passed over, a job that is cancelled can be resumed.

  mesh_slurm_test.py ANGIO [UNITTEST ARGUMENTS]"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import slurm_cluster
import support

ANGIO = None
CLUSTER = None
NODES = 4  # three rounds; each node has three partners, enough for a slow direction
RATE = "100mbit"


def run(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True)


class Namespaces:
    """One namespace with a bridge and an address for the controller and the user, and behind it one for each node. The host's
    own network is not touched."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.stem = f"angio-mesh-{os.getpid()}"
        self.head = self.stem + "-head"
        self.network = "10.213.7"

    def name(self, node):
        return f"{self.stem}-{node}"

    def address(self, node):
        return f"{self.network}.{self.nodes.index(node) + 10}"

    @property
    def host_address(self):
        return self.network + ".1"

    def up(self):
        run("ip", "netns", "add", self.head)
        for words in (("link", "set", "lo", "up"), ("link", "add", "bridge0", "type", "bridge"),
                      ("addr", "add", self.host_address + "/24", "dev", "bridge0"), ("link", "set", "bridge0", "up")):
            run("ip", "-n", self.head, *words)
        for node in self.nodes:
            space = self.name(node)
            run("ip", "netns", "add", space)
            run("ip", "-n", self.head, "link", "add", node, "type", "veth", "peer", "name", "eth0", "netns", space)
            run("ip", "-n", self.head, "link", "set", node, "master", "bridge0", "up")
            for words in (("addr", "add", self.address(node) + "/24", "dev", "eth0"), ("link", "set", "eth0", "up"), ("link", "set", "lo", "up")):
                run("ip", "-n", space, *words)
            self.limit(node, RATE, RATE)

    def limit(self, node, sends, receives):
        """Rates of a node's port: tbf in the namespace for what it sends, on the bridge's side for what it receives."""
        for space, device, rate in ((self.name(node), "eth0", sends), (self.head, node, receives)):
            run("tc", "-n", space, "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst", "64kb", "latency", "100ms")

    def processes(self, node):
        return [int(word) for word in run("ip", "netns", "pids", self.name(node), check=False).stdout.split()]

    def down(self):
        for node in self.nodes:
            for pid in self.processes(node):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            run("ip", "netns", "del", self.name(node), check=False)
        run("ip", "netns", "del", self.head, check=False)


class MeshCluster(slurm_cluster.Cluster):
    """Its nodes are reached in their namespaces; the controller is on the bridge."""

    def __init__(self, nodes):
        super().__init__(nodes)
        self.spaces = Namespaces(self.nodes)

    def write_configuration(self):
        super().write_configuration()
        path = self.folder / "slurm.conf"
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            if line.startswith("SlurmctldHost="):
                lines[number] = line.replace("(127.0.0.1)", f"({self.spaces.host_address})")
            for node in self.nodes:
                if line.startswith(f"NodeName={node} "):
                    lines[number] = line.replace("NodeAddr=127.0.0.1", f"NodeAddr={self.spaces.address(node)}")
        # Behind the bridge every address is one of this cluster.
        lines = [line.replace("NoAddrCache,NoCtldInAddrAny,NoInAddrAny", "NoAddrCache") for line in lines]
        path.write_text("\n".join(lines) + "\n")

    # Not "ip netns exec": that mounts another /sys, in which slurmd misses its control groups.
    def inside(self, space, *words):
        return ("nsenter", f"--net=/run/netns/{space}", *words)

    def begin(self, *words):
        super().begin(*self.inside(self.spaces.name(words[-1]) if words[0] == "slurmd" else self.spaces.head, *words))

    def run(self, *words, **more):
        return super().run(*self.inside(self.spaces.head, *words), **more)

    def up(self):
        self.spaces.up()
        return super().up()

    def down(self):
        super().down()
        self.spaces.down()

    def kill_node(self, node):
        """As if its power went: slurmd, the step's daemon and the agent."""
        for pid in self.spaces.processes(node):
            os.kill(pid, signal.SIGKILL)

    def revive_node(self, node):
        self.processes = [process for process in self.processes if process.poll() is None]
        self.begin("slurmd", "-D", "-N", node)
        self.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
        self.wait_for(lambda: self.run("sinfo", "-h", "-N", "-n", node, "-o", "%T").stdout.strip() == b"idle", f"{node} idle", 30)


def reason_against():
    reason = slurm_cluster.missing()
    if reason:
        return reason
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not all(map(shutil.which, ("ip", "tc", "nsenter"))):
        return "not installed: ip, tc (iproute2), nsenter (util-linux)"
    if run("ip", "netns", "add", "angio-mesh-try", check=False).returncode != 0:
        return "this system gives no network namespaces"
    run("ip", "netns", "del", "angio-mesh-try", check=False)
    return None


class MeshSlurmTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="angio-mesh-")
        self.out = pathlib.Path(self.folder.name) / "mesh.json"

    def tearDown(self):
        self.folder.cleanup()
        CLUSTER.cancel_jobs()
        self.assertEqual(ANGIO.leftovers(), [])

    def words(self, *more):
        return [*CLUSTER.inside(CLUSTER.spaces.head), "salloc", f"--nodes={NODES}", "--ntasks-per-node=1", "--exclusive", ANGIO.path, "mesh", "--transport", "tcp", "--level", "bw", "--seconds", "1",
                "--control", CLUSTER.spaces.host_address, "--out", str(self.out), *map(str, more)]

    def environment(self):
        name, value = ANGIO.mark.split("=")
        return {**CLUSTER.environment(), name: value}

    def run_mesh(self, *more):
        return subprocess.run(self.words(*more), env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)

    def start(self, *more):
        process = subprocess.Popen(self.words(*more), env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        support.wait_until(lambda: self.out.exists() or process.poll() is not None, 60, "the first round")
        if process.poll() is not None:
            self.fail(process.communicate())
        return process

    def result(self):
        return json.loads(self.out.read_text())

    def states(self):
        return {(one["from"], one["to"]): one["state"] for one in self.result()["measures"]}

    def test_healthy_nodes_are_alike(self):
        done = self.run_mesh()
        self.assertEqual(done.returncode, 0, done.stderr)
        result = self.result()
        self.assertEqual(result["findings"], [], done.stdout)
        self.assertEqual(len(result["measures"]), NODES * (NODES - 1))
        for one in result["measures"]:
            self.assertGreater(one["bits_per_second"], 0.7 * 100e6, one)
            self.assertLess(one["bits_per_second"], 1.15 * 100e6, one)  # the bucket is full at first
        self.assertEqual({host["name"] for host in result["hosts"]}, set(CLUSTER.nodes))
        self.assertEqual({host["name"]: host["tcp"][0]["address"] for host in result["hosts"]},
                         {node: CLUSTER.spaces.address(node) for node in CLUSTER.nodes})

    def test_a_slow_node_is_named_and_nobody_else(self):
        CLUSTER.spaces.limit("n3", "40mbit", "40mbit")
        self.addCleanup(CLUSTER.spaces.limit, "n3", RATE, RATE)
        done = self.run_mesh("--fail-on", "warning")
        self.assertEqual(done.returncode, 1, done.stderr)
        findings = self.result()["findings"]
        self.assertEqual([(f["rule"], f["devices"]) for f in findings], [("mesh.host.slow", ["n3"])], done.stdout)
        self.assertIn("n3 is slow sending and receiving over TCP", done.stdout)

    def test_one_direction_is_told_apart(self):
        CLUSTER.spaces.limit("n1", RATE, "40mbit")
        self.addCleanup(CLUSTER.spaces.limit, "n1", RATE, RATE)
        done = self.run_mesh()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([f["title"].split(":")[0] for f in self.result()["findings"]], ["n1 is slow receiving over TCP"], done.stdout)

    def test_a_node_that_dies_is_passed_over_and_tested_later(self):
        process = self.start()
        CLUSTER.kill_node("n3")
        out, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("n3 is not usable: it vanished", out)
        states = self.states()
        self.assertEqual({state for pair, state in states.items() if "n3" not in pair}, {"done"})
        self.assertIn("failed", {state for pair, state in states.items() if "n3" in pair})
        self.assertEqual(len(states), NODES * (NODES - 1))
        self.assertEqual([f["rule"] for f in self.result()["findings"]], ["mesh.host.lost"], out)
        CLUSTER.revive_node("n3")
        done = self.run_mesh("--resume", self.out, "--retry-failed")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(self.states().values()), {"done"})
        self.assertEqual(self.result()["findings"], [], done.stdout)

    def test_a_cancelled_job_is_resumed(self):
        process = self.start()
        CLUSTER.run("scancel", "--user", "root")
        out, err = process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        states = self.states()
        self.assertNotIn("failed", states.values(), out + err)
        self.assertIn("done", states.values())
        self.assertLess(sum(state == "done" for state in states.values()), NODES * (NODES - 1))
        done = self.run_mesh("--resume", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.states().values()), ["done"] * NODES * (NODES - 1))

    def test_outside_an_allocation(self):
        done = CLUSTER.run(ANGIO.path, "mesh")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"this is not inside an allocation of Slurm", done.stderr)


def main():
    global ANGIO, CLUSTER
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    reason = reason_against()
    if reason:
        support.skip(reason)
    ANGIO = support.Angio(sys.argv[1])
    CLUSTER = MeshCluster(NODES)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a time limit of the test's runner: nothing is left behind
    try:
        print(f"Slurm is up after {CLUSTER.up():.1f} s", file=sys.stderr)
        unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
    finally:
        CLUSTER.down()


if __name__ == "__main__":
    main()
