#!/usr/bin/env python3
"""The scan beside infiniband-diags on simulated fabrics: every node, port, link, speed, width, LID and name as
ibnetdiscover has it, every error counter as ibqueryerrors, on healthy fabrics and on ones with planted faults.

usage: fabric_scan_test.py fabric_scan_dump"""

import pathlib
import random
import re
import sys

import lab

DUMP = pathlib.Path(sys.argv[1]).resolve()
ERRORS = ("SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors",
          "PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitDiscards", "PortXmitConstraintErrors",
          "PortRcvConstraintErrors", "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors", "VL15Dropped",
          "PortXmitWait")
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}", flush=True)


def same(ours, theirs, what):
    if ours == theirs:
        return
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = [key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key)]
        check(False, f"{what}: {len(keys)} differ, first {keys[0]}: {ours.get(keys[0])} here, {theirs.get(keys[0])} there")
    else:
        check(False, f"{what}: {ours} here, {theirs} there")


def scan(simulator, *options):
    return lab.read_dump(simulator.run(DUMP, *options))


def compare_topology(name, ours, simulator):
    """Everything that ibnetdiscover prints; of ports without a link it prints nothing."""
    nodes, links, guids = lab.read_ibnetdiscover(simulator.run("ibnetdiscover"))
    facts = {guid: {key: node[key] for key in ("kind", "ports", "name", "enhanced", "lid")}
             for guid, node in ours["nodes"].items()}
    for node in nodes.values():
        node["enhanced"] = node["enhanced"] and node["kind"] == "switch"
    same(facts, nodes, f"{name}: nodes")
    same(ours["links"], links, f"{name}: links")
    same({key: guid for key, guid in ours["guids"].items() if key in ours["links"]}, guids, f"{name}: port GUIDs")
    check(all(ours["links"].get(other[:2], (0, 0))[:2] == end for end, other in ours["links"].items()),
          f"{name}: links have two ends")
    return nodes, links


def compare_counters(name, ours, simulator):
    """Error counters, all of them: the thresholds of ibqueryerrors are set to 0."""
    (simulator.folder / "thresholds").write_text("".join(f"{counter}=0\n" for counter in ERRORS))
    theirs = lab.read_counters(simulator.run("ibqueryerrors", "--threshold-file", "thresholds"))
    mine = {}
    for (node, number), port in ours["ports"].items():
        errors = {counter: value for counter, value in (port["counters"] or {}).items() if counter in ERRORS}
        if errors:
            mine[(ours["guids"].get((node, number), node), number)] = errors
    same(mine, theirs, f"{name}: error counters")
    return mine


def healthy(name, net):
    with lab.Simulator(net) as simulator:
        ours = scan(simulator)
        compare_topology(name, ours, simulator)
        compare_counters(name, ours, simulator)
        ends = 2 * (len(net.cables) // 2)
        same((len(ours["nodes"]), len(ours["links"])), (len(net.hosts) + len(net.switches), ends), f"{name}: what was built")
        same(ours["notes"], {}, f"{name}: notes")
        check(all(port["counters"] is not None for key, port in ours["ports"].items()
                  if ours["nodes"][key[0]]["kind"] == "ca" or key[1] > 0), f"{name}: every port has counters")
        check(not any(port["trouble"] for port in ours["ports"].values()), f"{name}: no trouble")
        work = ours["work"]
        print(f"{name}: {int(work['nodes'])} nodes, {int(work['sent'])} MADs, {work['seconds']:.3f} s", flush=True)


def planted_counters():
    """Counters of every width, some at their top, on a switch, a host and a port without a cable."""
    net = lab.two_levels(64, 8, 4, links=2, spare=2)
    with lab.Simulator(net) as simulator:
        simulator.console('PerformanceSet "leaf-1"[3] PortCounters.SymbolErrorCounter=1234',
                          'PerformanceSet "leaf-1"[3] PortCounters.LinkDownedCounter=255',
                          'PerformanceSet "spine-2"[5] PortCounters.PortXmitWait=98765',
                          'PerformanceSet "spine-2"[5] PortCounters.PortXmitDiscards=65535',
                          'PerformanceSet "gpu-17"[1] PortCounters.PortRcvErrors=31',
                          'PerformanceSet "gpu-17"[1] PortCounters.LinkErrorRecoveryCounter=7',
                          'PerformanceSet "leaf-4"[18] PortCounters.VL15Dropped=3',
                          'PerformanceSet "leaf-4"[18] PortCountersExtended.PortXmitData=1099511627776')
        ours = scan(simulator)
        compare_topology("counters", ours, simulator)
        mine = compare_counters("counters", ours, simulator)
        check(len(mine) >= 4, f"counters: planted on 4 ports, seen on {len(mine)}")
        guid = net.switches["leaf-1"][0]
        leaf = ours["ports"][(guid, 3)]
        same(leaf["counters"].get("SymbolErrorCounter"), 1234, "counters: symbol errors of leaf-1 port 3")
        same(leaf["stuck"], {"LinkDownedCounter"}, "counters: 255 of 8 bits stands still")
        same(ours["ports"][(net.switches["spine-2"][0], 5)]["stuck"], {"PortXmitDiscards"}, "counters: 65535 of 16 bits")
        # Nothing runs over a port without a cable: its data counter is as perfquery has it, in words of 4 bytes.
        unplugged = ours["ports"][(net.switches["leaf-4"][0], 18)]["counters"]
        lid = ours["nodes"][net.switches["leaf-4"][0]]["lid"]
        words = re.search(r"PortXmitData:\.*(\d+)", simulator.run("perfquery", "-x", str(lid), "18"))
        same(unplugged.get("PortXmitData"), 4 * int(words[1]), "counters: bytes of leaf-4 port 18")
        same(unplugged.get("PortXmitData"), 4 * 1099511627776, "counters: bytes that were planted")


def degraded_links():
    net = lab.two_levels(64, 8, 4, links=2, spare=2)
    net.slow("leaf-2", 12, "4xEDR")
    net.slow("leaf-3", 1, "1xHDR")
    net.slow("gpu-40", 1, "4xFDR")
    net.slow("leaf-6", 9, "4xQDR")
    net.slow("spine-0", 1, "8xDDR")
    net.slow("gpu-9", 1, "4xSDR")
    with lab.Simulator(net) as simulator:
        ours = scan(simulator)
        compare_topology("degraded", ours, simulator)
        slow = sorted(link[2] for link in ours["links"].values() if link[2] != "4xHDR")
        same(slow, sorted(2 * ["4xEDR", "1xHDR", "4xFDR", "4xQDR", "8xDDR", "4xSDR"]), "degraded: the planted links and no others")


def missing_links():
    net = lab.two_levels(64, 8, 4, links=2)
    with lab.Simulator(net) as simulator:
        simulator.console('Unlink "spine-1"[2]', 'Unlink "leaf-5"[3]')
        ours = scan(simulator)
        compare_topology("unlinked", ours, simulator)
        same(len(ours["nodes"]), 64 + 12 - 1, "unlinked: gpu-42 is out of reach")
        down = {key for key, port in ours["ports"].items() if port["state"] == "Down"}
        leaf = net.cables[("spine-1", 2)]
        same(down, {(net.switches["spine-1"][0], 2), (net.switches[leaf[0]][0], leaf[1]), (net.switches["leaf-5"][0], 3)},
             "unlinked: the ports that are down")


def dead_hosts():
    """Hosts whose every MAD is lost: the port of the leaf says so, and nothing else is touched."""
    net = lab.two_levels(512, 16, 16)
    chosen = random.Random(5).sample(range(2, 512), 5)
    with lab.Simulator(net) as simulator:
        whole = scan(simulator, "--no-counters")
        simulator.console(*(f'Error "gpu-{host}"[1] 100' for host in chosen))
        ours = scan(simulator, "--no-counters")
        gone = {net.hosts[f"gpu-{host}"] for host in chosen}
        same(set(whole["nodes"]) - set(ours["nodes"]), gone, "dead: nodes that are missing")
        kept = {end: other for end, other in whole["links"].items() if end[0] not in gone and other[0] not in gone}
        same(ours["links"], kept, "dead: all other links")
        blamed = {key for key, port in ours["ports"].items() if port["trouble"]}
        expected = {(net.switches[f"leaf-{host // 16}"][0], host % 16 + 1) for host in chosen}
        same(blamed, expected, "dead: ports that are blamed")
        same(ours["notes"].get("scan.no-answer", (0, ""))[0], len(chosen), "dead: note")
        same(ours["work"]["given-up"], len(chosen), "dead: questions that were given up")
        # One datagram in five is lost on two links: asked often enough, everything is found.
        simulator.console(*(f'Error "gpu-{host}"[1] 0' for host in chosen), 'Error "leaf-3"[20] 20', 'Error "spine-7"[2] 20')
        lossy = scan(simulator, "--no-counters", "--tries", "12")
        same(lossy["links"], whole["links"], "lossy: links")
        same(lossy["nodes"], whole["nodes"], "lossy: nodes")


def main():
    lab.require("ibnetdiscover", "ibqueryerrors", "perfquery")
    healthy("8 hosts", lab.two_levels(8, 4, 2))
    healthy("64 hosts", lab.two_levels(64, 8, 4, links=2, spare=2))
    healthy("512 hosts", lab.two_levels(512, 16, 16))
    healthy("2000 hosts", lab.spread(2000, 20, 20, 44))
    healthy("4096 hosts", lab.three_levels(16, 16, 16, 8, 8))
    planted_counters()
    degraded_links()
    missing_links()
    dead_hosts()
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
