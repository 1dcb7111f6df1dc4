#!/usr/bin/env python3
"""`angio bench step --framework traffic` with two and four real ranks over gloo and MPI: every strategy, a slow rank that is named,
input, scaling, ranks that die, Ctrl-C.

  step_traffic_test.py ANGIO ANGIO_MPI ANGIO_GLOO [UNITTEST ARGUMENTS]

A program that was not built is "-": its tests skip."""

import json
import os
import shutil
import signal
import sys
import unittest

import step_run
import support

MPI = None
GLOO = None
# A rank that waits as though a GPU worked needs no core of its own.
SMALL = ("--framework", "traffic", "--layers", 2, "--hidden", 64, "--heads", 2, "--vocabulary", 256, "--sequence", 16,
         "--compute", "idle", "--compute-ms", 2)


class GlooTest(step_run.Steps):
    def setUp(self):
        super().setUp()
        if GLOO is None:
            self.skipTest("angio-gloo is not built (libgloo-dev)")

    def words(self, *words):
        return (*SMALL, "--backend", "gloo", "--program", GLOO, *words)

    def test_every_strategy(self):
        layouts = {"ddp": ("data", 2), "fsdp": ("data", 2), "tensor": ("tensor", 2), "pipeline": ("pipeline", 2), "expert": ("expert", 2)}
        for strategy, (name, size) in layouts.items():
            with self.subTest(strategy):
                run = self.run_json(*self.words("--ranks", 2, "--strategy", strategy, "--steps", 4, "--warmup", 1))
                self.check_figures(run, 2, 4)
                self.assertEqual((run["framework"], run["backend"], run["launcher"]), ("traffic", "gloo", "angio"))
                self.assertEqual(run["layout"][name], size)
                self.assertEqual(run["layout"]["data_by"], "fsdp" if strategy == "fsdp" else "ddp")
                self.assertEqual("pipeline_bubble_share" in run, strategy == "pipeline")
                self.assertTrue(all(rank["sent_bytes"] > 0 for rank in run["by_rank"]))

    def test_two_ways_at_once_and_without_communication(self):
        run = self.run_json(*self.words("--dp", 2, "--tp", 2, "--compare-no-comm", "--steps", 3, "--warmup", 1))
        self.assertEqual((run["ranks"], run["layout"]["data"], run["layout"]["tensor"]), (4, 2, 2))
        for rank in run["by_rank"]:
            self.assertEqual([step["communication"] for step in rank["steps"]], [True, False] * 3)
            self.assertEqual([step["exposed_ms"] for step in rank["steps"][1::2]], [0, 0, 0])
        self.assertAlmostEqual(run["difference_ms"], run["step"]["median_ms"] - run["without_communication_ms"], delta=1e-6)

    def test_a_slow_rank_is_named(self):
        run = self.run_json(*self.words("--ranks", 2, "--steps", 16, "--slow", "1:8"))
        self.assertEqual((run["slow_rank"]["rank"], run["slow_rank"]["by"]), (1, "compute"))
        self.assertGreater(run["by_rank"][0]["exposed_ms"], run["by_rank"][1]["exposed_ms"])

    def test_input_is_waited_for(self):
        run = self.run_json(*self.words("--ranks", 2, "--steps", 4, "--loader-ms", 60))
        for rank in run["by_rank"]:
            self.assertGreaterEqual(rank["input_ms"], 59)
            self.assertGreater(rank["input_ms"], rank["forward_ms"])

    def test_scale_and_history(self):
        run = self.run_json(*self.words("--scale", "1,2", "--scaling", "weak", "--steps", 3, "--warmup", 1))
        self.assertEqual([(row["ranks"], row["batch"]) for row in run["scale"]], [(1, 8), (2, 8)])
        self.assertEqual(run["scaling"], "weak")
        self.assertTrue(run["captured"] and run["subject"] and run["metrics"])
        kept = self.folder / "step.json"
        kept.write_text(json.dumps(run))
        added = self.start("history", "add", "--store", self.folder / "history.db", kept)
        out, err = self.finish(added)
        self.assertEqual(added.returncode, 0, out + err)

    def test_a_killed_rank_is_named(self):
        code, out, err = self.kill_at_work("step-rank", signal.SIGKILL, "rank", *self.words("--ranks", 2))
        self.assertEqual((code, out), (3, ""))
        self.assertRegex(err, r"\Aangio: rank 1 \(pid \d+\) killed by SIGKILL after [^\n]*\n\Z")

    def test_an_interrupt_keeps_what_was_measured(self):
        code, out, _ = self.kill_at_work("step-rank", signal.SIGINT, "angio", *self.words("--ranks", 2))
        self.assertEqual(code, 130)
        self.assertIn("interrupted", out)


class MpiTest(step_run.Steps):
    def setUp(self):
        super().setUp()
        if MPI is None:
            self.skipTest("angio-mpi is not built (libopenmpi-dev)")
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun (openmpi-bin)")

    def words(self, *words):
        return (*SMALL, "--backend", "mpi", "--program", MPI, "--ranks", 2, *words)

    def test_tensor(self):
        run = self.run_json(*self.words("--strategy", "tensor", "--steps", 3, "--warmup", 1))
        self.check_figures(run, 2, 3)
        self.assertEqual((run["backend"], run["launcher"]), ("mpi", "mpirun"))

    def test_a_killed_rank_is_named(self):
        code, out, err = self.kill_at_work("step-rank", signal.SIGKILL, "rank", *self.words())
        self.assertEqual((code, out), (3, ""))
        self.assertRegex(err, r"\Aangio: [^\n]*rank 1[^\n]*\n\Z")


def main():
    global MPI, GLOO
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    MPI, GLOO = (None if path == "-" else os.path.abspath(path) for path in sys.argv[2:4])
    if MPI is None and GLOO is None:
        support.skip("neither angio-mpi nor angio-gloo is built (libopenmpi-dev, libgloo-dev)")
    step_run.Steps.ANGIO = support.Angio(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)


if __name__ == "__main__":
    main()
