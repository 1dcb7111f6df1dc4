"""Starts angio_vm_rank under `angio run`, waits until every rank wrote its memory, and ends it again."""

import os
import shutil
import subprocess
import tempfile
import time

import kernel_view as kernel

RANK = "angio_vm_rank"
PATIENCE = 40.0  # seconds until all ranks are ready: emulated processors are slow


def offers(verb):
    return subprocess.run(["angio", verb, "--help"], capture_output=True, check=False).returncode == 0


def spare_from_oom_killer(spared):
    """When a strict rank finds its node full, the kernel may kill any program without a policy: not the checks."""
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("-1000" if spared else "0")


class Cgroup:
    """A cgroup below the root with a cpuset; gone when it is left."""

    def __init__(self, name, cpus, nodes):
        self.path = f"/sys/fs/cgroup/{name}"
        os.mkdir(self.path)
        for file, members in (("cpuset.cpus", cpus), ("cpuset.mems", nodes)):
            self.write(file, kernel.words(members))

    def write(self, file, text):
        with open(f"{self.path}/{file}", "w", encoding="ascii") as out:
            out.write(text)

    def enter(self):
        """In the child before exec."""
        self.write("cgroup.procs", str(os.getpid()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except OSError:  # a process is still on its way out
                time.sleep(0.05)


class FullNode:
    """A node without room: all of its free memory is made 2 MiB huge pages, which ordinary programs cannot get."""

    def __init__(self, node):
        self.node = node

    def __enter__(self):
        for file, value in (("drop_caches", "3"), ("compact_memory", "1")):  # page cache would be given back
            with open(f"/proc/sys/vm/{file}", "w", encoding="ascii") as out:
                out.write(value)
        for _ in range(3):  # the kernel compacts between the tries
            kernel.set_huge_pages(self.node, 100000)
        return self

    def __exit__(self, *_):
        kernel.set_huge_pages(self.node, 0)


class Job:
    """`command` with RANK, its folder and size behind it. Ready ranks are in pids: {local rank: pid}."""

    def __init__(self, command, ranks, mib=24, threads=3, environment=None, cgroup=None):
        self.folder = tempfile.mkdtemp(prefix="job.")
        self.ranks = ranks
        self.pids = {}
        self.code = None
        self.words = ""
        self.log = open(f"{self.folder}/log", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            [*command, RANK, self.folder, str(mib), str(threads)], stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})}, preexec_fn=lambda: self.begin(cgroup))

    @staticmethod
    def begin(cgroup):
        spare_from_oom_killer(False)
        if cgroup:
            cgroup.enter()

    def ready(self):
        """Whether all ranks wrote their memory; False as soon as the command has ended without that."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            ended = self.process.poll() is not None
            self.pids = {int(name[5:]): int(kernel.read(f"{self.folder}/{name}"))
                         for name in os.listdir(self.folder) if name.startswith("rank.") and not name.endswith(".new")}
            if len(self.pids) == len(self.ranks):
                return True
            if ended:
                return False
            time.sleep(0.05)
        return False

    def stop(self):
        """Lets the ranks end; exit status of the command."""
        with open(f"{self.folder}/stop", "w", encoding="ascii"):
            pass
        return self.wait()

    def wait(self):
        try:
            self.code = self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.code = self.process.wait()
        self.log.flush()
        self.words = kernel.read(f"{self.folder}/log")
        return self.code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            self.stop()
        self.log.close()
        shutil.rmtree(self.folder)
