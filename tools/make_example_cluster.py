#!/usr/bin/env python3
"""Writes the example cluster: 8 x H100 nodes as .snap files, one healthy and five with one fault each.

  tools/make_example_cluster.py tests/snapshots/example
"""

import pathlib
import sys

from synthetic_node import (CONNECTX7, DRIVER, GEN5, ROOT_PORT, add_pci, downstream_address, gpu_address, healthy,
                            nic_address)


def without_peermem(node):
    modules = node.records["/proc/modules"][1]
    node.change("/proc/modules", "\n".join(line for line in modules.split("\n") if "peermem" not in line))


def with_narrow_link(node):
    device = gpu_address(5)
    node.change(f"/sys/bus/pci/devices/{device}/current_link_width", 8)
    node.change(f"/sys/bus/pci/devices/{downstream_address(5, 0)}/current_link_width", 8)
    node.change("/@nvml/gpu/5/pcie_width", 8)


def with_remote_nic(node):
    """NIC 6 sits in a slot of socket 0: GPU 6 reaches it across sockets."""
    address = nic_address(6)
    node.remove(f"/sys/bus/pci/devices/{downstream_address(6, 1)}")
    node.remove(f"/sys/bus/pci/devices/{address}")
    port = "0000:97:01.0"
    moved = "0000:98:00.0"
    add_pci(node, port, f"pci0000:97/{port}", 0x060400, ROOT_PORT, 0, "pcieport", GEN5)
    add_pci(node, moved, f"pci0000:97/{port}/{moved}", 0x020700, CONNECTX7, 0, "mlx5_core", GEN5)
    node.link("/sys/class/infiniband/mlx5_6/device", f"../../../{moved}")
    node.change("/sys/class/infiniband/mlx5_6/device/numa_node", 0)
    node.link("/sys/class/net/ibs6/device", f"../../../{moved}")


def with_driver_mismatch(node):
    """The packages were upgraded under a running driver."""
    new = "570.124.06"
    for name in ("libcuda", "libnvidia-ml"):
        node.remove(f"/usr/lib/x86_64-linux-gnu/{name}.so.{DRIVER}")
        node.link(f"/usr/lib/x86_64-linux-gnu/{name}.so.1", f"{name}.so.{new}")
        node.line(f"/usr/lib/x86_64-linux-gnu/{name}.so.{new}", "")
    node.remove(f"/var/lib/dkms/nvidia/{DRIVER}")
    node.line(f"/var/lib/dkms/nvidia/{new}/source", "")
    node.remove("/@nvml")
    node.line("/@nvml/init", "18 Driver/library version mismatch")


def with_unknown_numa(node):
    """Firmware describes no proximity for PCI: the kernel answers -1 everywhere."""
    for path in list(node.records):
        if path.startswith("/sys/bus/pci/devices/") and path.endswith("/numa_node"):
            node.change(path, -1)
        if path.startswith("/sys/bus/pci/devices/") and path.endswith("/local_cpulist"):
            node.change(path, f"0-{node.threads - 1}")
        if path.startswith("/sys/class/infiniband/") and path.endswith("/numa_node"):
            node.change(path, -1)
        if path.startswith("/@nvml/gpu/") and path.endswith("/memory_affinity"):
            node.change(path, "0,1")


NODES = [
    ("gpu-a", None), ("gpu-b", without_peermem), ("gpu-c", with_narrow_link), ("gpu-d", with_remote_nic),
    ("gpu-e", with_driver_mismatch), ("gpu-f", with_unknown_numa),
]


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for number, (name, fault) in enumerate(NODES):
        node = healthy(name, number)
        if fault:
            fault(node)
        (out / f"{name}.snap").write_text(node.render())


if __name__ == "__main__":
    main()
