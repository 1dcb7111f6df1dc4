#!/usr/bin/env python3
"""ibsim takes what `angio fabric export --as ibnetdiscover` writes, and a scan of that simulated fabric has the same
nodes, cables, widths and speeds as the fabric that was exported. And the four forms in which infiniband-diags print
one fabric (ibnetdiscover, --ports, iblinkinfo, --line) are read as the same cables.

usage: ibsim_reads_export.py ANGIO"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers" / "ibsim"))
import lab

ANGIO = sys.argv[1]
failures = []


class Text:
    """A net file for lab.Simulator that somebody else wrote."""

    def __init__(self, text):
        self.words = text
        nodes, _, _ = lab.read_ibnetdiscover(text)
        self.switches = {guid: (guid, node["ports"]) for guid, node in nodes.items() if node["kind"] == "switch"}
        self.hosts = {guid: guid for guid, node in nodes.items() if node["kind"] == "ca"}

    def text(self):
        return self.words


def export(text, folder, name):
    path = folder / name
    path.write_text(text)
    done = subprocess.run([ANGIO, "fabric", "export", str(path), "--as", "ibnetdiscover"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    if done.returncode != 0:
        failures.append(f"{name}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace")


def cables_by_name(text):
    nodes, links, _ = lab.read_ibnetdiscover(text)
    return {(nodes[node]["name"], port): (nodes[other]["name"], at, rate)
            for (node, port), (other, at, rate) in links.items()}


def same(ours, theirs, what):
    if ours == theirs:
        print(f"{what}: {len(ours)} alike")
        return
    keys = [key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key)]
    failures.append(f"{what}: {len(keys)} differ, first {keys[0]}: {ours.get(keys[0])} here, {theirs.get(keys[0])} there")


def plain(text):
    nodes, links, _ = lab.read_ibnetdiscover(text)
    return {guid: (node["kind"], node["ports"], node["name"]) for guid, node in nodes.items()}, links


def check(name, net):
    with lab.Simulator(net) as simulator:
        scan = simulator.run("ibnetdiscover")
        folder = simulator.folder
        written = export(scan, folder, "scan.txt")
        for form, words in (("ibnetdiscover --ports", ["ibnetdiscover", "--ports"]), ("iblinkinfo", ["iblinkinfo"]),
                            ("iblinkinfo --line", ["iblinkinfo", "--line"])):
            text = export(simulator.run(*words), folder, words[-1].strip("-") + ".txt")
            same(cables_by_name(text), cables_by_name(scan), f"{name}: {form}")
    hosts = sorted(guid for guid, node in lab.read_ibnetdiscover(written)[0].items() if node["kind"] == "ca")
    with lab.Simulator(Text(written), seat=f"H-{hosts[1]:016x}", subnet_manager=f"H-{hosts[0]:016x}") as simulator:
        again = simulator.run("ibnetdiscover")
    (nodes, links), (nodes_again, links_again) = plain(scan), plain(again)
    same(nodes_again, nodes, f"{name}: nodes after ibsim")
    same(links_again, links, f"{name}: cables after ibsim")
    if len(links) != len(net.cables):
        failures.append(f"{name}: {len(links)} ends of cables seen, {len(net.cables)} built")


def main():
    lab.require("ibnetdiscover", "iblinkinfo")
    tree = lab.two_levels(hosts=16, below=8, spines=2, links=2)
    tree.slow("gpu-3", 1, "1xHDR")
    tree.slow("leaf-0", 9, "4xEDR")
    check("two levels", tree)
    check("three levels", lab.three_levels(pods=2, leaves=2, below=4, middles=2, cores=2, speed="4xQDR"))
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
