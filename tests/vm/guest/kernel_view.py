"""What the kernel says about this machine and its processes, read here without Angio."""

import os
import re
import subprocess


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def numbers(text):
    """The set behind a list such as 0-3,8."""
    found = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            found.update(range(int(first), int(last or first) + 1))
    return found


def words(found):
    """A short list for people: 0-3,8."""
    parts, rest = [], sorted(found)
    while rest:
        last = next((i for i in range(len(rest) - 1) if rest[i + 1] != rest[i] + 1), len(rest) - 1)
        parts.append(str(rest[0]) if last == 0 else f"{rest[0]}-{rest[last]}")
        rest = rest[last + 1:]
    return ",".join(parts) or "none"


NODES = "/sys/devices/system/node"


def node_ids():
    return numbers(read(f"{NODES}/online"))


def node_cpus(node):
    return numbers(read(f"{NODES}/node{node}/cpulist"))


def node_distances(node):
    return [int(value) for value in read(f"{NODES}/node{node}/distance").split()]


def node_meminfo(node, field):
    """Bytes; the file states kB (1024 bytes)."""
    return int(re.search(rf"{field}:\s+(\d+) kB", read(f"{NODES}/node{node}/meminfo"))[1]) * 1024


def has_memory(node):
    return node in numbers(read(f"{NODES}/has_memory"))


def set_huge_pages(node, count):
    """How many 2 MiB pages the node then has: fewer when it has no room."""
    path = f"{NODES}/node{node}/hugepages/hugepages-2048kB/nr_hugepages"
    with open(path, "w", encoding="ascii") as file:
        file.write(str(count))
    return int(read(path))


def cpu_fact(cpu, name):
    return read(f"/sys/devices/system/cpu/cpu{cpu}/topology/{name}")


def online_cpus():
    return numbers(read("/sys/devices/system/cpu/online"))


PCI = "/sys/bus/pci/devices"


def pci_devices():
    """Address to (class, vendor, numa_node)."""
    return {address: (int(read(f"{PCI}/{address}/class"), 16), int(read(f"{PCI}/{address}/vendor"), 16),
                      int(read(f"{PCI}/{address}/numa_node")))
            for address in sorted(os.listdir(PCI))}


def numactl_hardware():
    """numactl -H as {node: (cpus, MiB)} and the rows of distances."""
    text = subprocess.run(["numactl", "-H"], capture_output=True, text=True, check=True).stdout
    cpus = {int(n): {int(cpu) for cpu in line.split()} for n, line in re.findall(r"node (\d+) cpus:(.*)", text)}
    sizes = {int(n): int(size) for n, size in re.findall(r"node (\d+) size: (\d+) MB", text)}
    rows = {int(n): [int(value) for value in line.split()]
            for n, line in re.findall(r"^ +(\d+): (.*)$", text, re.M)}
    return {node: (cpus[node], sizes[node]) for node in cpus}, rows


def status_field(path, name):
    found = re.search(rf"^{name}:\s*(.*)$", read(path), re.M)
    return found[1] if found else ""


def threads(pid):
    """Thread id to the CPUs it may run on."""
    return {int(tid): numbers(status_field(f"/proc/{pid}/task/{tid}/status", "Cpus_allowed_list"))
            for tid in os.listdir(f"/proc/{pid}/task")}


def last_cpus(pid):
    """The CPU each thread ran on last: field 39 of proc(5) stat, counted after the name in parentheses."""
    return {int(read(f"/proc/{pid}/task/{tid}/stat").rpartition(")")[2].split()[36])
            for tid in os.listdir(f"/proc/{pid}/task")}


def anonymous_pages(pid, least=0):
    """Node to pages, over the areas of /proc/PID/numa_maps with at least so many anonymous pages."""
    found = {}
    for line in read(f"/proc/{pid}/numa_maps").splitlines():
        anonymous = re.search(r"\banon=(\d+)", line)
        if anonymous and int(anonymous[1]) >= least:
            for node, pages in re.findall(r"\bN(\d+)=(\d+)", line):
                found[int(node)] = found.get(int(node), 0) + int(pages)
    return found


def memory_policies(pid, least=0):
    """The policies of those areas: "prefer:1", "bind:1" (Linux 6.1 writes "prefer (many):1" for the newer kind)."""
    return {line.split(" ", 1)[1].split(" anon=")[0].split(" file=")[0]
            for line in read(f"/proc/{pid}/numa_maps").splitlines()
            if int((re.search(r"\banon=(\d+)", line) or [0, 0])[1]) >= least}
