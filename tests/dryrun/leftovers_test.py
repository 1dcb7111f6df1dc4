#!/usr/bin/env python3
"""Nothing is left of a dry run with a real libnccl, however it ends: no process, no socket, nothing in /dev/shm."""

import argparse
import os
import signal
import sys

import dry_run

WORDS = ["--topo", "8xh100-sxm+8x400g/2", "--nodes", "2", "--collectives", "allreduce,alltoall", "--sizes", "8:64M"]


class Run:
    """A run under way: its processes are known, its nodes run."""

    def __init__(self, angio, library, *more, **how):
        self.before = dry_run.folders()
        self.sockets = {}
        self.process = dry_run.start(angio, library, *WORDS, *more, **how)
        self.nodes = dry_run.wait_for(self.two_nodes, 10)
        dry_run.wait_for(self.both_kinds, 5)
        self.all = set(dry_run.children(self.process.pid))
        self.made = dry_run.folders(self.process.pid) - self.before

    def both_kinds(self):
        """NCCL's own sockets (tcp) and the phantom network's (unix): the latter come late, if at all."""
        held = dry_run.sockets_of(self.nodes)
        self.sockets |= {inode: name for inode, name in dry_run.listening().items() if inode in held}
        kinds = {name.split()[0] for name in self.sockets.values()}
        return kinds >= {"tcp", "unix"} or self.process.poll() is not None

    def two_nodes(self):
        nodes = dry_run.node_processes(self.process.pid)
        return nodes if len(nodes) == 2 else []

    def still_listening(self):
        now = dry_run.listening()
        return [what for inode, what in self.sockets.items() if now.get(inode) == what]

    def end(self):
        out, err = self.process.communicate(timeout=60)
        return out + err

    def problems(self, name):
        """What is left, a second after the end at most."""
        found = []
        dry_run.wait_for(lambda: not any(dry_run.is_running(pid) for pid in self.all), 2)
        dry_run.wait_for(lambda: not (self.made & dry_run.folders()), 2)
        found += [f"{name}: process {pid} still runs" for pid in self.all if dry_run.is_running(pid)]
        # A process that is dead to others still has threads that end, and closes its sockets with the last.
        dry_run.wait_for(lambda: not self.still_listening(), 2)
        found += [f"{name}: still listening: {what}" for what in self.still_listening()]
        found += [f"{name}: /dev/shm/{folder} is left" for folder in self.made & dry_run.folders()]
        return found


def expect(found, condition, words):
    if not condition:
        found.append(words)


def normal_end(angio, library):
    run = Run(angio, library)
    text = run.end()
    found = run.problems("normal end")
    expect(found, run.process.returncode == 0, f"normal end: exit code {run.process.returncode}:\n{text[-2000:]}")
    expect(found, len(run.nodes) == 2, "normal end: never saw two nodes")
    kinds = {what.split()[0] for what in run.sockets.values()}
    expect(found, kinds == {"tcp", "unix"}, f"normal end: the nodes were seen to listen on {run.sockets}")
    expect(found, len(run.made) == 1, f"normal end: {len(run.made)} folders in /dev/shm while it ran")
    return found


def interrupted(angio, library):
    run = Run(angio, library)
    run.process.send_signal(signal.SIGINT)
    run.end()
    found = run.problems("Ctrl-C")
    expect(found, run.process.returncode != 0, "Ctrl-C: exit code 0")
    return found


def node_killed(angio, library):
    run = Run(angio, library)
    os.kill(run.nodes[1], signal.SIGKILL)
    text = run.end()
    found = run.problems("a node killed")
    expect(found, run.process.returncode == 1, f"a node killed: exit code {run.process.returncode}")
    expect(found, "node 1" in text and "SIGKILL" in text, f"a node killed: not named in\n{text[-2000:]}")
    return found


def node_killed_unheard(angio, library):
    """A caller that ignores SIGCHLD hands that on to angio, where the kernel would throw the answer away."""
    run = Run(angio, library, ignore_children=True)
    os.kill(run.nodes[1], signal.SIGSEGV)
    text = run.end()
    found = run.problems("a node crashed, SIGCHLD ignored")
    expect(found, "node 1" in text and "SIGSEGV" in text, f"SIGCHLD ignored: the signal is not named in\n{text[-2000:]}")
    return found


def parent_killed(angio, library):
    run = Run(angio, library)
    run.process.kill()
    run.end()
    return run.problems("angio killed")


def out_of_memory(angio, library):
    run = Run(angio, library, "--memory-limit", "60MiB")
    text = run.end()
    found = run.problems("memory limit")
    expect(found, run.process.returncode == 1, f"memory limit: exit code {run.process.returncode}")
    expect(found, "more memory than the limit of 60 MiB" in text, f"memory limit: not named in\n{text[-2000:]}")
    return found


def out_of_time(angio, library):
    run = Run(angio, library, "--timeout", "1")
    text = run.end()
    found = run.problems("timeout")
    expect(found, run.process.returncode == 1, f"timeout: exit code {run.process.returncode}\n{text[-2000:]}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--angio", required=True)
    parser.add_argument("--nccl", default="", help="a real libnccl; else ANGIO_NCCL")
    given = parser.parse_args()
    library = dry_run.library_of(given.nccl)
    found = []
    for case in (normal_end, interrupted, node_killed, node_killed_unheard, parent_killed, out_of_memory, out_of_time):
        here = case(given.angio, library)
        print(f"{case.__name__}: {'ok' if not here else f'{len(here)} problems'}")
        found += here
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
