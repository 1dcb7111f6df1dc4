#!/usr/bin/env python3
"""angio run below Open MPI's mpirun (wrapper form), and mpirun started by angio (--with mpi).

  openmpi_test.py ANGIO [UNITTEST ARGUMENTS]"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import expectation
import support

ANGIO = None
HERE = pathlib.Path(__file__).resolve().parent
CHECK = (sys.executable, HERE / "check_rank.py")
# Loopback only, and as any user.
MPIRUN = ("mpirun", "--oversubscribe", "--mca", "btl", "self,vader", "--mca", "oob_tcp_if_include", "lo")
C_PROGRAM = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size, sum = 0;
  cpu_set_t set;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  sched_getaffinity(0, sizeof set, &set);
  printf("rank %d of %d sum %d cpus", rank, size, sum);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) printf(" %d", i);
  printf("\n");
  MPI_Finalize();
}
"""


def environment(**more):
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return ANGIO.environment(**root, **more)


def ranks_of(text):
    return sorted(support.reports(text, "RANK"), key=lambda rank: int(rank["RANK"]))


class OpenMpiTest(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(ANGIO.leftovers(), [])

    def run_words(self, words, **more):
        return subprocess.run([str(word) for word in words], env=environment(**more), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)

    def expected(self, ranks):
        reason = expectation.reason_against()
        if reason:
            self.skipTest(reason)
        return expectation.masks(ranks)

    def check_all(self, done, ranks, expected):
        self.assertEqual(done.returncode, 0, done.stderr)
        found = ranks_of(done.stdout)
        self.assertEqual([rank["mask"] for rank in found], expected)
        self.assertEqual([rank["RANK"] for rank in found], [str(i) for i in range(ranks)])
        self.assertEqual({rank["WORLD_SIZE"] for rank in found}, {str(ranks)})
        self.assertEqual([rank["LOCAL_RANK"] for rank in found], [str(i) for i in range(ranks)])
        self.assertEqual(len({(rank["MASTER_ADDR"], rank["MASTER_PORT"]) for rank in found}), 1)
        # The wrapper became the program: mpirun is its parent.
        self.assertEqual({rank["parent"] for rank in found}, {"mpirun"})

    def test_wrapper_with_four_ranks(self):
        expected = self.expected(4)
        words = [*MPIRUN, "-np", 4, "--bind-to", "none", *ANGIO.words("--rendezvous", "--"), *CHECK]
        self.check_all(self.run_words(words, ANGIO_EXPECTED=json.dumps(expected)), 4, expected)

    def test_wrapper_with_two_ranks(self):
        expected = self.expected(2)
        words = [*MPIRUN, "-np", 2, "--bind-to", "none", *ANGIO.words("--rendezvous", "--"), *CHECK]
        self.check_all(self.run_words(words, ANGIO_EXPECTED=json.dumps(expected)), 2, expected)

    def test_a_mask_that_mpirun_cut_is_not_cut_again(self):
        self.expected(1)
        words = [*MPIRUN, "-np", 2, "--map-by", "core", "--bind-to", "core"]
        bare = ranks_of(self.run_words([*words, "env", "-u", "RANK", "sh", "-c", 'RANK=$OMPI_COMM_WORLD_RANK exec "$0" "$@"', *CHECK]).stdout)
        wrapped = ranks_of(self.run_words([*words, *ANGIO.words("--rendezvous", "--"), *CHECK]).stdout)
        self.assertEqual(len(wrapped), 2)
        self.assertEqual([rank["mask"] for rank in wrapped], [rank["mask"] for rank in bare])

    def test_mpi_program(self):
        expected = self.expected(4)
        if not shutil.which("mpicc"):
            self.skipTest("no mpicc (libopenmpi-dev)")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "ring.c")
            source.write_text(C_PROGRAM)
            subprocess.run(["mpicc", source, "-o", f"{folder}/ring"], check=True)
            done = self.run_words([*MPIRUN, "-np", 4, "--bind-to", "none", *ANGIO.words("--"), f"{folder}/ring"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.decode().splitlines()),
                         [f"rank {r} of 4 sum 6 cpus {' '.join(map(str, expected[r]))}" for r in range(4)])

    def test_angio_starts_mpirun(self):
        expected = self.expected(4)
        options = [f"--launcher-option={option}" for option in MPIRUN[1:]]
        words = ANGIO.words("--nodes", 1, "--ranks-per-node", 4, "--with", "mpi", *options, "--")
        done = self.run_words([*words, *CHECK], ANGIO_EXPECTED=json.dumps(expected))
        self.check_all(done, 4, expected)
        self.assertIn(b"[1,3]<stdout>:RANK ", done.stdout)

    def test_dry_run(self):
        done = self.run_words(ANGIO.words("--nodes", 1, "--ranks-per-node", 2, "--with", "mpi", "--memory", "bind", "--dry-run", "--",
                                          "python3", "my train.py"), PATH=os.environ["PATH"], NCCL_DEBUG="INFO")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = done.stdout.decode()
        self.assertTrue(line.startswith("would run: mpirun -np 2 --map-by ppr:2:node --bind-to none --tag-output -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT="), line)
        self.assertIn(" -x NCCL_DEBUG ", line)
        self.assertTrue(line.endswith(f"{ANGIO.path} run --rendezvous --memory bind -- python3 'my train.py'\n"), line)

    def test_several_nodes_need_hosts(self):
        done = self.run_words(ANGIO.words("--nodes", 2, "--ranks-per-node", 2, "--with", "mpi", "--", "true"))
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"mpirun knows of no other host: 2 nodes are asked for", done.stderr)

    def test_a_failing_rank_ends_all(self):
        words = [*MPIRUN, "-np", 4, "--bind-to", "none", *ANGIO.words("--rendezvous", "--"), *CHECK]
        done = self.run_words(words, ANGIO_FAILING_RANK="2")
        self.assertEqual(done.returncode, 7, done.stderr)


def main():
    global ANGIO
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if not shutil.which("mpirun"):
        support.skip("no mpirun (openmpi-bin)")
    if b"Open MPI" not in subprocess.run(["mpirun", "--version"], stdout=subprocess.PIPE, check=False).stdout:
        support.skip("mpirun is not Open MPI's")
    ANGIO = support.Angio(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()
