"""The synthetic node of tools/synthetic_node.py on RoCE: each rail an Ethernet port with an address of its own.

Rail N of host H is 10.N.0.H/24 on interface rdmaN, with the GID table that mlx5 makes of it; OFED's driver, which
shows trust and PFC. Used by cases.py and clusters.py.
"""

LINK_LOCAL = "fe80:0000:0000:0000:bace:f6ff:fe00:00{:02x}"
IPV4 = "0000:0000:0000:0000:0000:ffff:0a{:02x}:00{:02x}"
EMPTY = "0000:0000:0000:0000:0000:0000:0000:0000"
SLOTS = 16


def set_gid(node, rail, index, gid, kind, interface=None):
    """kind None: the kernel answers EINVAL for its type, as for an entry of another namespace."""
    port = f"/sys/class/infiniband/mlx5_{rail}/ports/1"
    node.line(f"{port}/gids/{index}", gid)
    if kind is None:
        node.records[f"{port}/gid_attrs/types/{index}"] = ("!", "EINVAL")
        return
    node.line(f"{port}/gid_attrs/types/{index}", kind)
    node.line(f"{port}/gid_attrs/ndevs/{index}", interface or f"rdma{rail}")


def set_table(node, rail, host, first=0, interface=None):
    local, ipv4 = LINK_LOCAL.format(rail), IPV4.format(rail, host)
    for index, (gid, kind) in enumerate([(local, "IB/RoCE v1"), (local, "RoCE v2"), (ipv4, "IB/RoCE v1"), (ipv4, "RoCE v2")]):
        set_gid(node, rail, first + index, gid, kind, interface)


def as_roce(node, host=5, arp_ignore=1):
    """All adapters of the node; NCCL_IB_TC=106 in /etc/nccl.conf rides in the priority that has PFC."""
    addresses = []
    for rail in range(node.gpus):
        device = f"/sys/class/infiniband/mlx5_{rail}"
        port = f"{device}/ports/1"
        node.change(f"{port}/link_layer", "Ethernet")
        node.change(f"{port}/lid", "0x0")
        node.change(f"{port}/sm_lid", "0x0")
        for slot in range(SLOTS):
            set_gid(node, rail, slot, EMPTY, None)
        set_table(node, rail, host)
        old, new = f"/sys/class/net/ibs{rail}", f"/sys/class/net/rdma{rail}"
        for path in [p for p in node.records if p == old or p.startswith(old + "/")]:
            node.records[new + path[len(old):]] = node.records.pop(path)
        node.change(f"{new}/type", 1)
        node.change(f"{new}/mtu", 9000)
        node.change(f"{new}/address", f"b8:ce:f6:00:{host:02x}:{rail:02x}")
        node.line(f"{new}/qos/trust", "dscp")
        node.line(f"{new}/qos/pfc", "0,0,0,1,0,0,0,0")
        node.line(f"{device}/device/net/rdma{rail}/mtu", 9000)
        for name, value in (("arp_ignore", arp_ignore), ("arp_announce", 2), ("rp_filter", 2)):
            node.line(f"/proc/sys/net/ipv4/conf/rdma{rail}/{name}", value)
        addresses.append(f"rdma{rail} 10.{rail}.0.{host}/24")
    node.lines("/@net/addresses", "\n".join(addresses))
    node.lines("/etc/nccl.conf", "NCCL_IB_TC=106")
    return node
