#!/usr/bin/env python3
"""Hands what `angio plan --format X` prints to the real tool X and looks at what the kernel made of it.

check_export.py ANGIO FORMAT. Exit 0: as it should be; 1: not; 77: the tool is not here."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SNAPSHOT = pathlib.Path(__file__).resolve().parents[1] / "snapshots" / "example" / "gpu-a.snap"
SHOW_SELF = ["grep", "-h", "-E", "Cpus_allowed_list|Mems_allowed_list", "/proc/self/status"]


class Failed(Exception):
    pass


def expect(condition, words):
    if not condition:
        raise Failed(words)


def need(*tools):
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        sys.exit(77)


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    expect(done.returncode == 0, f"{command}: exit {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout


def cpus_of(status):
    return re.search(r"Cpus_allowed_list:\s*(\S+)", status).group(1)


class Exports:
    def __init__(self, angio, folder):
        self.angio = angio
        self.folder = folder

    def plan(self, *options):
        return run([self.angio, "plan", *options])

    def here(self):
        """The placement on this machine, the ground truth: one rank a core, at most four."""
        ranks = min(4, len(os.sched_getaffinity(0)))
        return str(ranks), json.loads(self.plan("--ranks", str(ranks), "--format", "json"))["ranks"]

    def script(self, form):
        ranks, placement = self.here()
        script = self.folder / "bind.sh"
        script.write_text(self.plan("--ranks", ranks, "--format", form))
        script.chmod(0o755)
        return script, placement

    def run_script(self, form, look):
        script, placement = self.script(form)
        for rank in placement:
            environment = dict(os.environ, LOCAL_RANK=str(rank["local_rank"]))
            environment.pop("OMP_NUM_THREADS", None)
            look(rank, run([script, "sh", "-c", "cat /proc/self/status; echo threads $OMP_NUM_THREADS"],
                           env=environment), environment)
        unknown = subprocess.run([script, "true"], env=dict(os.environ, LOCAL_RANK="99"), capture_output=True, text=True)
        expect(unknown.returncode == 2 and "99" in unknown.stderr, f"rank 99 is refused: {unknown}")

    def bound_script(self, form):
        def look(rank, status, _):
            expect(cpus_of(status) == rank["cpus"], f"rank {rank['local_rank']}: {cpus_of(status)}, plan {rank['cpus']}")
            expect(f"threads {rank['threads']}" in status, f"OMP_NUM_THREADS is {rank['threads']}: {status[-40:]}")
        self.run_script(form, look)

    def numactl(self):
        need("numactl")
        self.bound_script("numactl")
        script, placement = self.script("numactl")
        shown = run([script, "numactl", "--show"], env=dict(os.environ, LOCAL_RANK="0"))
        expect("policy: preferred" in shown and f"preferred node: {placement[0]['memory_nodes']}" in shown, shown)

    def taskset(self):
        need("taskset")
        self.bound_script("taskset")

    def env(self):
        def look(rank, status, _):
            expect(f"threads {rank['threads']}" in status, status[-40:])
        self.run_script("env", look)

    def slurm(self):
        """The masks, digit by digit; that srun accepts and applies them is in tests/launchers/slurm_test.py."""
        text = self.plan(str(SNAPSHOT), "--ranks", "8", "--format", "slurm")
        ranks = json.loads(self.plan(str(SNAPSHOT), "--ranks", "8", "--format", "json"))["ranks"]
        masks = re.search(r"--cpu-bind=mask_cpu:(\S+)", text).group(1).split(",")
        expect([self.members(int(mask, 16)) for mask in masks] == [self.expand(rank["cpus"]) for rank in ranks], text)
        nodes = re.search(r"--mem-bind=prefer,mask_mem:(\S+)", text).group(1).split(",")
        expect([self.members(int(mask, 16)) for mask in nodes] == [self.expand(rank["memory_nodes"]) for rank in ranks],
               text)
        expect("--ntasks-per-node=8 --gpus-per-node=8 " in text, text)

    @staticmethod
    def members(mask):
        return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]

    @staticmethod
    def expand(cpu_list):
        ends = [part.split("-") for part in cpu_list.split(",") if part]
        return sorted(cpu for end in ends for cpu in range(int(end[0]), int(end[-1]) + 1))

    def rankfile(self):
        need("mpirun")
        ranks, placement = self.here()
        file = self.folder / "ranks"
        file.write_text(self.plan("--ranks", ranks, "--format", "mpirun-rankfile"))
        out = run(["mpirun", "--allow-run-as-root", "--mca", "oob_tcp_if_include", "lo", "--mca", "btl", "self,vader",
                   "--rankfile", str(file), "--mca", "rmaps_rank_file_physical", "1", "--tag-output", "-np", ranks,
                   *SHOW_SELF])
        for rank in placement:
            line = re.search(rf"\[1,{rank['local_rank']}\]<stdout>:\s*Cpus_allowed_list:\s*(\S+)", out)
            expect(line is not None and line.group(1) == rank["cpus"], f"rank {rank['local_rank']}: {out}")

    def torchrun(self):
        text = self.plan(str(SNAPSHOT), "--format", "torchrun")
        expect(text == "torchrun --nproc-per-node=8 --no-python angio run -- python train.py\n", text)

    def systemd(self):
        need("systemd-analyze")
        text = self.plan(str(SNAPSHOT), "--ranks", "8", "--format", "systemd")
        parts = re.split(r"^# /etc/systemd/system/rank@(\d+)\.service\.d/50-angio\.conf\n", text, flags=re.M)[1:]
        expect(parts[0::2] == [str(rank) for rank in range(8)], parts[0::2])
        for rank, body in zip(parts[0::2], parts[1::2]):
            unit = self.folder / f"rank{rank}.service"
            unit.write_text(f"[Unit]\nDescription=rank {rank}\n{body}ExecStart=/bin/true\n")
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
            said = [line for line in done.stderr.splitlines() if f"rank{rank}.service" in line]
            expect(not said, f"systemd-analyze: {said}")
            expect("CPUAffinity=" in body and "NUMAPolicy=preferred" in body and "NUMAMask=" in body, body)

    def kubernetes(self):
        try:
            import yaml
        except ImportError:
            print("skipped: python3-yaml not installed")
            sys.exit(77)
        kubelet, pod = yaml.safe_load_all(self.plan(str(SNAPSHOT), "--ranks", "8", "--format", "kubernetes"))
        expect((kubelet["kind"], kubelet["cpuManagerPolicy"]) == ("KubeletConfiguration", "static"), kubelet)
        resources = pod["spec"]["containers"][0]["resources"]
        expect(resources["requests"] == resources["limits"], "guaranteed quality of service needs equal limits")
        ranks = json.loads(self.plan(str(SNAPSHOT), "--ranks", "8", "--format", "json"))["ranks"]
        cpus = sum(len(self.expand(rank["cpus"])) for rank in ranks)
        expect(resources["limits"]["cpu"] == str(cpus) and resources["limits"]["nvidia.com/gpu"] == "8", resources)


def main():
    angio, form = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        try:
            getattr(Exports(str(angio), pathlib.Path(folder)), form)()
        except Failed as failed:
            print(f"FAILED: {form}: {failed}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
