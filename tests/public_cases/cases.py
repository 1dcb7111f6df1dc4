#!/usr/bin/env python3
"""Public bug reports as synthetic nodes: the fault of each report on a small healthy machine.

  cases.py list                the numbers, expected rules and titles
  cases.py 17                  the snapshot of case 17 on standard output
  cases.py check ANGIO         runs the doctor over all of them; prints "N passed, N failed"

Made from the reports' descriptions; no text of theirs is in here. `expect` is the rule that must come first;
None: the doctor must not warn (the report's hardware is healthy, or the cause is open).
"""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from roce import as_roce, set_gid, set_table  # noqa: E402
from synthetic_node import (CONNECTX7, DRIVER, downstream_address, gpu_address, healthy, nic_address)  # noqa: E402

LIBNCCL = "/usr/lib/x86_64-linux-gnu/libnccl.so.2"


def small(name):
    return healthy(name, cores=8, gpus=4)


def add_rank(node, rank, allowed=None, memory=None, environment=None, nccl="2.28.9", pages=None, threads=(),
             mapped=()):
    """A training process: one main thread, more by threads=[(name, allowed list, last CPU)]."""
    pid = 5000 + rank
    base = f"/proc/{pid}"
    allowed = allowed if allowed is not None else node.cpu_list(node.socket_of(rank))
    environ = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": node.gpus, **(environment or {})}
    node.line(f"/@nvml/gpu/{rank}/processes", f"{pid} 42949672960")
    node.line(f"{base}/comm", "python")
    node.strings(f"{base}/cmdline", "python", "train.py")
    node.strings(f"{base}/environ", *[f"{key}={value}" for key, value in environ.items()])
    node.lines(f"{base}/status", f"Name:\tpython\nPid:\t{pid}\nCpus_allowed_list:\t{allowed}\n"
                                 f"Mems_allowed_list:\t{memory or '0-1'}")
    node.lines(f"{base}/limits", "Limit Soft Limit Hard Limit Units\n"
                                 "Max locked memory unlimited unlimited bytes\nMax open files 1048576 1048576 files")
    first_cpu = allowed.split(",")[0].split("-")[0]
    for number, (name, mask, cpu) in enumerate([("python", allowed, first_cpu), *threads]):
        task = f"{base}/task/{pid + number * 100}"
        node.line(f"{task}/comm", name)
        node.lines(f"{task}/status", f"Name:\t{name}\nCpus_allowed_list:\t{mask}\nMems_allowed_list:\t0-1")
        node.line(f"{task}/stat", f"{pid + number * 100} ({name}) S " + "0 " * 35 + f"{cpu} 0 0 0")
    local = node.socket_of(rank)
    pages = pages or {local: 4000000}
    node.lines(f"{base}/numa_maps", "7f0000000000 default anon={0} dirty={0} {1} kernelpagesize_kB=4".format(
        sum(pages.values()), " ".join(f"N{n}={count}" for n, count in sorted(pages.items()))))
    files = [f"{LIBNCCL[:-2]}.{nccl}", f"/usr/lib/x86_64-linux-gnu/libcuda.so.{DRIVER}", *mapped]
    node.lines(f"{base}/maps", "\n".join(f"7f1000000000-7f1010000000 r-xp 00000000 08:01 11 {file}" for file in files))
    node.line(f"{base}/cgroup", "0::/user.slice")


def add_job(node, **arguments):
    for rank in range(node.gpus):
        add_rank(node, rank, **arguments)
    return node


def install_nccl(node, version):
    node.link(LIBNCCL, f"libnccl.so.{version}")
    node.line(f"{LIBNCCL[:-2]}.{version}", "")


def mask_reapplied():
    node = small("case-1")
    install_nccl(node, "2.29.3")
    return add_job(node, nccl="2.29.3")


def bound_too_late():
    node = small("case-5")
    for rank in range(node.gpus):
        local = node.socket_of(rank)
        add_rank(node, rank, pages={local: 3120000, 1 - local: 880000})
    return node


def all_on_one_node():
    return add_job(small("case-7"), allowed="8-15,24-31")


def parent_mask_too_narrow():
    node = small("case-9")
    node.lines("/proc/self/status", "Name:\tangio\nCpus_allowed_list:\t0-7,16-23\nMems_allowed_list:\t0-1")
    return node


def cells_against_threads():
    """The hypervisor's cells number siblings 0/1, 2/3 ...; its NUMA cells expect n, n + 16."""
    node = small("case-11")
    virtual(node)
    for cpu in range(node.threads):
        first = cpu & ~1
        node.change(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list", f"{first}-{first + 1}")
        node.change(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_id", first // 2 % node.cores)
    for socket in range(2):
        cpus = ",".join(str(cpu) for cpu in range(node.threads) if cpu % 2 == socket)
        node.change(f"/sys/devices/system/node/node{socket}/cpulist", cpus)
    return node


def numa_balancing():
    node = small("case-13")
    node.change("/proc/sys/kernel/numa_balancing", 1)
    return node


def half_of_the_cores():
    """Each rank gets half of the cores that its share of the node would be."""
    node = small("case-15")
    for rank in range(node.gpus):
        first = node.socket_of(rank) * node.cores + rank % 2 * 2
        add_rank(node, rank, allowed=f"{first}-{first + 1}")
    return node


def translating_iommu():
    node = small("case-17")
    node.change("/sys/kernel/iommu_groups/0/type", "DMA-FQ")
    node.change("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz ro intel_iommu=on")
    return node


def no_gpudirect():
    node = small("case-19")
    node.change("/proc/modules", "\n".join(
        line for line in node.records["/proc/modules"][1].split("\n") if "peermem" not in line))
    return node


def far_nic():
    """One NIC, on the other socket of GPUs 0 and 1."""
    node = small("case-21")
    for index in range(3):
        drop_nic(node, index)
    return node


def drop_nic(node, index):
    node.remove(f"/sys/bus/pci/devices/{nic_address(index)}")
    node.remove(f"/sys/bus/pci/devices/{downstream_address(index, 1)}")
    for prefix in (f"/sys/class/infiniband/mlx5_{index}", f"/sys/class/net/ibs{index}", f"/@verbs/mlx5_{index}"):
        node.remove(prefix)


def unknown_speed_string():
    node = small("case-23")
    install_nccl(node, "2.8.4")
    return add_job(node, nccl="2.8.4")


def peers_hidden():
    node = small("case-25")
    for rank in range(node.gpus):
        add_rank(node, rank, environment={"CUDA_VISIBLE_DEVICES": 0, "SLURM_LOCALID": rank, "SLURM_STEP_GPUS": rank})
    return node


def narrow_by_design():
    """Every GPU and its slot can do x8 only."""
    node = small("case-27")
    for index in range(node.gpus):
        for device in (gpu_address(index), downstream_address(index, 0)):
            for prefix in ("current", "max"):
                node.change(f"/sys/bus/pci/devices/{device}/{prefix}_link_width", 8)
        for leaf in ("pcie_width", "pcie_width_max"):
            node.change(f"/@nvml/gpu/{index}/{leaf}", 8)
    return node


def gids_of_other_pods():
    """A pod with a macvlan interface on each adapter: entries 2 and 3 belong to others, its own begin at 4 and on."""
    node = as_roce(small("case-29"))
    node.line("/@env/KUBERNETES_SERVICE_HOST", "10.96.0.1")
    for rail in range(node.gpus):
        for index in (2, 3):
            set_gid(node, rail, index, f"0000:0000:0000:0000:0000:ffff:0a63:000{rail + 1}", None)
        for index in (0, 1):
            set_gid(node, rail, index, "0000:0000:0000:0000:0000:0000:0000:0000", None)
        set_table(node, rail, 5, first=4 + 4 * (rail % 2))
    install_nccl(node, "2.23.4")
    return add_job(node, nccl="2.23.4")


def class_without_pfc():
    """The switches protect priority 7 (DSCP 59) alone; the driver forces that class, but not on every queue pair."""
    node = as_roce(small("case-31"))
    node.remove("/etc/nccl.conf")
    for rail in range(node.gpus):
        node.change(f"/sys/class/net/rdma{rail}/qos/pfc", "0,0,0,0,0,0,0,1")
    return add_job(node)


def bond_with_one_queue_pair():
    node = as_roce(small("case-37"))
    for rail in range(node.gpus):
        node.line(f"/sys/class/net/bond{rail}/bonding/slaves", f"rdma{rail}")
        node.line(f"/sys/class/net/bond{rail}/mtu", 9000)
        node.line(f"/sys/class/net/bond{rail}/type", 1)
        node.line(f"/sys/class/net/bond{rail}/operstate", "up")
        node.link(f"/sys/class/net/rdma{rail}/master", f"../bond{rail}")
        set_table(node, rail, 5, interface=f"bond{rail}")
    return add_job(node)


def half_of_the_adapters_idle():
    node = small("case-39")
    for rail in range(node.gpus):
        words = 400_000_000_000 if rail % 2 == 0 else 12_000
        for counter in ("port_xmit_data", "port_rcv_data"):
            node.change(f"/sys/class/infiniband/mlx5_{rail}/ports/1/counters/{counter}", words)
    return add_job(node)


def interface_of_another_name():
    return add_job(small("case-41"), environment={"NCCL_SOCKET_IFNAME": "eth0"})


def slower_ethernet_selected():
    node = small("case-33")
    for index in (2, 3):
        port = f"/sys/class/infiniband/mlx5_{index}/ports/1"
        node.change(f"{port}/rate", "40 Gb/sec (4X QDR)")
        node.change(f"{port}/link_layer", "Ethernet")
        node.change(f"{port}/lid", "0x0")
        node.change(f"{port}/sm_lid", "0x0")
        node.change(f"{port}/gids/0", "0000:0000:0000:0000:0000:ffff:0a00:0005")
        node.change(f"{port}/gid_attrs/types/0", "RoCE v2")
    return node


def flapping_link():
    node = small("case-35")
    node.change("/sys/class/infiniband/mlx5_1/ports/1/counters/link_downed", 37)
    return node


def virtual(node):
    node.change("/sys/class/dmi/id/sys_vendor", "QEMU")
    node.change("/sys/class/dmi/id/product_name", "Standard PC (Q35 + ICH9, 2009)")
    text = node.records["/proc/cpuinfo"][1]
    node.change("/proc/cpuinfo", text.replace("flags\t\t: ", "flags\t\t: hypervisor "))


def flat_virtual_machine():
    """Passthrough GPUs and NICs on one flat virtual bus, no NUMA node anywhere."""
    node = small("case-43")
    virtual(node)
    for path in [p for p in node.records if p.startswith("/sys/bus/pci/devices/") and p.endswith("/numa_node")]:
        node.change(path, -1)
    for index in range(node.gpus):
        for address in (gpu_address(index), nic_address(index)):
            node.link(f"/sys/bus/pci/devices/{address}", f"../../../devices/pci0000:00/{address}")
        node.change(f"/@nvml/gpu/{index}/memory_affinity", "0,1")
        node.change(f"/sys/class/infiniband/mlx5_{index}/device/numa_node", -1)
    return node


def loaded_is_not_installed():
    """pip has 2.30.4, the process maps the system's 2.28.9."""
    node = small("case-51")
    install_nccl(node, "2.28.9")
    packages = "/opt/venv/lib/python3.11/site-packages"
    node.line(f"{packages}/nvidia_nccl_cu12-2.30.4.dist-info/METADATA", "Name: nvidia-nccl-cu12")
    return add_job(node, nccl="2.28.9", mapped=[f"{packages}/nvidia/cuda_runtime/lib/libcudart.so.12"])


def fabric_not_completed():
    node = small("case-61")
    for index in range(node.gpus):
        node.change(f"/@nvml/gpu/{index}/fabric", "2 0 00000000-0000-0000-0000-000000000000 0")
    node.remove("/proc/2001")
    return node


CASES = {
    1: (mask_reapplied, "version.nccl.thread-mask", "NCCL leaves threads on its own CPU mask"),
    5: (bound_too_late, "process.memory.remote", "a fifth of the pages is on the other socket"),
    7: (all_on_one_node, "process.affinity.remote", "every rank runs on one node"),
    9: (parent_mask_too_narrow, "numa.allowed.excludes-gpu", "the shell's mask excludes the GPUs' node"),
    11: (cells_against_threads, "numa.cells.cut-cores", "NUMA cells split hyper-threads"),
    13: (numa_balancing, "system.numa.balancing", "automatic NUMA balancing is on"),
    15: (half_of_the_cores, "process.affinity.unused", "ranks may use half of the cores"),
    17: (translating_iommu, "system.iommu.translated", "the IOMMU translates GPU peer traffic"),
    19: (no_gpudirect, "rdma.gdr.peermem-missing", "GPUDirect RDMA is off"),
    21: (far_nic, "pcie.nic.far-from-gpu", "the only NIC is across the sockets"),
    23: (unknown_speed_string, "version.nccl.old-pcie-speeds", "old NCCL does not know the kernel's PCIe speed words"),
    25: (peers_hidden, "process.gpu.hidden-peers", "each rank sees one GPU"),
    27: (narrow_by_design, None, "fewer lanes by design"),
    29: (gids_of_other_pods, "rdma.roce.gid-choice", "GIDs of other pods end the job before NCCL 2.26"),
    31: (class_without_pfc, "rdma.roce.traffic-class", "NCCL's traffic rides in a class that is not protected"),
    33: (slower_ethernet_selected, "rdma.port.mixed", "slow RoCE NICs would be used beside InfiniBand"),
    35: (flapping_link, "rdma.port.errors", "a link went down again and again"),
    37: (bond_with_one_queue_pair, "process.setting.bond-qps", "one queue pair uses one port of a bond"),
    39: (half_of_the_adapters_idle, "rdma.port.idle", "every other adapter carried nothing"),
    41: (interface_of_another_name, "process.setting.socket-ifname", "the interface of the filter is not there"),
    43: (flat_virtual_machine, "system.vm.topology-hidden", "the VM hides the PCIe topology"),
    51: (loaded_is_not_installed, "version.nccl.older-loaded", "the process loads another NCCL than the installed one"),
    61: (fabric_not_completed, "gpu.fabric.not-ready", "the NVSwitch fabric is not up"),
}


def check(angio):
    """One line a case; True when all hold."""
    failed = 0
    for number, (build, expected, title) in sorted(CASES.items()):
        run = subprocess.run([angio, "doctor", "-", "--format", "json"], input=build().render(), text=True,
                             capture_output=True, timeout=60)
        if run.returncode not in (0, 1):
            print(f"FAIL case {number}: exit {run.returncode}: {run.stderr.strip()}")
            failed += 1
            continue
        findings = json.loads(run.stdout)["findings"]
        serious = [f for f in findings if f["severity"] != "info"]
        first = findings[0]["rule"] if findings else None
        good = first == expected if expected else not serious
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} case {number}: {title}: expected {expected}, got "
              f"{[f['rule'] for f in findings]}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed == 0


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else "list"
    if word == "list":
        for number, (_, expected, title) in sorted(CASES.items()):
            print(number, expected or "no warning", title, sep="\t")
    elif word == "check":
        sys.exit(0 if check(sys.argv[2]) else 1)
    else:
        sys.stdout.write(CASES[int(word)][0]().render())


if __name__ == "__main__":
    main()
