import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "run_cases.py"


class RunCases(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cases = pathlib.Path(folder.name)
        self.case = self.cases / "area" / "one"
        self.case.mkdir(parents=True)

    def write(self, **files):
        for name, text in files.items():
            (self.case / name).write_text(text)

    def run_cases(self, **environment):
        done = subprocess.run([sys.executable, RUNNER, "--angio", "echo", "--cases", self.cases], text=True,
                              env=os.environ | {"ANGIO_ACCEPT": ""} | environment, capture_output=True)
        return done.returncode, done.stdout

    def last(self, **environment):
        return self.run_cases(**environment)[1].splitlines()[-1]

    def test_equal_passes(self):
        self.write(cmd="$ANGIO hello; cat", expected="hello\nin\n", stdin="in\n")
        self.assertEqual(self.run_cases(), (0, "1 passed, 0 failed, 0 skipped\n"))

    def test_other_output_fails(self):
        self.write(cmd="$ANGIO hello", expected="goodbye\n")
        code, printed = self.run_cases()
        self.assertEqual(code, 1)
        self.assertIn("-goodbye", printed)
        self.assertIn("0 passed, 1 failed, 0 skipped", printed)

    def test_other_exit_code_fails(self):
        self.write(cmd="exit 3", expected="")
        self.assertEqual(self.last(), "0 passed, 1 failed, 0 skipped")
        self.write(exit="3\n")
        self.assertEqual(self.last(), "1 passed, 0 failed, 0 skipped")

    def test_missing_expectation_fails(self):
        self.write(cmd="$ANGIO hello")
        self.assertEqual(self.last(), "0 passed, 1 failed, 0 skipped")

    def test_accept_rewrites_and_skips(self):
        self.write(cmd="$ANGIO hello; exit 1", expected="old\n")
        self.assertEqual(self.last(ANGIO_ACCEPT="1"), "0 passed, 0 failed, 1 skipped")
        self.assertEqual((self.case / "expected").read_text(), "hello\n")
        self.assertEqual((self.case / "exit").read_text(), "1\n")
        self.assertEqual(self.last(), "1 passed, 0 failed, 0 skipped")

    def test_accept_never_accepts_a_crash(self):
        self.write(cmd="kill -SEGV $$", expected="")
        self.assertEqual(self.last(ANGIO_ACCEPT="1"), "0 passed, 1 failed, 0 skipped")

    def test_no_cases_fail(self):
        self.assertEqual(self.last(), "0 passed, 1 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
