#!/usr/bin/env python3
"""Counts what ./dev test did: ctest's report, each GoogleTest and each golden case on its own, and the other checks.

  test_results.py DIRECTORY

DIRECTORY holds any of
  *.junit.xml   what ctest --output-junit wrote
  gtest/*.json  what GoogleTest wrote for each program (GTEST_OUTPUT)
  cases/*.json  what tests/run_cases.py wrote
  checks.tsv    state, name and reason of each other check, by tabs
Prints failures, then the skips with their reasons, then "N passed, N failed, N skipped". A skip is never a pass."""

import json
import pathlib
import sys
import xml.etree.ElementTree

STATES = ("passed", "failed", "skipped")


def from_gtest(path):
    """One result per test of a GoogleTest program."""
    found = []
    for suite in json.loads(path.read_text())["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{path.stem} {suite['name']}.{test['name']}"
            if test.get("failures"):
                found.append(("failed", name, test["failures"][0]["failure"].splitlines()[-1]))
            elif test.get("result") == "SKIPPED":
                words = [line for skip in test.get("skipped", []) for line in skip["message"].splitlines() if line]
                found.append(("skipped", name, words[-1] if words else "no reason given"))
            elif test.get("status") == "RUN":
                found.append(("passed", name, ""))
            else:
                found.append(("skipped", name, "disabled"))
    return found


def from_ctest(path, details):
    """One result per ctest entry, or its details where it left some. A crash is a failure of its own."""
    found = []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        inner = details.pop(name, [])
        found += inner
        failed = case.get("status") == "fail" or case.find("failure") is not None
        if failed and not any(state == "failed" for state, _, _ in inner):
            failure = case.find("failure")
            reason = failure.get("message") if failure is not None and failure.get("message") else "exit code"
            found.append(("failed", name, reason))
        elif not inner and not failed:
            skip = case.find("skipped")
            ran = case.get("status") == "run" and skip is None
            found.append(("passed", name, "") if ran else
                         ("skipped", name, skip.get("message") if skip is not None else "not run"))
    return found


def from_checks(path):
    """The other checks."""
    rows = (line.split("\t") for line in path.read_text().splitlines() if line)
    return [(row[0], row[1], row[2] if len(row) > 2 else "") for row in rows]


def collect(directory):
    details = {path.stem: from_gtest(path) for path in sorted(directory.glob("gtest/*.json"))}
    for path in directory.glob("cases/*.json"):
        details[path.stem] = [(r["state"], f"{path.stem} {r['name']}", r["reason"]) for r in json.loads(path.read_text())]
    found = []
    for path in sorted(directory.glob("*.junit.xml")):
        found += from_ctest(path, details)
    for name, results in details.items():
        found += results
        found.append(("failed", name, "left results, but ctest knows no such test"))
    if (directory / "checks.tsv").exists():
        found += from_checks(directory / "checks.tsv")
    return found


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    found = collect(pathlib.Path(sys.argv[1]))
    if not found:
        found = [("failed", "results", "nothing ran")]
    for shown in ("failed", "skipped"):
        for state, name, reason in found:
            if state == shown:
                first = reason.strip().splitlines()[0] if reason.strip() else ""
                print(f"{shown}: {name}{': ' + first if first else ''}")
    count = {state: sum(result[0] == state for result in found) for state in STATES}
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 1 if count["failed"] or sum(count.values()) != len(found) else 0


if __name__ == "__main__":
    sys.exit(main())
