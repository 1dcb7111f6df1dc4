"""Whether the ranks of `angio run` are where `angio plan` says, as the kernel has it: the CPUs of every thread in
/proc/PID/task/*/status, the pages in /proc/PID/numa_maps. Then what happens when a node is full, and in a cgroup."""

import json
import subprocess

import kernel_view as kernel
from jobs import Cgroup, FullNode, Job, offers, spare_from_oom_killer

# Areas with at least so many anonymous pages are those that the rank wrote; heap, stacks and libraries are smaller.
AREA = 1024
PAGE = 4096
MIB = 1024 * 1024


def plan(checks, title, *options, cgroup=None):
    """The ranks of `angio plan`, or None and a failed check."""
    done = subprocess.run(["angio", "plan", "--format", "json", *options], capture_output=True, text=True, check=False,
                          preexec_fn=cgroup.enter if cgroup else None)
    if not checks.true(f"{title}: plan", done.returncode == 0, done.stderr.strip()):
        return None
    return json.loads(done.stdout)["ranks"]


def launcher(*options):
    return ["angio", "run", *options, "--"]


def node_of_gpu(rank):
    """What the kernel says of the rank's GPU; -1: no node. None: the rank has no GPU."""
    address = (rank["gpu"] or {}).get("address")
    return None if address is None else int(kernel.read(f"{kernel.PCI}/{address}/numa_node"))


def beside_its_gpu(checks, title, rank):
    """The plan itself against sysfs: CPUs of the GPU's node, and nothing at all when the firmware names none."""
    node = node_of_gpu(rank)
    if node is None:
        return
    planned = kernel.numbers(rank["cpus"])
    if node < 0:
        checks.equal(f"{title}: GPU without a node: CPUs", (planned, rank["memory"]), (set(), "none"))
        return
    checks.true(f"{title}: CPUs are of the GPU's node {node}", planned and planned <= kernel.node_cpus(node),
                f"planned {rank['cpus']!r}, node has {kernel.words(kernel.node_cpus(node))}")
    if kernel.has_memory(node) and rank["memory"] in ("preferred", "bind"):
        checks.equal(f"{title}: memory is of the GPU's node", kernel.numbers(rank["memory_nodes"]), {node})


def threads_in_place(checks, title, rank, pid, free_cpus):
    """free_cpus: what an unbound rank may use."""
    expected = kernel.numbers(rank["cpus"]) or free_cpus
    wrong = {tid: kernel.words(cpus) for tid, cpus in kernel.threads(pid).items() if cpus != expected}
    checks.equal(f"{title}: threads that may run elsewhere than on {kernel.words(expected)}", wrong, {})
    checks.true(f"{title}: threads ran there", kernel.last_cpus(pid) <= expected, f"ran on {kernel.last_cpus(pid)}")


def pages_in_place(checks, title, rank, pid):
    pages = kernel.anonymous_pages(pid, AREA)
    nodes = kernel.numbers(rank["memory_nodes"])
    policies = kernel.memory_policies(pid, AREA)
    word = {"preferred": "prefer", "bind": "bind", "interleave": "interleave", "local": "local",
            "none": "default"}[rank["memory"]]
    checks.true(f"{title}: memory policy is {word}", policies and all(word in policy for policy in policies),
                f"numa_maps says {sorted(policies)}")
    checks.true(f"{title}: pages were written", sum(pages.values()) >= AREA, f"{pages}")
    if rank["memory"] == "interleave":
        checks.equal(f"{title}: pages on each node", set(pages), nodes)
    elif nodes:
        checks.true(f"{title}: pages are on {kernel.words(nodes)}", set(pages) <= nodes, f"pages per node {pages}")


def as_planned(checks, title, *options, mib=24):
    """Plans, runs with the same options, and reads every rank from the kernel. The plan, for more checks."""
    checks.section(title)
    ranks = plan(checks, title, *options)
    if ranks is None:
        return []
    free_cpus = kernel.online_cpus()
    with Job(launcher(*options), [rank["local_rank"] for rank in ranks], mib=mib) as job:
        if job.ready():
            for rank in ranks:
                at = f"{title}: rank {rank['local_rank']}"
                threads_in_place(checks, at, rank, job.pids[rank["local_rank"]], free_cpus)
                pages_in_place(checks, at, rank, job.pids[rank["local_rank"]])
        else:
            checks.note("failed", f"{title}: all ranks start", f"{sorted(job.pids)} of {len(ranks)} did")
        checks.true(f"{title}: exit status 0", job.stop() == 0, f"{job.code}: {job.words[-400:]}")
    return ranks


def by_gpu(checks, gpus):
    """The default policies, a rank for each GPU."""
    title = "one rank a GPU"
    ranks = as_planned(checks, title, "--ranks", str(gpus))
    taken = set()
    for rank in ranks:
        beside_its_gpu(checks, f"{title}: rank {rank['local_rank']}", rank)
        cpus = kernel.numbers(rank["cpus"])
        checks.true(f"{title}: rank {rank['local_rank']}: CPUs are its own", not cpus & taken,
                    f"shares {kernel.words(cpus & taken)}")
        taken |= cpus
    checks.equal(f"{title}: each its own GPU", len({rank["gpu"]["address"] for rank in ranks if rank["gpu"]}), gpus)


def policies(checks, gpus):
    for memory in ("bind", "interleave", "local", "none"):
        as_planned(checks, f"--memory {memory}", "--ranks", str(gpus), "--memory", memory)
    for cpus in ("node", "package", "core", "l3"):
        ranks = as_planned(checks, f"--cpus {cpus}", "--ranks", str(gpus), "--cpus", cpus, mib=16)
        for rank in ranks:
            node = node_of_gpu(rank)
            if node is None or node < 0:
                continue
            some = min(kernel.node_cpus(node))
            package = {cpu for cpu in kernel.online_cpus()
                       if kernel.cpu_fact(cpu, "physical_package_id") == kernel.cpu_fact(some, "physical_package_id")}
            expected = {"node": kernel.node_cpus(node), "package": package}.get(cpus)
            if expected:
                checks.equal(f"--cpus {cpus}: rank {rank['local_rank']}: all of the {cpus}",
                             kernel.numbers(rank["cpus"]), expected)
            elif cpus == "core":
                planned = kernel.numbers(rank["cpus"])
                siblings = kernel.numbers(kernel.cpu_fact(min(planned), "thread_siblings_list"))
                checks.equal(f"--cpus core: rank {rank['local_rank']}: one core", planned, siblings)


def one_thread_a_core(checks, gpus):
    ranks = as_planned(checks, "--smt one", "--ranks", str(gpus), "--smt", "one", mib=16)
    firsts = {min(kernel.numbers(kernel.cpu_fact(cpu, "thread_siblings_list"))) for cpu in kernel.online_cpus()}
    for rank in ranks:
        checks.true(f"--smt one: rank {rank['local_rank']}: first threads only",
                    kernel.numbers(rank["cpus"]) <= firsts, rank["cpus"])


def wrapper(checks, gpus):
    """A launcher's local rank in the environment: bound, then replaced by the program."""
    checks.section("wrapper")
    ranks = plan(checks, "wrapper", "--ranks", str(gpus)) or []
    for rank in ranks:
        number = rank["local_rank"]
        title = f"wrapper: rank {number}"
        environment = {"LOCAL_RANK": str(number), "RANK": str(number), "LOCAL_WORLD_SIZE": str(gpus),
                       "WORLD_SIZE": str(gpus)}
        with Job(launcher(), [number], mib=16, environment=environment) as job:
            if job.ready():
                checks.equal(f"{title}: no process in between", job.pids[number], job.process.pid)
                threads_in_place(checks, title, rank, job.pids[number], kernel.online_cpus())
                pages_in_place(checks, title, rank, job.pids[number])
            checks.true(f"{title}: exit status 0", job.stop() == 0, f"{job.code}: {job.words[-400:]}")


def strict_on_full_node(checks, gpus, rank):
    node = min(kernel.numbers(rank["memory_nodes"]))
    checks.section("full node")
    with FullNode(node):
        left = kernel.node_meminfo(node, "MemFree")
        title = f"node {node} full ({left // MIB} MiB left)"
        with Job(launcher("--ranks", str(gpus), "--memory", "bind"), range(gpus), mib=64) as job:
            checks.true(f"{title}: bind: no rank starts", not job.ready() and not job.pids, f"{sorted(job.pids)}")
            job.stop()
            checks.equal(f"{title}: bind: exit status", job.code, 3)
            checks.true(f"{title}: bind: names the node", f"node {node}" in job.words, job.words[-400:])
        with Job(launcher("--ranks", str(gpus)), range(gpus), mib=64) as job:
            number = rank["local_rank"]
            if checks.true(f"{title}: preferred: all ranks start", job.ready(), job.words[-400:]):
                pages = kernel.anonymous_pages(job.pids[number], AREA)
                spilled = sum(count for place, count in pages.items() if place != node)
                checks.true(f"{title}: preferred: rank {number} spills", spilled * PAGE >= 64 * MIB - left,
                            f"pages per node {pages}")
            checks.true(f"{title}: preferred: exit status 0", job.stop() == 0, f"{job.code}: {job.words[-400:]}")
    checks.equal(f"node {node}: huge pages given back", kernel.set_huge_pages(node, 0), 0)


def strict_beyond_the_node(checks, gpus, rank):
    """The node has room, the rank wants more than the whole node: the kernel kills it, `run` says so and ends all."""
    node = min(kernel.numbers(rank["memory_nodes"]))
    mib = kernel.node_meminfo(node, "MemTotal") // MIB + 64
    title = f"bound to node {node}, wants {mib} MiB"
    checks.section(title)
    with Job(launcher("--ranks", str(gpus), "--memory", "bind"), range(gpus), mib=mib) as job:
        checks.true(f"{title}: not all ranks start", not job.ready(), f"ranks {sorted(job.pids)}")
        job.stop()
        checks.true(f"{title}: fails", job.code != 0, "exit status 0")
        checks.true(f"{title}: says which rank and signal 9", "rank" in job.words and ("9" in job.words
                    or "SIGKILL" in job.words), job.words[-400:])
    left = subprocess.run(["pgrep", "-x", "angio_vm_rank"], capture_output=True, text=True, check=False).stdout
    checks.equal(f"{title}: nothing left running", left.strip(), "")


def inside_cgroup(checks, gpus, nodes):
    """Half of the CPUs of the given nodes, and memory of these alone."""
    cpus = set()
    for node in nodes:
        own = sorted(kernel.node_cpus(node))
        cpus.update(own[:max(1, len(own) // 2)])
    title = f"cgroup with CPUs {kernel.words(cpus)} and memory {kernel.words(nodes)}"
    checks.section(title)
    with Cgroup("job", cpus, nodes) as cgroup:
        for rank in plan(checks, title, "--ranks", str(gpus), cgroup=cgroup) or []:
            checks.true(f"{title}: rank {rank['local_rank']}: planned inside",
                        kernel.numbers(rank["cpus"]) <= cpus and kernel.numbers(rank["memory_nodes"]) <= nodes,
                        f"CPUs {rank['cpus']}, memory {rank['memory_nodes']}")
        with Job(launcher("--ranks", str(gpus)), range(gpus), mib=16, cgroup=cgroup) as job:
            if checks.true(f"{title}: all ranks start", job.ready(), "they did not"):
                for number, pid in job.pids.items():
                    outside = set().union(*kernel.threads(pid).values()) - cpus
                    checks.equal(f"{title}: rank {number}: CPUs outside", outside, set())
                    pages = kernel.anonymous_pages(pid, AREA)
                    checks.true(f"{title}: rank {number}: pages inside", set(pages) <= nodes, f"{pages}")
            checks.true(f"{title}: exit status 0", job.stop() == 0, f"{job.code}: {job.words[-400:]}")


def controls(checks, node):
    """The rig with numactl in Angio's place: what is checked below can be seen here, and can go wrong."""
    checks.section("controls with numactl")
    cpus = kernel.node_cpus(node)
    bound = {"cpus": kernel.words(cpus), "memory": "bind", "memory_nodes": str(node)}
    with Job(["numactl", f"--cpunodebind={node}", f"--membind={node}"], [0]) as job:
        if checks.true("control: numactl starts", job.ready(), job.words):
            threads_in_place(checks, "control", bound, job.pids[0], cpus)
            pages_in_place(checks, "control", bound, job.pids[0])
    with Job([], [0]) as job:
        if checks.true("control: unbound starts", job.ready(), job.words):
            free = set().union(*kernel.threads(job.pids[0]).values())
            checks.equal("control: unbound threads may run anywhere", free, kernel.online_cpus())
    with FullNode(node):
        with Job(["numactl", f"--membind={node}"], [0], mib=64) as job:
            checks.true("control: strict on a full node: does not start", not job.ready(), "it did")
            checks.equal("control: strict on a full node: killed", job.wait(), -9)
        with Job(["numactl", f"--preferred={node}"], [0], mib=64) as job:
            if checks.true("control: preferred on a full node: starts", job.ready(), job.words):
                elsewhere = set(kernel.anonymous_pages(job.pids[0], AREA)) - {node}
                checks.true("control: preferred on a full node: spills", elsewhere, "no page on another node")
    kernel.set_huge_pages(node, 0)


def check(checks, _name, machine):
    with open("/proc/sys/kernel/numa_balancing", "w", encoding="ascii") as file:
        file.write("0")  # the kernel would move pages while they are counted
    spare_from_oom_killer(True)
    controls(checks, 1)
    for verb in ("plan", "run"):
        if not offers(verb):
            checks.skip(f"launch: {verb}", f"this angio has no {verb}")
            return
    gpus = sum(device == "gpu" for port in machine["ports"] for device in port["devices"])
    by_gpu(checks, gpus)
    wrapper(checks, gpus)
    parts = set(machine.get("launch", ()))
    if "policies" in parts:
        policies(checks, gpus)
    if machine["threads"] > 1:
        one_thread_a_core(checks, gpus)
    if "cgroup" in parts:
        inside_cgroup(checks, gpus, {1, 2})
    ranks = plan(checks, "full node", "--ranks", str(gpus)) or []
    # Not node 0, where the kernel and this script live.
    bound = next((rank for rank in ranks if kernel.numbers(rank["memory_nodes"]) - {0}), None)
    if bound and "full" in parts:
        strict_on_full_node(checks, gpus, bound)
        strict_beyond_the_node(checks, gpus, bound)
