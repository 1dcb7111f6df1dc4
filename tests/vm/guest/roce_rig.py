"""Two RDMA devices in software (rdma_rxe) with a switch between them, as if on two hosts: what the checks over
soft-RoCE do to them, and what the kernel counts meanwhile.

    rxe0 on v0 === s0 | s1 === v1 on rxe1       === a veth pair;  | what comes in on one side leaves by the other"""

import contextlib
import glob
import os
import subprocess
import time

import kernel_view as kernel

CLASS = "/sys/class/infiniband"
ENDS = {"rxe0": ("v0", "10.7.0.1"), "rxe1": ("v1", "10.7.0.2")}  # device: interface and address
SWITCH = {"v0": "s0", "v1": "s1"}  # interface: the switch's port for it
NETDEV_MTU = 4200  # carries RoCE's 4096 with its headers; a veth has 1500 by itself
TABLES = {"v0": 77, "v1": 78}
PATIENCE = 150  # seconds for one program
# What rises when packets or their acknowledgements are lost.
LOSS = ("out_of_seq_request", "rcvd_seq_err", "completer_retry_err", "retry_exceeded_err")


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, **more)


def must(*command):
    done = run(*command)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def wait_for(condition, seconds=10):
    """Whether the condition came to hold in that time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def read_host_name():
    return kernel.read("/proc/sys/kernel/hostname")


def port(device, name):
    return f"{CLASS}/{device}/ports/1/{name}"


def gids(device):
    """Index to (GID, kind) of the entries that are not empty."""
    found = {}
    for path in glob.glob(port(device, "gids/*")):
        gid = kernel.read(path)
        if gid.replace(":", "").strip("0"):
            number = os.path.basename(path)
            found[int(number)] = (gid, kernel.read(port(device, f"gid_attrs/types/{number}")))
    return found


def state(device):
    return kernel.read(port(device, "state")).partition(": ")[2]


def counters(device):
    return {os.path.basename(path): int(kernel.read(path)) for path in glob.glob(port(device, "hw_counters/*"))
            if os.path.basename(path) != "lifespan"}


class Growth:
    """What the devices' counters grew by while the block ran: growth["rxe0"]["sent_pkts"]."""

    def __enter__(self):
        self._before = {device: counters(device) for device in ENDS}
        return self

    def __exit__(self, *_):
        after = {device: counters(device) for device in ENDS}
        self.by_device = {device: {name: value - self._before[device][name] for name, value in values.items()}
                          for device, values in after.items()}

    def __getitem__(self, device):
        return self.by_device[device]

    def sum(self, *names):
        return sum(values[name] for values in self.by_device.values() for name in names)


# ---------------------------------------------------------------- making them

def peer_of(interface):
    """The other end's address."""
    return next(address for other, address in ENDS.values() if other != interface)


def add_routes():
    """Both addresses are this machine's: without rules of their own, packets would never leave it."""
    for interface, address in ENDS.values():
        must("ip", "route", "replace", peer_of(interface), "dev", interface, "src", address,
             "table", str(TABLES[interface]))


def make_switch():
    for interface, inner in SWITCH.items():
        must("ip", "link", "add", interface, "type", "veth", "peer", "name", inner)
        for name in (interface, inner):
            must("ip", "link", "set", name, "mtu", str(NETDEV_MTU), "up")
    for inner, other in (("s0", "s1"), ("s1", "s0")):
        write(f"/proc/sys/net/ipv6/conf/{inner}/disable_ipv6", "1")  # a switch's port has no address
        must("tc", "qdisc", "add", "dev", inner, "ingress")
        must("tc", "filter", "add", "dev", inner, "ingress", "matchall",
             "action", "mirred", "egress", "redirect", "dev", other)


def make_addresses():
    for interface, address in ENDS.values():
        must("ip", "addr", "add", f"{address}/24", "dev", interface)
        write(f"/proc/sys/net/ipv4/conf/{interface}/accept_local", "1")
        write(f"/proc/sys/net/ipv4/conf/{interface}/rp_filter", "0")
    write("/proc/sys/net/ipv4/conf/all/rp_filter", "0")
    write("/proc/sys/net/core/netdev_max_backlog", "100000")  # an emulated CPU is slow; nothing is lost unasked
    must("ip", "rule", "del", "pref", "0")
    for interface, address in ENDS.values():
        table = str(TABLES[interface])
        must("ip", "rule", "add", "pref", "10", "iif", interface, "lookup", "local")
        must("ip", "rule", "add", "pref", "20", "from", address, "lookup", table)
        must("ip", "rule", "add", "pref", "22", "oif", interface, "lookup", table)
        must("ip", "rule", "add", "pref", "30", "to", peer_of(interface), "lookup", table)
    must("ip", "rule", "add", "pref", "100", "lookup", "local")
    add_routes()


def make_house():
    """What a server for such jobs has, and what an emulated machine lacks."""
    must("mount", "-o", "remount,size=8g", "/dev/shm")
    must("prlimit", "--memlock=unlimited:unlimited", f"--pid={os.getpid()}")
    os.chmod("/tmp", 0o1777)


def make_devices():
    make_switch()
    make_addresses()
    for device, (interface, _) in ENDS.items():
        must("rdma", "link", "add", device, "type", "rxe", "netdev", interface)
    os.makedirs("/etc/libibverbs.d", exist_ok=True)
    write("/etc/libibverbs.d/rxe.driver", "driver rxe\n")
    wait_for(lambda: all(len(gids(device)) >= 2 and state(device) == "ACTIVE" for device in ENDS))


def network_adapters():
    """Addresses of the machine's PCI network adapters."""
    return [address for address, (kind, _, _) in kernel.pci_devices().items() if kind >> 16 == 0x02]


def give_them_slots():
    """A device in software hangs on no PCI device; NCCL wants one. A folder of links covers the class, in which each
    device is on one of the machine's network adapters."""
    cover = "/tmp/infiniband"
    for device, adapter in zip(ENDS, network_adapters(), strict=True):
        os.makedirs(f"{cover}/{device}")
        for entry in os.listdir(f"{CLASS}/{device}"):
            os.symlink(os.path.realpath(f"{CLASS}/{device}/{entry}"), f"{cover}/{device}/{entry}")
        os.symlink(os.path.realpath(f"{kernel.PCI}/{adapter}"), f"{cover}/{device}/device")
    must("mount", "--bind", cover, CLASS)


# ---------------------------------------------------------------- what happens to them

@contextlib.contextmanager
def switch_does(*words, ports=("s0", "s1")):
    """What leaves the switch by these ports goes through netem: switch_does("loss", "5%")."""
    for inner in ports:
        must("tc", "qdisc", "replace", "dev", inner, "root", "netem", *words)
    try:
        yield
    finally:
        for inner in ports:
            run("tc", "qdisc", "del", "dev", inner, "root")


@contextlib.contextmanager
def switch_carries(size):
    """The switch drops larger packets and tells nobody. (A smaller MTU of its ports would tell the sender's kernel, and
    rxe of Linux 6.1 then tries again without an end, in the kernel.)"""
    for inner in SWITCH.values():
        must("tc", "filter", "add", "dev", inner, "ingress", "pref", "1", "matchall", "action", "police",
             "rate", "100gbit", "burst", "100mb", "mtu", str(size), "conform-exceed", "drop/continue")
    try:
        yield
    finally:
        for inner in SWITCH.values():
            run("tc", "filter", "del", "dev", inner, "ingress", "pref", "1")


def pull_cable(interface):
    """The switch's end goes down: this interface has no carrier, the other one sees nothing."""
    must("ip", "link", "set", SWITCH[interface], "down")


def plug_cables():
    for inner in SWITCH.values():
        must("ip", "link", "set", inner, "up")
    wait_for(lambda: all(state(device) == "ACTIVE" for device in ENDS))
    add_routes()


@contextlib.contextmanager
def without_neighbours():
    """No end answers when the other asks for its MAC address, as behind a router that is not there. (To an address
    without a route RDMA assumes, as every socket that is bound to an interface, that the peer is on the link.)"""
    for interface, _ in ENDS.values():
        write(f"/proc/sys/net/ipv4/conf/{interface}/arp_ignore", "8")
        must("ip", "neigh", "flush", "dev", interface)
    try:
        yield
    finally:
        for interface, _ in ENDS.values():
            write(f"/proc/sys/net/ipv4/conf/{interface}/arp_ignore", "0")
            run("ip", "neigh", "flush", "dev", interface)


@contextlib.contextmanager
def mtu(size, *interfaces):
    for interface in interfaces:
        must("ip", "link", "set", interface, "mtu", str(size))
    try:
        yield
    finally:
        for interface in interfaces:
            must("ip", "link", "set", interface, "mtu", str(NETDEV_MTU))


@contextlib.contextmanager
def without_addresses():
    """The ports are left with their link-local GIDs."""
    for interface, address in ENDS.values():
        must("ip", "addr", "del", f"{address}/24", "dev", interface)
    wait_for(lambda: all(len(gids(device)) == 1 for device in ENDS))
    try:
        yield
    finally:
        for interface, address in ENDS.values():
            must("ip", "addr", "add", f"{address}/24", "dev", interface)
        wait_for(lambda: all(len(gids(device)) == 2 for device in ENDS))
        add_routes()


def guarded(checks, state, *arguments):
    """state(checks, …); when it stumbles, that is one failed check, and the next one finds the cables plugged."""
    try:
        return state(checks, *arguments)
    except Exception as error:
        checks.note("failed", f"{state.__name__}: ran to its end", f"{type(error).__name__}: {error}")
        plug_cables()
        return None


# ---------------------------------------------------------------- a plain user

USER = "1000"


def as_user(locked_kib, *command):
    """The command line for a user without privileges who may lock so much memory."""
    return ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
            "prlimit", f"--memlock={locked_kib * 1024}", *command)
