#!/usr/bin/env python3
"""Real NCCLs load the tuner plugin on phantom GPUs and take what its table says.

usage: real_nccl.py PLUGIN RUNNER STAND_INS [PART]    (PART: only wheels whose folder contains it)

RUNNER is phantom_run, STAND_INS the folder that the stand-ins were built in. ANGIO_NCCL names a folder with
unpacked wheels (<any name>/nvidia/nccl/lib/libnccl.so.2); without it, or without the runner, the test is skipped."""

import mmap
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIP = 77
# Rows that NCCL would not choose by itself on this machine, so that obedience shows; the sizes are the runner's.
TABLE = """collective,min_bytes,max_bytes,nodes,ranks,algorithm,protocol,channels
allreduce,0,1K,1,8,tree,simple,*
allreduce,1025,2M,1,8,ring,ll,5
allreduce,2097153,*,1,8,tree,ll128,7
"""
EXPECTED = {8: ("tree", "simple", None), 1 << 20: ("ring", "ll", 5), 64 << 20: ("tree", "ll128", 7)}
ALGORITHMS = ("tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat")
PROTOCOLS = ("ll", "ll128", "simple")
# The interface that a release must choose of those the plugin has.
INTERFACES = ((2, 30, 6), (2, 28, 5), (2, 24, 4), (2, 22, 3), (2, 21, 2))


def topology():
    """Eight GPUs behind NVSwitch, four on each of two NUMA nodes."""
    lines = ['<system version="1">']
    for node in range(2):
        lines.append(f'  <cpu numaid="{node}" affinity="00000000,0000000f" arch="x86_64" vendor="GenuineIntel"'
                     ' familyid="6" modelid="143">')
        for gpu in range(4 * node, 4 * node + 4):
            lines.append(f'    <pci busid="0000:{0x10 + 0x10 * gpu:02x}:00.0" class="0x030200" vendor="0x10de"'
                         ' device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">')
            lines.append(f'      <gpu dev="{gpu}" sm="90" rank="{gpu}" gdr="1">')
            lines.append('        <nvlink target="ffff:ff:ff.f" count="18" tclass="0x068000"/>')
            lines.append("      </gpu>\n    </pci>")
        lines.append("  </cpu>")
    return "\n".join(lines + ["</system>"]) + "\n"


def version_of(error_text):
    """(major, minor, patch) of the runner's line "NCCL 22809"."""
    found = re.search(r"NCCL (\d+), \d+ ranks", error_text)
    if not found:
        return None
    code = int(found.group(1))
    return code // 10000, code // 100 % 100, code % 100


class Run:
    """One NCCL on the phantom machine, with the plugin and a table."""

    def __init__(self, plugin, runner, stand_ins, library, table, folder):
        self.problems = []
        log = folder / "nccl.log"
        (folder / "libnvidia-ml.so.1").unlink(missing_ok=True)
        (folder / "libnvidia-ml.so.1").symlink_to(stand_ins / "nvml" / "libangio-phantom-nvml.so")
        (folder / "topology.xml").write_text(topology())
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            major = 13 if content.find(b"+cuda13") >= 0 else 12
        environment = {**os.environ, "NCCL_TUNER_PLUGIN": str(plugin), "ANGIO_TUNER_TABLE": str(table),
                       "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,TUNING,COLL", "NCCL_DEBUG_FILE": str(log),
                       "NCCL_NVLS_ENABLE": "0", "LD_LIBRARY_PATH": str(folder),
                       "LD_PRELOAD": str(stand_ins / "cudart" / f"libangio-phantom-cudart{major}.so")}
        log.unlink(missing_ok=True)
        done = subprocess.run([runner, library, folder / "topology.xml"], env=environment, capture_output=True,
                              text=True, timeout=60, check=False)
        self.errors = done.stderr
        self.log = log.read_text(errors="replace") if log.exists() else ""
        self.version = version_of(self.errors)
        if done.returncode != 0 or self.version is None:
            self.problems.append(f"ended with {done.returncode}: {self.errors[-400:]}")

    def expect(self, good, words):
        if not good:
            self.problems.append(words)

    def choice(self, size):
        """(algorithm, protocol, channels) that the log of rank 0 shows; what it does not show is None."""
        line = re.search(rf"\b{size} Bytes -> Algo (\w+) proto (\w+)(?: channel\{{Lo\.\.Hi\}}=\{{(\d+)\.\.(\d+)\}})?",
                         self.log)
        if not line:
            return None
        algorithm, protocol = line.group(1).lower().replace("_", ""), line.group(2).lower()
        if algorithm.isdigit():
            algorithm, protocol = ALGORITHMS[int(algorithm)], PROTOCOLS[int(protocol)]
        channels = int(line.group(4)) - int(line.group(3)) + 1 if line.group(3) else None
        return algorithm, protocol, channels

    def kernel(self, size):
        """(kernel, grid) that the runner saw launched."""
        line = re.search(rf"AllReduce {size} bytes: .* kernel (\w+), grid (\d+)", self.errors)
        return (line.group(1), int(line.group(2))) if line else ("none", 0)


def check_obeyed(run):
    interface = next(number for major, minor, number in INTERFACES if run.version[:2] >= (major, minor))
    if run.version[:2] >= (2, 28):
        run.expect(f"TUNER/Plugin: Using angio (v{interface})" in run.log, f"not loaded as version {interface}")
    run.expect(run.log.count("hash ") == 1, f"{run.log.count('hash ')} lines name the hash of the table, expected 1")
    for size, (algorithm, protocol, channels) in EXPECTED.items():
        if interface == 2 and protocol == "ll128":  # the plugin leaves it to NCCL there
            run.expect("LL128 is safe here, NCCL's own choice stands" in run.log, "says nothing of LL128")
            continue
        run.expect(f"allreduce of {size} B -> {algorithm} {protocol}" in run.log, f"{size} B: no row is said to decide")
        seen = run.choice(size)
        if seen:
            run.expect(seen[:2] == (algorithm, protocol), f"{size} B: {seen}, expected {algorithm} {protocol}")
        if channels:  # 2.21 and 2.22 log no choice that a tuner made: the kernel's grid shows it
            run.expect(run.kernel(size)[1] == channels, f"{size} B: grid {run.kernel(size)}, expected {channels}")
        else:
            run.expect(algorithm.upper() in run.kernel(size)[0], f"{size} B: kernel {run.kernel(size)[0]}")
    if run.version[:2] >= (2, 23):
        run.expect(all(run.choice(size) for size in EXPECTED), "the log shows no choices")


def check_unserved(run):
    run.expect("using default tuner instead" in run.log or "TUNER" not in run.log, "2.19 and 2.20 ask for version 1")


def check_broken(run):
    lines = [line for line in run.log.split("\n") if "TUNER/Angio" in line]
    run.expect(len(lines) == 1 and ":2: there is no algorithm" in lines[0], f"broken table: {lines}")
    run.expect(run.kernel(8)[1] > 0, "broken table: nothing was launched")


def test_one(arguments, library, folder):
    plugin, runner, stand_ins = arguments
    good, broken = folder / "good.csv", folder / "broken.csv"
    good.write_text(TABLE)
    broken.write_text(TABLE.replace("tree,simple", "rin,simple"))
    run = Run(plugin, runner, stand_ins, library, good, folder)
    if not run.problems:
        served = run.version >= (2, 21, 0)
        (check_obeyed if served else check_unserved)(run)
        if served:
            second = Run(plugin, runner, stand_ins, library, broken, folder)
            if not second.problems:
                check_broken(second)
            run.problems += second.problems
    words = ".".join(map(str, run.version)) if run.version else str(library)
    outcome = "not served, runs as ever" if run.version and run.version < (2, 21, 0) else "as the table says"
    print(f"NCCL {words}: {outcome if not run.problems else ''}", *run.problems, sep="\n  ")
    return not run.problems


def main():
    plugin, runner, stand_ins = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    wheels = os.environ.get("ANGIO_NCCL", "")
    libraries = sorted(pathlib.Path(wheels).glob("*/nvidia/nccl/lib/libnccl.so.2")) if wheels else []
    part = sys.argv[4] if len(sys.argv) > 4 else ""
    libraries = [library for library in libraries if part in str(library)]
    if not libraries or not runner.exists():
        print("skipped: " + (f"no {runner.name}" if not runner.exists() else "no real libnccl: ANGIO_NCCL names no "
                             "folder of unpacked wheels (tools/fetch_nccl.py)"))
        return SKIP
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        for library in libraries:
            passed += test_one((plugin, runner, stand_ins), library, pathlib.Path(folder))
    print(f"{passed} of {len(libraries)} releases")
    return 0 if passed == len(libraries) else 1


if __name__ == "__main__":
    sys.exit(main())
