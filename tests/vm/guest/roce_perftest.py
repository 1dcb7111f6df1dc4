"""ib_write_bw between two RDMA devices in software: in health, with loss, and in the troubles that people have; what it
prints, what the kernel counts, and what Angio says of both."""

import re
import shutil
import subprocess

import roce_explain as explain
import roce_rig as rig

PROGRAM = "ib_write_bw"
GID = ("-x", "1")  # the entry of the IPv4 address
EMPTY = ("-x", "9")
# An emulated CPU may be late with an answer: 4 s instead of 67 ms until a packet counts as lost.
PATIENT = ("-u", "20")
# The kernel's rxe takes 7 retries, perftest's own number, for "for ever" (drivers/infiniband/sw/rxe/rxe_comp.c): only
# with -R it can be told fewer.
IMPATIENT = ("-R", "--retry_count=2")
LIMIT = 30  # seconds for one side
SIZE = 65536
PACKETS = SIZE // 4096  # of a message

_ports = iter(range(18600, 18700))


class Side:
    """One side of a test: exit status and what it printed."""

    def __init__(self, process, patience):
        """patience: seconds, after which it is told to end."""
        rig.wait_for(lambda: process.poll() is not None, patience)
        process.terminate()
        self.text = process.communicate(timeout=rig.PATIENCE)[0]
        self.code = process.returncode


def listens(port):
    with open("/proc/net/tcp", encoding="ascii") as file:
        return any(f":{port:04X} 00000000:0000 0A " in line for line in file)


def test(client=(), server=(), both=(), messages=64, size=SIZE, meanwhile=None, as_user=None):
    """(client, server) of one run from rxe0 to rxe1. meanwhile: called once data moves. A side that does not end by
    itself has a negative exit status."""
    port = next(_ports)
    command = [PROGRAM, "-F", "-p", str(port), "-n", str(messages), "-s", str(size), *both]
    if as_user:
        command = list(rig.as_user(as_user, *command))
    target = rig.ENDS["rxe1"][1] if "-R" in both else "127.0.0.1"  # the connection manager finds the way by it
    start = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}
    before = rig.counters("rxe0")["sent_pkts"]
    waiting = subprocess.Popen([*command, "-d", "rxe1", *server], **start)
    rig.wait_for(lambda: waiting.poll() is not None or "-R" in both or listens(port))
    if "-R" in both:
        rig.wait_for(lambda: waiting.poll() is not None, 1.5)
    calling = subprocess.Popen([*command, "-d", "rxe0", *client, target], **start)
    if meanwhile:
        rig.wait_for(lambda: calling.poll() is not None or rig.counters("rxe0")["sent_pkts"] > before + 100)
        meanwhile()
    return Side(calling, LIMIT), Side(waiting, 3)


def row(text):
    """(bytes, messages, average MiB/s) of the one line of results, or None."""
    found = re.search(r"^ (\d+)\s+(\d+)\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s*$", text, re.M)
    return (int(found[1]), int(found[2]), float(found[3])) if found else None


def runs(checks, title, side, messages=64, size=SIZE):
    seen = row(side.text)
    checks.true(f"{title}: ends well with a result", side.code == 0 and seen and seen[:2] == (size, messages)
                and seen[2] > 0, f"exit {side.code}: {side.text[-400:]}")


def fails(checks, title, side, wanted):
    """wanted: line to words of its explanation; the first of them is what the test failed of."""
    checks.true(f"{title}: fails by itself", side.code > 0, f"exit {side.code}: {side.text[-400:]}")
    explain.lines(checks, title, side.text, wanted)


# ---------------------------------------------------------------- states

def in_health(checks):
    checks.section("perftest in health")
    before = explain.collect("healthy-before")
    with rig.Growth() as grown:
        client, _server = test(both=(*GID, *PATIENT, "-t", "4"))
    after = explain.collect("healthy-after")
    runs(checks, "perftest", client)
    checks.true("perftest: MTU and GID as asked", "Mtu             : 4096[B]" in client.text
                and "GID index       : 1" in client.text, client.text)
    checks.true("perftest: the counters moved with the data", grown["rxe0"]["sent_pkts"] >= 64 * PACKETS
                and grown["rxe1"]["rcvd_pkts"] >= 64 * PACKETS, str(grown.by_device))
    checks.equal("perftest: nothing was lost", grown.sum(*rig.LOSS), 0)
    explain.doctor(checks, "after load", after, {})
    explain.judged(checks, "perftest", client.text, mebibytes=row(client.text)[2])
    return before, after


def with_loss(checks):
    checks.section("perftest with 5 % packet loss")
    with rig.switch_does("loss", "5%"), rig.Growth() as grown:
        client, _server = test(both=(*GID, "-t", "8"))
    after = explain.collect("lossy")
    runs(checks, "loss", client)
    checks.true("loss: the receiver saw gaps", grown["rxe1"]["out_of_seq_request"] > 0, str(grown.by_device))
    checks.true("loss: the sender was told and sent again", grown["rxe0"]["rcvd_seq_err"] > 0
                and grown["rxe0"]["completer_retry_err"] > 0, str(grown.by_device))
    checks.equal("loss: no link went down", grown.sum("link_downed"), 0)
    return after


def with_empty_gid(checks):
    checks.section("perftest with an empty GID")
    client, server = test(client=EMPTY, server=GID)
    for name, side in (("client", client), ("server", server)):
        fails(checks, f"one empty GID, {name}", side, {
            "Found Incompatibility issue with GID types": "may be empty on the other"})
    client, _server = test(both=EMPTY)
    fails(checks, "two empty GIDs", client, {
        "to RTR": "name an empty GID", "Unable to Connect the HCA's through the link": "could not be made"})


def without_locked_memory(checks):
    checks.section("perftest as a plain user who may lock 64 KiB")
    client, _server = test(both=GID, as_user=64)
    fails(checks, "locked memory", client, {
        "Couldn't allocate MR": "limit of locked memory", "Couldn't create IB resources": "limit of locked memory"})
    kernel = next((line for line in rig.must("dmesg").splitlines() if "Unable to pin memory" in line), "")
    explain.lines(checks, "locked memory, kernel", kernel.partition("] ")[2], {
        "Unable to pin memory region err = -12": "limit of locked memory"})
    snapshot = explain.collect("memlock-perftest", as_user=64)
    explain.doctor(checks, "locked memory", snapshot, {"system.limit.memlock": "limited to 64 KiB"})


def with_port_down(checks):
    checks.section("perftest on a port that is down")
    rig.pull_cable("v0")
    client, _server = test(both=GID)
    checks.equal("port down: state of both ports", (rig.state("rxe0"), rig.state("rxe1")), ("DOWN", "ACTIVE"))
    rig.plug_cables()
    fails(checks, "port down", client, {"Port number 1 state is Down": "The port is not active",
                                        "Couldn't get context for the device": "The port is down"})


def cable_is_pulled(checks):
    checks.section("perftest, the peer's cable is pulled amid")
    with rig.Growth() as grown:
        client, _server = test(both=(*GID, *IMPATIENT), messages=5000, meanwhile=lambda: rig.pull_cable("v1"))
    rig.plug_cables()
    checks.equal("cable: links that went down", (grown["rxe0"]["link_downed"], grown["rxe1"]["link_downed"]), (0, 1))
    checks.true("cable: the sender's retries ran out", grown["rxe0"]["retry_exceeded_err"] > 0, str(grown.by_device))
    fails(checks, "cable", client, {"Failed status 12: wr_id": "No answer came in all retries"})


def with_other_mtus(checks):
    checks.section("perftest with MTUs that do not fit")
    with rig.mtu(1500, "v1"):
        client, server = test(both=(*GID, "-m", "4096"))
    runs(checks, "small interface", client)
    checks.true("small interface: both take 1024", all("Mtu             : 1024[B]" in side.text
                                                       for side in (client, server)), client.text)
    explain.lines(checks, "small interface", server.text, {
        "Requested mtu is higher than active mtu": "interface's own MTU"})
    with rig.switch_carries(1600):
        large, _server = test(both=(*GID, *IMPATIENT))
        small, _server = test(both=(*GID, *IMPATIENT), size=64)
    fails(checks, "small switch", large, {"Failed status 12: wr_id": "with -s 64"})
    runs(checks, "small switch, small messages", small, size=64)


def without_way(checks):
    checks.section("perftest without a way")
    with rig.without_neighbours():
        client, _server = test(both=GID)
    fails(checks, "no way", client, {"to RTR": "nobody answers"})


def check(checks, idle):
    """idle: a snapshot of before, between which and the first test nothing runs."""
    if shutil.which(PROGRAM) is None:
        checks.skip("perftest", f"no {PROGRAM} here (package perftest)")
        return
    before, after = in_health(checks)
    lossy = with_loss(checks)
    rig.guarded(checks, explain.growth, idle, before, after, lossy)
    rig.guarded(checks, explain.mesh)
    for state in (with_empty_gid, without_locked_memory, with_port_down, cable_is_pulled, with_other_mtus, without_way):
        rig.guarded(checks, state)
