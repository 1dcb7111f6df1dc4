"""A synthetic GPU node, written as a .snap: what each path of an HGX-like machine would answer.

Two sockets, PCIe switches with a GPU, a NIC and an NVMe drive below each, four NVSwitches. Nothing was copied
from a real machine: serials, GUIDs and addresses are made up. Faults are changes to a healthy node, so that a
reader sees just the fault. Used by make_example_cluster.py and by tests/public_cases.
"""

SOCKETS = 2
DRIVER = "570.86.15"
KERNEL = "5.15.0-122-generic"
NVSWITCH_BUSES = ["05", "06", "07", "08"]


class Node:
    """What one node answers: path -> (record letter, text)."""

    def __init__(self, name, cores=32, gpus=8):
        """cores: per socket; CPU n and n + cores * sockets are siblings."""
        self.name = name
        self.cores = cores
        self.gpus = gpus
        self.threads = 2 * cores * SOCKETS
        self.records = {}

    def socket_of(self, index):
        """Of GPU, NIC or switch number index."""
        return index * SOCKETS // self.gpus

    def cpu_list(self, socket):
        """Both threads of a socket's cores."""
        first, last = socket * self.cores, (socket + 1) * self.cores - 1
        offset = self.cores * SOCKETS
        return f"{first}-{last},{first + offset}-{last + offset}"

    def line(self, path, text):
        self.records[path] = ("=", str(text))

    def lines(self, path, text):
        self.records[path] = ("+", text.rstrip("\n"))

    def strings(self, path, *texts):
        """Content of strings that end in NUL: cmdline, environ."""
        self.records[path] = ("0", "\n".join(texts))

    def link(self, path, target):
        self.records[path] = (">", target)

    def remove(self, prefix):
        doomed = [p for p in self.records if p == prefix or p.startswith(prefix + "/")]
        assert doomed, f"{self.name}: nothing at {prefix}"
        for path in doomed:
            del self.records[path]

    def change(self, path, text):
        assert path in self.records, f"{self.name}: no {path}"
        self.records[path] = (self.records[path][0], str(text))

    def render(self):
        head = ["angio snapshot 1", "tool synthetic", f"host {self.name}",
                "captured 2026-11-01T08:00:00Z", "scope complete"]
        body = []
        for path in sorted(self.records):
            letter, text = self.records[path]
            if letter in "+0":
                body.append(f"{letter} {path}")
                body += [f"|{line}" for line in text.split("\n")]
            else:
                body.append(f"{letter} {path} {text}")
        return "\n".join(head + body + [f"end {len(self.records)}"]) + "\n"


def add_cpus(node):
    base = "/sys/devices/system/cpu"
    for name in ("online", "present", "possible"):
        node.line(f"{base}/{name}", f"0-{node.threads - 1}")
    for name in ("offline", "isolated", "nohz_full"):
        node.line(f"{base}/{name}", "")
    node.line(f"{base}/smt/active", 1)
    for core in range(node.cores * SOCKETS):
        socket, sibling = core // node.cores, core + node.cores * SOCKETS
        for cpu in (core, sibling):
            node.line(f"{base}/cpu{cpu}/topology/core_cpus_list", f"{core},{sibling}")
            node.line(f"{base}/cpu{cpu}/topology/physical_package_id", socket)
            node.line(f"{base}/cpu{cpu}/topology/core_id", core % node.cores)
            node.line(f"{base}/cpu{cpu}/topology/die_id", 0)
        node.line(f"{base}/cpu{core}/cpufreq/scaling_governor", "performance")
        node.line(f"{base}/cpu{core}/cpufreq/scaling_driver", "intel_pstate")
        caches = [(1, "Data", "48K", f"{core},{sibling}"), (1, "Instruction", "32K", f"{core},{sibling}"),
                  (2, "Unified", "2048K", f"{core},{sibling}")]
        if core % node.cores == 0:
            caches.append((3, "Unified", "61440K", node.cpu_list(socket)))
        for index, (level, kind, size, shared) in enumerate(caches):
            cache = f"{base}/cpu{core}/cache/index{index}"
            node.line(f"{cache}/level", level)
            node.line(f"{cache}/type", kind)
            node.line(f"{cache}/size", size)
            node.line(f"{cache}/shared_cpu_list", shared)
    node.lines("/proc/cpuinfo", "\n".join(
        ["processor\t: 0", "vendor_id\t: GenuineIntel", "cpu family\t: 6", "model\t\t: 143",
         "model name\t: Intel(R) Xeon(R) Platinum 8462Y+", "stepping\t: 8",
         "flags\t\t: fpu vme de pse tsc msr pae mce cx8 apic constant_tsc nonstop_tsc avx512f amx_tile"]))


def add_numa(node):
    base = "/sys/devices/system/node"
    for name in ("online", "possible", "has_cpu", "has_memory"):
        node.line(f"{base}/{name}", "0-1")
    for socket in range(SOCKETS):
        here = f"{base}/node{socket}"
        node.line(f"{here}/cpulist", node.cpu_list(socket))
        node.line(f"{here}/distance", "10 21" if socket == 0 else "21 10")
        node.lines(f"{here}/meminfo",
                   f"Node {socket} MemTotal:       1056686080 kB\nNode {socket} MemFree:        {980000000 - socket} kB")
        for size in (2048, 1048576):
            for name in ("nr_hugepages", "free_hugepages"):
                node.line(f"{here}/hugepages/hugepages-{size}kB/{name}", 0)
    node.line("/proc/sys/vm/zone_reclaim_mode", 0)
    node.line("/proc/sys/kernel/numa_balancing", 0)
    node.line("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")


def add_pci(node, address, directory, class_code, ids, numa, driver=None, link=None, link_max=None):
    """directory: the device's place below /sys/devices; link: (GT/s, lanes)."""
    here = f"/sys/bus/pci/devices/{address}"
    vendor, device, sub_vendor, sub_device = ids
    node.link(here, f"../../../devices/{directory}")
    uevent = [f"DRIVER={driver}"] if driver else []
    uevent += [f"PCI_CLASS={class_code:X}", f"PCI_ID={vendor:04X}:{device:04X}",
               f"PCI_SUBSYS_ID={sub_vendor:04X}:{sub_device:04X}", f"PCI_SLOT_NAME={address}"]
    node.lines(f"{here}/uevent", "\n".join(uevent))
    node.line(f"{here}/class", f"0x{class_code:06x}")
    node.line(f"{here}/vendor", f"0x{vendor:04x}")
    node.line(f"{here}/device", f"0x{device:04x}")
    node.line(f"{here}/subsystem_vendor", f"0x{sub_vendor:04x}")
    node.line(f"{here}/subsystem_device", f"0x{sub_device:04x}")
    node.line(f"{here}/numa_node", numa)
    node.line(f"{here}/local_cpulist", node.cpu_list(numa))
    node.line(f"{here}/enable", 1)
    if driver:
        node.link(f"{here}/driver", f"../../../../bus/pci/drivers/{driver}")
    if link:
        for prefix, (speed, lanes) in (("current", link), ("max", link_max or link)):
            node.line(f"{here}/{prefix}_link_speed", f"{speed} GT/s PCIe")
            node.line(f"{here}/{prefix}_link_width", lanes)


GEN5 = ("32.0", 16)
GEN4 = ("16.0", 16)
BRIDGE = (0x1000, 0xC030, 0x1000, 0x0001)  # a Gen5 PCIe switch
ROOT_PORT = (0x8086, 0x352A, 0x8086, 0x0000)
H100 = (0x10DE, 0x2330, 0x10DE, 0x16C1)
CONNECTX7 = (0x15B3, 0x1021, 0x15B3, 0x0041)
NVME = (0x144D, 0xA80A, 0x144D, 0xAA8B)
NVSWITCH = (0x10DE, 0x22A3, 0x10DE, 0x1796)


def add_switch(node, index):
    """Host bridge, root port, switch and below it GPU, NIC and NVMe number `index`."""
    numa = node.socket_of(index)
    bus = root_bus(index)
    root = f"pci0000:{bus:02x}"
    port = f"0000:{bus:02x}:01.0"
    upstream = f"0000:{bus + 1:02x}:00.0"
    path = f"{root}/{port}"
    add_pci(node, port, path, 0x060400, ROOT_PORT, numa, "pcieport", GEN5)
    path += f"/{upstream}"
    add_pci(node, upstream, path, 0x060400, BRIDGE, numa, "pcieport", GEN5)
    below = [(0x030200, H100, "nvidia", GEN5), (0x020700, CONNECTX7, "mlx5_core", GEN5),
             (0x010802, NVME, "nvme", ("16.0", 4))]
    addresses = []
    for slot, (class_code, ids, driver, link) in enumerate(below):
        down = f"0000:{bus + 2:02x}:{slot:02x}.0"
        down_path = f"{path}/{down}"
        port_link = ("32.0", 16 if link[1] == 16 else 4)
        add_pci(node, down, down_path, 0x060400, BRIDGE, numa, "pcieport", link, port_link)
        address = f"0000:{bus + 3 + slot:02x}:00.0"
        add_pci(node, address, f"{down_path}/{address}", class_code, ids, numa, driver, link)
        addresses.append(address)
    node.lines(f"/sys/bus/pci/devices/{addresses[0]}/resource",
               "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
               f"0x{0x200000000000 + index * 0x2000000000:016x} "
               f"0x{0x200000000000 + index * 0x2000000000 + 0x1FFFFFFFFF:016x} 0x000000000014220c")
    return addresses


def add_nvswitches(node):
    port = "0000:04:00.0"
    add_pci(node, port, f"pci0000:04/{port}", 0x060400, ROOT_PORT, 0, "pcieport", ("16.0", 16))
    addresses = []
    for bus in NVSWITCH_BUSES:
        address = f"0000:{bus}:00.0"
        add_pci(node, address, f"pci0000:04/{port}/{address}", 0x068000, NVSWITCH, 0, "nvidia-nvswitch",
                ("5.0", 2), ("16.0", 2))
        addresses.append(address)
    return addresses


def add_gpu(node, index, address, switches):
    base = f"/@nvml/gpu/{index}"
    bus_id = f"0000{address.upper()}"
    facts = {
        "pci": bus_id, "name": "NVIDIA H100 80GB HBM3", "uuid": f"GPU-00000000-a000-4000-8000-{index:012x}",
        "serial": f"165000000000{index}", "memory": f"85520809984 84955627520 565182464", "compute_capability": "9.0",
        "mig": 0, "ecc_mode": 1, "ecc_uncorrected_volatile": 0, "remapped_rows": "0 0 0 0",
        "clock/sm": 1980, "clock/sm_max": 1980, "throttle_reasons": "0x1", "pstate": 0,
        "power_mw": 72000 + index, "power_limit_mw": 700000, "power_limit_default_mw": 700000, "temperature": 31,
        "utilization": 0, "pcie_generation": 5, "pcie_generation_max": 5, "pcie_width": 16, "pcie_width_max": 16,
        "pcie_replays": 0, "persistence": 1, "compute_mode": 0, "memory_affinity": node.socket_of(index), "c2c_mode": 0,
        "fabric": "3 0 00000000-0000-0000-0000-000000000000 0", "processes": "",
    }
    for leaf, text in facts.items():
        node.line(f"{base}/{leaf}", text)
    for link in range(18):
        here = f"{base}/link/{link}"
        node.line(f"{here}/state", 1)
        node.line(f"{here}/version", 6)  # NVML_NVLINK_VERSION_4_0
        node.line(f"{here}/remote_pci", switches[link * 4 // 18])
        node.line(f"{here}/remote_type", 2)
        for counter in ("crc", "replay", "recovery"):
            node.line(f"{here}/{counter}", 0)
    for peer in range(node.gpus):
        if peer != index:
            node.line(f"{base}/p2p/{peer}", 0)
    node.lines(f"/proc/driver/nvidia/gpus/{address}/information",
               f"Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t {facts['uuid']}\nBus Location: \t {address}")


def add_nic(node, index, address, node_number):
    name = f"mlx5_{index}"
    guid = f"b8ce:f603:00{node_number:02x}:{index:04x}"
    here = f"/sys/class/infiniband/{name}"
    node.link(f"{here}/device", f"../../../{address}")
    for leaf, text in {"fw_ver": "28.39.3004", "board_id": "MT_0000000838", "hca_type": "MT4129", "node_guid": guid,
                       "node_type": "1: CA", "sys_image_guid": guid, "device/numa_node": node.socket_of(index)}.items():
        node.line(f"{here}/{leaf}", text)
    port = f"{here}/ports/1"
    for leaf, text in {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)",
                       "link_layer": "InfiniBand", "lid": f"0x{16 * node_number + index + 1:x}", "sm_lid": "0x1",
                       "cap_mask": "0xa651e848"}.items():
        node.line(f"{port}/{leaf}", text)
    node.line(f"{port}/gids/0", f"fe80:0000:0000:0000:{guid}")
    node.line(f"{port}/gid_attrs/types/0", "IB/RoCE v1")
    for counter in ("symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors", "port_xmit_discards",
                    "port_xmit_wait", "port_xmit_data", "port_rcv_data", "local_link_integrity_errors"):
        node.line(f"{port}/counters/{counter}", 0)
    for counter in ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "np_cnp_sent", "rp_cnp_handled"):
        node.line(f"{port}/hw_counters/{counter}", 0)
    node.line(f"/@verbs/{name}/1/active_mtu", 4096)
    node.line(f"/@verbs/{name}/1/max_mtu", 4096)
    interface = f"/sys/class/net/ibs{index}"
    node.link(f"{interface}/device", f"../../../{address}")
    for leaf, text in {"mtu": 4092, "carrier": 1, "operstate": "up", "speed": 400000, "type": 32,
                       "address": f"00:00:10:49:fe:80:00:00:00:00:00:00:{guid[0:2]}:{index:02x}"}.items():
        node.line(f"{interface}/{leaf}", text)


def add_software(node, number):
    node.line("/@uname/release", KERNEL)
    node.line("/@uname/machine", "x86_64")
    node.line("/proc/sys/kernel/osrelease", KERNEL)
    node.line("/proc/sys/kernel/hostname", node.name)
    node.line("/proc/version", f"Linux version {KERNEL} (buildd@builder) (gcc 11.4.0) #132-Ubuntu SMP")
    node.line("/proc/cmdline", f"BOOT_IMAGE=/boot/vmlinuz-{KERNEL} root=/dev/md0 ro iommu=pt intel_iommu=on")
    node.lines("/etc/os-release", 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nID=ubuntu\nVERSION_ID="22.04"')
    node.line("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")
    node.line("/sys/class/dmi/id/sys_vendor", "Example Systems")
    node.line("/sys/class/dmi/id/product_name", "EX-8H100")
    node.line("/sys/class/dmi/id/bios_version", "2.3.1")
    node.lines("/proc/modules", "\n".join(
        f"{name} 61440 0 - Live 0x0000000000000000"
        for name in ("nvidia_peermem", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia", "mlx5_ib", "mlx5_core",
                     "ib_uverbs", "ib_core", "ib_ipoib", "nvme", "nvme_core")))
    node.lines("/proc/driver/nvidia/version",
               f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  Thu Jan 23 22:50:54 UTC 2025\n"
               "GCC version:  gcc version 11.4.0")
    node.line("/sys/module/nvidia/version", DRIVER)
    node.line("/sys/module/mlx5_core/version", "24.10-1.1.4")
    node.line(f"/var/lib/dkms/nvidia/{DRIVER}/source", "")
    libraries = "/usr/lib/x86_64-linux-gnu"
    for name, version in (("libcuda", DRIVER), ("libnvidia-ml", DRIVER)):
        node.link(f"{libraries}/{name}.so.1", f"{name}.so.{version}")
        node.line(f"{libraries}/{name}.so.{version}", "")
    node.line("/@nvml/init", 0)
    node.line("/@nvml/driver_version", DRIVER)
    node.line("/@nvml/nvml_version", f"12.{DRIVER}")
    node.line("/@nvml/cuda_driver_version", 12080)
    node.line("/@limits/memlock", "unlimited unlimited")
    node.line("/@limits/nofile", "1048576 1048576")
    node.line("/@statfs/dev/shm", "1082046545920 1082046545920")
    node.line("/sys/kernel/iommu_groups/0/type", "identity")
    node.line("/proc/2001/comm", "nv-fabricmanager")
    node.strings("/proc/2001/cmdline", "/usr/bin/nv-fabricmanager", "-c", "/usr/share/nvidia/nvswitch/fabricmanager.cfg")
    node.lines("/proc/self/status", f"Name:\tangio\nCpus_allowed_list:\t0-{node.threads - 1}\nMems_allowed_list:\t0-1")
    node.line("/proc/self/cgroup", "0::/user.slice")


def healthy(name, number=0, cores=32, gpus=8):
    node = Node(name, cores, gpus)
    add_cpus(node)
    add_numa(node)
    add_software(node, number)
    switches = add_nvswitches(node)
    for index in range(node.gpus):
        gpu, nic, _ = add_switch(node, index)
        add_gpu(node, index, gpu, switches)
        add_nic(node, index, nic, number)
    return node


def root_bus(index):
    return 0x15 + 0x10 * index


def gpu_address(index):
    return f"0000:{root_bus(index) + 3:02x}:00.0"


def nic_address(index):
    return f"0000:{root_bus(index) + 4:02x}:00.0"


def downstream_address(index, slot):
    """The switch port above the GPU (slot 0), the NIC (1) or the NVMe drive (2)."""
    return f"0000:{root_bus(index) + 2:02x}:{slot:02x}.0"
