#!/usr/bin/env python3
"""The doctor over 250, 500 and 1,000 snapshots: time should grow with their number, memory hardly at all.

  benchmarks/doctor_scale.py ANGIO

No peer reads such files; the goal stands in benchmarks/README.md. The snapshots are the example cluster, repeated.
"""

import pathlib
import resource
import subprocess
import sys
import tempfile
import time

COUNTS = (250, 500, 1000)
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "tests/snapshots/example"


def make_snapshots(folder):
    sources = [path.read_text() for path in sorted(EXAMPLES.glob("*.snap"))]
    for number in range(max(COUNTS)):
        text = sources[number % len(sources)]
        host = text.index("host ")
        (folder / f"{number}.snap").write_text(
            f"{text[:host]}host node-{number}{text[text.index(chr(10), host):]}")


def main():
    angio = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_snapshots(folder)
        print(f"{'snapshots':>9} {'wall s':>8} {'cpu s':>8} {'peak MiB':>9}")
        for count in COUNTS:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = time.monotonic()
            subprocess.run([angio, "doctor", "--format", "json", *(str(folder / f"{i}.snap") for i in range(count))],
                           check=True, stdout=subprocess.DEVNULL)
            wall = time.monotonic() - begin
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{count:>9} {wall:>8.2f} {cpu:>8.2f} {after.ru_maxrss / 1024:>9.0f}")


if __name__ == "__main__":
    main()
