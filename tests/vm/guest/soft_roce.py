"""`angio dryrun` with NCCL's own NET/IB over an RDMA device in software (rdma_rxe), and what `angio log` says of the
logs: two nodes with a phantom GPU each, both over the one device. /nccl holds unpacked wheels of NCCL."""

import glob
import json
import os
import subprocess
import time

import kernel_view as kernel

ADDRESS = "10.7.0.1"
DEVICE = "rxe0"
EMPTY_GID = 5  # of a port with a link-local address and one IPv4 address the entries from 2 on are empty
SIZES = (8, 1 << 20)
PATIENCE = 150  # seconds; a dry run gives up by itself after 120
CLASS = "/sys/class/infiniband"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE)


def must(*command):
    done = run(*command)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


# ---------------------------------------------------------------- the device

def gids():
    """Index to (GID, kind) of the entries that are not empty."""
    found = {}
    for path in glob.glob(f"{CLASS}/{DEVICE}/ports/1/gids/*"):
        gid = kernel.read(path)
        if gid.replace(":", "").strip("0"):
            number = os.path.basename(path)
            found[int(number)] = (gid, kernel.read(f"{CLASS}/{DEVICE}/ports/1/gid_attrs/types/{number}"))
    return found


def make_device():
    must("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
    for end in ("v0", "v1"):
        must("ip", "link", "set", end, "up")
    must("ip", "addr", "add", f"{ADDRESS}/24", "dev", "v0")
    must("rdma", "link", "add", DEVICE, "type", "rxe", "netdev", "v0")
    os.makedirs("/etc/libibverbs.d", exist_ok=True)
    with open("/etc/libibverbs.d/rxe.driver", "w", encoding="ascii") as file:
        file.write("driver rxe\n")
    end = time.monotonic() + 10
    while len(gids()) < 2 and time.monotonic() < end:
        time.sleep(0.1)


def network_adapter():
    """Address of the machine's one PCI network adapter."""
    return next(address for address, (kind, _, _) in kernel.pci_devices().items() if kind >> 16 == 0x02)


def give_it_a_slot():
    """A device in software hangs on no PCI device; NCCL wants one. A folder of links covers the class, in which the
    device is on the machine's network adapter."""
    cover = "/tmp/infiniband"
    os.makedirs(f"{cover}/{DEVICE}")
    for entry in os.listdir(f"{CLASS}/{DEVICE}"):
        os.symlink(os.path.realpath(f"{CLASS}/{DEVICE}/{entry}"), f"{cover}/{DEVICE}/{entry}")
    os.symlink(os.path.realpath(f"{kernel.PCI}/{network_adapter()}"), f"{cover}/{DEVICE}/device")
    must("mount", "--bind", cover, CLASS)


# ---------------------------------------------------------------- runs

def dryrun(library, name, *words, topology="1xh100-sxm"):
    """(exit status, answer, log file)"""
    log = f"/out/{name}.log"
    done = run("angio", "dryrun", "--nccl", library, "--redirect", "yes", "--topo", topology, "--nodes", "2",
               "--sizes", ",".join(str(size) for size in SIZES), "--format", "json", "--log", log, *words)
    with open(f"/out/{name}.json", "w", encoding="utf-8") as file:
        file.write(done.stdout or done.stderr)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"angio dryrun {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.returncode, json.loads(done.stdout), log


def read_log(log):
    done = run("angio", "log", "--format", "json", log)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"angio log {log}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def without_file(facts):
    """The facts with "LINE" for "FILE:LINE": a dry run and the log that it kept name the file differently."""
    if isinstance(facts, dict):
        return {key: value.rpartition(":")[2] if key in ("source", "first") and isinstance(value, str)
                else without_file(value) for key, value in facts.items()}
    return [without_file(each) for each in facts] if isinstance(facts, list) else facts


def same_facts(checks, title, answer, log):
    told, read = without_file(answer["log"]), without_file(read_log(log)["nccl"])
    checks.equal(f"{title}: parts of the log's facts", sorted(told), sorted(read))
    for part in told:
        checks.equal(f"{title}: {part} as in the kept log", told[part], read.get(part))


def completes(checks, title, code, answer, network):
    end = answer["end"]
    checks.equal(f"{title}: exit status and end", (code, end["state"]), (0, "complete"))
    checks.equal(f"{title}: network of both nodes", [each["network"] for each in answer["log"]["processes"]],
                 [network] * 2)
    checks.equal(f"{title}: sizes that were enqueued",
                 [each["size_bytes"] for each in answer["operations"] if each["reached"]], list(SIZES))
    checks.equal(f"{title}: the way between the nodes", {each["way"] for each in answer["ways"]}, {f"NET/{network}"})
    ranks = [rank for communicator in answer["log"]["communicators"] for rank in communicator["ranks"]]
    checks.equal(f"{title}: ranks that came up", [rank["state"] for rank in ranks], ["complete"] * 2)


def over_rdma(checks, library):
    checks.section("NET/IB")
    code, answer, log = dryrun(library, "ib", "--net", "ib")
    completes(checks, "ib", code, answer, "IB")
    devices = [(device["name"], device["port"], device["link"]) for network in answer["log"]["networks"]
               if network["plugin"] == "IB" for device in network["devices"]]
    checks.equal("ib: devices", devices, [(DEVICE, 1, "RoCE")] * 2)
    checks.equal("ib: adapter of the way", answer["ways"][0]["adapters"], [DEVICE])
    checks.equal("ib: warnings", answer["log"]["events"], [])
    same_facts(checks, "ib", answer, log)
    # What NCCL chose by itself: the one with the IPv4 address, not the link-local one.
    checks.true("ib: NCCL took GID 1", " GID 1 " in kernel.read(log), "no ` GID 1 ` in the log")


def over_empty_gid(checks, library):
    checks.section("an empty GID")
    code, answer, log = dryrun(library, "gid", "--net", "ib", "--env", f"NCCL_IB_GID_INDEX={EMPTY_GID}")
    end = answer["end"]
    # NCCL connects the ranks when it is asked for its first estimate, fails, and takes the operation all the same.
    checks.equal("gid: exit status and end", (code, end["state"]), (1, "failed"))
    checks.true("gid: a call of NCCL failed", end["failed_call"] and end["nccl_result"], str(end)[:300])
    checks.true("gid: NCCL's last lines", any("NCCL" in line for line in end["last_lines"]), str(end)[:300])
    checks.true("gid: the reason names the GID", f"GID index {EMPTY_GID}" in (end["problem"] or ""), end["problem"])
    findings = read_log(log)["findings"]["findings"]
    checks.true("gid: the log's first finding is the GID", findings and findings[0]["rule"] == "nccl.gid.wrong",
                str(findings)[:300])
    checks.true("gid: by its index", findings and f"GID index {EMPTY_GID}" in findings[0]["title"], str(findings)[:300])
    same_facts(checks, "gid", answer, log)


def over_sockets(checks, library):
    checks.section("sockets")
    code, answer, log = dryrun(library, "socket", "--net", "socket")
    completes(checks, "socket", code, answer, "Socket")
    same_facts(checks, "socket", answer, log)


def beside_real_devices(checks, library):
    """The guest's own PCI devices have addresses that the made-up ones have too."""
    checks.section("phantom adapters")
    code, answer, _log = dryrun(library, "phantom", "--net", "phantom", topology="1xh100-sxm+1x400g")
    checks.equal("phantom: exit status and end", (code, answer["end"]["state"]), (0, "complete"))
    checks.equal("phantom: the way between the nodes", {each["way"] for each in answer["ways"]},
                 {"NET/Phantom, GPUDirect"})


def check(checks, _name, machine):
    library = glob.glob(f"/nccl/{machine['folders']['nccl']['holds']}")[0]
    checks.section("soft-RoCE")
    make_device()
    table = gids()
    checks.equal("rig: GIDs", sorted(table), [0, 1])
    checks.true("rig: GID 0 is link-local, GID 1 the IPv4 address, both RoCE v2",
                table.get(0, ("", ""))[0].startswith("fe80:") and table.get(1, ("", ""))[0].endswith("0a07:0001")
                and all(kind == "RoCE v2" for _, kind in table.values()), str(table))
    give_it_a_slot()
    over_rdma(checks, library)
    over_empty_gid(checks, library)
    over_sockets(checks, library)
    beside_real_devices(checks, library)
