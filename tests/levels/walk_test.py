#!/usr/bin/env python3
"""`angio bench all` on this machine: levels are measured for a short time, and each has a state with its reason. The
last line is "N passed, N failed, N skipped"."""

import argparse
import json
import signal
import subprocess
import sys
import time
import unittest

ANGIO = ""
PATIENCE = 300
STATES = {"holds", "below", "impossible", "undecided", "not_run"}


class Walk(unittest.TestCase):
    def test_a_short_walk(self):
        done = subprocess.run([ANGIO, "bench", "all", "--budget", "60", "--everything", "--format", "json"], capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["schema"], "angio.bench-all/1")
        levels = {level["level"]: level for level in result["levels"]}
        self.assertEqual(sorted(levels), [0, 1, 2, 3, 4])
        for level in levels.values():
            self.assertIn(level["state"], STATES)
            self.assertTrue(level["answer"] or level["why"], level)
        self.assertEqual(levels[3]["state"], "not_run")
        for number in (0, 1, 2):  # measured, or it says why not
            self.assertNotEqual(levels[number]["state"], "not_run")
        if levels[0]["source"] == "measured now":
            self.assertGreater(levels[0]["rows"][0]["measured"], 0)
            self.assertTrue(result["environment"]["fingerprint"])
        self.assertTrue(result["verdict"]["answer"])

    def test_no_time(self):
        done = subprocess.run([ANGIO, "bench", "all", "--budget", "1", "--format", "json"], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        states = {level["level"]: level for level in json.loads(done.stdout)["levels"]}
        self.assertEqual(states[2]["state"], "undecided")
        self.assertIn("--budget", states[2]["why"])

    def test_an_interrupted_walk_says_what_it_has(self):
        walk = subprocess.Popen([ANGIO, "bench", "all", "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        walk.send_signal(signal.SIGINT)
        output, errors = walk.communicate(timeout=PATIENCE)
        # The signal may come before anything is handled, or after everything is done.
        if walk.returncode == 128 + signal.SIGINT:
            self.assertTrue(json.loads(output)["interrupted"], errors)
        else:
            self.assertIn(walk.returncode, (0, -signal.SIGINT), errors)


def main():
    global ANGIO
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--angio", required=True)
    arguments, rest = parser.parse_known_args()
    ANGIO = arguments.angio
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    failed = len(program.result.failures) + len(program.result.errors)
    skipped = len(program.result.skipped)
    print(f"{program.result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
