#!/usr/bin/env python3
"""Every topology of the public corpus on phantom GPUs with a real NCCL 2.28.9: it comes up, nothing unexpected is in
its log, and where a log of that NCCL on that topology was captured, the decisions are the same.

usage: corpus_test.py --angio ANGIO    ANGIO_SHARED: folder with corpus/, ANGIO_NCCL: folder of unpacked wheels"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import dry_run

# What a file leaves to NVML; the others say it themselves.
MODELS = {"aws-p5": "h100-sxm", "azure-ndv2": "v100-sxm2", "azure-ndv4": "a100-sxm-40", "azure-ndv5": "h100-sxm",
          "superbench-ndv5": "h100-sxm", "oci-topo-flattened-b4": "a100-sxm-40", "oci-topo-flattened": "a100-sxm-40"}
# Not of NCCL's own making, or no topology: refused, with the reason.
REFUSED = ("-graph.xml", "aws-g5", "rccl/")
# Captured runs: log, topology, options. p5's was made with GPUs that know no links.
CAPTURED = (
    ("topologies/oci-H100-topology.log", "nccl-topo/oci-H100-topology.xml", ()),
    ("topologies/azurehpc-nc48v4-topo.log", "nccl-topo/azurehpc-nc48v4-topo.xml", ()),
    ("topologies/azure-ncv4-topo.log", "nccl-topo/azure-ncv4-topo.xml", ()),
    ("topologies/issue256-h200-baremetal-node0.log", "nccl-topo/issue256-h200-baremetal-node0.xml", ()),
    ("topologies/aws-p5.48xl-topo.log", "nccl-topo/aws-p5.48xl-topo.xml", ()),
    ("nccl2289_1node_8xH100_nvls_on.log", "nccl-dryrun/h100.xml", ()),
    ("nccl2289_1node_8xH100_nvls_off.log", "nccl-dryrun/h100.xml", ("--env", "NCCL_NVLS_ENABLE=0")),
    ("nccl2289_2node_rank0.log", "nccl-dryrun/h100nic.xml", ("--nodes", "2", "--env", "NCCL_NVLS_ENABLE=0")),
)


class Corpus:
    def __init__(self, angio, library, folder):
        self.angio = angio
        self.library = library
        self.folder = folder
        self.problems = []
        self.checks = 0

    def expect(self, what, is_so, seen=""):
        self.checks += 1
        if not is_so:
            self.problems.append(f"{what}; seen: {str(seen)[:300]}")

    def run(self, topology, *words):
        command = [self.angio, "dryrun", "--nccl", self.library, "--redirect", "yes", "--format", "json",
                   "--topo", str(topology), "--sizes", "8,32K,2M", *words]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=200)

    def facts(self, log):
        done = subprocess.run([self.angio, "log", "--facts", "--format", "json", str(log)], capture_output=True,
                              text=True, errors="replace")
        return json.loads(done.stdout)["nccl"]["communicators"][0]


def model_of(name):
    found = [part for part in sorted(MODELS, key=len, reverse=True) if name.startswith(part)]
    return ("--gpu", MODELS[found[0]]) if found else ()


def every_topology(corpus):
    folder = corpus.folder / "nccl-topo"
    for path in sorted(folder.rglob("*.xml")):
        name = str(path.relative_to(folder))
        refused = any(part in name for part in REFUSED)
        done = corpus.run(path, *model_of(name))
        if refused:
            corpus.expect(f"{name} is refused with a reason", done.returncode in (2, 3) and done.stderr.startswith("angio:"),
                          done.stderr)
            continue
        if done.returncode != 0:
            corpus.expect(f"{name} comes up", False, done.stderr or done.stdout[-300:])
            continue
        run = json.loads(done.stdout)
        strange = [note for note in run["notes"] if note.startswith("unexpected") or "refuse" in note]
        corpus.expect(f"{name} comes up as it should", run["end"]["state"] == "complete" and not strange, strange)


def decisions(communicator):
    """What NCCL decided, without lines and sources: rings by channel, and the graphs that have channels."""
    rings = {ring["channel"]: ring["ranks"] for ring in communicator["rings"]}
    graphs = [{key: graph[key] for key in ("pattern", "channels", "intra_gigabytes_per_second",
                                           "inter_gigabytes_per_second", "intra_type", "inter_type")}
              for graph in communicator["graphs"] if graph["channels"]]
    tuning = {(cell["collective"], cell["algorithm"], cell["protocol"]):
              (cell["latency_us"], cell["algorithm_gigabytes_per_second"]) for cell in communicator["tuning"]}
    return rings, graphs, tuning


def captured_logs(corpus):
    for log, topology, options in CAPTURED:
        done = corpus.run(corpus.folder / topology, *options)
        if done.returncode != 0:
            corpus.expect(f"{topology} comes up", False, done.stderr or done.stdout[-300:])
            continue
        ours = decisions(json.loads(done.stdout)["log"]["communicators"][0])
        theirs = decisions(corpus.facts(corpus.folder / "nccl-dryrun" / log))
        for what, mine, captured in zip(("rings", "graphs", "tuning table"), ours, theirs):
            corpus.expect(f"{log}: {what} as captured", mine == captured, (mine, captured))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--angio", required=True)
    arguments = parser.parse_args()
    folder = pathlib.Path(os.environ.get("ANGIO_SHARED") or "/nonexistent") / "corpus"
    if not folder.is_dir():
        dry_run.skip("no corpus: ANGIO_SHARED names no folder with it")
    library = dry_run.libraries().get((2, 28, 9))
    if library is None:
        dry_run.skip("no NCCL 2.28.9 in ANGIO_NCCL (tools/fetch_nccl.py)")
    corpus = Corpus(arguments.angio, str(library), folder)
    every_topology(corpus)
    captured_logs(corpus)
    print(f"{corpus.checks} checks, {len(corpus.problems)} failed")
    for problem in corpus.problems:
        print(f"  {problem}")
    sys.exit(1 if corpus.problems else 0)


if __name__ == "__main__":
    main()
