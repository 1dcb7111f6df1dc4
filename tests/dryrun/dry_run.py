"""What the tests of `angio dryrun` with a real libnccl share: the command, its processes, and what it may leave."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

SKIPPED = 77
SHARED = pathlib.Path("/dev/shm")
PREFIX = "angio-dryrun."


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def libraries():
    """Folders of real releases by version, oldest first: those of ANGIO_NCCL."""
    folder = pathlib.Path(os.environ.get("ANGIO_NCCL") or "/nonexistent")
    found = [path.parents[3] for path in folder.glob("*/nvidia/nccl/lib/libnccl.so.2")]
    return dict(sorted((version_of(path.name), path) for path in found if version_of(path.name)))


def version_of(name):
    """(2, 28, 9) of "2.28.9-cu13" or "cu13-2.28.9"."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", name)
    return tuple(int(number) for number in found.groups()) if found else None


def library_of(given):
    """The real libnccl to test with: an argument, or the release of ANGIO_NCCL that most of the tests know."""
    if given and not pathlib.Path(given).exists():
        skip(f"{given} is not there")
    known = libraries()
    if not given and not known:
        skip("no real libnccl: ANGIO_NCCL names no folder of unpacked wheels (tools/fetch_nccl.py)")
    return given or str(known.get((2, 28, 9)) or list(known.values())[-1])


def start(angio, library, *words, ignore_children=False):
    """The command, with nothing of the caller's terminal; ignore_children: as from a caller who ignores SIGCHLD."""
    ignore = (lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)) if ignore_children else None
    return subprocess.Popen(
        [angio, "dryrun", "--nccl", library, "--redirect", "yes", *words], preexec_fn=ignore,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")


def parent_of(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rsplit(")", 1)[1].split()[1])


def is_running(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def children(pid):
    numbers = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]
    return sorted(number for number in numbers if parent_of(number) == pid)


def node_processes(pid):
    """The nodes of a run in their order; its helper for /dev/shm is none."""
    found = []
    for child in children(pid):
        try:
            words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if len(words) > 1 and words[1] == b"dryrun-node":
            found.append(child)
    return found


def wait_for(what, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = what()
        if result:
            return result
        time.sleep(0.02)
    return what()


def folders(pid=None):
    """Of all runs, or of the one whose process this is."""
    begin = PREFIX if pid is None else f"{PREFIX}{pid}."
    return {entry.name for entry in SHARED.iterdir() if entry.name.startswith(begin)}


def sockets_of(pids):
    """Inodes of the sockets that the processes hold now."""
    held = set()
    for pid in pids:
        try:
            names = [os.readlink(entry) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        held |= {name[len("socket:["):-1] for name in names if name.startswith("socket:[")}
    return held


def listening():
    """Inode and name of every socket of this network namespace that somebody listens on."""
    found = {}
    for table in ("tcp", "tcp6"):
        for line in read_lines(f"/proc/net/{table}"):
            words = line.split()
            if words[3] == "0A":  # TCP_LISTEN
                found[words[9]] = f"{table} {words[1]}"
    for line in read_lines("/proc/net/unix"):
        words = line.split()
        if int(words[3], 16) & 0x10000:  # SO_ACCEPTCON
            found[words[6]] = f"unix {' '.join(words[7:])}"
    return found


def read_lines(path):
    try:
        return pathlib.Path(path).read_text(errors="replace").splitlines()[1:]
    except OSError:
        return []
