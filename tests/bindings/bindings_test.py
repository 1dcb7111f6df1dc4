#!/usr/bin/env python3
"""The C library and the Python module bind this very process; the kernel is asked what came of it.

bindings_test.py LIBRARY MODULE_FOLDER"""

import ctypes
import os
import pathlib
import subprocess
import sys
import unittest

LIBRARY, MODULES = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])

RANK = """
import os, sys, threading, warnings
sys.path.insert(0, {modules!r})
import angio
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    {before}
    binding = {call}
    print(binding.state if binding else getattr(binding, "state", binding), len(caught))
    print(binding.message if binding is not None else "")
print(sorted(os.sched_getaffinity(0)))
{after}
"""


def run(call="angio.bind()", before="", after="", **variables):
    """state, warnings, message and mask of a fresh Python that makes the call."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "OMPI_", "PMI"))}
    for name in ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE"):
        environment.pop(name, None)
    environment["ANGIO_LIBRARY"] = LIBRARY
    environment.update(variables)
    code = RANK.format(modules=MODULES, call=call, before=before, after=after)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


CPUS = sorted(os.sched_getaffinity(0))


@unittest.skipIf(len(CPUS) < 2, "needs two CPUs to tell ranks apart")
class Bind(unittest.TestCase):
    def test_the_rank_of_the_launcher_gets_its_share(self):
        masks = []
        for rank in range(2):
            state, message, mask = run(LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2")[:3]
            self.assertEqual(state, "bound 0", message)
            self.assertIn(f"rank {rank}: CPUs ", message)
            masks.append(eval(mask))
        self.assertFalse(set(masks[0]) & set(masks[1]), masks)
        self.assertEqual(sorted(masks[0] + masks[1]), CPUS)

    def test_arguments_go_before_variables(self):
        by_argument = run(call="angio.bind(1, 2)", LOCAL_RANK="0", LOCAL_WORLD_SIZE="2")[2]
        self.assertEqual(by_argument, run(LOCAL_RANK="1", LOCAL_WORLD_SIZE="2")[2])

    def test_threads_that_exist_get_the_cpus_and_the_message_says_what_they_miss(self):
        before = "gate = threading.Event(); seen = []; worker = threading.Thread(target=lambda: (gate.wait(), " \
                 "seen.append(sorted(os.sched_getaffinity(0))))); worker.start()"
        lines = run(before=before, after="gate.set(); worker.join(); print(seen[0])", LOCAL_RANK="0", LOCAL_WORLD_SIZE="2")
        self.assertIn("1 of 1 threads that existed already got the CPUs", lines[1])
        self.assertEqual(lines[3], lines[2])

    def test_a_worker_of_an_unbound_parent_is_bound(self):
        lines = run(call="angio.worker_init(3)", LOCAL_RANK="1", LOCAL_WORLD_SIZE="2")
        self.assertLess(len(eval(lines[2])), len(CPUS))


class FailsOpen(unittest.TestCase):
    def check_unbound(self, lines, words):
        self.assertEqual(lines[0], "unbound 1")
        self.assertIn(words, lines[1])
        self.assertEqual(eval(lines[2]), CPUS)

    def test_without_a_rank(self):
        self.check_unbound(run(), "LOCAL_RANK")

    def test_contradictory_variables(self):
        self.check_unbound(run(LOCAL_RANK="3", LOCAL_WORLD_SIZE="2"), "LOCAL_RANK")

    def test_without_the_library(self):
        self.check_unbound(run(ANGIO_LIBRARY="/no/such/libangio.so"), "ANGIO_LIBRARY")

    def test_a_rank_that_is_no_number(self):
        self.check_unbound(run(call="angio.bind('first')"), "first")


class CLibrary(unittest.TestCase):
    def test_message_is_cut_to_its_size_and_may_be_missing(self):
        library = ctypes.CDLL(LIBRARY)
        library.angio_bind.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
        small = ctypes.create_string_buffer(b"x" * 8, 8)
        self.assertEqual(library.angio_bind(7, 2, small, 8), 2)  # rank 7 of 2: unbound
        self.assertEqual(len(small.value), 7)
        self.assertEqual(library.angio_bind(7, 2, None, 0), 2)

    def test_only_the_promised_symbols_leave_it(self):
        shown = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True)
        names = {line.split()[-1].split("@")[0] for line in shown.stdout.splitlines()}
        self.assertEqual(names - {"ANGIO_0"}, {"angio_bind", "angio_version"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
