"""What the launcher tests share: starting angio, finding processes that were left behind, skipping with a reason."""

import ctypes
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import uuid

SKIP = 77
PR_SET_CHILD_SUBREAPER = 36  # include/uapi/linux/prctl.h


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def adopt_orphans():
    """Whatever angio leaves behind becomes a child of this test, so that it can be seen."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    pid = os.getpid()
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def marked(mark):
    """Pids of processes whose environment holds the mark, this one left out."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def state_of(pid):
    """R, S, T, Z …; none: no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def reports(output, word):
    """What ranks printed as `WORD {json}`. Launchers may put two ranks' lines on one, so each is read from where it begins."""
    pieces = output.decode().split(word + " {")[1:]
    return [json.JSONDecoder().raw_decode("{" + piece)[0] for piece in pieces]


def own_address():
    """An address of this host that is not loopback; none: it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            address = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith("127.") else address


def free_port():
    """A TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def wait_until(condition, seconds=10.0, what="condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {what}")


class Angio:
    """The binary, with a mark in the environment of everything it starts."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.mark = "ANGIO_TEST_MARK=" + uuid.uuid4().hex

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith(("SLURM", "OMPI", "PMI", "PMIX", "MASTER_")) and
                k not in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK")}
        name, value = self.mark.split("=")
        return {**kept, name: value, **more}

    def words(self, *words):
        return [self.path, "run", *map(str, words)]

    def start(self, *words, env=None, **more):
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(self.words(*words), env=self.environment(**(env or {})), **more)

    def run(self, *words, timeout=60, **more):
        process = self.start(*words, **more)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def leftovers(self):
        """(pid, state, command) of what still lives; zombies of ours are reaped on the way."""
        left = []
        for pid in marked(self.mark):
            try:
                command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            left.append((pid, state_of(pid), command))
        return left
