"""A Slurm of several nodes on this machine: own configuration, own munge, own ports, in one temporary folder.
Each "node" is a slurmd with a name of its own; fake GPUs are character devices like /dev/null."""

import getpass
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import tempfile
import time

PROGRAMS = ("slurmctld", "slurmd", "srun", "salloc", "sbatch", "sinfo", "munged")
GPUS = 4

# NoAddrCache and the like: everything stays on 127.0.0.1.
CONFIGURATION = """\
ClusterName=angio
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={munge}/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=5
MailProg=/bin/true
TmpFS={folder}/tmp/%n
CommunicationParameters=NoAddrCache,NoCtldInAddrAny,NoInAddrAny
{gres}PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """What is not installed, as a reason to skip; None if all is there."""
    absent = [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    return f"not installed: {', '.join(absent)} (slurmctld slurmd slurm-client munge)" if absent else None


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def is_open_to_all(folder):
    """Everybody may pass through it and all above it: munged puts its socket nowhere else."""
    return all(each.is_dir() and each.stat().st_mode & stat.S_IXOTH for each in (folder, *folder.parents))


def place_for_munge():
    """TMPDIR may be a private folder."""
    places = [pathlib.Path(place).resolve() for place in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")]
    return next((place for place in places if is_open_to_all(place) and os.access(place, os.W_OK)), places[0])


class Cluster:
    def __init__(self, nodes=2):
        self.nodes = [f"n{i}" for i in range(nodes)]
        # Short: the names of unix sockets are limited to 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="angio-slurm-"))
        self.folder.chmod(0o755)
        self.munge = pathlib.Path(tempfile.mkdtemp(prefix="angio-munge-", dir=place_for_munge()))
        self.munge.chmod(0o711)
        self.processes = []
        self.has_gpus = self.make_gpus()

    def make_gpus(self):
        """None without the right to make devices."""
        try:
            for i in range(GPUS):
                os.mknod(self.folder / f"gpu{i}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            return False
        return True

    def write_configuration(self):
        ports = free_ports(len(self.nodes) + 1)
        gres = "GresTypes=gpu\n" if self.has_gpus else ""
        have = f" Gres=gpu:fake:{GPUS}" if self.has_gpus else ""
        host = socket.gethostname()
        lines = "".join(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} Sockets=1 CoresPerSocket=8 "
                        f"ThreadsPerCore=1 RealMemory=1000{have} State=UNKNOWN\n" for name, port in zip(self.nodes, ports[1:]))
        text = CONFIGURATION.format(host=host, port=ports[0], user=getpass.getuser(), folder=self.folder, munge=self.munge,
                                    gres=gres + lines)
        (self.folder / "slurm.conf").write_text(text)
        if self.has_gpus:
            (self.folder / "gres.conf").write_text(f"NodeName={','.join(self.nodes)} Name=gpu Type=fake "
                                                   f"File={self.folder}/gpu[0-{GPUS - 1}]\n")

    def environment(self):
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        return {**os.environ, "PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def begin(self, *words):
        with (self.folder / "output.log").open("ab") as log:
            self.processes.append(subprocess.Popen(words, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log,
                                                   stderr=log, cwd=self.folder))

    def up(self):
        """Seconds until all nodes are idle."""
        started = time.monotonic()
        munge = self.munge
        for name in ("state", "spool", "tmp"):
            (self.folder / name).mkdir()
        for name in self.nodes:
            (self.folder / "spool" / name).mkdir()
            (self.folder / "tmp" / name).mkdir()
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o600)
        self.write_configuration()
        self.begin("munged", "-F", "-S", f"{munge}/socket", f"--key-file={munge}/key", f"--pid-file={munge}/pid",
                   f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self.wait_for(lambda: (munge / "socket").exists(), "munged")
        self.begin("slurmctld", "-D", "-c")
        for name in self.nodes:
            self.begin("slurmd", "-D", "-N", name)
        self.wait_for(self.is_idle, "idle nodes")
        return time.monotonic() - started

    def is_idle(self):
        done = self.run("sinfo", "-h", "-N", "-o", "%N %T")
        return done.returncode == 0 and done.stdout.decode().split() == [w for n in self.nodes for w in (n, "idle")]

    def wait_for(self, condition, what, seconds=20):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end or any(process.poll() is not None for process in self.processes):
                raise RuntimeError(f"Slurm does not come up, waited for {what}:\n{self.logs()}")
            time.sleep(0.05)

    def logs(self):
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-2000:]}" for path in sorted(self.folder.glob("*.log")))

    def run(self, *words, env=None, **more):
        return subprocess.run([str(word) for word in words], env={**self.environment(), **(env or {})}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=more.pop("timeout", 60), **more)

    def cancel_jobs(self):
        """What a test that failed left running; a step outlives its slurmd."""
        try:
            self.run("scancel", "--user", getpass.getuser(), timeout=5)
            self.wait_for(lambda: not self.run("squeue", "-h", timeout=5).stdout, "the end of the jobs", 5)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            pass

    def down(self):
        if len(self.processes) > 1:
            self.cancel_jobs()
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for folder in (self.folder, self.munge):
            shutil.rmtree(folder, ignore_errors=True)

    def __enter__(self):
        try:
            self.up()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_):
        self.down()
