#!/usr/bin/env python3
"""Collectives with real libraries on four ranks: gloo and MPI, started by `angio run`, by mpirun and by `angio bench
collective`, with the data checked; ranks that die or hang are named.

  collective_test.py ANGIO ANGIO_MPI ANGIO_GLOO [UNITTEST ARGUMENTS]

A program that was not built is "-": its tests skip."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import support

ANGIO = None
MPI = None
GLOO = None
UNBOUND = ("--cpus", "none", "--memory", "none")
# Loopback only, and as any user.
MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader", "--mca", "oob_tcp_if_include", "lo")
MARK = "angio-collective-run "
ALL = ["all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce", "gather", "scatter", "sendrecv"]
RANKS = 4


def wish(**more):
    return json.dumps({"collectives": ALL, "least": 1024, "most": 65536, "factor": 8, "iterations": 3, "warm_up": 1, **more})


# Long enough to be killed in.
def long_wish(**more):
    return wish(collectives=["all_reduce"], least=4, most=4, iterations=100000000, samples=False, **more)


def result(output):
    lines = [line for line in output.decode().splitlines() if MARK in line]
    assert len(lines) == 1, output
    return json.loads(lines[0].split(MARK)[1])


def pid_of_rank(program, rank, variable):
    """The process of the program whose environment says so; none yet: None."""
    for pid in support.marked(ANGIO.mark):
        try:
            command = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if command == pathlib.Path(program).name and f"{variable}={rank}".encode() in words:
            return pid
    return None


class Collectives(unittest.TestCase):
    def tearDown(self):
        try:
            # mpirun kills its ranks and does not wait for their end.
            support.wait_until(lambda: not ANGIO.leftovers(), 10)
        except AssertionError:
            pass
        left = ANGIO.leftovers()
        for pid, _, _ in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.assertEqual(left, [], "processes were left behind")

    def environment(self, **more):
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
        return ANGIO.environment(**root, **more)

    def start(self, words, **more):
        return subprocess.Popen([str(word) for word in words], env=self.environment(**more), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_words(self, words, **more):
        process = self.start(words, **more)
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def check_run(self, output, backend):
        run = result(output)
        self.assertEqual((run["backend"], run["ranks"], run["nodes"]), (backend, RANKS, 1))
        self.assertEqual([member["rank"] for member in run["members"]], list(range(RANKS)))
        self.assertEqual([member["local_rank"] for member in run["members"]], list(range(RANKS)))
        self.assertEqual({row["collective"] for row in run["rows"]},
                         {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll", "Broadcast", "Reduce", "Gather", "Scatter", "SendRecv"})
        for row in run["rows"]:
            self.assertEqual(row["wrong"], 0, row)
            self.assertGreater(row["time_us"], 0, row)
        return run

    def kill_and_see(self, words, program, variable, how):
        """Output of a long run in which rank 2 was killed or stopped."""
        process = self.start(words)
        try:
            victim = support.wait_until(lambda: pid_of_rank(program, 2, variable), 30, "rank 2")
            # In its collective: all have been there for a while.
            support.wait_until(lambda: float(pathlib.Path(f"/proc/{victim}/stat").read_text().rpartition(")")[2].split()[11]) > 5, 30,
                               "rank 2 at work")
            os.kill(victim, how)
            out, err = process.communicate(timeout=60)
        finally:
            for pid in support.marked(ANGIO.mark):
                if process.poll() is None or support.state_of(pid) == "T":
                    os.kill(pid, signal.SIGKILL)
            process.kill()
            process.communicate()
        self.assertNotEqual(process.returncode, 0, out)
        self.assertNotIn(MARK.encode(), out)
        return err.decode()


class GlooTest(Collectives):
    def setUp(self):
        if GLOO is None:
            self.skipTest("angio-gloo is not built (libgloo-dev)")

    def words(self, *words, ranks=RANKS, raw=True):
        options = ("--output", "raw") if raw else ()
        return [ANGIO.path, "run", "--ranks", ranks, *UNBOUND, *options, "--", GLOO, *words]

    def test_every_type_and_reduction(self):
        for algorithm in ("ring", "bcube", "halving-doubling"):
            done = self.run_words(self.words("check", 300), ANGIO_GLOO_ALLREDUCE=algorithm)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout.decode(), r"^gloo [\d.]+, 4 ranks: \d+ calls, data right")

    def test_three_ranks(self):
        done = self.run_words(self.words("check", 100, ranks=3))
        self.assertRegex(done.stdout.decode(), r"^gloo [\d.]+, 3 ranks: \d+ calls, data right")

    def test_all_collectives(self):
        done = self.run_words(self.words("collective-rank", wish()))
        self.assertEqual(done.returncode, 0, done.stderr)
        run = self.check_run(done.stdout, "gloo")
        self.assertRegex(run["library"], r"/libgloo\.so")

    def test_a_killed_rank_is_named(self):
        said = self.kill_and_see(self.words("collective-rank", long_wish(), raw=False), GLOO, "RANK", signal.SIGKILL)
        self.assertRegex(said, r"angio: rank 2 \(pid \d+\) killed by SIGKILL")

    def test_a_rank_that_hangs_ends_by_the_timeout_and_is_named(self):
        said = self.kill_and_see(self.words("collective-rank", long_wish(patience=4), raw=False), GLOO, "RANK", signal.SIGSTOP)
        self.assertRegex(said, r"rank 2 has not been heard for 4 s: it is stopped, or its host is gone")

    def test_wrong_words(self):
        for words, said in ((("check", "many"), 'angio-gloo: "many" is no count of elements'),
                            (("chek",), 'angio-gloo: "chek" is no word of this program'),
                            (("collective-rank",), "angio-gloo: collective-rank needs what angio bench puts behind it")):
            done = self.run_words([GLOO, *words])
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr.decode())
        done = self.run_words([GLOO, "check"], ANGIO_GLOO_ALLREDUCE="tree")
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (2, "angio-gloo: ANGIO_GLOO_ALLREDUCE=tree: no algorithm of gloo\n  ring, bcube or halving-doubling\n"))

    def test_an_interface_that_is_not_there(self):
        done = self.run_words(self.words("check", ranks=2), GLOO_SOCKET_IFNAME="nosuch0")
        self.assertEqual(done.returncode, 3)
        self.assertIn("gloo cannot listen on nosuch0", done.stderr.decode())

    def test_more_memory_than_there_is(self):
        done = self.run_words([ANGIO.path, "bench", "collective", "--backend", "gloo", "--ranks", 2, "-b", "1T", "-e", "1T",
                               *(f"--run-option={word}" for word in UNBOUND)])
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("no memory for buffers of 4 TiB on this host", done.stderr.decode())

    def test_the_json_is_what_judge_reads(self):
        for form in ("json", "nccl-tests-json"):
            made = self.run_words([ANGIO.path, "bench", "collective", "--backend", "gloo", "--ranks", 2, "--ops", "all_gather", "-b", "1K",
                                   "-e", "4K", "-n", "3", *(f"--run-option={word}" for word in UNBOUND), "--format", form])
            self.assertEqual(made.returncode, 0, made.stderr)
            read = subprocess.run([ANGIO.path, "judge", "-", "--format", "json"], input=made.stdout, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False, timeout=60)
            self.assertEqual(read.returncode, 0, read.stderr)
            text = json.dumps(json.loads(read.stdout))
            self.assertIn("AllGather", text)
            self.assertIn("1024", text)

    def test_bench_collective(self):
        done = self.run_words([ANGIO.path, "bench", "collective", "--backend", "gloo", "--ranks", RANKS, "--ops", "all_reduce", "-b", "1K",
                               "-e", "16K", "-n", "3", "--run-option=--cpus", "--run-option=none", "--format", "json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"gloo"', done.stdout.decode())


class MpiTest(Collectives):
    def setUp(self):
        if MPI is None:
            self.skipTest("angio-mpi is not built (libopenmpi-dev)")
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun (openmpi-bin)")
        if b"Open MPI" not in subprocess.run(["mpirun", "--version"], stdout=subprocess.PIPE, check=False).stdout:
            self.skipTest("mpirun is not Open MPI's")

    def words(self, *words, more=()):
        return [*MPIRUN, *self.segments(), *more, "-np", RANKS, MPI, *words]

    def segments(self):
        """A folder for what a killed rank leaves, which Open MPI would put below /dev/shm and never remove."""
        folder = tempfile.TemporaryDirectory(prefix="angio-mpi-")
        self.addCleanup(folder.cleanup)
        return ("--mca", "btl_vader_backing_directory", folder.name)

    def test_every_type_and_reduction(self):
        done = self.run_words(self.words("check", 300))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"^Open MPI v[\d.]+, 4 ranks: \d+ calls, data right\n")

    def test_counts_beyond_what_a_call_takes(self):
        done = self.run_words(self.words("check", 777, more=("-x", "ANGIO_MPI_MOST_COUNT=100")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r" calls, data right\n")

    def test_all_collectives(self):
        done = self.run_words(self.words("collective-rank", wish()))
        self.assertEqual(done.returncode, 0, done.stderr)
        run = self.check_run(done.stdout, "mpi")
        self.assertRegex(run["version"], "^Open MPI v")
        self.assertRegex(run["library"], r"/libmpi\.so")

    def test_below_angio_run(self):
        words = [*MPIRUN, "-np", RANKS, ANGIO.path, "run", "--rendezvous", *UNBOUND, "--", MPI, "collective-rank", wish(collectives=ALL[:3])]
        done = self.run_words(words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({row["wrong"] for row in result(done.stdout)["rows"]}, {0})

    def test_a_killed_rank_is_named(self):
        said = self.kill_and_see(self.words("collective-rank", long_wish()), MPI, "OMPI_COMM_WORLD_RANK", signal.SIGKILL)
        self.assertRegex(said, r"process rank 2 with PID|rank 2 has ended before its work was done")

    def test_a_rank_that_hangs_ends_by_the_timeout_and_is_named(self):
        said = self.kill_and_see(self.words("collective-rank", long_wish(patience=4)), MPI, "OMPI_COMM_WORLD_RANK", signal.SIGSTOP)
        self.assertRegex(said, r"rank 2 has not been heard for 4 s: it is stopped, or its host is gone")

    def test_bench_collective(self):
        # Loopback only, as above.
        here = {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_oob_tcp_if_include": "lo"}
        done = self.run_words([ANGIO.path, "bench", "collective", "--backend", "mpi", "--ranks", RANKS, "--ops", "all_reduce", "-b", "1K",
                               "-e", "16K", "-n", "3", "--run-option=--cpus", "--run-option=none", "--format", "json"], **here)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r'"Open MPI v[\d.]+"')


def main():
    global ANGIO, MPI, GLOO
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    MPI, GLOO = (None if path == "-" else os.path.abspath(path) for path in sys.argv[2:4])
    if MPI is None and GLOO is None:
        support.skip("neither angio-mpi nor angio-gloo is built (libopenmpi-dev, libgloo-dev)")
    ANGIO = support.Angio(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)


if __name__ == "__main__":
    main()
