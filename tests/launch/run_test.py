#!/usr/bin/env python3
"""`angio run` in front of real commands: the command itself says which CPUs, memory policy, arguments, descriptors
and signals it was given. The last line is "N passed, N failed, N skipped"."""

import argparse
import ctypes
import concurrent.futures
import os
import pathlib
import platform
import re
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

ANGIO = ""
CPUS = sorted(os.sched_getaffinity(0))

SHOW_CPUS = "import os; print(*sorted(os.sched_getaffinity(0)))"
# The kernel's own words for a policy stand in numa_maps: "prefer:0", "bind:0", "interleave:0", "local", "default".
SHOW_POLICY = "print(open('/proc/self/numa_maps').read().split()[1])"
SHOW_WORDS = "import sys; print(sys.argv[1:])"


def clean(**variables):
    """This environment without any launcher's variables, and with these."""
    launchers = ("LOCAL_", "RANK", "WORLD_SIZE", "OMPI_", "SLURM_", "PMI", "MPI_", "FLUX_", "PALS_", "JSM_", "MV2_", "OMP_",
                 "CUDA_VISIBLE", "ROCR_VISIBLE", "HIP_VISIBLE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(launchers)}
    return kept | variables


def run(*words, preexec=None, **options):
    environment = options.pop("env", clean())
    return subprocess.run([ANGIO, "run", *words], capture_output=True, text=True, env=environment, preexec_fn=preexec,
                          timeout=60, **options)


def python(code, *words):
    return [sys.executable, "-c", code, *words]


def has_policy():
    """The kernel here knows memory policies, and lets this process set them."""
    try:
        done = run("--rank", "0", "--ranks", "1", "--cpus", "none", *python(SHOW_POLICY))
        return done.stdout.startswith("prefer")
    except OSError:
        return False


def refuse_set_mempolicy():
    """What a container's seccomp profile does: set_mempolicy answers EPERM, everything else goes through.
    Numbers of include/uapi/linux/{prctl,seccomp,bpf_common}.h and asm/unistd.h."""
    number = {"x86_64": 238, "aarch64": 237}[platform.machine()]
    load, jump_if_equal, give = 0x20, 0x15, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | 1
    words = [(load, 0, 0, 0), (jump_if_equal, 0, 1, number), (give, 0, 0, refuse), (give, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *word) for word in words))
    program = struct.pack("HxxxxxxQ", len(words), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


class Seccomp(unittest.TestCase):
    def setUp(self):
        if platform.machine() not in ("x86_64", "aarch64"):
            self.skipTest("the number of set_mempolicy is not known here")

    def test_the_command_goes_on_with_its_cpus_and_one_line_says_what_is_missing(self):
        done = run("--rank", "0", "--ranks", "1", *python(SHOW_CPUS), preexec=refuse_set_mempolicy)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^angio: rank 0: set_mempolicy.* refused \(EPERM\): the container's seccomp profile")
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_strict_and_bind_do_not_start_it(self):
        for option in (["--strict"], ["--memory", "bind"]):
            done = run("--rank", "0", "--ranks", "1", *option, "echo", "ran", preexec=refuse_set_mempolicy)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertIn("EPERM", done.stderr)


class Rank(unittest.TestCase):
    def test_mask_is_seen_by_the_command(self):
        done = run("--rank", "0", "--ranks", "1", *python(SHOW_CPUS))
        self.assertEqual(done.stdout.split(), [str(cpu) for cpu in CPUS])
        self.assertEqual(done.stderr, "")

    def test_ranks_share_the_cores(self):
        if len(CPUS) < 2:
            self.skipTest("one CPU: nothing to share")
        masks = []
        for rank in range(2):
            done = run(*python(SHOW_CPUS), env=clean(LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2"))
            masks.append(set(done.stdout.split()))
        self.assertTrue(masks[0] and masks[1])
        self.assertFalse(masks[0] & masks[1], masks)

    def test_status_of_the_kernel(self):
        done = run("--rank", "1", "--ranks", str(len(CPUS) or 1) if len(CPUS) > 1 else "2", "cat", "/proc/self/status")
        listed = re.search(r"^Cpus_allowed_list:\t(\S+)$", done.stdout, re.M).group(1)
        self.assertRegex(listed, r"^\d+([-,]\d+)*$")
        self.assertEqual(done.returncode, 0)

    def test_inherited_mask_is_not_left(self):
        one = CPUS[-1]
        done = run("--rank", "0", "--ranks", "2", *python(SHOW_CPUS), preexec=lambda: os.sched_setaffinity(0, {one}))
        self.assertEqual(done.stdout.split(), [str(one)])

    def test_policies_are_seen_by_the_command(self):
        if not has_policy():
            self.skipTest("memory policies cannot be set here")
        for word, shown in {"preferred": "prefer", "bind": "bind", "interleave": "interleave", "local": "local",
                            "none": "default"}.items():
            done = run("--rank", "0", "--ranks", "1", "--memory", word, *python(SHOW_POLICY))
            self.assertTrue(done.stdout.startswith(shown), (word, done.stdout, done.stderr))

    def test_verify_says_what_the_kernel_holds(self):
        if not has_policy():
            self.skipTest("memory policies cannot be set here")
        done = run("--rank", "0", "--ranks", "1", "--verify", "true")
        self.assertRegex(done.stderr, r"^rank 0: .*CPUs \d.*memory prefers? node \d.*; the kernel confirms both\n$")

    def test_no_rank_runs_unbound_and_says_so(self):
        done = run("echo", "ran")
        self.assertEqual(done.stdout, "ran\n")
        self.assertIn("angio: not bound: no variable says which local rank this is; looked for LOCAL_RANK,", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_strict_does_not_start(self):
        done = run("--strict", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (3, ""))

    def test_contradictions(self):
        environment = clean(LOCAL_RANK="0", LOCAL_WORLD_SIZE="2", OMPI_COMM_WORLD_LOCAL_RANK="1",
                            OMPI_COMM_WORLD_LOCAL_SIZE="2")
        done = run("echo", "ran", env=environment)
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assertIn("LOCAL_RANK=0 but OMPI_COMM_WORLD_LOCAL_RANK=1", done.stderr)
        strict = run("--strict", "echo", "ran", env=environment)
        self.assertEqual((strict.returncode, strict.stdout), (3, ""))
        garbage = run("echo", "ran", env=clean(LOCAL_RANK="three"))
        self.assertIn('LOCAL_RANK="three" is not a number', garbage.stderr)

    def test_64_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            tasks = [pool.submit(run, *python(SHOW_CPUS), env=clean(LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="64"))
                     for rank in range(64)]
            for task in tasks:
                done = task.result()
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.split())
                self.assertTrue(set(map(int, done.stdout.split())) <= set(CPUS))


class Command(unittest.TestCase):
    def test_words_arrive_as_they_are(self):
        words = ["two words", "", "--verify", "--", "--rank", "7", "-x", "a=b", "[1,2]", "*", "\u00e9\n"]
        for begin in ([], ["--"]):
            done = run("--rank", "0", "--ranks", "1", *begin, *python(SHOW_WORDS, *words))
            self.assertEqual(done.stdout, f"{words}\n")

    def test_command_that_looks_like_an_option(self):
        done = run("--rank", "0", "--", "--version")
        self.assertEqual(done.returncode, 127)
        self.assertIn("--version: no such program in PATH", done.stderr)

    def test_unknown_option_is_refused(self):
        done = run("--memroy", "bind", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_no_command(self):
        done = run("--rank", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no command to run", done.stderr)

    def test_exit_codes(self):
        known = ("--rank", "0", "--ranks", "1")
        self.assertEqual(run(*known, "sh", "-c", "exit 42").returncode, 42)
        self.assertEqual(run(*known, "no-such-program-anywhere").returncode, 127)
        self.assertEqual(run(*known, "./no/such/program").returncode, 127)
        self.assertEqual(run(*known, "/").returncode, 126)
        with tempfile.TemporaryDirectory() as folder:
            plain = pathlib.Path(folder) / "plain"
            plain.write_text("x")
            self.assertEqual(run(*known, str(plain)).returncode, 126)
            lost = pathlib.Path(folder) / "lost"
            lost.write_text("#!/no/such/interpreter\n")
            lost.chmod(0o755)
            done = run(*known, str(lost))
            self.assertEqual(done.returncode, 126)
            self.assertIn("interpreter", done.stderr)
            script = pathlib.Path(folder) / "script"  # a shell runs it without a first line, and so does exec
            script.write_text("echo from a script\n")
            script.chmod(0o755)
            self.assertEqual(run(*known, str(script)).stdout, "from a script\n")

    def test_death_by_signal(self):
        done = run("--rank", "0", "--ranks", "1", "sh", "-c", "kill -SEGV $$")
        self.assertEqual(done.returncode, -signal.SIGSEGV)

    def test_same_process(self):
        child = subprocess.Popen([ANGIO, "run", "--rank", "0", "--ranks", "1", *python("import os; print(os.getpid())")],
                                 stdout=subprocess.PIPE, text=True, env=clean())
        printed, _ = child.communicate(timeout=60)
        self.assertEqual(int(printed), child.pid)

    def test_signal_dispositions_are_inherited(self):
        code = "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('SigIgn')])"

        def bare(preexec):
            return subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, preexec_fn=preexec,
                                  restore_signals=False).stdout

        def wrapped(preexec):
            return run("--rank", "0", "--ranks", "1", "--why", "cat", "/proc/self/status", preexec=preexec,
                       restore_signals=False).stdout

        def states(text):
            return re.findall(r"^(Sig(?:Blk|Ign|Cgt)):\t(\S+)$", text, re.M)

        for disposition in (signal.SIG_DFL, signal.SIG_IGN):
            def preexec(disposition=disposition):
                signal.signal(signal.SIGPIPE, disposition)
                signal.signal(signal.SIGINT, disposition)
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
            self.assertEqual(states(wrapped(preexec)), states(bare(preexec)))
        self.assertTrue(code)

    def test_descriptors_are_inherited(self):
        with tempfile.TemporaryFile() as file:
            # What the listing itself had open is gone by the time each is looked at.
            show = python("import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')"
                          " if os.path.exists('/proc/self/fd/' + fd)))")
            bare = subprocess.run(show, capture_output=True, text=True, pass_fds=(file.fileno(),))
            done = run("--rank", "0", "--ranks", "1", *show, pass_fds=(file.fileno(),))
            self.assertEqual(done.stdout, bare.stdout)
            self.assertIn(str(file.fileno()), done.stdout)

    def test_closed_standard_input_stays_closed(self):
        done = subprocess.run(["sh", "-c", '"$0" run --rank 0 --ranks 1 ls -l /proc/self/fd <&-', ANGIO],
                              capture_output=True, text=True, env=clean())
        self.assertNotIn("/dev/null", done.stdout)

    def test_standard_input_is_whole(self):
        done = run("--rank", "0", "--ranks", "1", "cat", input="first\nsecond\n")
        self.assertEqual(done.stdout, "first\nsecond\n")

    def test_closed_output_ends_the_command_as_always(self):
        done = subprocess.run(["bash", "-c", '"$0" run --rank 0 --ranks 1 yes | head -1; echo ${PIPESTATUS[0]}', ANGIO],
                              capture_output=True, text=True, env=clean(), restore_signals=True)
        self.assertEqual(done.stdout, "y\n141\n")


class Environment(unittest.TestCase):
    def test_threads_are_set_only_if_unset(self):
        show = ["sh", "-c", 'echo "$OMP_NUM_THREADS"']
        done = run("--rank", "0", "--ranks", "1", *show)
        self.assertGreaterEqual(int(done.stdout), 1)
        kept = run("--rank", "0", "--ranks", "1", "--why", *show, env=clean(OMP_NUM_THREADS="77"))
        self.assertEqual(kept.stdout, "77\n")
        self.assertIn('OMP_NUM_THREADS: it is set to "77" already and stays', kept.stderr)

    def test_everything_else_is_as_it_was(self):
        before = clean(ODD="a=b\nc", EMPTY="", OMP_NUM_THREADS="1")
        done = run("--rank", "0", "--ranks", "1", "env", "-0", env=before)
        after = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)
        self.assertEqual(after, before)

    def test_own_device_without_a_gpu_is_refused(self):
        done = run("--rank", "0", "--ranks", "1", "--devices", "own", "echo", "ran", env=clean(CUDA_VISIBLE_DEVICES=""))
        if done.returncode == 0:
            self.skipTest("there is a GPU here")
        self.assertEqual((done.returncode, done.stdout), (3, ""))

    def test_dry_run_starts_nothing(self):
        done = run("--rank", "0", "--ranks", "1", "--dry-run", "sh", "-c", "echo ran >&2")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "")
        self.assertTrue(done.stdout.endswith("would run: sh -c 'echo ran >&2'\n"), done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--angio", required=True)
    parser.add_argument("pattern", nargs="?", default="", help="only tests whose name contains this")
    arguments = parser.parse_args()
    global ANGIO
    ANGIO = str(pathlib.Path(arguments.angio).resolve())
    loader = unittest.TestLoader()
    if arguments.pattern:
        loader.testNamePatterns = [f"*{arguments.pattern}*"]
    result = unittest.TextTestRunner(verbosity=1).run(loader.loadTestsFromModule(sys.modules["__main__"]))
    for test, reason in result.skipped:
        print(f"skipped {test.id()}: {reason}")
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or result.testsRun == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
