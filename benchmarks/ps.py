#!/usr/bin/env python3
"""angio ps over many ranks with many threads, beside what one would type otherwise, in turns in the same run.

  benchmarks/ps.py ANGIO [PROCESSES [THREADS [ROUNDS]]]      1,000 processes with 64 threads, 7 rounds

Each process has RANK set and sleeps. Peers: ps -eLo (threads and last CPUs only), numastat -p (memory by node only).
As many processes are started as kernel.pid_max, kernel.threads-max and the limits of the user leave room for; the
time for the number that was asked for is then scaled from theirs, and said to be.
"""

import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RANK = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static void *wait_for_ever(void *unused) { for (;;) pause(); return unused; }
int main(int count, char **words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (count == 3) {
    for (int i = 0; i < atoi(words[1]); ++i) {
      if (fork() != 0) continue;
      char number[16];
      snprintf(number, sizeof number, "%d", i);
      setenv("RANK", number, 1);
      execl(words[0], words[0], words[2], (char *)0);
      _exit(1);
    }
    puts("started");
    fflush(stdout);
    for (;;) pause();
  }
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  pthread_t thread;
  for (int i = 1; i < atoi(words[1]); ++i) pthread_create(&thread, &small, wait_for_ever, 0);
  for (;;) pause();
}
"""


def number_in(path, default):
    try:
        return int(pathlib.Path(path).read_text())
    except (OSError, ValueError):
        return default


def tasks():
    return int(pathlib.Path("/proc/loadavg").read_text().split()[3].split("/")[1])


def room():
    """Tasks that may still start; some are left to the rest of the machine."""
    limits = [number_in("/proc/sys/kernel/pid_max", 32768), number_in("/proc/sys/kernel/threads-max", 32768)]
    soft = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    return int((min(limits) - tasks()) * 0.8)


def measure(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(angio, processes, rounds, ranks):
    commands = {"angio ps": [angio, "ps"], "angio ps --format json": [angio, "ps", "--format", "json"]}
    if shutil.which("ps"):
        commands["ps -eLo"] = ["ps", "-eLo", "pid,tid,psr,comm"]
    if shutil.which("numastat"):
        commands["numastat -p"] = ["numastat", "-p", *ranks]
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(measure(command))
    middle = {name: [statistics.median(t[i] for t in all_of) for i in (0, 1)] for name, all_of in times.items()}
    for name, (wall, cpu) in middle.items():
        ratio = f"   angio ps takes {middle['angio ps'][0] / wall:.2f} of its wall time" if "angio" not in name else ""
        print(f"{name:24} wall {wall * 1e3:8.1f} ms   cpu {cpu * 1e3:8.1f} ms{ratio}")
    return middle["angio ps"][0]


def main():
    angio = str(pathlib.Path(sys.argv[1]).resolve())
    wanted, threads, rounds = (int(sys.argv[i]) if len(sys.argv) > i else default
                               for i, default in ((2, 1000), (3, 64), (4, 7)))
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        print("skipped: no C compiler for the sleeping ranks")
        return
    processes = min(wanted, room() // threads)
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "rank.c"), pathlib.Path(folder, "rank")
        source.write_text(RANK)
        subprocess.run([compiler, "-O1", "-pthread", source, "-o", program], check=True)
        parent = subprocess.Popen([program, str(processes), str(threads)], stdout=subprocess.PIPE)
        try:
            parent.stdout.readline()
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline and tasks() < processes * threads:
                time.sleep(0.2)
            ranks = pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
            print(f"{len(ranks)} processes with {threads} threads each, {os.cpu_count()} CPUs, median of {rounds}")
            wall = compare(angio, processes, rounds, ranks)
            if processes < wanted:
                print(f"room for {processes} only; scaled to {wanted} processes: {wall * wanted / processes:.2f} s")
        finally:
            parent.send_signal(signal.SIGKILL)
            parent.wait()


if __name__ == "__main__":
    main()
