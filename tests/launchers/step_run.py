"""What the tests of `angio bench step` share: runs with a folder for temporary files of their own, ranks that are killed in the
middle of a step. Nothing here looks at how long a step took: the machine may be busy."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import support


class Steps(unittest.TestCase):
    ANGIO = None  # support.Angio

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="angio-step-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tearDown(self):
        try:
            support.wait_until(lambda: not self.ANGIO.leftovers(), 10, "nothing left")
        except AssertionError:
            left = self.ANGIO.leftovers()
            for pid, _, _ in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            self.fail(f"processes were left behind: {left}")

    def environment(self, **more):
        # Open MPI: loopback only, and what a killed rank leaves goes with the test's folder, not below /dev/shm.
        mpi = {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_oob_tcp_if_include": "lo",
               "OMPI_MCA_btl_vader_backing_directory": str(self.folder)}
        return self.ANGIO.environment(TMPDIR=str(self.folder), **mpi, **more)

    def start(self, *words):
        return subprocess.Popen([self.ANGIO.path, *map(str, words)], env=self.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process):
        """(stdout, stderr)."""
        try:
            out, err = process.communicate(timeout=200)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return out.decode(), err.decode()

    def run_json(self, *words):
        process = self.start("bench", "step", *words, "--format", "json")
        out, err = self.finish(process)
        self.assertEqual(process.returncode, 0, err)
        return json.loads(out)

    def check_figures(self, run, ranks, steps):
        """What holds on any machine: every rank is there, no share is longer than its step."""
        self.assertEqual((run["schema"], run["ranks"], run["step"]["steps"]), ("angio.bench-step/1", ranks, steps))
        self.assertEqual([rank["rank"] for rank in run["by_rank"]], list(range(ranks)))
        self.assertGreater(run["samples_per_second"], 0)
        for rank in run["by_rank"]:
            self.assertTrue(rank["finished"], rank)
            for step in rank["steps"]:
                shares = [step[name] for name in ("input_ms", "forward_ms", "backward_ms", "optimizer_ms", "exposed_ms")]
                self.assertGreaterEqual(min(shares), 0, step)
                self.assertLessEqual(sum(shares), 1.01 * step["step_ms"] + 0.1, step)
        slowest = [max(rank["steps"][i]["step_ms"] for rank in run["by_rank"]) for i in range(steps)]
        self.assertAlmostEqual(run["step"]["maximum_ms"], max(slowest), delta=1e-3)
        self.assertGreater(run["exposed_ms"], 0)
        self.assertLess(run["exposed_share"], 1)

    def pid_of_rank(self, rank, marker):
        for pid in support.marked(self.ANGIO.mark):
            try:
                words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            names = (f"RANK={rank}".encode(), f"OMPI_COMM_WORLD_RANK={rank}".encode())
            if marker.encode() in command and any(name in words for name in names):
                return pid
        return None

    def kill_at_work(self, marker, how, whom, *words):
        """(exit code, stdout, stderr) of a long run whose rank 1 ("rank") or angio itself ("angio") gets a signal while it steps."""
        process = self.start("bench", "step", "--steps", 1000000, *words)
        try:
            support.wait_until(lambda: all(list(self.folder.glob(f"angio-step-*/rank-{rank}.jsonl")) for rank in (0, 1)), 120,
                               "two ranks at their steps")
            os.kill(process.pid if whom == "angio" else self.pid_of_rank(1, marker), how)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        out, err = self.finish(process)
        self.assertEqual(list(self.folder.glob("angio-step-*")), [], "a folder was left behind")
        return process.returncode, out, err
