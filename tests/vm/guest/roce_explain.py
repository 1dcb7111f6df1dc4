"""What Angio says of this machine as it is and of what perftest and NCCL print on it, for the checks over soft-RoCE:
the right cause, and nothing false beside it."""

import contextlib
import json
import shutil

import roce_rig as rig

SEVERE = ("warning", "critical")


def answer(*words, codes=(0,)):
    """The JSON that a command prints."""
    done = rig.run("angio", *words, "--format", "json")
    if done.returncode not in codes:
        raise RuntimeError(f"angio {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


@contextlib.contextmanager
def called(host):
    """This machine under another host name: that of the dry run's node which uses its port."""
    before = rig.read_host_name()
    rig.write("/proc/sys/kernel/hostname", host)
    try:
        yield
    finally:
        rig.write("/proc/sys/kernel/hostname", before)


def collect(name, as_user=None):
    """A snapshot of now; kept in /out too. as_user: KiB that a plain user may lock."""
    path = f"/tmp/{name}.snap"
    command = ("angio", "collect", "--out", path)
    rig.must(*(rig.as_user(as_user, *command) if as_user else command))
    shutil.copy(path, f"/out/{name}.snap")
    return path


def findings(report):
    """Rule to title and evidence of each finding that is more than a remark."""
    found = {}
    for each in report["findings"]:
        if each["severity"] in SEVERE:
            texts = [each["title"], *(seen["text"] for seen in each["evidence"])]
            found.setdefault(each["rule"], []).append("; ".join(texts))
    return found


def expect(checks, title, seen, wanted):
    """wanted: rule to words of its title or evidence. Exactly these rules, with those words."""
    checks.true(f"{title}: what is more than a remark", set(seen) == set(wanted), f"{seen}, expected {wanted}")
    for rule, words in wanted.items():
        told = seen.get(rule, [])
        checks.true(f"{title}: {rule} says \"{words}\"", any(words in each for each in told), str(told))


def doctor(checks, title, snapshot, wanted, logs=()):
    """`angio doctor` on a snapshot with the job's logs: exactly the wanted findings."""
    words = [word for log in logs for word in ("--log", log)]
    report = answer("doctor", snapshot, *words)
    expect(checks, f"{title}: doctor", findings(report), wanted)
    return report


def log(checks, title, path, wanted):
    """`angio log` on a job's log: exactly the wanted findings."""
    report = answer("log", path)
    expect(checks, f"{title}: log", findings(report["findings"]), wanted)
    return report


def lines(checks, title, text, wanted):
    """wanted: line to words of its explanation. Each line was printed, and `angio explain` knows it."""
    for line, words in wanted.items():
        if not checks.true(f"{title}: prints \"{line}\"", line in text, text[-600:]):
            continue
        printed = next(whole for whole in text.splitlines() if line in whole)
        told = " ".join(rig.run("angio", "explain", printed.strip()).stdout.split())
        checks.true(f"{title}: \"{line}\" is explained by \"{words}\"", words in told, told or "nothing")


def growth(checks, idle, before, after, lossy):
    """`angio rdma` on snapshots: silent while nothing runs and over a healthy load, names the loss over a lossy one."""
    expect(checks, "rdma, idle", findings(answer("rdma", idle, before)["judged"]), {})
    healthy = answer("rdma", before, after)
    expect(checks, "rdma, healthy load", findings(healthy["judged"]), {})
    sent = {port["device"]: sum(each["growth"] for each in port["counters"] if each["name"] == "sent_pkts")
            for port in healthy["ports"]}
    checks.true("rdma, healthy load: both ports sent", set(sent) == set(rig.ENDS) and all(sent.values()), str(sent))
    expect(checks, "rdma, loss", findings(answer("rdma", after, lossy)["judged"]), {"rdma.rate.loss": "loses packets"})


def judged(checks, title, text, mebibytes=None, trouble=None):
    """`angio mesh judge` on what a client printed: its average in MiB/s as bits a second, or its trouble."""
    path = "/tmp/node0-to-node1.txt"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    measures = answer("mesh", "judge", path)["measures"]
    checks.equal(f"{title}: mesh judge sees one pair", [(each["from"], each["to"]) for each in measures],
                 [("node0", "node1")])
    for each in measures:
        if mebibytes is not None:
            seen = each.get("bits_per_second", 0)
            checks.true(f"{title}: mesh judge reads the average", each["state"] == "done"
                        and abs(seen / (mebibytes * 2**20 * 8) - 1) < 1e-3, str(each))
        else:
            checks.true(f"{title}: mesh judge names the trouble", each["state"] == "failed"
                        and trouble in each.get("trouble", ""), str(each))


def mesh(checks):
    """`angio mesh` itself drives perftest between the two devices, in both directions."""
    result = answer("mesh", "--with", "local", "--hosts", "node0,node1", "--device", "node0=rxe0,node1=rxe1",
                    "--transport", "rdma", "--level", "bw", "--seconds", "1", "--size", "64K", "--gid-index", "1")
    seen = [(each["from"], each["from_nic"], each["to"], each["to_nic"], each["state"]) for each in result["measures"]]
    checks.equal("mesh: both directions between the two devices", sorted(seen), [
        ("node0", "rxe0", "node1", "rxe1", "done"), ("node1", "rxe1", "node0", "rxe0", "done")])
    checks.true("mesh: with a bandwidth", all(each.get("bits_per_second", 0) > 0 for each in result["measures"]),
                str(result["measures"]))
