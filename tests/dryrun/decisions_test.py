#!/usr/bin/env python3
"""Real NCCLs of several releases on phantom GPUs: what must hold whatever they decide, and that each setting shows
its effect.

usage: decisions_test.py --angio ANGIO    ANGIO_NCCL names the folder of unpacked wheels; without it, skipped"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import dry_run

ONE = ("--topo", "8xh100-sxm+8x400g/2")
TWO = (*ONE, "--nodes", "2")
PCIE = ("--topo", "4xl40s+2x200g/2")
FOUR_A100 = ("--topo", "8xa100-sxm-80+8x200g/2", "--nodes", "4")
DGX1 = ("--topo", "8xv100-sxm2")  # GPUs wired to each other, no switch
# Neighbours on its NVLinks, in the numbering of nvidia-smi topo -m.
DGX1_LINKS = ((1, 2, 3, 4), (0, 2, 3, 5), (0, 1, 3, 6), (0, 1, 2, 7), (0, 5, 6, 7), (1, 4, 6, 7), (2, 4, 5, 7), (3, 4, 5, 6))
SMALL, LARGE = 8, 256 << 20


class Release:
    """One NCCL and what it answers."""

    def __init__(self, angio, version, folder):
        self.angio = angio
        self.version = version
        self.folder = folder
        self.problems = []
        self.checks = 0

    def run(self, *words, sizes="8,256M", log=None):
        command = [self.angio, "dryrun", "--nccl", str(self.folder), "--redirect", "yes", "--format", "json",
                   "--sizes", sizes, *words, *(("--log", log) if log else ())]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=170)
        if done.returncode not in (0, 1):
            self.problems.append(f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
            return None
        return json.loads(done.stdout)

    def expect(self, what, is_so, seen=""):
        self.checks += 1
        if not is_so:
            self.problems.append(f"{what}; seen: {str(seen)[:300]}")


def ways(run):
    return [way["way"] for way in run["ways"]]


def ways_within(run):
    return [way["way"] for way in run["ways"] if way["pairs"].startswith("within")]


def rings(run):
    return [tuple(ring["ranks"]) for ring in run["graphs"]["rings"]]


def choice(run, size):
    """(algorithm, protocol) for a size, in capitals."""
    found = [operation for operation in run["operations"] if operation["size_bytes"] == size]
    return (found[0]["algorithm"] or "").upper(), (found[0]["protocol"] or "").upper()


def channels(run):
    return {rank["collective_channels"] for rank in run["log"]["communicators"][0]["ranks"]}


def devices(run):
    """Names of the phantom's adapters as NCCL lists them: a list of each node."""
    return [[device["name"] for device in network["devices"]] for network in run["log"]["networks"]
            if network["plugin"] == "Phantom"]


def cross_nic(run):
    """Of the ring's graph: pattern 4."""
    return {graph["cross_nic"] for graph in run["log"]["communicators"][0]["graphs"] if graph["pattern"] == 4}


def complete(run):
    return run is not None and run["end"]["state"] == "complete"


def events(run):
    return " ".join(event.get("text", "") for event in run["log"]["events"])


# ---------------------------------------------------------------- what must hold

def two_nodes(release):
    with tempfile.TemporaryDirectory() as folder:
        log = str(pathlib.Path(folder) / "nccl.log")
        run = release.run(*TWO, log=log)
        holds(release, run)
        reads_the_same_log(release, run, log)


def holds(release, run):
    release.expect("two nodes complete", complete(run), run and run["end"])
    if not complete(run):
        return
    everyone = list(range(16))
    release.expect("rings are permutations of the ranks", rings(run) and all(sorted(ring) == everyone for ring in rings(run)),
                   rings(run)[:2])
    release.expect("1 to 64 channels, the same on every rank",
                   len(channels(run)) == 1 and 1 <= min(channels(run)) <= 64, channels(run))
    release.expect("NVLink within a node", ways_within(run) and all(way.startswith("P2P") for way in ways_within(run)),
                   ways(run))
    between = [way["way"] for way in run["ways"] if way["pairs"].startswith("between")]
    release.expect("GPUDirect between nodes", between and all("GPUDirect" in way for way in between), ways(run))
    release.expect("all adapters are seen", list(map(len, devices(run))) == [8, 8], devices(run))
    # From 2.31 on NCCL says so on every machine without GDRCopy and goes on; phantom GPUs have none.
    warnings = [event["text"] for event in run["log"]["events"] if "rma_socket requires GDRCopy" not in event["text"]]
    release.expect("NCCL has nothing to warn of", not warnings, warnings)
    release.expect("every operation was enqueued", all(operation["reached"] for operation in run["operations"]))
    release.expect("nothing unexpected in the notes", not [n for n in run["notes"] if n.startswith("unexpected")],
                   run["notes"])
    release.expect("no CUDA call was refused", not [n for n in run["notes"] if "refuse" in n], run["notes"])


def reads_the_same_log(release, run, log):
    """The raw log, read by `angio log`, tells what the run told."""
    done = subprocess.run([release.angio, "log", "--facts", "--format", "json", log], capture_output=True, text=True)
    facts = json.loads(done.stdout)["nccl"]
    for key in ("rings", "graphs", "tuning", "choices"):
        ours, theirs = (side["communicators"][0][key] for side in (run["log"], facts))
        strip = lambda rows: [{k: v for k, v in row.items() if k != "source"} for row in rows]
        release.expect(f"the log's {key} are those of the run", strip(ours) == strip(theirs), theirs[:1])


def four_nodes(release):
    run = release.run(*FOUR_A100)
    release.expect("four nodes of A100 complete", complete(run), run and run["end"])
    if not complete(run):
        return
    release.expect("rings of 32 ranks", rings(run) and all(sorted(ring) == list(range(32)) for ring in rings(run)),
                   rings(run)[:1])
    release.expect("A100 has no NVLS", "NVLS" not in choice(run, LARGE)[0], choice(run, LARGE))
    between = [way["way"] for way in run["ways"] if way["pairs"].startswith("between")]
    release.expect("GPUDirect between the A100 nodes", between and all("GPUDirect" in way for way in between), ways(run))


def wired_gpus(release):
    run = release.run(*DGX1)
    release.expect("a DGX-1 completes", complete(run), run and run["end"])
    if complete(run):
        release.expect("rings of the DGX-1 follow its NVLinks",
                       rings(run) and all(ring[i] in DGX1_LINKS[ring[i - 1]] for ring in rings(run) for i in range(8)),
                       rings(run))


def releases_beside_each_other(release, other):
    """Two libraries in one command: each is run, and what differs is named."""
    run = release.run(*TWO, "--set-a", f"nccl={release.folder}", "--set-b", f"nccl={other.folder}")
    if run is None:
        return
    dotted = [".".join(map(str, each.version)) for each in (release, other)]
    seen = [run[side]["nccl_version"] or "" for side in "ab"]
    release.expect("each set has its NCCL", all(map(str.startswith, seen, dotted)), seen)
    release.expect("both complete", all(complete(run[side]) for side in "ab"), [run[side]["end"] for side in "ab"])
    release.expect("the versions are named as what differs", seen in [[fact["a"], fact["b"]] for fact in run["facts"]],
                   run["facts"][:5])


# ---------------------------------------------------------------- settings

def peer_to_peer(release):
    for setting in ("NCCL_P2P_DISABLE=1", "NCCL_P2P_LEVEL=LOC"):
        run = release.run(*ONE, "--env", setting)
        release.expect(f"{setting} leaves no P2P", complete(run) and ways(run)
                       and not any(way.startswith("P2P") for way in ways(run)), run and ways(run))
    run = release.run(*PCIE, "--env", "NCCL_P2P_LEVEL=SYS", "--env", "NCCL_NET_DISABLE_INTRA=1")
    release.expect("NCCL_P2P_LEVEL=SYS: P2P over the sockets' link",
                   complete(run) and all(way.startswith("P2P") for way in ways_within(run)), run and ways(run))


def adapters(release):
    run = release.run(*TWO, "--env", "NCCL_IB_HCA==mlx5_3")
    release.expect("NCCL_IB_HCA leaves one adapter", devices(run) == [["mlx5_3"]] * 2, devices(run))
    sockets = release.run(*TWO, "--env", "NCCL_IB_DISABLE=1")
    release.expect("NCCL_IB_DISABLE=1 gives sockets", complete(sockets) and any("Socket" in way for way in ways(sockets)),
                   sockets and ways(sockets))
    straight, crossed = (release.run(*TWO, "--env", f"NCCL_CROSS_NIC={value}") for value in (0, 1))
    release.expect("NCCL_CROSS_NIC=0 and =1 are searched with", (cross_nic(straight), cross_nic(crossed)) == ({0}, {1}),
                   (cross_nic(straight), cross_nic(crossed)))


def channel_limits_and_nvls(release):
    # NVLS has its own minimum of channels, which goes before in old releases.
    off = release.run(*ONE, "--env", "NCCL_MAX_NCHANNELS=4", "--env", "NCCL_NVLS_ENABLE=0")
    release.expect("NCCL_MAX_NCHANNELS=4", complete(off) and channels(off) == {4}, off and channels(off))
    release.expect("NCCL_NVLS_ENABLE=0: no NVLS", "NVLS" not in choice(off, LARGE)[0], choice(off, LARGE))
    on = release.run(*ONE, "--env", "NCCL_NVLS_ENABLE=1")
    release.expect("NCCL_NVLS_ENABLE=1: NVLS for large messages", "NVLS" in choice(on, LARGE)[0], choice(on, LARGE))


def algorithms(release):
    run = release.run(*ONE, "--env", "NCCL_ALGO=Ring", "--env", "NCCL_PROTO=Simple")
    release.expect("NCCL_ALGO=Ring NCCL_PROTO=Simple", choice(run, SMALL) == ("RING", "SIMPLE"), choice(run, SMALL))
    tree = release.run(*ONE, "--env", "NCCL_ALGO=allreduce:tree")
    wrong = release.run(*ONE, "--env", "NCCL_ALGO=Rnig")
    if release.version >= (2, 24, 0):
        release.expect("the grammar by function is known", choice(tree, LARGE)[0] == "TREE", choice(tree, LARGE))
        release.expect("an unknown algorithm is refused", wrong["end"]["state"] == "failed", wrong["end"])
    else:
        release.expect("the grammar by function is not known", complete(tree) and choice(tree, LARGE)[0] != "TREE",
                       choice(tree, LARGE))
        release.expect("an unknown algorithm is passed over", complete(wrong), wrong["end"])


def broken_topology(release):
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write('<system version="1"><cpu numaid="0"><pci busid=\n')
        file.flush()
        run = release.run(*ONE, "--env", f"NCCL_TOPO_FILE={file.name}")
    release.expect("a broken NCCL_TOPO_FILE is said", run["end"]["state"] == "failed" or "XML" in events(run),
                   (run["end"]["state"], events(run)))


CHECKS = (two_nodes, wired_gpus, peer_to_peer, adapters, channel_limits_and_nvls, algorithms, broken_topology)


def attempt(release, check, *more):
    try:
        check(release, *more)
    except (KeyError, TypeError, IndexError, ValueError, subprocess.TimeoutExpired) as error:
        release.problems.append(f"{check.__name__}: {type(error).__name__} {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--angio", required=True)
    parser.add_argument("--only", default="", help="part of a release's name")
    arguments = parser.parse_args()
    known = {version: folder for version, folder in dry_run.libraries().items() if arguments.only in folder.name}
    if not known:
        dry_run.skip("no real libnccl: ANGIO_NCCL names no folder of unpacked wheels (tools/fetch_nccl.py)")
    releases = [Release(arguments.angio, version, folder) for version, folder in known.items()]
    for release in releases:
        for check in CHECKS:
            attempt(release, check)
    # The dear ones with the newest alone.
    attempt(releases[-1], four_nodes)
    if len(releases) > 1:
        attempt(releases[-1], releases_beside_each_other, releases[0])
    for release in releases:
        print(f"{release.folder.name}: {release.checks} checks, {len(release.problems)} failed")
        for problem in release.problems:
            print(f"  {problem}")
    sys.exit(1 if any(release.problems for release in releases) else 0)


if __name__ == "__main__":
    main()
