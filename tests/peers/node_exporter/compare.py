#!/usr/bin/env python3
"""Holds `angio rdma` against prometheus-node-exporter over the same sysfs trees: every counter that both read, the rates
between two states, ports whose files are damaged.

    compare.py ANGIO

Exit status 77: there is no prometheus-node-exporter here."""
import json
import math
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

SKIPPED = 77
SECONDS = 10
# Name of node_exporter's metric without "node_infiniband_" and "_total": file in ports/N/counters, factor.
METRICS = {
    "excessive_buffer_overrun_errors": ("excessive_buffer_overrun_errors", 1), "link_downed": ("link_downed", 1),
    "link_error_recovery": ("link_error_recovery", 1), "local_link_integrity_errors": ("local_link_integrity_errors", 1),
    "multicast_packets_received": ("multicast_rcv_packets", 1), "multicast_packets_transmitted": ("multicast_xmit_packets", 1),
    "port_constraint_errors_received": ("port_rcv_constraint_errors", 1),
    "port_constraint_errors_transmitted": ("port_xmit_constraint_errors", 1),
    "port_data_received_bytes": ("port_rcv_data", 4), "port_data_transmitted_bytes": ("port_xmit_data", 4),
    "port_discards_transmitted": ("port_xmit_discards", 1), "port_errors_received": ("port_rcv_errors", 1),
    "port_packets_received": ("port_rcv_packets", 1), "port_packets_transmitted": ("port_xmit_packets", 1),
    "port_receive_remote_physical_errors": ("port_rcv_remote_physical_errors", 1),
    "port_receive_switch_relay_errors": ("port_rcv_switch_relay_errors", 1), "port_transmit_wait": ("port_xmit_wait", 1),
    "symbol_error": ("symbol_error", 1), "unicast_packets_received": ("unicast_rcv_packets", 1),
    "unicast_packets_transmitted": ("unicast_xmit_packets", 1), "vl15_dropped": ("VL15_dropped", 1)}
FILES = sorted({name for name, _ in METRICS.values()})
LINE = re.compile(r'^node_infiniband_(\w+)\{device="([^"]+)",port="(\d+)"\} (\S+)$', re.M)


def write(folder, device, port, counters, rate="400 Gb/sec (4X NDR)"):
    place = folder / "sys/class/infiniband" / device
    here = place / f"ports/{port}"
    (here / "counters").mkdir(parents=True, exist_ok=True)
    (place / "node_guid").write_text("0c42:a103:0000:%04x\n" % (hash(device) % 65536))
    for name, text in (("board_id", "XX_1"), ("fw_ver", "28.1.1"), ("hca_type", "MT4129")):
        (place / name).write_text(text + "\n")
    for name, text in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("rate", rate), ("link_layer", "InfiniBand")):
        (here / name).write_text(text + "\n")
    for name, value in counters.items():
        (here / "counters" / name).write_text(f"{value}\n")


def exporter_values(folder):
    """{(device, port, file): value in the file's unit}, and {(device, port): rate in bytes a second}."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % probe.getsockname()[1]
    process = subprocess.Popen(
        ["prometheus-node-exporter", f"--path.sysfs={folder}/sys", "--collector.disable-defaults", "--collector.infiniband",
         f"--web.listen-address={address}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                text = urllib.request.urlopen(f"http://{address}/metrics", timeout=5).read().decode()
                break
            except OSError:
                time.sleep(0.05)
        else:
            raise SystemExit("prometheus-node-exporter gave no answer")
    finally:
        process.terminate()
        process.wait()
    values, rates = {}, {}
    for name, device, port, number in LINE.findall(text):
        if name == "rate_bytes_per_second":
            rates[device, port] = float(number)
        name = name.removesuffix("_total")
        if name in METRICS:
            file, factor = METRICS[name]
            values[device, port, file] = float(number) / factor
    return values, rates


def angio_values(angio, before, after):
    done = subprocess.run([angio, "rdma", "--for", f"{SECONDS}s", "--format", "json", before, after], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    states, growth, rates, traffic = ({}, {}), {}, {}, {}
    for port in json.loads(done.stdout)["ports"]:
        key = port["device"], str(port["port"])
        rates[key] = (port["data_rate_bits_per_second"] or 0) / 8
        traffic[key] = port["traffic"]
        for counter in port["counters"]:
            if counter["place"] != "port":
                continue
            states[0][*key, counter["name"]] = counter["before"]
            states[1][*key, counter["name"]] = counter["after"]
            growth[*key, counter["name"]] = counter["growth"]
    return states, growth, rates, traffic


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-9)  # the exporter prints floats


def check_counters(angio, folder, rng):
    ports = [(f"mlx5_{n}", 1) for n in range(5)] + [("mlx4_0", 1), ("mlx4_0", 2)]
    before, after = folder / "before", folder / "after"
    for device, port in ports:
        first = {name: rng.randrange(10 ** rng.randrange(1, 6)) % 200 for name in FILES}
        first |= {name: rng.randrange(2 ** 52) for name in FILES if name.endswith(("data", "packets"))}
        second = {name: value + rng.randrange(50) for name, value in first.items()}
        second |= {name: first[name] + rng.randrange(10 ** 11) for name in FILES if name.endswith(("data", "packets"))}
        write(before, device, port, first)
        write(after, device, port, second, rng.choice(["400 Gb/sec (4X NDR)", "100 Gb/sec (4X EDR)", "40 Gb/sec (4X QDR)"]))
    oracle = [exporter_values(place) for place in (before, after)]
    states, growth, rates, traffic = angio_values(angio, before, after)
    compared = 0
    for at in (0, 1):
        assert set(oracle[at][0]) == set(states[at]), set(oracle[at][0]) ^ set(states[at])
        for key, value in oracle[at][0].items():
            assert close(value, states[at][key]), (key, value, states[at][key])
            compared += 1
    for key, rate in oracle[1][1].items():
        assert close(rate, rates[key]), (key, rate, rates[key])
    for key, value in growth.items():
        wanted = oracle[1][0][key] - oracle[0][0][key]
        assert abs(wanted - value) <= 8, (key, wanted, value)  # a float of 2^54 has steps of 4
    for (device, port), seen in traffic.items():
        for side, name in (("sent", "port_xmit_data"), ("received", "port_rcv_data")):
            bits = (oracle[1][0][device, port, name] - oracle[0][0][device, port, name]) * 32 / SECONDS
            assert math.isclose(bits, seen[f"{side}_bits_per_second"], rel_tol=1e-6, abs_tol=64), (device, port, side)
    return compared


def check_damage(angio, folder):
    """What one counter is damaged in: the exporter leaves it out, we say that it is not read; the others agree."""
    place = folder / "damaged"
    write(place, "mlx5_0", 1, {name: 5 for name in FILES} | {"VL15_dropped": "N/A (no PMA)"})
    values, _ = exporter_values(place)
    states, _, _, _ = angio_values(angio, place, place)
    assert states[1]["mlx5_0", "1", "VL15_dropped"] is None
    assert ("mlx5_0", "1", "VL15_dropped") not in values
    for key, value in values.items():
        assert close(value, states[1][key]), key
    return len(values)


def main():
    if shutil.which("prometheus-node-exporter") is None:
        print("skipped: prometheus-node-exporter is not installed")
        return SKIPPED
    angio = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        counters = check_counters(angio, folder, random.Random(5))
        counters += check_damage(angio, folder)
    print(f"{counters} counters and the rates between two states agree with prometheus-node-exporter")
    return 0


if __name__ == "__main__":
    sys.exit(main())
