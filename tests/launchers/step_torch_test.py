#!/usr/bin/env python3
"""`angio bench step` with PyTorch on two ranks under torchrun, over gloo: a training step in its shares, a slow rank that is
named, waits for input, a rank that dies.

  step_torch_test.py ANGIO [UNITTEST ARGUMENTS]"""

import os
import signal
import subprocess
import sys
import unittest

import step_run
import support

# Debian's torch belongs to the system's Python, whatever stands first in PATH.
PYTHON = "/usr/bin/python3"
SMALL = ("--python", PYTHON, "--backend", "gloo", "--ranks", 2, "--layers", 2, "--hidden", 64, "--heads", 2, "--vocabulary", 64,
         "--sequence", 16, "--batch", 4)


class TorchTest(step_run.Steps):
    def test_a_training_step(self):
        run = self.run_json(*SMALL, "--steps", 5, "--warmup", 1)
        self.check_figures(run, 2, 5)
        self.assertEqual((run["framework"], run["implementation"], run["launcher"]), ("torch", "DistributedDataParallel", "torchrun"))
        self.assertRegex(run["version"], r"^torch \d")
        self.assertEqual(sum(run["buckets_bytes"]), 4 * run["model"]["parameters"])
        for rank in run["by_rank"]:
            self.assertGreater(min(rank["forward_ms"], rank["backward_ms"], rank["optimizer_ms"]), 0)

    def test_a_slow_rank_is_named(self):
        run = self.run_json(*SMALL, "--steps", 24, "--warmup", 2, "--slow", "1:20")
        self.assertEqual((run["slow_rank"]["rank"], run["slow_rank"]["by"]), (1, "compute"))

    def test_input_is_waited_for(self):
        run = self.run_json(*SMALL, "--steps", 4, "--warmup", 1, "--loader-ms", 200)
        for rank in run["by_rank"]:
            self.assertGreaterEqual(rank["input_ms"], 199)

    def test_a_killed_rank_is_named(self):
        code, out, err = self.kill_at_work("torch_step.py", signal.SIGKILL, "rank", *SMALL)
        self.assertEqual((code, out), (3, ""))
        self.assertRegex(err, r"\Aangio: rank 1 \(pid \d+\) killed by SIGKILL\n\Z")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if not os.path.exists(PYTHON):
        support.skip(f"no {PYTHON}")
    if subprocess.run([PYTHON, "-c", "import torch.distributed"],
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        support.skip(f"{PYTHON} has no PyTorch (python3-torch)")
    step_run.Steps.ANGIO = support.Angio(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()
