#!/usr/bin/env python3
"""`angio bench collective` over a stand-in CUDA driver and a stand-in NCCL whose data really moves between two rank
processes: every collective with its data checked, a wrong bit that is found, and ranks that fail or die.

gpu_standin_test.py ANGIO FOLDER_OF_LIBCUDA FOLDER_OF_LIBNCCL"""

import json
import os
import subprocess
import sys
import tempfile

ANGIO, CUDA, NCCL = sys.argv[1:4]
ALL = "all_reduce,all_gather,reduce_scatter,broadcast,reduce,alltoall,gather,scatter,sendrecv"


def run(*words, mood="", ranks="2", cuda=CUDA):
    kept = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [ANGIO, "bench", "collective", "--ranks", ranks, "--nccl", NCCL, "--timeout", "60", *words],
            env=kept | {"LD_LIBRARY_PATH": cuda, "ANGIO_NCCL_STANDIN": mood, "TMPDIR": folder},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False)
        check(not os.listdir(folder) or done.returncode, f"files stayed: {os.listdir(folder)}")
    return done.returncode, done.stdout, done.stderr


def check(true, words):
    if not true:
        sys.exit(f"failed: {words}")


def everything_arrives():
    for element in ("float", "int32", "uint8"):
        code, out, err = run("--ops", ALL, "-r", "1", "-b", "1K", "-e", "1M", "-f", "32", "-n", "3", "-w", "1", "-d", element,
                             "--pairs", "--pair-size", "64K", "--format", "json")
        check(code == 0, f"exit code {code}: {err}")
        result = json.loads(out)
        check(not result["phantom"] and result["version"] == "2.28.5", "which library")
        check([member["device"] for member in result["members"]] == ["Stand-in GPU"] * 2, "which GPUs")
        check(len({member["address"] for member in result["members"]}) == 2, "a GPU for each rank")
        check(len(result["rows"]) == 3 * (9 + 7), f"{len(result['rows'])} rows")
        for row in result["rows"]:
            check(row["wrong"] == 0, f"wrong data: {row}")
            check(row["single"]["maximum_us"] >= row["single"]["median_us"] > 0, f"times by events: {row}")
        check([(pair["from"], pair["to"]) for pair in result["pairs"]] == [(0, 1), (1, 0)], "pairs")


def one_wrong_bit_is_found():
    code, out, err = run("--ops", ALL, "-b", "1K", "-e", "1K", "-n", "2", "--place", "out", mood="wrong")
    check(code == 1, f"exit code {code}: {err}")
    check("AllReduce of 1 KiB: rank 1 received 1 wrong element, first at element 10" in out, out)
    check("1 wrong element" in out and "No figure of a library that does this counts" in out.replace("\n", " "), out)


def what_fails_is_said():
    code, _, err = run(ranks="3")
    check(code == 3 and "rank 2 of this host has no GPU: CUDA shows 2" in err, err)
    code, _, err = run(mood="no-init")
    check(code == 3 and "ncclCommInitRank: stand-in error (the stand-in was told to)" in err, err)
    code, _, err = run(mood="die")
    check(code == 3 and ("rank 1" in err), err)
    code, _, err = run(cuda="/nonexistent")
    if not os.path.exists("/dev/nvidiactl"):
        check(code == 3 and "no CUDA driver" in err, err)


everything_arrives()
one_wrong_bit_is_found()
what_fails_is_said()
print("two ranks, nine collectives, three types; a wrong bit, a missing GPU, a dead rank")
