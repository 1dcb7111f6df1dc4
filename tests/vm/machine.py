"""Reads a machine of tests/vm/machines and says it in QEMU's words.

  sockets, cores, threads   cores per socket, threads per core
  distances                 a row per node, as the firmware's SLIT states them
  [[nodes]]                 cpus = "0-3" and memory_mib; either may be missing
  launch                    which parts of guest/launch.py run here besides those that run everywhere
  [[ports]]                 a PCIe root port: node = N puts it on a host bridge of that node, without `node` the
                            firmware names no node (numa_node is -1); devices = ["gpu", "nic", …]; more than one
                            device hang behind a PCIe switch
  modules                   kernel modules that it loads besides those for its folders
  [folders.NAME]            the folder that the environment variable `variable` names is /NAME, read-only; it must
                            hold a file of the pattern `holds`; with `optional` the machine also starts without it
  [files]                   what of this computer's /usr it uses besides the ordinary: pattern = package
"""

import itertools
import os
import pathlib

import kernel

try:
    import tomllib
except ImportError:  # Python before 3.11
    try:
        import tomli as tomllib
    except ImportError:
        tomllib = None

MACHINES = pathlib.Path(__file__).with_name("machines")
# ati-vga is the one display device in QEMU with a GPU maker's PCI vendor (1002): Angio takes it for a GPU.
DEVICES = {
    "gpu": "ati-vga,romfile=,vgamem_mb=8",
    "nic": "virtio-net-pci,romfile=",
    "other": "edu",
}
BUSES = 256


def names():
    return sorted(path.stem for path in MACHINES.glob("*.toml"))


def load(name):
    if tomllib is None:
        raise kernel.Missing("this Python reads no TOML (package python3-tomli)")
    with open(MACHINES / f"{name}.toml", "rb") as file:
        return tomllib.load(file)


def folders(machine):
    """Name to folder of what the machine asks for from the environment and finds, or kernel.Missing."""
    found = {}
    for name, wanted in machine.get("folders", {}).items():
        folder = pathlib.Path(os.environ.get(wanted["variable"]) or "/nonexistent").resolve()
        if any(folder.glob(wanted["holds"])):
            found[name] = folder
        elif not wanted.get("optional"):
            raise kernel.Missing(f"{wanted['variable']} names no folder that holds {wanted['holds']}")
    return found


def require_files(machine):
    """kernel.Missing when this computer lacks a file that the machine uses."""
    for pattern, package in machine.get("files", {}).items():
        if not any(pathlib.Path("/usr").glob(pattern)):
            raise kernel.Missing(f"no /usr/{pattern} here (package {package})")


def memory_mib(machine):
    return sum(node.get("memory_mib", 0) for node in machine["nodes"])


def numa_arguments(machine):
    for number, node in enumerate(machine["nodes"]):
        words = f"node,nodeid={number}"
        if "memory_mib" in node:
            yield from ("-object", f"memory-backend-ram,id=memory{number},size={node['memory_mib']}M")
            words += f",memdev=memory{number}"
        for part in node.get("cpus", "").split(","):
            words += f",cpus={part}" if part else ""
        yield from ("-numa", words)
    for here, row in enumerate(machine["distances"]):
        for there, distance in enumerate(row):
            yield from ("-numa", f"dist,src={here},dst={there},val={distance}")


def bridge_arguments(nodes):
    """A host bridge per node, with its share of the bus numbers."""
    share = BUSES // (len(nodes) + 1)
    for place, node in enumerate(nodes):
        yield from ("-device", f"pxb-pcie,id=bridge{node},bus=pcie.0,bus_nr={share * (place + 1)},numa_node={node}")


def port_arguments(number, port, slots):
    above = f"bridge{port['node']}" if "node" in port else "pcie.0"

    def slot():
        count = next(slots)
        return f"chassis={count},slot={count}"

    yield from ("-device", f"pcie-root-port,id=port{number},bus={above},{slot()}")
    devices = port["devices"]
    if len(devices) == 1:
        yield from ("-device", f"{DEVICES[devices[0]]},bus=port{number}")
        return
    yield from ("-device", f"x3130-upstream,id=switch{number},bus=port{number}")
    for place, device in enumerate(devices):
        below = f"down{number}.{place}"
        yield from ("-device", f"xio3130-downstream,id={below},bus=switch{number},{slot()}")
        yield from ("-device", f"{DEVICES[device]},bus={below}")


def qemu_arguments(machine):
    sockets, cores, threads = machine["sockets"], machine["cores"], machine["threads"]
    arguments = ["-smp", f"{sockets * cores * threads},sockets={sockets},cores={cores},threads={threads}",
                 "-m", f"{memory_mib(machine)}M"]
    arguments += numa_arguments(machine)
    ports = machine.get("ports", [])
    arguments += bridge_arguments(sorted({port["node"] for port in ports if "node" in port}))
    slots = itertools.count(1)
    for number, port in enumerate(ports):
        arguments += port_arguments(number, port, slots)
    return arguments
