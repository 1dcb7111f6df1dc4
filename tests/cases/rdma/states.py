#!/usr/bin/env python3
"""Two states of a made-up host with RDMA ports, as snapshots:

    states.py SCENARIO before|after [--tree DIRECTORY]

Without --tree the snapshot goes to standard output; with it the same files are written below DIRECTORY. All names and
figures are invented. "healthy" is the state that each scenario changes."""
import pathlib
import sys

SECONDS = 10
START = 1_790_000_000_000_000_000  # 2026-09-21T14:13:20Z
RATE = 400e9

PORT_COUNTERS = ("VL15_dropped excessive_buffer_overrun_errors link_downed link_error_recovery local_link_integrity_errors "
                 "multicast_rcv_packets multicast_xmit_packets port_rcv_constraint_errors port_rcv_data port_rcv_errors "
                 "port_rcv_packets port_rcv_remote_physical_errors port_rcv_switch_relay_errors port_xmit_constraint_errors "
                 "port_xmit_data port_xmit_discards port_xmit_packets port_xmit_wait symbol_error unicast_rcv_packets "
                 "unicast_xmit_packets").split()
HW_COUNTERS = ("duplicate_request implied_nak_seq_err local_ack_timeout_err np_cnp_sent np_ecn_marked_roce_packets out_of_buffer "
               "out_of_sequence packet_seq_err req_cqe_error req_cqe_flush_error req_remote_access_errors "
               "req_remote_invalid_request resp_cqe_error resp_cqe_flush_error resp_local_length_error "
               "resp_remote_access_errors rnr_nak_retry_err roce_adp_retrans roce_adp_retrans_to rp_cnp_handled "
               "rp_cnp_ignored rx_atomic_requests rx_icrc_encapsulated rx_read_requests rx_write_requests").split()
ETHTOOL = ("rx_prio3_pause rx_prio3_pause_duration tx_prio3_pause tx_prio3_pause_duration rx_discards_phy rx_prio3_discards "
           "rx_out_of_buffer rx_ecn_mark link_down_events_phy rx_pcs_symbol_err_phy rx_corrected_bits_phy "
           "outbound_pci_stalled_wr outbound_pci_stalled_rd outbound_pci_stalled_wr_events tx_pause_storm_warning_events "
           "rx_packets_phy tx_packets_phy").split()
STATISTICS = "rx_bytes tx_bytes rx_packets tx_packets rx_dropped tx_dropped rx_errors rx_crc_errors".split()


class Port:
    def __init__(self, number, roce):
        self.device, self.number, self.roce = f"mlx5_{number}", number, roce
        self.state, self.physical, self.rate = "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"
        self.netdev = f"eth{number}" if roce else f"ib{number}"
        self.port = {name: 0 for name in PORT_COUNTERS}
        self.hw = {name: 0 for name in HW_COUNTERS}
        self.ethtool = {name: 0 for name in ETHTOOL} if roce else {}
        self.refused = {}
        self.port |= {"port_xmit_data": 52_000_000_000_000, "port_rcv_data": 51_000_000_000_000,
                      "port_xmit_packets": 51_000_000_000, "port_rcv_packets": 50_000_000_000, "port_xmit_wait": 9_000_000}
        self.clock = START

    def carry(self, sent, received, packet=4096, seconds=SECONDS):
        """Gb/s for so many seconds."""
        for side, rate in (("xmit", sent), ("rcv", received)):
            self.port[f"port_{side}_data"] += int(rate * 1e9 * seconds / 32)
            self.port[f"port_{side}_packets"] += int(rate * 1e9 * seconds / 8 / packet)
            self.port[f"unicast_{side}_packets"] += int(rate * 1e9 * seconds / 8 / packet)
        if self.roce:
            self.ethtool["tx_packets_phy"] += int(sent * 1e9 * SECONDS / 8 / packet)
            self.ethtool["rx_packets_phy"] += int(received * 1e9 * SECONDS / 8 / packet)
        self.hw["rx_write_requests"] += 800_000

    def files(self):
        device = f"/sys/class/infiniband/{self.device}"
        port = f"{device}/ports/1"
        bus = f"0000:{0x10 + self.number:02x}:00.0"
        yield f"{device}/node_guid", f"0c42:a103:0000:{0x1000 + self.number:04x}"
        yield f"{device}/board_id", "XX_0000000123"
        yield f"{device}/fw_ver", "28.40.1000"
        yield f"{device}/hca_type", "MT4129"
        yield f"{port}/state", self.state
        yield f"{port}/phys_state", self.physical
        yield f"{port}/rate", self.rate
        yield f"{port}/link_layer", "Ethernet" if self.roce else "InfiniBand"
        yield f"{port}/lid", "0x0" if self.roce else hex(17 + self.number)
        yield f"{port}/gid_attrs/ndevs/0", self.netdev
        yield f"{port}/gids/0", f"fe80:0000:0000:0000:0c42:a103:0000:{0x1000 + self.number:04x}"
        yield f"{port}/gid_attrs/types/0", "RoCE v2" if self.roce else "IB/RoCE v1"
        yield f"/@verbs/{self.device}/1/active_mtu", "4096"
        yield f"/@verbs/{self.device}/1/max_mtu", "4096"
        yield f"/@clock/{self.device}/1", f"{self.clock + self.number * 1000} {self.clock - START + 7_000_000_000_000}"
        for name, value in self.port.items():
            yield f"{port}/counters/{name}", value
        for name, value in self.hw.items():
            yield f"{port}/hw_counters/{name}", value
        for name in STATISTICS:
            yield f"/sys/class/net/{self.netdev}/statistics/{name}", 0 if "err" in name or "drop" in name else 1000
        yield f"/sys/class/net/{self.netdev}/mtu", 9000 if self.roce else 2044
        yield f"/sys/class/net/{self.netdev}/operstate", "up"
        if self.roce:
            yield f"/@ethtool/{self.netdev}/stats", "\n".join(f"{name}: {value}" for name, value in self.ethtool.items())
        pci = f"/sys/bus/pci/devices/{bus}"
        yield f"{pci}/class", "0x020000" if self.roce else "0x020700"
        yield f"{pci}/vendor", "0x15b3"
        yield f"{pci}/numa_node", self.number // 2
        for kind in ("current", "max"):
            yield f"{pci}/{kind}_link_speed", "32.0 GT/s PCIe"
            yield f"{pci}/{kind}_link_width", getattr(self, "width", 16) if kind == "current" else 16

    def links(self):
        bus = f"0000:{0x10 + self.number:02x}:00.0"
        yield f"/sys/bus/pci/devices/{bus}", f"../../../devices/pci0000:{0x10 + self.number:02x}/{bus}"
        yield f"/sys/class/infiniband/{self.device}/device", f"../../../{bus}"


def healthy(ports):
    for port in ports:
        port.carry(388, 387)
        port.port["port_xmit_wait"] += 40_000
        if port.roce:
            port.hw["np_cnp_sent"] += 900
            port.hw["rp_cnp_handled"] += 800
            port.hw["np_ecn_marked_roce_packets"] += 40_000
            port.ethtool["rx_corrected_bits_phy"] += 120_000


def bad_cable(ports):
    healthy(ports)
    ports[1].port["symbol_error"] += 4810
    ports[1].port["port_rcv_errors"] += 37
    ports[1].port["link_error_recovery"] += 2


def flap(ports):
    healthy(ports)
    ports[1].carry(-200, -200)
    ports[1].port["link_downed"] += 1
    ports[1].port["symbol_error"] += 12
    ports[1].state, ports[1].physical, ports[1].rate = "1: DOWN", "2: Polling", "10 Gb/sec (4X SDR)"


def congestion(ports):
    for port in ports:
        port.carry(210, 205)
        port.hw |= {"np_cnp_sent": 880_000, "np_ecn_marked_roce_packets": 9_000_000, "rp_cnp_handled": 910_000}
        port.ethtool |= {"rx_prio3_pause": 410_000, "rx_prio3_pause_duration": 2_300_000, "rx_ecn_mark": 12}


def lossy(ports):
    healthy(ports)
    ports[0].hw |= {"out_of_sequence": 61_000, "packet_seq_err": 58_000, "local_ack_timeout_err": 41, "roce_adp_retrans": 900,
                    "duplicate_request": 400}
    ports[0].ethtool |= {"rx_discards_phy": 70_000, "rx_prio3_discards": 70_000}


def slow_host(ports):
    healthy(ports)
    ports[0].ethtool |= {"outbound_pci_stalled_wr": 71, "outbound_pci_stalled_wr_events": 8, "tx_prio3_pause": 300_000,
                         "tx_prio3_pause_duration": 1_900_000, "tx_pause_storm_warning_events": 1}
    ports[0].width = 8


def full_before(ports):
    for port in ports:
        port.port |= {"symbol_error": 65535, "link_downed": 255, "port_xmit_data": 2**32 - 1, "port_xmit_packets": 2**32 - 1}


def reset_before(ports):
    for port in ports:
        port.port |= {"symbol_error": 3000, "link_error_recovery": 9}
        port.hw["packet_seq_err"] = 5000


def reset(ports):
    healthy(ports)
    for port in ports:
        port.port |= {"symbol_error": 1, "link_error_recovery": 0, "port_xmit_data": 700_000_000, "port_rcv_data": 690_000_000}
        port.hw["packet_seq_err"] = 0


def refused(ports):
    healthy(ports)
    ports[0].port["symbol_error"] = "N/A (no PMA)"
    del ports[0].hw["packet_seq_err"]


def renamed(ports):
    healthy(ports)
    ports[0].device, ports[1].device = "ibp16s0", "ibp17s0"


MONTH = 30 * 86400


def month(ports):
    for port in ports:
        port.carry(20, 20, seconds=MONTH)
        port.clock += (MONTH - SECONDS) * 1_000_000_000
    ports[0].port["port_rcv_errors"] += 5
    ports[0].hw["local_ack_timeout_err"] += 9
    ports[1].port |= {"link_downed": 1, "link_error_recovery": 1}


def no_manager(ports):
    ports[0].carry(100, 100)
    ports[0].state = "2: INIT"


def other_adapter_before(ports):
    for port in ports:
        port.port, port.ethtool = {}, {}
        port.hw = {name: 0 for name in "rx_bytes rx_pkts tx_bytes tx_pkts seq_err_naks_rcvd to_retransmits".split()}


def other_adapter(ports):
    ports[0].hw |= {"tx_bytes": 460_000_000_000, "rx_bytes": 450_000_000_000, "tx_pkts": 112_000_000, "rx_pkts": 110_000_000,
                    "seq_err_naks_rcvd": 900}
    ports[1].hw = {}


def nothing(ports):
    pass


# name: number of ports, RoCE, what was there before, what happened
SCENARIOS = {
    "healthy": (2, False, nothing, healthy), "healthy-roce": (2, True, nothing, healthy),
    "idle": (2, False, nothing, nothing), "bad-cable": (2, False, nothing, bad_cable), "flap": (2, False, nothing, flap),
    "congestion": (2, True, nothing, congestion), "lossy": (2, True, nothing, lossy),
    "slow-host": (1, True, nothing, slow_host), "full": (1, False, full_before, nothing),
    "reset": (1, False, reset_before, reset), "refused": (1, False, nothing, refused),
    "month": (2, False, nothing, month), "no-manager": (1, False, nothing, no_manager),
    "other-adapter": (2, True, other_adapter_before, other_adapter), "renamed": (2, False, nothing, renamed), "none": (0, False, nothing, nothing)}


def state(name, moment):
    count, roce, before, happened = SCENARIOS[name]
    ports = [Port(number, roce) for number in range(count)]
    before(ports)
    if moment == "after":
        happened(ports)
        for port in ports:
            port.clock += SECONDS * 1_000_000_000
    return ports


def snapshot(ports, moment):
    time = "2026-09-21T14:13:20Z" if moment == "before" else "2026-09-21T14:13:30Z"
    lines = ["angio snapshot 1", "tool angio 0", "host gpu-x", f"captured {time}", "scope complete"]
    records = [("= /proc/sys/kernel/hostname", "gpu-x")]
    for port in ports:
        for path, content in port.files():
            text = str(content)
            if "\n" in text:
                records.append((f"+ {path}", "\n" + "\n".join("|" + line for line in text.split("\n"))))
            else:
                records.append((f"= {path}", text))
        records += [(f"> {path}", target) for path, target in port.links()]
    if not ports:
        records.append(("! /sys/class/infiniband list", "ENOENT"))
    for head, rest in records:
        lines.append(head + (rest if rest.startswith("\n") else " " + rest))
    return "\n".join(lines + [f"end {len(records)}"]) + "\n"


def tree(ports, folder):
    for port in ports:
        for path, content in port.files():
            if path.startswith("/@"):
                continue
            file = pathlib.Path(folder) / path[1:]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{content}\n")


def main():
    ports = state(sys.argv[1], sys.argv[2])
    if len(sys.argv) > 4 and sys.argv[3] == "--tree":
        tree(ports, sys.argv[4])
    else:
        sys.stdout.write(snapshot(ports, sys.argv[2]))


if __name__ == "__main__":
    main()
