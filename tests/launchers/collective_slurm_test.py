#!/usr/bin/env python3
"""Collectives below Slurm, in one of two nodes on this machine: gloo over both nodes, MPI by the plugin of srun on one,
and `angio bench collective --with slurm`, with the data checked.

  collective_slurm_test.py ANGIO ANGIO_MPI ANGIO_GLOO [UNITTEST ARGUMENTS]

A program that was not built is "-": its tests skip."""

import json
import os
import sys
import unittest

import slurm_cluster
import support

ANGIO = None
MPI = None
GLOO = None
CLUSTER = None
UNBOUND = ("--cpus", "none", "--memory", "none")
MARK = "angio-collective-run "
WISH = json.dumps({"collectives": ["all_reduce", "all_gather", "alltoall"], "least": 1024, "most": 8192, "factor": 8, "iterations": 3,
                   "warm_up": 1})


def result(output):
    lines = [line for line in output.decode().splitlines() if MARK in line]
    assert len(lines) == 1, output
    return json.loads(lines[0].split(MARK)[1])


class CollectiveSlurmTest(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(ANGIO.leftovers(), [])

    def run_words(self, *words, **more):
        name, value = ANGIO.mark.split("=")
        return CLUSTER.run(*words, env={name: value, **more}, timeout=120)

    def allocated(self, *words, nodes=2, ranks=2):
        return self.run_words("salloc", f"--nodes={nodes}", f"--ntasks-per-node={ranks}", *words)

    def check(self, done, backend):
        self.assertEqual(done.returncode, 0, done.stderr)
        run = result(done.stdout)
        self.assertEqual((run["backend"], run["ranks"]), (backend, 4))
        self.assertEqual({row["wrong"] for row in run["rows"]}, {0})
        self.assertEqual({row["collective"] for row in run["rows"]}, {"AllReduce", "AllGather", "AlltoAll"})
        return run

    def test_gloo_over_two_nodes(self):
        if GLOO is None:
            self.skipTest("angio-gloo is not built (libgloo-dev)")
        address = support.own_address()
        if address is None:
            self.skipTest("this host has no address but loopback, which angio run refuses for two nodes")
        # The names of the nodes stand in no table of hosts.
        done = self.allocated(*ANGIO.words("--nodes", 2, "--ranks-per-node", 2, "--with", "slurm", "--master", f"{address}:{support.free_port()}", *UNBOUND, "--output", "raw", "--"),
                              GLOO, "collective-rank", WISH)
        run = self.check(done, "gloo")
        self.assertEqual([member["local_rank"] for member in run["members"]], [0, 1, 0, 1])

    def test_bench_collective(self):
        if GLOO is None:
            self.skipTest("angio-gloo is not built (libgloo-dev)")
        done = self.allocated(ANGIO.path, "bench", "collective", "--backend", "gloo", "--with", "slurm", "--nodes", 1, "--ranks", 4,
                              "--ops", "all_reduce", "-b", "1K", "-e", "8K", "-n", "3", f"--launcher-option=--export=ALL,MASTER_ADDR=127.0.0.1,MASTER_PORT={support.free_port()}",
                              *(f"--run-option={word}" for word in UNBOUND), "--format", "json", nodes=1, ranks=4)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"gloo"', done.stdout.decode())

    def test_mpi_by_the_plugin_of_srun(self):
        if MPI is None:
            self.skipTest("angio-mpi is not built (libopenmpi-dev)")
        offered = self.run_words("srun", "--mpi=list")
        if b"pmix" not in offered.stdout + offered.stderr:
            self.skipTest("srun --mpi=list has no pmix (slurm-wlm-basic-plugins)")
        done = self.run_words("srun", "--nodes=1", "--ntasks=4", "--mpi=pmix", "--cpu-bind=none", MPI, "collective-rank", WISH,
                              OMPI_MCA_btl="self,vader")
        self.check(done, "mpi")


def main():
    global ANGIO, MPI, GLOO, CLUSTER
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    MPI, GLOO = (None if path == "-" else os.path.abspath(path) for path in sys.argv[2:4])
    reason = slurm_cluster.missing()
    if MPI is None and GLOO is None:
        reason = "neither angio-mpi nor angio-gloo is built (libopenmpi-dev, libgloo-dev)"
    if reason:
        support.skip(reason)
    ANGIO = support.Angio(sys.argv[1])
    CLUSTER = slurm_cluster.Cluster()
    try:
        print(f"Slurm is up after {CLUSTER.up():.1f} s", file=sys.stderr)
        unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
    finally:
        CLUSTER.down()


if __name__ == "__main__":
    main()
