import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import test_results

JUNIT = """<testsuite>
<testcase name="angio_base_test" status="run"/>
<testcase name="crasher" status="fail"><failure message="SEGFAULT"/></testcase>
<testcase name="plain" status="run"/>
<testcase name="absent" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
</testsuite>"""


class Counting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "gtest").mkdir()
        (self.root / "cases").mkdir()

    def states(self):
        return [(state, name) for state, name, _ in test_results.collect(self.root)]

    def test_counts_single_tests_crashes_and_skips(self):
        (self.root / "a.junit.xml").write_text(JUNIT)
        (self.root / "gtest" / "angio_base_test.json").write_text(json.dumps({"testsuites": [{"name": "S", "testsuite": [
            {"name": "good", "status": "RUN", "result": "COMPLETED"},
            {"name": "off", "status": "NOTRUN", "result": "SUPPRESSED"},
            {"name": "skip", "status": "RUN", "result": "SKIPPED", "skipped": [{"message": "file:1\\nno corpus"}]},
            {"name": "bad", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "x\\nboom"}]}]}]}))
        self.assertEqual(self.states(), [
            ("passed", "angio_base_test S.good"), ("skipped", "angio_base_test S.off"),
            ("skipped", "angio_base_test S.skip"), ("failed", "angio_base_test S.bad"),
            ("failed", "crasher"), ("passed", "plain"), ("skipped", "absent")])

    def test_a_crash_after_good_tests_fails(self):
        (self.root / "a.junit.xml").write_text('<t><testcase name="p" status="fail"><failure message="x"/></testcase></t>')
        (self.root / "gtest" / "p.json").write_text(json.dumps({"testsuites": [{"name": "S", "testsuite": [
            {"name": "good", "status": "RUN", "result": "COMPLETED"}]}]}))
        self.assertIn(("failed", "p"), self.states())

    def test_results_nobody_reported_fail(self):
        (self.root / "cases" / "golden.json").write_text('[{"name": "a", "state": "passed", "reason": ""}]')
        self.assertIn(("failed", "golden"), self.states())

    def test_checks(self):
        (self.root / "checks.tsv").write_text("passed\tformat\nskipped\ttidy\tno clang-tidy-19\n")
        self.assertEqual(self.states(), [("passed", "format"), ("skipped", "tidy")])


if __name__ == "__main__":
    unittest.main()
