#!/usr/bin/env python3
"""Golden cases: tests/cases/<area>/<name>/ with

  cmd       one shell line; $ANGIO is the binary, paths are relative to the case's folder
  expected  what it prints to standard output
  exit      its exit code (optional, 0)
  stdin     its standard input (optional, empty)

With ANGIO_ACCEPT=1 the expected output is rewritten and each rewritten case counts as skipped, never as passed.
The last line is "N passed, N failed, N skipped"."""

import argparse
import concurrent.futures
import difflib
import json
import os
import pathlib
import subprocess
import sys

CASES = pathlib.Path(__file__).resolve().parent / "cases"
SECONDS = 60
SKIPPED = 77  # SKIP_RETURN_CODE of the ctest entry


def environment(angio):
    """The same for everybody: no colour, 80 columns, UTF-8, nothing of the caller's job."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    return kept | {"ANGIO": angio, "LC_ALL": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "80", "TZ": "UTC",
                   "HOME": "/nonexistent"}


def run(case, angio):
    """(stdout, exit code) of a case."""
    stdin = case / "stdin"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", (case / "cmd").read_text()], cwd=case, env=environment(angio),
        input=stdin.read_bytes() if stdin.exists() else b"", capture_output=True, timeout=SECONDS)
    return done.stdout.decode(errors="backslashreplace"), done.returncode, done.stderr.decode(errors="backslashreplace")


def difference(case, printed, code, stderr):
    """What differs from the files of the case, in words; empty when nothing does."""
    expected = case / "expected"
    if not expected.exists():
        return "no file named expected: look at the output, then ./dev accept\n" + printed
    wanted = (case / "exit").read_text().strip() if (case / "exit").exists() else "0"
    words = ""
    if str(code) != wanted:
        words = f"exit code {code}, expected {wanted}\n{stderr}"
    return words + "".join(difflib.unified_diff(
        expected.read_text().splitlines(True), printed.splitlines(True), "expected", "printed"))


def accept(case, printed, code):
    """Rewrites the files of the case."""
    (case / "expected").write_text(printed)
    if code != 0:
        (case / "exit").write_text(f"{code}\n")
    elif (case / "exit").exists():
        (case / "exit").unlink()


def judge(case, angio, accepting):
    """(state, words) of one case."""
    try:
        printed, code, stderr = run(case, angio)
    except subprocess.TimeoutExpired:
        return "failed", f"still running after {SECONDS} s\n"
    words = difference(case, printed, code, stderr)
    if not words:
        return "passed", ""
    if accepting and code in (0, 1, 2, 3):
        accept(case, printed, code)
        return "skipped", "rewritten by accept: read the difference before you commit"
    return "failed", words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--angio", required=True, help="command of the binary; may hold arguments (an emulator)")
    parser.add_argument("--cases", type=pathlib.Path, default=CASES)
    parser.add_argument("--results", type=pathlib.Path, help="write [{name, state, reason}] here as JSON")
    parser.add_argument("pattern", nargs="?", default="", help="only cases whose path contains this")
    arguments = parser.parse_args()
    accepting = os.environ.get("ANGIO_ACCEPT") == "1"

    cases = sorted(path.parent for path in arguments.cases.rglob("cmd") if arguments.pattern in str(path.parent))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda case: judge(case, arguments.angio, accepting), cases))
    results = []
    for case, (state, words) in zip(cases, outcomes):
        name = str(case.relative_to(arguments.cases))
        results.append({"name": name, "state": state, "reason": words})
        if state != "passed":
            print(f"{state} {name}: {words}")
    if not cases:
        print(f"no cases below {arguments.cases}")
        results.append({"name": "golden cases", "state": "failed", "reason": "there are none"})
    if arguments.results:
        arguments.results.write_text(json.dumps(results))
    count = {state: sum(result["state"] == state for result in results) for state in ("passed", "failed", "skipped")}
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 1 if count["failed"] else SKIPPED if count["skipped"] and not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
