#!/usr/bin/env python3
"""`angio tune` with a command whose truth is known: what it keeps, what it refuses, a setting that crashes, one that
hangs, kill -9 in the middle and --resume. The last line is "N passed, N failed, N skipped"."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ANGIO = ""

# Noise and drift come of the number of the run, so that every test sees the same machine.
WORK = r"""
n=$(cat "$COUNT" 2>/dev/null || echo 0); n=$((n+1)); echo $n > "$COUNT"
case "$KNOB" in
  crash) echo "loading" >&2; echo "no such algorithm" >&2; exit 7;;
  hang) sleep 600 & wait;;
esac
awk -v n=$n -v knob="${KNOB-none}" -v argument="${1-}" 'BEGIN {
  srand(n); v = (100 + 2 * (rand() + rand() + rand() - 1.5)) * (1 + 0.03 * sin(n / 15))
  if (knob == "fast") v *= 1.1
  if (knob == "greedy") v *= 1.3
  if (knob == "slow") v *= 0.85
  if (argument == "wide") v *= 1.05
  print "rate: " v; print "memory: " (knob == "greedy" ? 85 : 60) }'
"""

SPEC = """
hypothesis = "the fast knob is worth more than 2 %"
command = ["sh", "work.sh", "{width}"]
better = "higher"
smallest_effect_percent = 2
seed = 11
run_limit_seconds = 20

[metric]
pattern = 'rate: ([0-9.]+)'
name = "rate"
unit = "1/s"

[budget]
runs = 400

[[factor]]
name = "knob"
environment = "KNOB"
levels = [false, "fast", "slow", "greedy", "crash", "idle"]

[[factor]]
argument = "width"
levels = ["narrow", "wide"]

[[watch]]
name = "memory"
pattern = 'memory: ([0-9.]+)'
unit = "GiB"
limit = 80
"""


class Tune(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="angio-tune-")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "work.sh").write_text(WORK)
        self.environment = {name: value for name, value in os.environ.items() if name != "KNOB"}
        self.environment |= {"COUNT": str(self.path / "count"), "NCCL_DEBUG": "WARN", "MY_SECRET_TOKEN": "hunter2",
                             "LC_ALL": "C.UTF-8"}

    def write(self, text, name="spec.toml"):
        (self.path / name).write_text(text)
        return name

    def tune(self, *words):
        return subprocess.run([ANGIO, "tune", *words], cwd=self.path, env=self.environment, capture_output=True,
                              text=True, timeout=240)

    def settings(self, done):
        result = json.loads(done.stdout)
        return result, {each["name"]: each for each in result["settings"]}

    def test_keeps_what_is_proven_and_allowed(self):
        done = self.tune(self.write(SPEC), "--format", "json", "--settings", "best.env")
        self.assertEqual(done.returncode, 0, done.stderr)
        result, settings = self.settings(done)
        verdicts = {name: each["verdict"] for name, each in settings.items()}
        self.assertEqual(verdicts, {"baseline": "baseline", "knob=fast": "better", "knob=slow": "worse",
                                    "knob=greedy": "better", "knob=crash": "failed",
                                    "knob=idle": "no_difference_worth_knowing", "width=wide": "better"})
        self.assertEqual(result["kept"], "knob=fast")
        self.assertEqual(result["ranking"][0], "knob=fast")
        self.assertIn("85 GiB", settings["knob=greedy"]["objection"])
        self.assertEqual(settings["knob=crash"]["last_failure"]["exit_code"], 7)
        self.assertIn("no such algorithm", settings["knob=crash"]["last_failure"]["last_lines"])
        between = settings["knob=fast"]["gain_between"]
        self.assertTrue(between["low"] < 0.1 < between["high"], between)
        self.assertLess(result["runs"], 300)
        self.assertEqual(result["ended"], "every setting is decided")
        kept = (self.path / "best.env").read_text()
        self.assertIn("export KNOB=fast\n", kept)
        ledger = (self.path / "spec.ledger.jsonl").read_text()
        self.assertIn("NCCL_DEBUG", ledger)
        self.assertNotIn("hunter2", ledger)
        self.replays_alike(result)

    def replays_alike(self, result):
        count = (self.path / "count").read_text()
        again = self.tune("--replay", "spec.ledger.jsonl", "--format", "json")
        self.assertEqual(json.loads(again.stdout), result)
        self.assertEqual((self.path / "count").read_text(), count)  # nothing ran
        page = self.tune("--replay", "spec.ledger.jsonl", "--format", "html").stdout
        self.assertIn("<svg", page)
        text = self.tune("--replay", "spec.ledger.jsonl").stdout
        self.assertIn("knob=fast is kept", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_baseline_stays_when_nothing_is_proven(self):
        spec = SPEC.replace('"fast", "slow", "greedy", "crash", "idle"', '"idle"').replace(
            'levels = ["narrow", "wide"]', 'levels = ["narrow", "other"]')
        done = self.tune(self.write(spec), "--format", "json", "--settings", "best.env")
        result, _ = self.settings(done)
        self.assertEqual(result["kept"], "baseline")
        self.assertIn("unset KNOB\n", (self.path / "best.env").read_text())

    def test_hanging_setting_does_not_stop_the_campaign(self):
        spec = SPEC.replace('"fast", "slow", "greedy", "crash", "idle"', '"fast", "hang"').replace(
            "run_limit_seconds = 20", "run_limit_seconds = 3")
        done = self.tune(self.write(spec), "--format", "json")
        _, settings = self.settings(done)
        self.assertEqual(settings["knob=hang"]["verdict"], "failed")
        self.assertIn("no end within 3 s", settings["knob=hang"]["last_failure"]["words"])
        self.assertEqual(settings["knob=fast"]["verdict"], "better")

    def test_nothing_is_left_of_a_run_that_was_ended(self):
        """Below angio run each rank has a group of its own, and its children outlive it."""
        (self.path / "work.sh").write_text("""
[ "$KNOB" = hang ] || { echo "rate: 100"; echo "memory: 1"; exit 0; }
trap '' TERM
(trap '' TERM; exec sleep 611) & echo $! >> "$COUNT"
setsid sleep 611 & echo $! >> "$COUNT"
wait; sleep 611
""")
        spec = SPEC.replace("run_limit_seconds = 20", 'run_limit_seconds = 1\nrun = ["--ranks", "2"]').replace(
            'levels = [false, "fast", "slow", "greedy", "crash", "idle"]', 'levels = [false, "hang"]').replace(
            'command = ["sh", "work.sh", "{width}"]', 'command = ["sh", "work.sh"]')
        spec = spec[:spec.index('[[factor]]\nargument')].replace("runs = 400", "runs = 4")
        done = self.tune(self.write(spec))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no end within 1 s", done.stdout)
        started = [int(word) for word in (self.path / "count").read_text().split()]
        self.assertGreaterEqual(len(started), 4)
        self.assertEqual([pid for pid in started if self.is_sleep(pid)], [])

    @staticmethod
    def is_sleep(pid):
        try:
            return b"611" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    def on_bench(self, words, figure, level, better):
        bench = [ANGIO, "bench", *words, "--backend", "gloo", "--ranks", "2", "--format", "json"]
        tried = subprocess.run(bench, cwd=self.path, env=self.environment, capture_output=True, text=True, timeout=240)
        if tried.returncode != 0:
            self.skipTest("no gloo back end: " + tried.stderr.strip()[:200])
        spec = f"""
command = {json.dumps(bench)}
better = "{better}"
seed = 3
[metric]
figure = "{figure}"
level = {level}
[budget]
runs = 6
[[factor]]
environment = "KNOB"
levels = [false, "idle"]
"""
        done = self.tune(self.write(spec), "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, settings = self.settings(done)
        self.assertEqual([each["failures"] for each in settings.values()], [0, 0], done.stdout)
        return spec

    def test_level_1_is_what_bench_collective_prints(self):
        words = ["collective", "--ops", "all_reduce", "--begin", "64K", "--end", "64K", "--iters", "5"]
        self.on_bench(words, "AllReduce 65536 B busbw", 1, "higher")
        example = pathlib.Path(__file__).parents[2] / "docs/examples/tune-nccl.toml"
        self.assertIn('figure = "AllReduce 134217728 B busbw"', example.read_text())

    def test_level_2_is_what_bench_step_prints(self):
        words = ["step", "--framework", "traffic", "--model", "tiny", "--steps", "5"]
        self.on_bench(words, "step time", 2, "lower")

    def test_full_disk(self):
        self.write(SPEC)

        def tune_within(size):
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # Python ignores SIGXFSZ
            return subprocess.run([ANGIO, "tune", "spec.toml"], cwd=self.path, env=self.environment, timeout=240,
                                  capture_output=True, text=True, preexec_fn=limit, restore_signals=False)

        ledger = self.path / "spec.ledger.jsonl"
        done = tune_within(10)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertFalse(ledger.exists())  # it would stand in the way of the next try
        done = tune_within(4000)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("angio tune --resume spec.ledger.jsonl goes on", done.stderr)
        self.assertEqual(ledger.stat().st_size, 4000)
        done = self.tune("--resume", "spec.ledger.jsonl", "--format", "json")
        self.assertEqual(self.settings(done)[0]["kept"], "knob=fast")

    def wait_for_lines(self, process, count):
        ledger = self.path / "spec.ledger.jsonl"
        for _ in range(2400):
            if process.poll() is not None or (ledger.exists() and ledger.read_bytes().count(b"\n") >= count):
                return
            time.sleep(0.05)

    def test_killed_and_resumed(self):
        self.write(SPEC)
        process = subprocess.Popen([ANGIO, "tune", "spec.toml"], cwd=self.path, env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for_lines(process, 16)
        process.send_signal(signal.SIGKILL)
        process.wait()
        ledger = self.path / "spec.ledger.jsonl"
        before = ledger.read_bytes()
        with ledger.open("ab") as file:
            file.write(b'{"run": 99, "blo')  # as if the machine had gone down within a write
        done = self.tune("--resume", "spec.ledger.jsonl", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cut off", done.stderr)
        after = ledger.read_bytes()
        whole = before[:before.rfind(b"\n") + 1]
        self.assertTrue(after.startswith(whole))
        numbers = [json.loads(line)["run"] for line in after.splitlines()[1:]]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        result, settings = self.settings(done)
        self.assertEqual(result["kept"], "knob=fast")
        self.assertEqual(settings["knob=slow"]["verdict"], "worse")

    def test_interrupt_reports_what_there_is(self):
        self.write(SPEC)
        process = subprocess.Popen([ANGIO, "tune", "spec.toml"], cwd=self.path, env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.wait_for_lines(process, 10)
        second = self.tune("--resume", "spec.ledger.jsonl")
        if process.poll() is None:
            self.assertEqual(second.returncode, 3)
            self.assertIn("another angio tune writes to it", second.stderr)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted", out)
        self.assertIn("--resume spec.ledger.jsonl", errors)

    def test_refuses(self):
        for old, new, words in (
                ('levels = [false,', 'levles = [false,', 'Did you mean "levels"?'),
                ('environment = "KNOB"', 'sysctl = "net.core.rmem_max"', "sudo sysctl -w net.core.rmem_max=idle"),
                ('["sh", "work.sh", "{width}"]', '["sudo", "sh", "work.sh", "{width}"]', "touches no privileged setting"),
                ('"{width}"]', '"{widht}"]', 'the command has no "{width}"'),
                ('better = "higher"\n', '', "better is not said"),
                ('pattern = \'rate: ([0-9.]+)\'', 'pattern = \'rate: [0-9\'', "spec.toml:10: pattern")):
            done = self.tune(self.write(SPEC.replace(old, new)))
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertIn(words, done.stderr)
            self.assertIn("spec.toml:", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertFalse((self.path / "spec.ledger.jsonl").exists())

    def test_no_ledger_is_overwritten(self):
        (self.path / "spec.ledger.jsonl").write_text("precious\n")
        done = self.tune(self.write(SPEC))
        self.assertEqual(done.returncode, 3)
        self.assertEqual((self.path / "spec.ledger.jsonl").read_text(), "precious\n")

    def test_baseline_that_fails_ends_it(self):
        done = self.tune(self.write(SPEC.replace("levels = [false,", 'levels = ["crash2", false,').replace(
            '"crash", ', "").replace("sh\", \"work.sh", "false\", \"work.sh")))
        self.assertEqual(done.returncode, 3)
        self.assertIn("the baseline does not run", done.stdout)


if __name__ == "__main__":
    ANGIO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    program = unittest.main(exit=False, verbosity=1)
    result = program.result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, {len(result.skipped)} skipped")
    sys.exit(1 if failed else 0)
