"""Simulated InfiniBand fabrics for tests and measurements: fat trees as net files, ibsim with opensm on them, and the
tools of infiniband-diags read into comparable values."""

import ctypes
import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIP = 77
PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
# With its defaults opensm raises every link to what it supports and repairs what a test broke.
OPENSM = "force_link_speed 0\nforce_link_speed_ext 0\nforce_link_width 0\nfdr10 0\nforce_log_flush TRUE\n" \
         "max_wire_smps 64\nmax_wire_smps2 64\n"


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def preload():
    found = sorted(glob.glob("/usr/lib/*/umad2sim/libumad2sim.so") + glob.glob("/usr/lib*/umad2sim/libumad2sim.so"))
    return found[0] if found else None


def require(*tools):
    missing = [tool for tool in ("ibsim", "opensm", *tools) if not shutil.which(tool, path=PATH)]
    if not preload():
        missing.append("libumad2sim.so")
    if missing:
        skip(f"needs {', '.join(missing)} (packages ibsim-utils, opensm, infiniband-diags)")


class Net:
    """Switches and hosts with cables; speeds are those of ibsim's net files: "4xHDR", "1xEDR"."""

    def __init__(self, speed="4xHDR"):
        self.speed = speed
        self.switches = {}  # name → (guid, ports)
        self.hosts = {}     # name of an adapter → guid
        self.titles = {}    # name of an adapter → NodeDescription
        self.cables = {}    # (name, port) → (name, port, speed)

    def switch(self, name, ports):
        self.switches[name] = (0xb8cef60300300000 + len(self.switches), ports)

    def host(self, name, title=None):
        self.hosts[name] = 0xb8cef60300900000 + 0x10 * len(self.hosts)
        self.titles[name] = title or f"{name} mlx5_0"

    def cable(self, a, port_a, b, port_b, speed=None):
        speed = speed or self.speed
        self.cables[(a, port_a)] = (b, port_b, speed)
        self.cables[(b, port_b)] = (a, port_a, speed)

    def swap(self, a, port_a, b, port_b):
        """Two cables, each plugged where the other belongs at this end."""
        end_a, end_b = self.cables[(a, port_a)], self.cables[(b, port_b)]
        self.cable(a, port_a, *end_b)
        self.cable(b, port_b, *end_a)

    def slow(self, name, port, speed):
        other, at, _ = self.cables[(name, port)]
        self.cable(name, port, other, at, speed)

    def text(self):
        lines = []
        for name, (guid, ports) in self.switches.items():
            lines += ["", "vendid=0x2c9", "devid=0xd2f2", f"sysimgguid={guid:#x}", f"switchguid={guid:#x}({guid:x})",
                      f'Switch\t{ports} "{name}"\t\t# "{name}" enhanced port 0 lid 0 lmc 0']
            for port in range(1, ports + 1):
                if (name, port) not in self.cables:
                    continue
                other, at, speed = self.cables[(name, port)]
                host = other in self.hosts
                words = self.titles[other] if host else other
                lines.append(f'[{port}]\t"{other}"[{at}]{"(0)" if host else ""}\t\t# "{words}" lid 0 {speed}')
        for name, guid in self.hosts.items():
            other, at, speed = self.cables[(name, 1)]
            lines += ["", "vendid=0x2c9", "devid=0x101b", f"sysimgguid={guid:#x}", f"caguid={guid:#x}",
                      f'Ca\t1 "{name}"\t\t# "{self.titles[name]}"',
                      f'[1](0)\t"{other}"[{at}]\t\t# lid 0 lmc 0 "{other}" lid 0 {speed}']
        return "\n".join(lines) + "\n"


def two_levels(hosts, below, spines, links=1, spare=0, speed="4xHDR"):
    """Leaves with `below` hosts each; `links` cables from every leaf to every spine; `spare` ports without a cable."""
    net = Net(speed)
    leaves = -(-hosts // below)
    for leaf in range(leaves):
        net.switch(f"leaf-{leaf}", below + spines * links + spare)
    for spine in range(spines):
        net.switch(f"spine-{spine}", leaves * links + spare)
    for host in range(hosts):
        net.host(f"gpu-{host}")
        net.cable(f"gpu-{host}", 1, f"leaf-{host // below}", host % below + 1)
    for leaf in range(leaves):
        for spine in range(spines):
            for link in range(links):
                net.cable(f"leaf-{leaf}", below + spine * links + link + 1, f"spine-{spine}", leaf * links + link + 1)
    return net


def rails(hosts, count, below, spines, speed="4xHDR"):
    """Hosts of `count` adapters, each on the leaf of its rail: adapter r of host h is gpu-h.r, "gpu-h mlx5_r"."""
    net = Net(speed)
    pods = -(-hosts // below)
    leaves = [f"leaf-{pod}-{rail}" for pod in range(pods) for rail in range(count)]
    for leaf in leaves:
        net.switch(leaf, below + spines)
    for spine in range(spines):
        net.switch(f"spine-{spine}", len(leaves))
    for host in range(hosts):
        for rail in range(count):
            net.host(f"gpu-{host}.{rail}", f"gpu-{host} mlx5_{rail}")
            net.cable(f"gpu-{host}.{rail}", 1, f"leaf-{host // below}-{rail}", host % below + 1)
    for number, leaf in enumerate(leaves):
        for spine in range(spines):
            net.cable(leaf, below + spine + 1, f"spine-{spine}", number + 1)
    return net


def spread(hosts, below, up, spines, speed="4xHDR"):
    """Leaves whose `up` cables go round over more spines than that."""
    net = Net(speed)
    leaves = -(-hosts // below)
    used = [0] * spines
    for leaf in range(leaves):
        net.switch(f"leaf-{leaf}", below + up)
    for spine in range(spines):
        net.switch(f"spine-{spine}", -(-leaves * up // spines))
    for host in range(hosts):
        net.host(f"gpu-{host}")
        net.cable(f"gpu-{host}", 1, f"leaf-{host // below}", host % below + 1)
    for cable in range(leaves * up):
        spine = cable % spines
        used[spine] += 1
        net.cable(f"leaf-{cable // up}", below + cable % up + 1, f"spine-{spine}", used[spine])
    return net


def three_levels(pods, leaves, below, middles, cores, speed="4xHDR"):
    """Pods of leaves and middle switches, each middle with one cable to every core of its group."""
    net = Net(speed)
    for pod in range(pods):
        for leaf in range(leaves):
            net.switch(f"leaf-{pod}-{leaf}", below + middles)
            for host in range(below):
                net.host(f"gpu-{(pod * leaves + leaf) * below + host}")
        for middle in range(middles):
            net.switch(f"mid-{pod}-{middle}", leaves + cores)
    for group in range(middles):
        for core in range(cores):
            net.switch(f"core-{group}-{core}", pods)
    for pod in range(pods):
        for leaf in range(leaves):
            for host in range(below):
                net.cable(f"gpu-{(pod * leaves + leaf) * below + host}", 1, f"leaf-{pod}-{leaf}", host + 1)
            for middle in range(middles):
                net.cable(f"leaf-{pod}-{leaf}", below + middle + 1, f"mid-{pod}-{middle}", leaf + 1)
        for middle in range(middles):
            for core in range(cores):
                net.cable(f"mid-{pod}-{middle}", leaves + core + 1, f"core-{middle}-{core}", pod + 1)
    return net


def die_with_parent():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Simulator:
    """ibsim and opensm over one net, under a name of their own: several may run side by side."""

    def __init__(self, net, seat="gpu-1", subnet_manager="gpu-0"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fabric-"))
        self.name = f"angio-{os.getpid()}-{self.folder.name[-6:]}"
        self.seat = seat
        (self.folder / "net").write_text(net.text())
        (self.folder / "opensm.conf").write_text(OPENSM)
        ports = sum(count + 1 for _, count in net.switches.values()) + len(net.hosts)
        self.log = self.folder / "ibsim.log"
        environment = dict(os.environ, IBSIM_SOCKNAME=self.name, PATH=PATH)
        with open(self.log, "wb") as log:
            self.simulator = subprocess.Popen(
                ["ibsim", "-s", "-N", str(len(net.hosts) + len(net.switches) + 16), "-S", str(len(net.switches) + 16),
                 "-P", str(ports + 64), "net"],
                cwd=self.folder, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log,
                preexec_fn=die_with_parent)
        self.manager = None
        try:
            self.wait(lambda: b"ready" in self.log.read_bytes(), "ibsim to read its net")
            osm = dict(environment, SIM_HOST=subnet_manager, OSM_TMP_DIR=".", OSM_CACHE_DIR=".", LD_PRELOAD=preload())
            with open(self.folder / "opensm.out", "wb") as out:
                self.manager = subprocess.Popen(["opensm", "-e", "-F", "opensm.conf", "-f", "./opensm.log"],
                                                cwd=self.folder, env=osm, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                                preexec_fn=die_with_parent)
            self.wait(lambda: b"SUBNET UP" in self.opensm_log(), "opensm to bring the subnet up")
        except BaseException:
            self.close()
            raise

    def opensm_log(self):
        path = self.folder / "opensm.log"
        return path.read_bytes() if path.exists() else b""

    def wait(self, condition, what, seconds=90):
        end = time.monotonic() + seconds
        while not condition():
            if self.simulator.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"waited for {what}: {self.log.read_text(errors='replace')[-500:]}")
            time.sleep(0.02)

    def sweep(self):
        """Has opensm look at the whole subnet again, and waits for the end of it."""
        before = self.opensm_log().count(b"SUBNET UP")
        self.manager.send_signal(signal.SIGHUP)
        self.wait(lambda: self.opensm_log().count(b"SUBNET UP") > before, "opensm to sweep")

    def console(self, *commands):
        for command in commands:
            before = self.log.read_bytes().count(b"sim> ")
            self.simulator.stdin.write(command.encode() + b"\n")
            self.simulator.stdin.flush()
            self.wait(lambda: self.log.read_bytes().count(b"sim> ") > before, f"ibsim to take {command!r}", 20)

    def environment(self, *libraries):
        return dict(os.environ, IBSIM_SOCKNAME=self.name, SIM_HOST=self.seat, PATH=PATH,
                    LD_PRELOAD=" ".join(str(path) for path in [*libraries, preload()]))

    def run(self, *words, timeout=120):
        done = subprocess.run([str(word) for word in words], cwd=self.folder, env=self.environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
        return done.stdout.decode(errors="replace")

    def close(self):
        # opensm first: it does not end by itself when the simulator is gone.
        for process in (self.manager, self.simulator):
            if process is None or process.poll() is not None:
                continue
            process.terminate()
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.simulator.stdin:
            try:
                self.simulator.stdin.close()
            except OSError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read_ibnetdiscover(text):
    """Nodes by GUID: kind, ports, description, LID of a switch; links by (GUID, port): other end, width and speed, LID."""
    nodes, links, port_guids = {}, {}, {}
    current = None
    for line in text.splitlines():
        head = re.match(r'(Switch|Ca|Rt)\s+(\d+) "[SHR]-([0-9a-f]+)"\s*# "(.*)"(?: (enhanced|base) port 0 lid (\d+))?', line)
        if head:
            current = int(head[3], 16)
            nodes[current] = {"kind": {"Switch": "switch", "Ca": "ca", "Rt": "router"}[head[1]], "ports": int(head[2]),
                              "name": head[4], "enhanced": head[5] == "enhanced", "lid": int(head[6] or 0)}
            continue
        port = re.match(r'\[(\d+)\](?:\(([0-9a-f]+)\))?\s+"[SHR]-([0-9a-f]+)"\[(\d+)\].*# (?:lid (\d+) lmc)?.* (\d+x\w+)$', line)
        if port and current is not None:
            links[(current, int(port[1]))] = (int(port[3], 16), int(port[4]), port[6])
            if port[5]:
                nodes[current]["lid"] = int(port[5])
            if port[2]:
                port_guids[(current, int(port[1]))] = int(port[2], 16)
    return nodes, links, port_guids


def read_counters(text):
    """What ibqueryerrors found: (port GUID as it prints it, port) → {name: value}."""
    found = {}
    for line in text.splitlines():
        port = re.match(r"\s+GUID 0x([0-9a-f]+) port (\d+):(.*)", line)
        if port:
            found[(int(port[1], 16), int(port[2]))] = {
                name: int(value) for name, value in re.findall(r"\[(\w+) == (\d+)", port[3])}
    return found


def read_dump(text):
    """The lines of fabric_scan_dump: nodes, links and port GUIDs as read_ibnetdiscover, ports with all that is known,
    notes by id, and what the scan cost."""
    nodes, ports, links, guids, notes, work = {}, {}, {}, {}, {}, {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "node":
            node = re.match(r'0x([0-9a-f]+) (\w+) sys (\S+) .* ports (\d+) enhanced (\d) "(.*?)"(?: trouble: (.*))?$', rest)
            nodes[int(node[1], 16)] = {"kind": node[2], "ports": int(node[4]), "name": node[6],
                                       "enhanced": node[5] == "1", "lid": 0, "trouble": node[7]}
        elif word == "port":
            rest, _, trouble = rest.partition(" trouble: ")
            words = rest.split()
            key = (int(words[0], 16), int(words[1]))
            lid, guid, peer = int(words[10]), int(words[16], 16), words[18]
            counters = None if "no-counters" in words else {
                name: int(value.rstrip("!")) for name, value in (word.split("=") for word in words[19:])}
            ports[key] = {"state": words[2], "physical": words[3], "link": words[4], "trouble": trouble,
                          "counters": counters, "stuck": {word.split("=")[0] for word in words[19:] if word.endswith("!")}}
            if lid:
                nodes[key[0]]["lid"] = lid
            if nodes[key[0]]["kind"] != "switch":
                guids[key] = guid
            if peer != "-":
                other, number = peer.split(":")
                links[key] = (int(other, 16), int(number), words[4])
        elif word == "note":
            name, count, text_of = rest.split(" ", 2)
            notes[name] = (int(count), text_of)
        elif word == "work":
            words = rest.split()
            work = dict(zip(words[::2], (float(value) for value in words[1::2])))
    return {"nodes": nodes, "ports": ports, "links": links, "guids": guids, "notes": notes, "work": work}
