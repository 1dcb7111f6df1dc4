#!/usr/bin/env python3
"""Small clusters of synthetic nodes, some with one fault each that only their peers show.

  clusters.py NAME DIRECTORY   writes gpu-1.snap … into DIRECTORY
  clusters.py many DIRECTORY COUNT
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from roce import as_roce, set_gid, set_table  # noqa: E402
from synthetic_node import healthy, nic_address  # noqa: E402

RATE = "/sys/class/infiniband/mlx5_{}/ports/1/rate"


def infiniband(number):
    return healthy(f"gpu-{number}", number, cores=8, gpus=4)


def roce(number):
    return as_roce(infiniband(number), host=number)


def half_rate(node):
    for rail in range(node.gpus):
        node.change(RATE.format(rail), "200 Gb/sec (4X HDR)")


def lost_adapter(node):
    node.remove("/sys/class/infiniband/mlx5_2")
    node.remove("/sys/class/net/ibs2")


def swapped_names(node):
    """The bridges answered in another order: mlx5_1 and mlx5_2 changed places."""
    first, second = "/sys/class/infiniband/mlx5_1", "/sys/class/infiniband/mlx5_2"
    node.link(f"{first}/device", f"../../../{nic_address(2)}")
    node.link(f"{second}/device", f"../../../{nic_address(1)}")
    node.change(f"{first}/device/numa_node", node.socket_of(2))
    node.change(f"{second}/device/numa_node", node.socket_of(1))


def old_firmware(node):
    for rail in range(node.gpus):
        node.change(f"/sys/class/infiniband/mlx5_{rail}/fw_ver", "28.36.1010")


def other_gids(node):
    """IPv6 came up before IPv4: index 3 is IPv6 here."""
    for rail in range(node.gpus):
        host = 4
        set_gid(node, rail, 2, f"fd00:0000:0000:000{rail}:0000:0000:0000:000{host}", "IB/RoCE v1")
        set_gid(node, rail, 3, f"fd00:0000:0000:000{rail}:0000:0000:0000:000{host}", "RoCE v2")
        set_table(node, rail, host, first=4)


def crossed_rails(node):
    text = node.records["/@net/addresses"][1]
    node.change("/@net/addresses", text.replace("rdma1 10.1.", "rdmaX 10.1.").replace("rdma2 10.2.", "rdma1 10.2.")
                .replace("rdmaX 10.1.", "rdma2 10.1."))


def trusts_vlan(node):
    for rail in range(node.gpus):
        node.change(f"/sys/class/net/rdma{rail}/qos/trust", "pcp")


def names_index(node):
    node.lines("/etc/nccl.conf", "NCCL_IB_TC=106\nNCCL_IB_GID_INDEX=3")


CLUSTERS = {
    "infiniband": (infiniband, {4: half_rate, 5: lost_adapter, 6: swapped_names, 7: old_firmware}, None),
    "roce": (roce, {4: other_gids, 5: crossed_rails, 6: trusts_vlan}, names_index),
    "alike": (roce, {}, None),
}
COUNT = 9


def main():
    name, out = sys.argv[1], pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    if name == "many":
        for number in range(1, int(sys.argv[3]) + 1):
            node = healthy(f"gpu-{number}", number % 200)
            if number % 250 == 0:
                half_rate(node)
            (out / f"gpu-{number}.snap").write_text(node.render())
        return
    build, faults, common = CLUSTERS[name]
    for number in range(1, COUNT + 1):
        node = build(number)
        if common:
            common(node)
        if number in faults:
            faults[number](node)
        (out / f"gpu-{number}.snap").write_text(node.render())


if __name__ == "__main__":
    main()
