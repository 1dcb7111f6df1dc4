#!/usr/bin/env python3
"""`angio bench collective` with a real libnccl on phantom GPUs: four ranks, each a process and a node of its own,
every collective, in both places, and the pairs. Exit 77: no libnccl."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "dryrun"))
import dry_run

RANKS = 4
TOPOLOGY = "1xh100-sxm+1x400g"
ALL = "all_reduce,all_gather,reduce_scatter,broadcast,reduce,alltoall,gather,scatter,sendrecv"


def command(angio, library, *words):
    return [angio, "bench", "collective", "--phantom", TOPOLOGY, "--ranks", str(RANKS), "--nccl", library,
            "--timeout", "100", *words]


def run(angio, library, *words):
    done = subprocess.run(command(angio, library, *words), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=240, check=False)
    return done.returncode, done.stdout, done.stderr


def check(true, words):
    if not true:
        sys.exit(f"failed: {words}")


def whole_path(angio, library):
    code, out, err = run(angio, library, "--ops", ALL, "-b", "64K", "-e", "1M", "-f", "16", "-n", "3", "-w", "1",
                         "--pairs", "--pair-size", "64K", "--format", "json")
    check(code == 0, f"exit code {code}: {err}")
    result = json.loads(out)
    check(result["phantom"] is True, "phantom GPUs are not said to be that")
    check(any("not there" in note for note in result["notes"]), "no note says that no data moved")
    check(result["backend"] == "nccl" and result["ranks"] == RANKS and result["nodes"] >= 1, "who took part")
    check(len({member["pid"] for member in result["members"]}) == RANKS, "a rank is a process of its own")
    rows = result["rows"]
    check(len({row["collective"] for row in rows}) == 9, "not every collective ran")
    check(len(rows) == 2 * (9 + 7), f"{len(rows)} rows")
    check(not any("wrong" in row for row in rows), "data that did not move was checked")
    check(all(row["time_us"] > 0 for row in rows), "a row without a time")
    check(len(result["pairs"]) == RANKS * (RANKS - 1), "pairs")
    check(result["metrics"] == [], "times of phantom GPUs are kept")
    print(f"{len(rows)} rows, {len(result['pairs'])} pairs by NCCL {result['version']}")


def in_words(angio, library):
    code, out, err = run(angio, library, "-b", "1M", "-e", "1M", "-n", "2")
    check(code == 0, f"exit code {code}: {err}")
    check("These GPUs are not there" in out and "Data: not checked" in out, out)


def rank_processes(parent):
    found = []
    pending = [parent]
    while pending:
        for child in dry_run.children(pending.pop()):
            pending.append(child)
            try:
                words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"collective-rank" in words[1:2]:
                found.append(child)
    return found


def killed_rank(angio, library):
    """A rank that is killed ends all, with words that name one, and nothing stays."""
    process = subprocess.Popen(command(angio, library, "-n", "1000000", "-b", "1M", "-e", "1M"),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ranks = dry_run.wait_for(lambda: (lambda now: now if len(now) == RANKS else None)(rank_processes(process.pid)), 60)
    check(ranks, "the ranks did not start")
    time.sleep(1)
    ranks = rank_processes(process.pid)
    os.kill(ranks[-1], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    check(process.returncode == 3, f"exit code {process.returncode}: {err}")
    check("killed by SIGKILL" in err or "has ended before its work was done" in err, err)
    check(dry_run.wait_for(lambda: not any(dry_run.is_running(rank) for rank in ranks), 20), "a rank stayed")
    print(err.strip().splitlines()[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--angio", required=True)
    parser.add_argument("--nccl")
    arguments = parser.parse_args()
    library = dry_run.library_of(arguments.nccl)
    before = dry_run.folders()
    whole_path(arguments.angio, library)
    in_words(arguments.angio, library)
    killed_rank(arguments.angio, library)
    check(dry_run.wait_for(lambda: dry_run.folders() <= before, 10), "folders in /dev/shm stayed")


main()
