"""RDMA in software between two ports: `angio collect` and `doctor` in health, perftest (roce_perftest.py), and
`angio dryrun` with NCCL's own NET/IB, each of its two nodes with a phantom GPU and a port of its own, in health and in
trouble; what NCCL prints, and what `angio log` and `angio doctor` say of it. /nccl holds unpacked wheels of NCCL."""

import glob
import json
import os
import shutil
import subprocess

import kernel_view as kernel
import roce_explain as explain
import roce_perftest
import roce_rig as rig

EMPTY_GID = 5  # of a port with a link-local address and one IPv4 address the entries from 2 on are empty
SIZES = (8, 1 << 20)
MANY = (8, 64 << 20)  # some hundred transfers
NODES = ("--node", "0:NCCL_IB_HCA==rxe0", "--node", "1:NCCL_IB_HCA==rxe1")
# 67 ms and 1 s until a packet counts as lost; 2 retries, as rxe takes 7 for "for ever".
QUICK = ("--env", "NCCL_IB_TIMEOUT=14", "--env", "NCCL_IB_RETRY_CNT=2")
SLOW = ("--env", "NCCL_IB_TIMEOUT=18", "--env", "NCCL_IB_RETRY_CNT=2")
TRIES = ("--env", "NCCL_IB_MQP_RETRY_CNT=1", "--env", "NCCL_IB_MQP_RETRY_SLEEP_MSEC=50")


# ---------------------------------------------------------------- runs

class Run:
    """A dry run that has begun; its log lies where a plain user may write, and in /out."""

    def __init__(self, library, name, *words, sizes=SIZES, topology="1xh100-sxm", as_user=None):
        self.name, self.log = name, f"/tmp/{name}.log"
        command = ["angio", "dryrun", "--nccl", library, "--redirect", "yes", "--topo", topology, "--nodes", "2",
                   "--sizes", ",".join(str(size) for size in sizes), "--format", "json", "--log", self.log, *words]
        self._process = subprocess.Popen(rig.as_user(as_user, *command) if as_user else command, text=True,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def moves(self):
        """Waits until the run sends packets."""
        return rig.wait_for(lambda: self._process.poll() is not None or
                            rig.counters("rxe0")["sent_pkts"] > self._sent + 2, 60)

    def meanwhile(self, event):
        self._sent = rig.counters("rxe0")["sent_pkts"]
        self.moves()
        event()
        return self

    def end(self):
        """(exit status, answer)"""
        said, errors = self._process.communicate(timeout=rig.PATIENCE)
        with open(f"/out/{self.name}.json", "w", encoding="utf-8") as file:
            file.write(said or errors)
        if self._process.returncode not in (0, 1):
            raise RuntimeError(f"angio dryrun {self.name}: exit {self._process.returncode}: {errors.strip()[-300:]}")
        shutil.copy(self.log, "/out/")
        return self._process.returncode, json.loads(said)


def without_file(facts):
    """The facts with "LINE" for "FILE:LINE": a dry run and the log that it kept name the file differently."""
    if isinstance(facts, dict):
        return {key: value.rpartition(":")[2] if key in ("source", "first") and isinstance(value, str)
                else without_file(value) for key, value in facts.items()}
    return [without_file(each) for each in facts] if isinstance(facts, list) else facts


def same_facts(checks, title, answer, report):
    told, read = without_file(answer["log"]), without_file(report["nccl"])
    checks.equal(f"{title}: parts of the log's facts", sorted(told), sorted(read))
    for part in told:
        checks.equal(f"{title}: {part} as in the kept log", told[part], read.get(part))


def completes(checks, title, code, answer, network, sizes=SIZES, ranks="destroyed"):
    """ranks: their last state; without --progress communicators are left standing."""
    end = answer["end"]
    checks.equal(f"{title}: exit status and end", (code, end["state"]), (0, "complete"))
    checks.equal(f"{title}: network of both nodes", [each["network"] for each in answer["log"]["processes"]],
                 [network] * 2)
    checks.equal(f"{title}: sizes that were enqueued",
                 [each["size_bytes"] for each in answer["operations"] if each["reached"]], list(sizes))
    checks.equal(f"{title}: the way between the nodes", {each["way"] for each in answer["ways"]}, {f"NET/{network}"})
    states = [rank["state"] for communicator in answer["log"]["communicators"] for rank in communicator["ranks"]]
    checks.equal(f"{title}: ranks that came up", states, [ranks] * 2)


def fails(checks, title, code, answer, words):
    """NCCL connects the ranks when it is asked for its first estimate, and fails."""
    end = answer["end"]
    checks.equal(f"{title}: exit status and end", (code, end["state"]), (1, "failed"))
    checks.true(f"{title}: a call of NCCL failed", end["failed_call"] and end["nccl_result"], str(end)[:300])
    checks.true(f"{title}: NCCL's last lines", any("NCCL" in line for line in end["last_lines"]), str(end)[:300])
    checks.true(f"{title}: the reason says \"{words}\"", words in (end["problem"] or ""), end["problem"])


def printed(checks, title, run, *texts):
    """The log has each of these."""
    content = kernel.read(run.log)
    for text in texts:
        checks.true(f"{title}: NCCL prints \"{text}\"", text in content, content[-800:])


# ---------------------------------------------------------------- states

def over_rdma(checks, library):
    checks.section("NET/IB")
    run = Run(library, "ib", "--net", "ib", "--progress", *NODES)
    code, answer = run.end()
    completes(checks, "ib", code, answer, "IB")
    devices = [(device["name"], device["port"], device["link"]) for network in answer["log"]["networks"]
               if network["plugin"] == "IB" for device in network["devices"]]
    checks.equal("ib: devices", sorted(devices), [("rxe0", 1, "RoCE"), ("rxe1", 1, "RoCE")])
    checks.equal("ib: adapters of the way", sorted(answer["ways"][0]["adapters"]), ["rxe0", "rxe1"])
    checks.equal("ib: warnings", answer["log"]["events"], [])
    # What NCCL chose by itself: the one with the IPv4 address, not the link-local one.
    printed(checks, "ib", run, " GID 1 ")
    same_facts(checks, "ib", answer, explain.log(checks, "ib", run.log, {}))
    explain.doctor(checks, "ib", explain.collect("ib"), {}, [run.log])


def with_loss(checks, library):
    checks.section("NET/IB with 5 % packet loss")
    with rig.switch_does("loss", "5%"), rig.Growth() as grown:
        run = Run(library, "loss", "--net", "ib", "--progress", *NODES, "--env", "NCCL_IB_TIMEOUT=14", sizes=MANY)
        code, answer = run.end()
    completes(checks, "loss", code, answer, "IB", MANY)
    checks.true("loss: packets were lost and sent again", grown.sum(*rig.LOSS) > 0, str(grown.by_device))
    checks.equal("loss: NCCL says nothing of it", answer["log"]["events"], [])
    explain.log(checks, "loss", run.log, {})


def loses_transfers(checks, title, code, answer):
    """NCCL's calls have returned by then: the proxies fail."""
    checks.equal(f"{title}: exit status and end", (code, answer["end"]["state"]), (1, "failed"))
    checks.true(f"{title}: says that transfers failed", "transfer" in answer["end"].get("problem", ""), str(answer["end"]))


def without_answers(checks, library):
    checks.section("NET/IB, nothing arrives")
    with rig.switch_does("loss", "100%"):
        run = Run(library, "lost", "--net", "ib", "--progress", *NODES, *QUICK)
        loses_transfers(checks, "lost", *run.end())
    printed(checks, "lost", run, "status=IBV_WC_RETRY_EXC_ERR(12)", "hca rxe0", "hca rxe1")
    explain.log(checks, "lost", run.log, {"nccl.ib.retry-exceeded": "each way between node0 and node1"})


def link_goes_down(checks, library):
    checks.section("NET/IB, a cable is pulled amid")
    with rig.switch_does("delay", "150ms"), explain.called("node1"):
        run = Run(library, "down", "--net", "ib", "--progress", *NODES, *SLOW).meanwhile(lambda: rig.pull_cable("v1"))
        loses_transfers(checks, "down", *run.end())
        snapshot = explain.collect("down")
    rig.plug_cables()
    printed(checks, "down", run, "NET/IB : rxe1:1 Got non-fatal async event: port error(10)",
            "status=IBV_WC_RETRY_EXC_ERR(12)")
    explain.log(checks, "down", run.log, {"nccl.ib.port-event": "went down while the job ran on rxe1:1",
                                          "nccl.ib.retry-exceeded": "node0"})
    explain.doctor(checks, "down", snapshot, {"nccl.ib.port-event": "it is down in the snapshot too",
                                              "nccl.ib.retry-exceeded": "node0"}, [run.log])
    explain.lines(checks, "down", kernel.read(run.log), {"Got non-fatal async event: port error(10)": "went down"})


def addresses_change(checks, library):
    checks.section("NET/IB, an address is added amid")
    with rig.switch_does("delay", "100ms"):
        run = Run(library, "gids", "--net", "ib", "--progress", *NODES, *SLOW).meanwhile(
            lambda: rig.must("ip", "addr", "add", "10.7.9.1/24", "dev", "v0"))
        code, answer = run.end()
    rig.must("ip", "addr", "del", "10.7.9.1/24", "dev", "v0")
    completes(checks, "gids", code, answer, "IB")
    printed(checks, "gids", run, "NET/IB : rxe0:1 GID table changed")
    explain.log(checks, "gids", run.log, {"nccl.ib.port-event": "addresses changed while the job ran on rxe0:1"})


def over_empty_gid(checks, library):
    checks.section("NET/IB with an empty GID")
    run = Run(library, "gid", "--net", "ib", *NODES, "--env", f"NCCL_IB_GID_INDEX={EMPTY_GID}")
    code, answer = run.end()
    fails(checks, "gid", code, answer, f"GID index {EMPTY_GID}")
    printed(checks, "gid", run, "ibv_modify_qp failed with 61 No data available", f"GID {EMPTY_GID} (0/0)")
    wanted = {"nccl.gid.wrong": f"is empty (GID index {EMPTY_GID})"}
    same_facts(checks, "gid", answer, explain.log(checks, "gid", run.log, wanted))
    explain.doctor(checks, "gid", explain.collect("gid"), wanted, [run.log])
    explain.lines(checks, "gid", kernel.read(run.log), {"failed with 61": "the GID index is empty"})


def without_locked_memory(checks, library):
    checks.section("NET/IB as a plain user who may lock 64 KiB")
    run = Run(library, "memlock", "--net", "ib", *NODES, as_user=64)
    code, answer = run.end()
    fails(checks, "memlock", code, answer, "Cannot allocate memory")
    printed(checks, "memlock", run, "Call to ibv_reg_mr failed with error Cannot allocate memory")
    job = {"nccl.memory.register": "the limit of locked memory is too small"}
    explain.log(checks, "memlock", run.log, job)
    explain.doctor(checks, "memlock", explain.collect("memlock", as_user=64),
                   job | {"system.limit.memlock": "limited to 64 KiB"}, [run.log])


def without_way(checks, library):
    checks.section("NET/IB without a way")
    with rig.without_neighbours():
        run = Run(library, "way", "--net", "ib", *NODES, *TRIES)
        code, answer = run.end()
    fails(checks, "way", code, answer, "Connection timed out")
    printed(checks, "way", run, "ibv_modify_qp failed with 110 Connection timed out, on dev",
            "retrying 1/2 after 50 msec")
    wanted = {"nccl.gid.wrong": "could not reach its peer (GID index 1)"}
    report = explain.log(checks, "way", run.log, wanted)
    commands = [fix["command"] for each in report["findings"]["findings"] for fix in each["fixes"]]
    checks.true("way: ordinary packets between the two addresses are the first test",
                any(command.startswith("ping -c 3 -I 10.7.0.") for command in commands), str(commands))
    explain.doctor(checks, "way", explain.collect("way"), wanted, [run.log])


def without_addresses(checks, library):
    checks.section("NET/IB with link-local addresses only")
    with rig.without_addresses():
        run = Run(library, "local", "--net", "ib", "--progress", *NODES)
        code, answer = run.end()
        snapshot = explain.collect("local")
    completes(checks, "local", code, answer, "IB")
    printed(checks, "local", run, " GID 0 ")
    explain.log(checks, "local", run.log, {})
    explain.doctor(checks, "local", snapshot, {"rdma.roce.no-v2-gid": "rxe0, rxe1"}, [run.log])


def over_sockets(checks, library):
    checks.section("sockets")
    run = Run(library, "socket", "--net", "socket")
    code, answer = run.end()
    completes(checks, "socket", code, answer, "Socket", ranks="complete")
    same_facts(checks, "socket", answer, explain.answer("log", run.log))


def beside_real_devices(checks, library):
    """The guest's own PCI devices have addresses that the made-up ones have too."""
    checks.section("phantom adapters")
    code, answer = Run(library, "phantom", "--net", "phantom", topology="1xh100-sxm+1x400g").end()
    checks.equal("phantom: exit status and end", (code, answer["end"]["state"]), (0, "complete"))
    checks.equal("phantom: the way between the nodes", {each["way"] for each in answer["ways"]},
                 {"NET/Phantom, GPUDirect"})


def machine_in_health(checks):
    checks.section("soft-RoCE")
    rig.make_devices()
    for device in rig.ENDS:
        table = rig.gids(device)
        checks.equal(f"rig: GIDs of {device}", sorted(table), [0, 1])
        checks.true(f"rig: GID 0 of {device} is link-local, GID 1 the IPv4 address, both RoCE v2",
                    table.get(0, ("", ""))[0].startswith("fe80:") and ":ffff:0a07:" in table.get(1, ("", ""))[0]
                    and all(kind == "RoCE v2" for _, kind in table.values()), str(table))
    explain.doctor(checks, "without slots", explain.collect("bare"), {})
    rig.give_them_slots()
    healthy = explain.collect("healthy")
    explain.doctor(checks, "with slots", healthy, {})
    return healthy


def check(checks, _name, machine):
    rig.make_house()
    healthy = machine_in_health(checks)
    roce_perftest.check(checks, healthy)
    if not os.path.isdir("/nccl"):
        checks.skip("NCCL over soft-RoCE", f"{machine['folders']['nccl']['variable']} names no folder with NCCL 2.28.9")
        return
    library = glob.glob(f"/nccl/{machine['folders']['nccl']['holds']}")[0]
    for state in (over_rdma, with_loss, without_answers, link_goes_down, addresses_change, over_empty_gid,
                  without_locked_memory, without_way, without_addresses, over_sockets, beside_real_devices):
        rig.guarded(checks, state, library)
