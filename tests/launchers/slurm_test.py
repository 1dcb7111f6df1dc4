#!/usr/bin/env python3
"""angio run below srun (wrapper form), in a batch job, and srun started by angio (--with slurm), in a Slurm of two
nodes on this machine.

  slurm_test.py ANGIO [UNITTEST ARGUMENTS]"""

import json
import os
import pathlib
import shlex
import sys
import time
import unittest

import expectation
import slurm_cluster
import support

ANGIO = None
CLUSTER = None
HERE = pathlib.Path(__file__).resolve().parent
CHECK = (sys.executable, HERE / "check_rank.py")
UNBOUND = ("--cpus", "none", "--memory", "none")


def ranks_of(text):
    return sorted(support.reports(text, "RANK"), key=lambda rank: int(rank["RANK"]))


class SlurmTest(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(ANGIO.leftovers(), [])

    def run_words(self, *words, **more):
        name, value = ANGIO.mark.split("=")
        return CLUSTER.run(*words, env={name: value, **more})

    def expected(self, ranks):
        reason = expectation.reason_against()
        if reason:
            self.skipTest(reason)
        return expectation.masks(ranks)

    def check_numbers(self, found, master):
        self.assertEqual([(r["RANK"], r["LOCAL_RANK"], r["WORLD_SIZE"], r["LOCAL_WORLD_SIZE"], r["NODE_RANK"], r["SLURMD_NODENAME"])
                          for r in found],
                         [("0", "0", "4", "2", "0", "n0"), ("1", "1", "4", "2", "0", "n0"),
                          ("2", "0", "4", "2", "1", "n1"), ("3", "1", "4", "2", "1", "n1")])
        self.assertEqual({rank["MASTER_ADDR"] for rank in found}, {master})
        self.assertEqual(len({rank["MASTER_PORT"] for rank in found}), 1)

    def test_wrapper_below_srun(self):
        expected = self.expected(2)
        done = self.run_words("srun", "--nodes=2", "--ntasks-per-node=2", "--cpu-bind=none", *ANGIO.words("--rendezvous", "--"), *CHECK,
                              ANGIO_EXPECTED=json.dumps(expected))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = ranks_of(done.stdout)
        self.check_numbers(found, "n0")
        self.assertEqual([rank["mask"] for rank in found], expected * 2)
        self.assertEqual({rank["parent"] for rank in found}, {"slurmstepd"})

    def test_angio_starts_srun(self):
        expected = self.expected(2)
        address = support.own_address()
        if address is None:
            self.skipTest("this host has only loopback addresses")
        done = self.run_words("salloc", "--nodes=2", "--ntasks-per-node=2",
                              *ANGIO.words("--nodes", 2, "--ranks-per-node", 2, "--with", "slurm", "--master", f"{address}:23456", "--"),
                              *CHECK, ANGIO_EXPECTED=json.dumps(expected))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = ranks_of(done.stdout)
        self.check_numbers(found, address)
        self.assertEqual({rank["MASTER_PORT"] for rank in found}, {"23456"})
        self.assertEqual([rank["mask"] for rank in found], expected * 2)
        self.assertIn(b"3: RANK ", done.stdout)

    def test_srun_applies_the_exported_masks(self):
        expected = self.expected(2)
        options = self.run_words(ANGIO.path, "plan", "--ranks", 2, "--format", "slurm").stdout.decode().split()
        self.assertIn("--mem-bind=prefer,mask_mem:0x1,0x1", options)
        show = "import json, os; print('RANK ' + json.dumps({'id': os.environ['SLURM_LOCALID'], 'mask': sorted(os.sched_getaffinity(0))}))"
        done = self.run_words("srun", "--nodes=1", "--exclusive", *options, sys.executable, "-c", show)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = sorted(support.reports(done.stdout, "RANK"), key=lambda rank: rank["id"])
        self.assertEqual([rank["mask"] for rank in found], expected)

    def test_all_gpus_of_the_node_stay_visible(self):
        if not CLUSTER.has_gpus:
            self.skipTest("device files need root")
        done = self.run_words("salloc", "--nodes=2", "--ntasks-per-node=2", f"--gpus-per-node={slurm_cluster.GPUS}",
                              *ANGIO.words("--nodes", 2, "--ranks-per-node", 2, "--gpus-per-node", slurm_cluster.GPUS, "--with", "slurm",
                                           *UNBOUND, "--"), *CHECK, SLURM_GPUS_PER_TASK="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = ranks_of(done.stdout)
        self.assertEqual(len(found), 4)
        self.assertEqual({rank["CUDA_VISIBLE_DEVICES"] for rank in found}, {"0,1,2,3"})

    def test_dry_run_can_be_copied(self):
        done = self.run_words("salloc", "--nodes=2", "--ntasks-per-node=2",
                              *ANGIO.words("--nodes", 2, "--ranks-per-node", 2, "--with", "slurm", "--strict", *UNBOUND, "--dry-run", "--"),
                              *CHECK)
        self.assertEqual(done.returncode, 0, done.stderr)
        line = done.stdout.decode().strip().removeprefix("would run: ")
        self.assertRegex(line, r"^srun --nodes=2 --ntasks=4 --ntasks-per-node=2 --distribution=block --cpu-bind=none "
                               r"--kill-on-bad-exit=1 --label --export=ALL,MASTER_ADDR=n0,MASTER_PORT=\d+ ")
        self.assertIn(" run --rendezvous --cpus none --memory none --strict -- ", line)
        copied = self.run_words("salloc", "--nodes=2", "--ntasks-per-node=2", *shlex.split(line))
        self.assertEqual(copied.returncode, 0, copied.stderr)
        self.check_numbers(ranks_of(copied.stdout), "n0")

    def test_outside_an_allocation(self):
        done = self.run_words(*ANGIO.words("--nodes", 2, "--ranks-per-node", 8, "--gpus-per-node", 8, "--with", "slurm", "--", "true"))
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"this is not inside an allocation of Slurm", done.stderr)
        self.assertIn(b"salloc --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 --exclusive", done.stderr)

    def test_too_small_an_allocation(self):
        done = self.run_words("salloc", "--nodes=1", *ANGIO.words("--nodes", 2, "--ranks-per-node", 1, "--with", "slurm", "--", "true"))
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, rb"job \d+ has 1 node, 2 are asked for")

    def test_a_failing_rank_ends_all(self):
        started = time.monotonic()
        done = self.run_words("salloc", "--nodes=2", "--ntasks-per-node=2",
                              *ANGIO.words("--nodes", 2, "--ranks-per-node", 2, "--with", "slurm", *UNBOUND, "--"), *CHECK,
                              ANGIO_FAILING_RANK="2")
        # srun's own code is the highest of all, and the others end by SIGTERM.
        self.assertEqual(done.returncode, 143, done.stderr)
        self.assertIn(b"n1: task 2: Exited with exit code 7", done.stderr)
        self.assertLess(time.monotonic() - started, 30)

    def batch(self, script):
        path = CLUSTER.folder / "job.sh"
        output = CLUSTER.folder / "job.out"
        output.unlink(missing_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\necho status $?\n")
        name, value = ANGIO.mark.split("=")
        done = CLUSTER.run("sbatch", "--nodes=1", "--ntasks-per-node=2", "--exclusive", f"--output={output}", path, env={name: value})
        self.assertEqual(done.returncode, 0, done.stderr)
        job = done.stdout.split()[-1].decode()
        return job, output

    def test_launcher_in_a_batch_job(self):
        expected = self.expected(2)
        words = [str(word) for word in (*ANGIO.words("--ranks", 2, "--"), *CHECK)]
        _, output = self.batch("export ANGIO_EXPECTED=" + shlex.quote(json.dumps(expected)) + "\n" + shlex.join(words))
        support.wait_until(lambda: output.exists() and b"status" in output.read_bytes(), 30, "the job's end")
        text = output.read_bytes()
        self.assertTrue(text.endswith(b"status 0\n"), text)
        self.assertEqual([rank["mask"] for rank in ranks_of(text)], expected)
        self.assertEqual([rank["WORLD_SIZE"] for rank in ranks_of(text)], ["2", "2"])

    def test_scancel_reaches_every_rank(self):
        script = 'trap "echo got TERM; exit 0" TERM; echo ready; while :; do sleep 0.05; done'
        job, output = self.batch("exec " + shlex.join(str(word) for word in (*ANGIO.words("--ranks", 2, *UNBOUND, "--"), "bash", "-c", script)))
        support.wait_until(lambda: output.exists() and output.read_bytes().count(b"ready") == 2, 30, "both ranks")
        CLUSTER.run("scancel", "--batch", "--signal=TERM", job)
        support.wait_until(lambda: output.read_bytes().count(b"got TERM") == 2, 20, "both ranks got it")
        support.wait_until(lambda: not ANGIO.leftovers(), 20, "the job has ended")


def main():
    global ANGIO, CLUSTER
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    reason = slurm_cluster.missing()
    if reason:
        support.skip(reason)
    ANGIO = support.Angio(sys.argv[1])
    CLUSTER = slurm_cluster.Cluster()
    try:
        print(f"Slurm is up after {CLUSTER.up():.1f} s", file=sys.stderr)
        unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
    finally:
        CLUSTER.down()


if __name__ == "__main__":
    main()
