#!/usr/bin/env python3
"""Time of `angio log` against grep and a Python line parser over one large NCCL log.

    benchmarks/nccl_log.py [--angio PATH] [--megabytes 500] [--ranks 64] [--keep FILE] [-- COMMAND...]

Writes a synthetic log with the mix of a verbose job (identities, settings, topology, channels, GPUDirect RDMA,
tuning choices, collectives; every rank's lines interleaved), then runs each reader three times and prints the best
time and the two ratios. COMMAND, with {} for the log, stands in for `angio log --format json {}`.

grep counts (-c) into a pipe: with its output sent to /dev/null GNU grep stops at the first match. Both locales are
measured.
The file is read once before, so that all read from memory.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

RUNS = 3


def start_of_rank(rank: int, ranks: int, per_host: int) -> list[str]:
    """What a rank prints before its first connection."""
    host, device, pid = f"gpu-{rank // per_host:03d}", rank % per_host, 20000 + rank
    at = f"{host}:{pid}:{pid} [{device}] NCCL INFO "
    bus = f"{0x1b + device * 0x11:x}000"
    address = f"0x55d0{rank:06x}00"
    lines = [
        "cudaDriverVersion 13000",
        f"Bootstrap: Using eth0:10.9.{rank // per_host}.7<0>",
        "NCCL version 2.28.9+cuda13.0",
        "NCCL_IB_HCA set by environment to mlx5",
        "NET/IB : Using " + " ".join(f"[{i}]mlx5_{i}:1/IB" for i in range(per_host)) + f" [RO]; OOB eth0:10.9.{rank // per_host}.7<0>",
        "Using network IB",
        f"ncclCommInitRank comm {address} rank {rank} nranks {ranks} cudaDev {device} nvmlDev {device} busId {bus} commId 0x5eed - Init START",
    ]
    lines += [
        f"GPU Direct RDMA Enabled for GPU {gpu} / HCA {hca} (distance 4 <= 5), read 0 mode Default"
        for gpu in range(per_host)
        for hca in range(per_host)
    ]
    lines.append(
        f"comm {address} rank {rank} nRanks {ranks} nNodes {max(1, ranks // per_host)} localRanks {per_host} localRank {device} MNNVL 0"
    )
    if rank == 0:
        lines += [f"Channel {c:02d}/16 : " + "".join(f"{r:4d}" for r in range(ranks)) for c in range(16)]
    lines.append("Trees " + " ".join(f"[{c}] {(rank + 1) % ranks}/-1/-1->{rank}->{rank - 1}" for c in range(16)))
    lines.append("16 coll channels, 16 collnet channels, 0 nvls channels, 32 p2p channels, 2 p2p channels per peer")
    lines.append(
        f"ncclCommInitRank comm {address} rank {rank} nranks {ranks} cudaDev {device} nvmlDev {device} busId {bus} commId 0x5eed - Init COMPLETE"
    )
    return [at + line for line in lines]


def connections(random_: random.Random, ranks: int, per_host: int) -> list[str]:
    """The channels of one communicator: every rank in its own time, as the proxies let it."""
    lines = []
    for channel in range(16):
        for rank in random_.sample(range(ranks), ranks):
            host, device, pid = f"gpu-{rank // per_host:03d}", rank % per_host, 20000 + rank
            at = f"{host}:{pid}:{pid + 40} [{device}] NCCL INFO "
            peer, before = (rank + 1) % ranks, (rank - 1) % ranks
            head = f"Channel {channel:02d}/0 : "
            if before // per_host != rank // per_host or channel % 4 == 0:
                other = before if channel % 2 else (rank + per_host) % ranks
                lines.append(f"{host}:{pid}:{pid + 80} [{device}] NCCL INFO New proxy recv connection {channel} from local rank {device}, transport 2")
                lines.append(at + f"Connected to proxy localRank {device} -> connection 0x7f8d54{random_.randrange(1 << 20):06x}")
                lines.append(at + head + f"{other}[{other % per_host}] -> {rank}[{device}] [receive] via NET/IB/{device}/GDRDMA")
                lines.append(at + head + f"{rank}[{device}] -> {other}[{other % per_host}] [send] via NET/IB/{device}/GDRDMA")
            else:
                lines.append(at + head + f"{rank}[{device}] -> {peer}[{peer % per_host}] via P2P/CUMEM")
                lines.append(at + head + f"{rank}[{device}] -> {before}[{before % per_host}] via P2P/CUMEM")
    return lines


def collectives(random_: random.Random, ranks: int, per_host: int, first: int, steps: int) -> list[str]:
    """The same calls at every rank, a few bursts of each; rank 0 says what it chose."""
    lines = []
    calls = []
    for step in range(first, first + steps):
        name = random_.choice(("AllReduce", "AllReduce", "AllGather", "ReduceScatter"))
        calls.append((step, name, 1 << random_.randrange(10, 24)))
    for start in range(0, steps, 4):
        for rank in random_.sample(range(ranks), ranks):
            host, device, pid = f"gpu-{rank // per_host:03d}", rank % per_host, 20000 + rank
            at = f"{host}:{pid}:{pid} [{device}] NCCL INFO "
            for step, name, count in calls[start : start + 4]:
                lines.append(
                    at + f"{name}: opCount {step:x} sendbuff 0x7f0a4ce00000 recvbuff 0x7f0a5ce00000 count {count} datatype 9"
                    f" op 0 root 0 comm 0x55d0{rank:06x}00 [nranks={ranks}] stream 0x55d1{rank:06x}80"
                )
                lines.append(at + f"{name}: {count * 4} Bytes -> Algo RING proto SIMPLE channel{{Lo..Hi}}={{0..15}}")
        lines.append(f"step {start} loss {random_.random():.4f} tokens/s {random_.randrange(10000)}")
    return lines


def write_log(path: str, megabytes: int, ranks: int, per_host: int = 8) -> int:
    random_ = random.Random(1)
    with open(path, "wb") as log:
        starts = [start_of_rank(rank, ranks, per_host) for rank in range(ranks)]
        for row in range(max(map(len, starts))):
            for lines in starts:
                if row < len(lines):
                    log.write(lines[row].encode() + b"\n")
        step = 0
        while log.tell() < megabytes * 1000 * 1000:
            # A new communicator connects, then the job works for a while.
            for block in (connections(random_, ranks, per_host), collectives(random_, ranks, per_host, step, 40)):
                log.write(("\n".join(block) + "\n").encode())
            step += 40
        return log.tell()


PYTHON_PARSER = r"""
import re, sys
envelope = re.compile(r"^(?:\[([^\]]*)\]\s)?([^:\s]+):(\d+):(\d+) (?:\[(-?\d+)\] )?(?:([\w./+-]+):(\d+) )?NCCL (INFO|WARN) (.*)$")
kinds = [re.compile(p) for p in (
    r"Channel (\d+)(?:/(\d+))? : (\d+)\[([0-9a-f]+)\] -> (\d+)\[([0-9a-f]+)\] (?:\[(send|receive)\] )?via (\S.*)$",
    r"(\w+): opCount ([0-9a-f]+) sendbuff \S+ recvbuff \S+ count (\d+) datatype (\d+) op (\d+) root (-?\d+) comm (\S+)",
    r"(\w+): (\d+) Bytes -> Algo (\S+) proto (\S+)",
    r"comm (\S+) rank (\d+) nranks (\d+) cudaDev (\d+)",
    r"(NCCL_\w+) set by environment to (.*)$",
    r"GPU Direct RDMA (Enabled|Disabled) for GPU (\S+) / HCA (\S+)",
)]
counts = {}
for line in open(sys.argv[1], errors="replace"):
    match = envelope.match(line)
    if match is None:
        continue
    message = match.group(9)
    for kind in kinds:
        found = kind.search(message)
        if found:
            key = (match.group(2), match.group(3), found.groups()[-1])
            counts[key] = counts.get(key, 0) + 1
            break
print(len(counts))
"""


def best_time(command: list[str], environment: dict[str, str] | None = None) -> float:
    times = []
    for _ in range(RUNS):
        started = time.monotonic()
        subprocess.run(command, stdout=subprocess.PIPE, check=True, env={**os.environ, **(environment or {})})
        times.append(time.monotonic() - started)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description="Time angio log against grep and a Python parser.")
    parser.add_argument("--angio", default="build/release/apps/angio/angio")
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--keep", help="write the log here and leave it")
    parser.add_argument("command", nargs="*", help="in place of angio; {} stands for the log")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        log = options.keep or os.path.join(folder, "nccl.log")
        if not (options.keep and os.path.exists(log)):
            write_log(log, options.megabytes, options.ranks)
        with open(log, "rb") as whole:
            size = sum(len(piece) for piece in iter(lambda: whole.read(1 << 20), b""))
        angio = [word.replace("{}", log) for word in options.command] or [options.angio, "log", "--format", "json", log]
        grep = ["grep", "-cE", "NCCL (INFO|WARN)", log]
        times = {
            "grep -E, LC_ALL=C": best_time(grep, {"LC_ALL": "C"}),
            "grep -E, LC_ALL=C.UTF-8": best_time(grep, {"LC_ALL": "C.UTF-8"}),
            "angio log": best_time(angio),
        }
        small = os.path.join(folder, "tenth.log")
        with open(log, "rb") as whole, open(small, "wb") as part:
            part.write(whole.read(size // 10))
        script = os.path.join(folder, "parse.py")
        with open(script, "w", encoding="utf-8") as out:
            out.write(PYTHON_PARSER)
        # Over a tenth: it needs minutes for the whole.
        times["Python re (ten times a tenth)"] = 10 * best_time([sys.executable, script, small])
        print(f"log of {size / 1e6:.0f} MB, {options.ranks} ranks")
        for name, seconds in times.items():
            print(f"  {name:32s} {seconds:8.2f} s  {size / 1e6 / seconds:8.0f} MB/s")
        print(f"angio / grep LC_ALL=C:       {times['angio log'] / times['grep -E, LC_ALL=C']:.2f}  (promise: at most 1.5)")
        print(f"angio / grep LC_ALL=C.UTF-8: {times['angio log'] / times['grep -E, LC_ALL=C.UTF-8']:.2f}")
        print(f"Python / angio:              {times['Python re (ten times a tenth)'] / times['angio log']:.1f}  (promise: at least 10)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
