#!/usr/bin/env python3
"""angio run as launcher with real processes: exit codes, signals, Ctrl-C, output, and nothing left behind.

  supervisor_test.py ANGIO [UNITTEST ARGUMENTS]"""

import hashlib
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import support

ANGIO = None
UNBOUND = ("--cpus", "none", "--memory", "none")


def content_of(text, rank):
    """The bytes that a rank wrote, from prefixed output."""
    first, again = f"[{rank}] ".encode(), f"[{rank}]+".encode()
    parts = []
    for line in text.split(b"\n"):
        if line.startswith(again):
            parts[-1] = parts[-1][:-1]
        elif not line.startswith(first):
            continue
        parts.append(line[len(first):].replace(b"\r" + first, b"\r") + b"\n")
    return b"".join(parts)


class Terminal:
    """A pseudo terminal with angio in its foreground, as a shell would have it."""

    def __init__(self, *words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.clear()
            os.environ.update(ANGIO.environment())
            os.execv(ANGIO.path, ANGIO.words(*words))
        self.text = b""

    def read_until(self, what, seconds=10):
        end = time.monotonic() + seconds
        while what not in self.text and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 65536)
                except OSError:
                    break
        if what not in self.text:
            raise AssertionError(f"{what!r} did not appear in {self.text!r}")

    def type(self, what):
        os.write(self.fd, what)

    def wait(self):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self.fd, 65536)
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        raise AssertionError(f"angio does not end: {self.text!r}")


class SupervisorTest(unittest.TestCase):
    def setUp(self):
        self.shm = sorted(os.listdir("/dev/shm"))
        self.folder = tempfile.mkdtemp(prefix="angio-supervisor-")

    def tearDown(self):
        left = ANGIO.leftovers()
        orphans = support.children()
        for pid in {pid for pid, _, _ in left} | set(orphans):
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except OSError:
                pass
        shutil.rmtree(self.folder)
        self.assertEqual(left, [], "processes were left behind")
        self.assertEqual(orphans, [], "children were left behind, perhaps zombies")
        self.assertEqual(sorted(os.listdir("/dev/shm")), self.shm)

    def run_shell(self, ranks, script, *options, **more):
        return ANGIO.run("--ranks", ranks, *UNBOUND, *options, "--", "bash", "-c", script, **more)

    def start_shell(self, ranks, script, *options, **more):
        return ANGIO.start("--ranks", ranks, *UNBOUND, *options, "--", "bash", "-c", script, **more)

    # ------------------------------------------------------------ plain runs

    def test_each_rank_gets_its_numbers(self):
        done = self.run_shell(3, 'echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK '
                                 '$MASTER_ADDR $((MASTER_PORT > 1023))')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[{r}] {r} {r} 3 3 0 0 127.0.0.1 1".encode() for r in range(3)])
        self.assertEqual(done.stderr, b"")

    def test_64_ranks(self):
        done = self.run_shell(64, 'for i in 1 2 3 4 5; do echo line $i of $RANK; echo e$i >&2; done')
        self.assertEqual(done.returncode, 0, done.stderr)
        for rank in range(64):
            self.assertEqual(content_of(done.stdout, rank),
                             b"".join(b"line %d of %d\n" % (i, rank) for i in range(1, 6)))
            self.assertEqual(content_of(done.stderr, rank), b"e1\ne2\ne3\ne4\ne5\n")

    def test_signals_and_limits_reach_the_rank_as_they_came(self):
        script = 'grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status; ulimit -Sn'
        bare = subprocess.run(["bash", "-c", script], env=ANGIO.environment(), stdout=subprocess.PIPE, check=True,
                              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)).stdout
        done = self.run_shell(1, script, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertEqual(content_of(done.stdout, 0), bare)

    # ------------------------------------------------------------ failures

    def test_the_first_failure_decides(self):
        done = self.run_shell(4, 'if [ $RANK = 2 ]; then echo the reason >&2; exit 9; fi; sleep 100')
        self.assertEqual(done.returncode, 9)
        self.assertRegex(done.stderr.decode(), r"rank 2 \(pid \d+\) exited with 9 after \d+\.\d s; 3 others stopped\n")
        self.assertRegex(done.stderr.decode(), r"The last lines of rank 2:\n  the reason\n")

    def test_a_signal_is_named(self):
        resource_off = lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        done = self.run_shell(2, '[ $RANK = 1 ] && kill -SEGV $$; sleep 100', preexec_fn=resource_off)
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        self.assertRegex(done.stderr.decode(), r"rank 1 \(pid \d+\) killed by SIGSEGV after \d+\.\d s; 1 other stopped")

    def test_a_core_dump_is_the_cause_though_others_end_first(self):
        pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
        if pattern.startswith(("|", "/")):
            self.skipTest(f"core files go to {pattern}")
        script = ('import ctypes, os, pathlib, sys, time\n'
                  'if os.environ["RANK"] == "1":\n'
                  '    memory = bytearray(os.urandom(1 << 20) * 300)\n'
                  '    pathlib.Path("pid.part").write_text(str(os.getpid())); os.rename("pid.part", "pid")\n'
                  '    os.abort()\n'
                  'while not os.path.exists("pid"): time.sleep(0.001)\n'
                  'pid = open("pid").read()\n'
                  'while "CoreDumping:\\t1" not in open(f"/proc/{pid}/status").read(): pass\n'
                  'sys.exit(1)\n')
        limit = lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        done = ANGIO.run("--ranks", 2, *UNBOUND, "--", sys.executable, "-c", script, cwd=self.folder, preexec_fn=limit)
        self.assertRegex(done.stderr.decode(), r"rank 1 \(pid \d+\) killed by SIGABRT \(core dumped\)")
        self.assertEqual(done.returncode, 128 + signal.SIGABRT)

    def test_a_kill_is_the_cause_though_another_aborts_at_once(self):
        script = ('import os, signal, socket, sys\n'
                  'rank, path = int(os.environ["RANK"]), "meet"\n'
                  'if rank == 2:\n'
                  '    memory = bytearray(os.urandom(1 << 20) * 50)\n'
                  '    door = socket.socket(socket.AF_UNIX); door.bind("meet.part"); door.listen(4); os.rename("meet.part", path)\n'
                  '    peers = [door.accept()[0] for _ in range(2)]\n'
                  '    os.kill(os.getpid(), signal.SIGKILL)\n'
                  'while not os.path.exists(path): pass\n'
                  'peer = socket.socket(socket.AF_UNIX); peer.connect(path)\n'
                  'peer.recv(1)\n'
                  'os.abort()\n')
        limit = lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for _ in range(5):
            done = ANGIO.run("--ranks", 3, *UNBOUND, "--", sys.executable, "-c", script, cwd=self.folder, preexec_fn=limit)
            self.assertRegex(done.stderr.decode(), r"rank 2 \(pid \d+\) killed by SIGKILL")
            self.assertEqual(done.returncode, 128 + signal.SIGKILL)
            os.remove(f"{self.folder}/meet")

    def test_who_ignores_sigterm_is_killed_after_the_grace_period(self):
        started = time.monotonic()
        script = ('if [ $RANK = 0 ]; then until [ -e ready1 ] && [ -e ready2 ]; do sleep 0.05; done; exit 3; fi; '
                  'trap "" TERM; touch ready$RANK; while :; do sleep 0.1; done')
        done = self.run_shell(3, script, "--grace", 1, cwd=self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("2 others stopped (2 by SIGKILL)", done.stderr.decode())
        self.assertGreaterEqual(time.monotonic() - started, 1)
        self.assertLess(time.monotonic() - started, 8)

    def test_grandchildren_that_hide_and_ignore_sigterm(self):
        script = ('import os, signal, sys, time\n'
                  'for i in range(3):\n'
                  '    if os.fork() == 0:\n'
                  '        os.setsid()\n'
                  '        if os.fork(): os._exit(0)\n'
                  '        for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\n'
                  '        time.sleep(1000)\n'
                  'time.sleep(0.3)\n'
                  'sys.exit(5 if os.environ["RANK"] == "1" else 0)\n')
        done = ANGIO.run("--ranks", 2, *UNBOUND, "--grace", 1, "--", sys.executable, "-c", script)
        self.assertEqual(done.returncode, 5)

    def test_what_outlives_a_good_end_is_stopped_and_named(self):
        done = self.run_shell(2, '(exec -a worker sleep 1000) & exit 0')
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"2 background processes outlived the ranks, stopped: sleep \(pid \d+\), ")

    def test_no_such_program(self):
        done = ANGIO.run("--ranks", 2, *UNBOUND, "--", "no-such-program-here")
        self.assertEqual(done.returncode, 127)
        self.assertIn("rank 0: cannot run no-such-program-here: No such file or directory (ENOENT)", done.stderr.decode())

    def test_not_executable(self):
        path = pathlib.Path(self.folder, "data")
        path.write_text("x")
        done = ANGIO.run("--ranks", 2, *UNBOUND, "--", path)
        self.assertEqual(done.returncode, 126)
        self.assertIn("Permission denied (EACCES)", done.stderr.decode())

    def test_the_interpreter_is_missing(self):
        path = pathlib.Path(self.folder, "script")
        path.write_text("#!/no/such/interpreter\n")
        path.chmod(0o755)
        done = ANGIO.run("--ranks", 1, *UNBOUND, "--", path)
        self.assertEqual(done.returncode, 127)
        self.assertIn("the interpreter that its first line names is not", done.stderr.decode())

    def test_too_few_descriptors(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        done = self.run_shell(64, "true", preexec_fn=limit)
        self.assertEqual(done.returncode, 3)
        self.assertIn("192 open files are needed for so many ranks, the limit is 100", done.stderr.decode())

    def test_the_soft_limit_is_raised_for_angio_only(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 4096))
        done = self.run_shell(64, "ulimit -Sn", preexec_fn=limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(content_of(done.stdout, 63), b"100\n")

    # ------------------------------------------------------------ signals

    def stop_by(self, number, script, expected, ranks=3):
        process = self.start_shell(ranks, script)
        text = b""
        while text.count(b"ready") < ranks:
            text += os.read(process.stdout.fileno(), 65536)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, expected, err)
        return text + out, err

    def test_sigterm_is_passed_on(self):
        out, err = self.stop_by(signal.SIGTERM, 'trap "echo got TERM; exit 0" TERM; echo ready; while :; do sleep 0.05; done', 0)
        for rank in range(3):
            self.assertEqual(content_of(out, rank), b"ready\ngot TERM\n")
        self.assertIn(b"angio: stopped by SIGTERM after", err)

    def test_default_actions_give_128_and_the_signal(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.stop_by(number, "echo ready; exec sleep 100", 128 + number)
        # By the signal itself, so that a script around angio ends too.
        self.stop_by(signal.SIGINT, "echo ready; exec sleep 100", -signal.SIGINT)

    def test_a_code_of_its_own_comes_through(self):
        self.stop_by(signal.SIGTERM, 'trap "exit 85" TERM; echo ready; while :; do sleep 0.05; done', 85)

    def test_sigusr1_reaches_the_rank_and_not_its_workers(self):
        script = ('trap "echo checkpoint" USR1; sleep 1000 & worker=$!; echo ready; wait $worker; '
                  'kill -0 $worker && echo worker lives; kill $worker; exit 0')
        process = self.start_shell(2, script)
        text = b""
        while text.count(b"ready") < 2:
            text += os.read(process.stdout.fileno(), 65536)
        time.sleep(0.1)
        process.send_signal(signal.SIGUSR1)
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0, err)
        for rank in range(2):
            self.assertEqual(content_of(text + out, rank), b"ready\ncheckpoint\nworker lives\n")

    def test_stop_and_continue(self):
        process = self.start_shell(2, "echo ready; sleep 1.5; echo end")
        os.read(process.stdout.fileno(), 5)
        process.send_signal(signal.SIGTSTP)
        pids = support.marked(ANGIO.mark)
        self.assertGreaterEqual(len(pids), 3)
        support.wait_until(lambda: all(support.state_of(pid) == "T" for pid in support.marked(ANGIO.mark)), what="all stopped")
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(out.count(b"end\n"), 2)

    def test_ranks_die_with_a_killed_angio(self):
        process = self.start_shell(4, "echo ready; exec sleep 1000", stderr=subprocess.DEVNULL)
        text = b""
        while text.count(b"ready") < 4:
            text += os.read(process.stdout.fileno(), 65536)
        process.kill()
        process.communicate()
        support.wait_until(lambda: not [left for left in ANGIO.leftovers() if left[1] != "Z"], what="ranks dead")
        for pid in support.children():
            os.waitpid(pid, 0)

    def test_children_that_were_there_before_live_on(self):
        script = 'sleep 1000 > /dev/null 2>&1 & echo $! > other; exec "$@"'
        words = ANGIO.words("--ranks", 2, *UNBOUND, "--", "true")
        done = subprocess.run(["bash", "-c", script, "x", *words], cwd=self.folder, env=ANGIO.environment(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=20)
        self.assertEqual(done.returncode, 0, done.stderr)
        other = int(pathlib.Path(self.folder, "other").read_text())
        self.assertEqual(support.state_of(other), "S")
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)

    def test_a_parent_that_ignores_sigchld(self):
        done = self.run_shell(2, "exit $((RANK * 4))", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), timeout=20)
        self.assertEqual(done.returncode, 4)

    # ------------------------------------------------------------ terminal

    def test_ctrl_c_once(self):
        terminal = Terminal("--ranks", 2, *UNBOUND, "--", "bash", "-c",
                            "n=0; trap 'n=$((n+1)); echo INT $n; sleep 0.5; echo bye; exit 0' INT; echo ready; "
                            "while :; do sleep 0.05; done")
        terminal.read_until(b"[0] ready")
        terminal.read_until(b"[1] ready")
        terminal.type(b"\x03")
        self.assertEqual(terminal.wait(), 0, terminal.text)
        for rank in (b"[0]", b"[1]"):
            self.assertIn(rank + b" INT 1", terminal.text)
            self.assertIn(rank + b" bye", terminal.text)
        self.assertNotIn(b"INT 2", terminal.text)
        self.assertIn(b"angio: SIGINT passed on to 2 ranks; a second one kills", terminal.text)

    def test_ctrl_c_twice_kills(self):
        terminal = Terminal("--ranks", 2, *UNBOUND, "--", "bash", "-c", 'trap "" INT TERM; echo ready; while :; do sleep 0.05; done')
        terminal.read_until(b"[0] ready")
        terminal.read_until(b"[1] ready")
        terminal.type(b"\x03")
        terminal.read_until(b"passed on to 2 ranks")
        started = time.monotonic()
        terminal.type(b"\x03")
        self.assertEqual(terminal.wait(), -signal.SIGINT, terminal.text)
        self.assertLess(time.monotonic() - started, 5)
        self.assertIn(b"2 ranks had to be killed", terminal.text)

    def test_typed_lines_go_to_rank_0(self):
        terminal = Terminal("--ranks", 2, *UNBOUND, "--", "bash", "-c",
                            'printf "name? "; if read -r name; then echo "hello $name"; else echo none; fi')
        terminal.read_until(b"name? ")
        terminal.type(b"Ada\n")
        self.assertEqual(terminal.wait(), 0, terminal.text)
        self.assertIn(b"hello Ada", terminal.text)
        self.assertIn(b"none", terminal.text)

    # ------------------------------------------------------------ input and output

    def test_stdin_goes_to_rank_0(self):
        process = self.start_shell(3, "wc -c", stdin=subprocess.PIPE)
        out, err = process.communicate(b"x" * 300000, timeout=20)
        self.assertEqual((content_of(out, 0), content_of(out, 1), content_of(out, 2)), (b"300000\n", b"0\n", b"0\n"), err)

    def test_a_storm_of_100_mb_arrives_whole(self):
        script = ('import hashlib, os, random, sys\n'
                  'rank = int(os.environ["RANK"]); random.seed(rank)\n'
                  'words = [bytes(random.choice(b"abcdefgh \\t\\xff\\0") for _ in range(random.choice((0, 7, 80, 5000)))) + b"\\n" for _ in range(500)]\n'
                  'digest = hashlib.sha256(); size = 0\n'
                  'while size < 25_000_000:\n'
                  '    block = b"".join(random.choices(words, k=40)); sys.stdout.buffer.write(block)\n'
                  '    digest.update(block); size += len(block)\n'
                  'sys.stdout.flush(); print(size, digest.hexdigest(), file=sys.stderr)\n')
        log = pathlib.Path(self.folder, "log")
        started = time.monotonic()
        with log.open("wb") as out:
            done = ANGIO.run("--ranks", 4, *UNBOUND, "--", sys.executable, "-c", script, stdout=out)
        self.assertEqual(done.returncode, 0, done.stderr)
        seconds = time.monotonic() - started
        text = log.read_bytes()
        self.assertGreater(len(text), 100_000_000)
        for rank in range(4):
            size, digest = content_of(done.stderr, rank).split()
            mine = content_of(text, rank)
            self.assertEqual((len(mine), hashlib.sha256(mine).hexdigest()), (int(size), digest.decode()))
        print(f"{len(text) / 1e6:.0f} MB in {seconds:.1f} s", file=sys.stderr)

    def test_binary_without_a_line_feed(self):
        script = ('import os, sys\n'
                  'sys.stdout.buffer.write(bytes([65 + int(os.environ["RANK"])]) * 1_000_000 + b"\\n")\n')
        done = ANGIO.run("--ranks", 3, *UNBOUND, "--", sys.executable, "-c", script)
        for rank in range(3):
            self.assertEqual(content_of(done.stdout, rank), bytes([65 + rank]) * 1_000_000 + b"\n")

    def test_a_reader_that_does_not_read_slows_the_ranks_and_not_the_signals(self):
        script = ('import os, sys\n'
                  'n = 0\n'
                  'while True:\n'
                  '    os.write(1, b"x" * 99 + b"\\n"); n += 100\n'
                  '    if n % 10000 == 0: open("written-" + os.environ["RANK"], "w").write(str(n))\n')
        process = ANGIO.start("--ranks", 2, *UNBOUND, "--", sys.executable, "-c", script, cwd=self.folder)
        time.sleep(1.5)
        sizes = [int(pathlib.Path(self.folder, f"written-{rank}").read_text() or 0) for rank in range(2)]
        self.assertLess(max(sizes), 2_000_000)
        peak = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        self.assertLess(int(peak.group(1)), 64 * 1024)
        process.send_signal(signal.SIGTERM)
        support.wait_until(lambda: len(support.marked(ANGIO.mark)) == 1, what="the ranks have ended")
        out, _ = process.communicate(timeout=20)  # what was held still arrives
        self.assertEqual(process.returncode, 143)
        self.assertGreater(len(out), 100_000)

    def test_head_ends_the_group(self):
        words = ANGIO.words("--ranks", 2, *UNBOUND, "--", "yes")
        done = subprocess.run(["bash", "-c", '"$@" | head -n 3; echo ${PIPESTATUS[0]}', "x", *words], env=ANGIO.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
        lines = done.stdout.split(b"\n")
        self.assertEqual(lines[3], b"141")
        self.assertTrue(all(re.fullmatch(rb"\[[01]\] y", line) for line in lines[:3]), lines)
        self.assertEqual(done.stderr, b"")

    def test_a_full_disk_is_said_and_does_not_end_the_ranks(self):
        with open("/dev/full", "wb") as full:
            done = self.run_shell(2, "for i in 1 2 3; do echo $i; sleep 0.1; done; echo end >&2", stdout=full)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"angio: standard output: cannot write: No space left on device (ENOSPC)", done.stderr)
        self.assertEqual(content_of(done.stderr, 1), b"end\n")

    def test_an_unfinished_line_is_shown_soon(self):
        process = self.start_shell(1, "printf wait...; sleep 3")
        started = time.monotonic()
        self.assertEqual(os.read(process.stdout.fileno(), 100), b"[0] wait...")
        self.assertLess(time.monotonic() - started, 2)
        process.terminate()
        process.communicate()

    def test_files(self):
        folder = pathlib.Path(self.folder, "logs")
        done = self.run_shell(3, "echo out $RANK; echo err $RANK >&2; [ $RANK != 1 ]", "--output", "files", "--output-dir", folder)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"The last lines of rank 1:\n  err 1\n", done.stderr)
        self.assertEqual(sorted(os.listdir(folder)), sorted(f"rank-{r}.{k}" for r in range(3) for k in ("err", "out")))
        self.assertEqual((folder / "rank-1.out").read_text(), "out 1\n")

    def test_files_in_a_place_that_cannot_be(self):
        done = self.run_shell(1, "true", "--output", "files", "--output-dir", "/no/such/place")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"/no/such/place: cannot make the directory: No such file or directory (ENOENT)", done.stderr)

    def test_raw(self):
        done = self.run_shell(2, "echo same", "--output", "raw")
        self.assertEqual((done.returncode, done.stdout), (0, b"same\nsame\n"))

    # ------------------------------------------------------------ rendezvous

    def test_a_port_in_use_names_its_holder(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            port = server.getsockname()[1]
            done = self.run_shell(1, "true", "--master", f"127.0.0.1:{port}")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr.decode(), rf"port {port} is in use: \S+ \(pid {os.getpid()}\) listens on 127\.0\.0\.1")

    def test_the_chosen_port_can_be_listened_on(self):
        script = ('import os, socket\n'
                  'server = socket.create_server((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))\n'
                  'print("listening")\n')
        done = ANGIO.run("--ranks", 1, *UNBOUND, "--", sys.executable, "-c", script)
        self.assertEqual(content_of(done.stdout, 0), b"listening\n", done.stderr)

    def test_addresses_that_cannot_work(self):
        done = self.run_shell(1, "true", "--master", "192.0.2.77:29500")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"master address 192.0.2.77 is not of this host, where rank 0 runs", done.stderr)
        done = self.run_shell(1, "true", "--nodes", 2, "--node-rank", 0, "--master", "127.0.0.1:29500")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"master address 127.0.0.1 is loopback: 2 nodes cannot meet there", done.stderr)
        done = self.run_shell(1, "true", "--master", "no-such-host.invalid:29500")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"master address no-such-host.invalid: ", done.stderr)

    def test_the_second_node_counts_on(self):
        done = self.run_shell(2, "echo $RANK $LOCAL_RANK $WORLD_SIZE $NODE_RANK $MASTER_ADDR:$MASTER_PORT", "--nodes", 3,
                              "--node-rank", 2, "--master", "192.0.2.77:29500")
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [b"[4] 4 0 6 2 192.0.2.77:29500", b"[5] 5 1 6 2 192.0.2.77:29500"], done.stderr)

    def test_a_rank_of_another_launcher_starts_no_group(self):
        done = self.run_shell(2, "true", env={"LOCAL_RANK": "3"})
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"this is a rank of another launcher already: LOCAL_RANK is set", done.stderr)


def main():
    global ANGIO
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ANGIO = support.Angio(sys.argv[1])
    support.adopt_orphans()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()
