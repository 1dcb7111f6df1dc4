"""What `angio topo` and `angio collect` say about this machine, against the kernel, numactl and the machine's file."""

import json
import subprocess

import kernel_view as kernel

GPU_VENDOR = 0x1002  # of ati-vga, the stand-in
DISPLAY = 0x0300
NETWORK = 0x02


def angio(*arguments):
    return subprocess.run(["angio", *arguments], capture_output=True, text=True, check=False)


def value(observed):
    return observed.get("value") if isinstance(observed, dict) else observed


def as_configured(checks, machine):
    """The rig itself: the kernel sees what tests/vm/machines asked for."""
    checks.equal("rig: nodes", kernel.node_ids(), set(range(len(machine["nodes"]))))
    for number, node in enumerate(machine["nodes"]):
        checks.equal(f"rig: node {number}: CPUs", kernel.node_cpus(number), kernel.numbers(node.get("cpus", "")))
        checks.equal(f"rig: node {number}: distances", kernel.node_distances(number), machine["distances"][number])
        checks.equal(f"rig: node {number}: has memory", kernel.has_memory(number), "memory_mib" in node)
    asked = sorted(port.get("node", -1) for port in machine["ports"] for device in port["devices"] if device == "gpu")
    seen = sorted(node for kind, vendor, node in kernel.pci_devices().values()
                  if kind >> 8 == DISPLAY and vendor == GPU_VENDOR)
    checks.equal("rig: nodes of the GPU stand-ins", seen, asked)


def nodes_match(checks, name, topology):
    nodes = {node["id"]: node for node in topology["numa"]["nodes"]}
    table, rows = kernel.numactl_hardware()
    checks.equal(f"{name}: nodes as numactl has them", set(nodes), set(table))
    for number, node in nodes.items():
        at = f"{name}: node {number}"
        cpus, mib = table[number]
        checks.equal(f"{at}: CPUs as numactl has them", kernel.numbers(node["cpus"]), cpus)
        checks.equal(f"{at}: CPUs as sysfs has them", kernel.numbers(node["cpus"]), kernel.node_cpus(number))
        checks.equal(f"{at}: memory as meminfo has it", value(node["memory_bytes"]),
                     kernel.node_meminfo(number, "MemTotal"))
        checks.equal(f"{at}: memory in MiB as numactl has it", value(node["memory_bytes"]) >> 20, mib)
        checks.equal(f"{at}: distances as numactl has them", value(node["distances"]), rows[number])
        kinds = {(True, True): "ordinary", (False, True): "memory_only", (True, False): "cpu_only"}
        checks.equal(f"{at}: kind", node["kind"], kinds[bool(cpus), kernel.has_memory(number)])


def cpus_match(checks, name, topology):
    cpus = topology["cpus"]
    online = kernel.online_cpus()
    checks.equal(f"{name}: online CPUs", kernel.numbers(cpus["online"]), online)
    packages, cores = {}, set()
    for cpu in online:
        packages.setdefault(int(kernel.cpu_fact(cpu, "physical_package_id")), set()).add(cpu)
        cores.add(frozenset(kernel.numbers(kernel.cpu_fact(cpu, "thread_siblings_list"))))
    checks.equal(f"{name}: packages", {each["id"]: kernel.numbers(each["cpus"]) for each in cpus["packages"]}, packages)
    checks.equal(f"{name}: cores", {frozenset(kernel.numbers(each["cpus"])) for each in cpus["cores"]}, cores)


def devices_match(checks, name, topology):
    seen = kernel.pci_devices()
    told = {device["address"]: device for device in topology["pci"]}
    checks.equal(f"{name}: PCI addresses", sorted(told), sorted(seen))
    wrong = {}
    for address in sorted(told.keys() & seen.keys()):
        node = seen[address][2]
        # The firmware's -1 is "names no node": Angio must not make a node of it.
        expected = None if node < 0 else node
        if value(told[address]["numa_node"]) != expected:
            wrong[address] = (told[address]["numa_node"], node)
    checks.equal(f"{name}: numa_node of all PCI devices", wrong, {})
    gpus = sorted(address for address, (kind, vendor, _) in seen.items()
                  if kind >> 8 == DISPLAY and vendor == GPU_VENDOR)
    checks.equal(f"{name}: GPUs", sorted(value(gpu["address"]) for gpu in topology["gpus"]), gpus)


def captured(checks, machine_name, live):
    """A snapshot of this machine says what the machine says."""
    path = f"/out/{machine_name}.snap"
    collected = angio("collect", "--out", path)
    checks.equal("collect: exit status", collected.returncode, 0)
    shown = angio("topo", "--format", "json", path)
    if not checks.equal("topo of the snapshot: exit status", shown.returncode, 0):
        return
    topology = json.loads(shown.stdout)
    for node in live["numa"]["nodes"] + topology["numa"]["nodes"]:
        node.pop("memory_free_bytes")  # moves all the time
    for part in ("cpus", "numa", "pci", "gpus"):
        checks.equal(f"snapshot: {part} as live", topology[part], live[part])


def check(checks, machine_name, machine):
    as_configured(checks, machine)
    shown = angio("topo", "--format", "json")
    if not checks.equal("topo: exit status", shown.returncode, 0):
        return
    topology = json.loads(shown.stdout)
    nodes_match(checks, "topo", topology)
    cpus_match(checks, "topo", topology)
    devices_match(checks, "topo", topology)
    captured(checks, machine_name, topology)
    verdict = angio("doctor")
    checks.true("doctor: ends by a verdict", verdict.returncode in (0, 1), verdict.stderr.strip())
    with open("/out/doctor.txt", "w", encoding="utf-8") as file:
        file.write(verdict.stdout)
