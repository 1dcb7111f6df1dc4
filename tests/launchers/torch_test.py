#!/usr/bin/env python3
"""A data-parallel training of four ranks (PyTorch, gloo) under both forms of angio run: started by angio, and as
wrapper below torchrun, mpirun and srun. Each rank checks its own mask, that of every thread, and the training.

  torch_test.py ANGIO [UNITTEST ARGUMENTS]"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import expectation
import slurm_cluster
import support

ANGIO = None
# Debian's torch belongs to the system's Python, whatever stands first in PATH.
PYTHON = "/usr/bin/python3"
HERE = pathlib.Path(__file__).resolve().parent
TRAIN = (PYTHON, HERE / "train.py")
GLOO = {"GLOO_SOCKET_IFNAME": "lo"}


class TorchTest(unittest.TestCase):
    def setUp(self):
        reason = expectation.reason_against()
        if reason:
            self.skipTest(reason)
        self.expected = expectation.masks(4)
        self.started = time.monotonic()

    def tearDown(self):
        print(f"{time.monotonic() - self.started:.1f} s", file=sys.stderr)
        support.wait_until(lambda: not ANGIO.leftovers(), 5, "nothing left")

    def environment(self, **more):
        return ANGIO.environment(**GLOO, ANGIO_EXPECTED=json.dumps(self.expected), **more)

    def run_words(self, *words, **more):
        return subprocess.run([str(word) for word in words], env=self.environment(**more), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)

    def check(self, done):
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr).decode())
        found = sorted(support.reports(done.stdout, "TRAINED"), key=lambda rank: rank["rank"])
        self.assertEqual([rank["rank"] for rank in found], [0, 1, 2, 3], done.stdout)
        self.assertEqual([rank["mask"] for rank in found], self.expected)
        self.assertEqual({rank["size"] for rank in found}, {4})

    def test_started_by_angio(self):
        self.check(self.run_words(*ANGIO.words("--ranks", 4, "--"), *TRAIN))

    def test_below_torchrun(self):
        torchrun = shutil.which("torchrun")
        if not torchrun:
            self.skipTest("no torchrun")
        with tempfile.TemporaryDirectory() as logs:
            # torch 1.13 on Python 3.11 cannot read its own default of -r and -t (enum.Flag): one of them given helps.
            self.check(self.run_words(PYTHON, torchrun, "--nproc_per_node", 4, "-r", 1, "-t", 1, "--log_dir", logs, "--no_python",
                                      *ANGIO.words("--"), *TRAIN))

    def test_below_mpirun(self):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun (openmpi-bin)")
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
        self.check(self.run_words("mpirun", "--oversubscribe", "--mca", "oob_tcp_if_include", "lo", "--bind-to", "none", "-np", 4,
                                  *ANGIO.words("--rendezvous", "--"), *TRAIN, **root))

    def test_below_srun(self):
        reason = slurm_cluster.missing()
        if reason:
            self.skipTest(reason)
        with slurm_cluster.Cluster(1) as cluster:
            self.check(cluster.run("srun", "--nodes=1", "--ntasks=4", "--cpu-bind=none", *ANGIO.words("--rendezvous", "--"), *TRAIN,
                                   env=self.environment(SLURM_CONF=str(cluster.folder / "slurm.conf")), timeout=240))

    def test_a_rank_that_dies_in_training(self):
        script = ("import os, signal, torch, torch.distributed as dist\n"
                  "dist.init_process_group('gloo')\n"
                  "if dist.get_rank() == 2: os.kill(os.getpid(), signal.SIGSEGV)\n"
                  "for _ in range(1000): dist.all_reduce(torch.ones(1))\n")
        done = self.run_words(*ANGIO.words("--ranks", 4, "--"), PYTHON, "-c", script)
        self.assertEqual(done.returncode, 139, done.stderr)
        self.assertRegex(done.stderr.decode(), r"angio: rank 2 \(pid \d+\) killed by SIGSEGV")


def main():
    global ANGIO
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if subprocess.run([PYTHON, "-c", "import torch.distributed"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        support.skip(f"{PYTHON} has no torch (python3-torch)")
    ANGIO = support.Angio(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()
