#!/usr/bin/env python3
"""Fits the constants of data/cost.toml on public results of nccl-tests, and says how well they predict those that were left out.

    tools/fit_cost.py --corpus FOLDER [--machines data/cost_machines.toml] [--out data/cost.toml] [--report]

FOLDER holds nccl-tests/, nccl-logs/ as listed in src/cost/corpus_cases.inc. The model is that of src/cost/hardware*.cpp, in
few lines: keep both alike; hardware_shared_test.cpp says when they are not. Files of one platform are ordered by a hash of
their names and taken in turn for fitting and for the test. No chance is involved: the same files give the same constants.
"""
import argparse
import collections
import io
import math
import pathlib
import re
import sys
import tarfile

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    import tomli as tomllib

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
SWAPPED = "--swap" in sys.argv
OVERLAP = 8  # links in series of nearly equal speed slow each other: exponent of the sum, kOverlap in hardware.cpp

ROW = re.compile(r"^\s*(\d+)\s+(\d+)\s+(?:float|half|double|bfloat16|int8|uint8|int32|fp8\w*)\s+(?:\w+\s+)?(?:-?\d+\s+)?"
                 r"([\d.]+(?:e\+?\d+)?)\s+([\d.]+)\s+([\d.]+)\s+(?:\S+)"
                 r"(?:\s+([\d.]+(?:e\+?\d+)?)\s+([\d.]+)\s+([\d.]+)\s+\S+)?")
DEVICE = re.compile(r"#\s+Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+ on\s+(\S+) device")
PROGRAMS = {"all_reduce": "AllReduce", "all_gather": "AllGather", "reduce_scatter": "ReduceScatter", "alltoall": "AlltoAll",
            "sendrecv": "SendRecv", "broadcast": "Broadcast", "reduce": "Reduce", "gather": "Gather", "scatter": "Scatter"}

Case = collections.namedtuple("Case", "pattern label gpu gpus nodes fabric nics gbps kind known health collective")
Point = collections.namedtuple("Point", "platform collective nodes ranks size time_us weight")
Platform = collections.namedtuple("Platform", "node_link network nvls gpus link nics nic host")


# --- results ---

def tables(text):
    """[(collective or "", {host: ranks}, [(size, time)])]"""
    out, collective, hosts, rows = [], "", collections.Counter(), None
    for line in text.splitlines():
        line = re.sub(r"\[\d+,\d+\]<std\w+>:?|^\s*\d+: (?=\s*\d)", "", line)
        named = re.search(r"Collective test starting: ([a-z_]+?)_perf", line)
        if named:
            collective, rows = PROGRAMS.get(named.group(1), "?"), None
        if "Using devices" in line:
            hosts, rows = collections.Counter(), None
        device = DEVICE.search(line)
        if device:
            hosts[device.group(2)] += 1
        if "Out of bounds" in line or "Avg bus" in line:
            rows = None
        row = ROW.match(line)
        if not row or int(row.group(1)) == 0:
            continue
        if rows is None:
            rows = []
            out.append((collective, dict(hosts), rows))
        for time in (row.group(3), row.group(6)):
            if time and float(time) > 0.5:
                rows.append((int(row.group(1)), float(time)))
    return out


def read_cases():
    text = (HERE.parent / "src/cost/corpus_cases.inc").read_text(encoding="utf-8")
    cases = []
    for line in text.splitlines():
        if line.startswith("ANGIO_CASE("):
            cells = line[len("ANGIO_CASE("):line.rindex(")")].replace(", true,", ", True,").replace(", false,", ", False,")
            cases.append(Case(*eval("(" + cells + ")", {"__builtins__": {}})))  # literals of our own file
    return cases


def corpus_files(folder):
    """(name, text) of every file and of every member of an archive."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not name.startswith(("nccl-tests/", "nccl-logs/")) or not path.is_file():
            continue
        if not name.endswith(".tar.gz"):
            yield name, path.read_text(encoding="utf-8", errors="replace")
            continue
        with tarfile.open(path) as archive:
            for member in sorted(archive.getmembers(), key=lambda m: m.name):
                if member.isfile() and member.name.endswith(".log"):
                    yield member.name, io.TextIOWrapper(archive.extractfile(member), errors="replace").read()


def name_hash(text):
    value = 0xcbf29ce484222325  # FNV-1a
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


# --- the machine, as src/cost/platform.cpp ---

def machine_of(machines, gpu):
    fits = [m for m in machines if re.search(r"(?<![A-Za-z0-9])" + re.escape(m["match"]) + r"(?![A-Za-z0-9])", gpu)]
    return max(fits, key=lambda m: len(m["match"]))


GENERATION = {"V100": 7, "A100": 8, "H100": 9, "H200": 9, "GH200": 9, "B200": 10, "GB200": 10}
NETWORK = {"EFA": "efa", "Slingshot": "slingshot", "TCP": "tcp"}


def platform_of(machines, case, gpus):
    machine = machine_of(machines, case.gpu)
    fabric = case.fabric or machine["fabric"]
    generation = GENERATION.get(machine["match"].split()[0].split("-")[0], 0)
    links = machine.get("links", 0)
    if fabric == "mesh" and not case.fabric and gpus < machine["gpus"]:
        links = math.ceil(links * (gpus - 1) / (machine["gpus"] - 1))
    node = fabric if fabric in ("pcie", "xgmi") else f"{fabric}-{generation}"
    if node == "nvswitch-10" and gpus > 16:
        node = "domain-10"
    wire = machine["host_gbs"] if fabric == "pcie" else links * machine["link_gbs"]
    nics = case.nics or gpus
    return Platform(node, NETWORK.get(case.kind, "infiniband"), fabric == "nvswitch" and generation >= 9, gpus, wire, nics,
                    case.gbps / 8, machine["host_gbs"])


# --- shapes, as src/cost/hardware_shapes.cpp: (algorithm, node, network, one nic, node steps, network steps) ---

def log2_up(value):
    return 0 if value <= 1 else math.ceil(math.log2(value))


def ring(n, nodes, rounds, factor):
    network = rounds * (nodes - 1) if nodes > 1 else 0
    return ("Ring", factor, factor if nodes > 1 else 0, 0, rounds * (n - 1) - network, network)


def shapes(platform, collective, nodes, n):
    g = math.ceil(n / nodes)
    many = nodes > 1
    if collective == "AllReduce":
        out = [ring(n, nodes, 2, 2 * (n - 1) / n),
               ("Tree", 2, 0 if not many else 1 if nodes == 2 else 2, 0, 2 * (g - 1), 2 * log2_up(nodes))]
        if platform.nvls and g > 2:
            out.append(("NVLSTree", 1 + 1 / g, 1 if nodes == 2 else 2, 0, 2, 2 * log2_up(nodes)) if many
                       else ("NVLS", 1 + 1 / g, 0, 0, 2, 0))
        return out
    if collective in ("AllGather", "ReduceScatter"):
        out = [ring(n, nodes, 1, (n - 1) / n)]
        if many and g == 1:
            out.append(("PAT", 0, (n - 1) / n, 0, 0, log2_up(nodes)))
        return out
    if collective in ("Broadcast", "Reduce"):
        return [ring(n, nodes, 1, 1)]
    away = (n - g) / n
    if collective == "AlltoAll":
        return [("P2P", (g - 1) / n, away * g if many else 0, 0, g - 1, nodes - 1 if many else 0)]
    if collective == "SendRecv":
        return [("P2P", 1 if g > 1 else 0, 0, 1 if many else 0, 1 if g > 1 else 0, 1 if many else 0)]
    return [("P2P", (n - 1) / n, 0, away if many else 0, 1 if g > 1 else 0, 1 if many else 0)]


LIKE = {"mesh-8": "mesh-9"}  # while fitting what lies beyond a link that is itself carried over


def find(rows, link, algorithm, collective, nodes):
    if (link, algorithm, "") not in rows:
        link = LIKE.get(link, link)
    if nodes > 2 and (link, algorithm, collective + "+") in rows:
        return rows[link, algorithm, collective + "+"]
    return rows.get((link, algorithm, collective)) or rows.get((link, algorithm, ""))


def predict(rows, point):
    """(time, row that is fitted by it, share of latency)"""
    best = None
    p = point.platform
    g = math.ceil(point.ranks / point.nodes)
    for algorithm, node, network, one, node_steps, network_steps in shapes(p, point.collective, point.nodes, point.ranks):
        latency = node_us = network_us = 0.0
        row = None
        if node > 0 and g > 1:
            row = find(rows, p.node_link, algorithm, point.collective, point.nodes)
            if row is None:
                continue
            node_us = point.size * node / (p.link * 1e3) / row["efficiency"]
            latency += node_steps * row["step_us"]
        if network + one > 0:
            row = find(rows, p.network, algorithm, point.collective, point.nodes)
            if row is None:
                continue
            every = min(p.nics * p.nic, g * p.host)
            single = min(p.nic, p.host)
            network_us = max(point.size * network / (every * 1e3), point.size * one / (single * 1e3)) / row["efficiency"]
            latency += network_steps * row["step_us"]
        if row is None:
            continue
        latency += row["base_us"]
        transfer = (node_us**OVERLAP + network_us**OVERLAP) ** (1 / OVERLAP)
        slow = latency * row["extra"]
        quick, full = latency + transfer / row["low"], slow + transfer + 2 * row["fill"] * math.sqrt(slow * transfer)
        time = min(quick, full)
        if best is None or time < best[0]:
            best = (time, row, latency / (latency + transfer))
    return best


# --- constants: where each begins, and which are fitted ---

def first_rows():
    rows = {}

    def add(link, algorithm, collective, efficiency, base, step, fill, like=""):
        rows[link, algorithm, collective] = {"id": " ".join(filter(None, (link, algorithm, collective))), "link": link,
                                             "algorithm": algorithm, "collective": collective, "efficiency": efficiency,
                                             "base_us": base, "step_us": step, "fill": fill, "extra": 1.5, "low": 0.4,
                                             "like": like}

    for link, base in (("nvswitch-9", 9), ("nvswitch-8", 20), ("mesh-9", 9), ("xgmi", 20)):
        add(link, "Ring", "", 0.82, base, 0.6, 0.2)
        add(link, "Tree", "", 0.78, base, 0.6, 0.3)
        add(link, "P2P", "", 0.8, base, 0.6, 0.2)
    add("nvswitch-9", "NVLS", "", 0.685, 20, 0.6, 0.3)
    add("nvswitch-9", "NVLSTree", "", 0.685, 20, 0.6, 0.3)
    add("domain-10", "NVLS", "", 0.6, 20, 0.6, 0.3)
    for link, base, step in (("infiniband", 20, 3.0), ("efa", 60, 8.0), ("slingshot", 30, 5.0), ("tcp", 60, 10.0)):
        add(link, "Ring", "", 0.95, base, step, 0.3)
        add(link, "Tree", "", 0.93, base, step, 0.4)
        add(link, "P2P", "", 0.9, base, step, 0.2)
    for link, base, step in (("infiniband", 20, 3.0), ("efa", 60, 8.0)):
        add(link, "NVLSTree", "", 0.95, base, step, 0.5)
    add("nvswitch-9", "Ring", "AllReduce", 0.82, 9, 0.6, 0.2)
    add("nvswitch-9", "P2P", "SendRecv", 0.8, 9, 0.6, 0.2)
    add("infiniband", "PAT", "", 0.9, 20, 4.0, 0.3)
    add("infiniband", "P2P", "AlltoAll", 0.95, 20, 3.0, 0.2)
    add("infiniband", "P2P", "SendRecv", 0.85, 20, 3.0, 0.2)
    add("infiniband", "P2P", "SendRecv+", 0.5, 20, 3.0, 0.2)
    return rows


# Rows without measurements of their own: (link, algorithm, collective), the row they are taken from, what is known otherwise.
DERIVED = [
    (("nvswitch-7", a, ""), ("nvswitch-8", a, ""), {}) for a in ("Ring", "Tree", "P2P")] + [
    (("nvswitch-10", a, ""), ("nvswitch-9", a, ""), {}) for a in ("Ring", "Tree", "P2P", "NVLSTree")] + [
    (("domain-10", a, ""), ("nvswitch-9", a, ""), {"efficiency": 0.62}) for a in ("Ring", "P2P", "NVLSTree")] + [
    (("nvswitch-10", "NVLS", ""), ("domain-10", "NVLS", ""),
     {"efficiency": 0.604, "fill": 0.26, "extra": 1.54, "slower": 1.5, "slower_middle": 1.8,
      "why": "efficiency of the 845.67 GB/s that 8 B200 reach with 16 GiB (ml-engineering, network/README.md, 2026-08)"})] + [
    (("mesh-8", a, ""), ("mesh-9", a, ""), {}) for a in ("Ring", "Tree", "P2P")] + [
    (("mesh-7", a, ""), ("mesh-9", a, ""), {"base_us": 20}) for a in ("Ring", "Tree", "P2P")] + [
    (("pcie", a, ""), ("nvswitch-8", a, ""), {"efficiency": 0.7, "step_us": 2.5}) for a in ("Ring", "Tree", "P2P")] + [
    ((link, "CollNet", ""), (link, "Tree", ""), {}) for link in ("nvswitch-8", "nvswitch-9", "nvswitch-10", "mesh-8", "mesh-9",
                                                                 "pcie", "infiniband")] + [
    (("slingshot", "NVLSTree", ""), ("infiniband", "NVLSTree", ""), {}),
    (("tcp", "NVLSTree", ""), ("efa", "NVLSTree", ""), {}),
]

BOUNDS = {"efficiency": (0.2, 1.0), "base_us": (2.0, 400.0), "step_us": (0.2, 60.0), "fill": (0.0, 1.0), "extra": (1.0, 8.0),
          "low": (0.1, 0.95)}
PRIOR = {"efficiency": 0.3, "base_us": 0.02, "step_us": 0.05, "fill": 0.02, "extra": 0.02, "low": 0.05}  # hold to the beginning


def loss(rows, points):
    total = 0.0
    for point in points:
        total += abs(math.log(predict(rows, point)[0] / point.time_us)) * point.weight
    return total


def held(row, start):
    out = 0.0
    for name, weight in PRIOR.items():
        out += weight * math.log((row[name] + 0.05) / (start[name] + 0.05)) ** 2
    return out


def fit(rows, points):
    """One constant after the other, by ever smaller factors; what does not help stays."""
    start = {key: dict(row) for key, row in rows.items()}
    used = {key: [p for p in points if key[0] in (p.platform.node_link, p.platform.network)] for key in rows}
    for factor in (1.6, 1.25, 1.1, 1.04, 1.015) * 2:
        for _ in range(3):
            for key in sorted(rows):
                row, mine = rows[key], used[key]
                if not mine:
                    continue
                best = loss(rows, mine) + held(row, start[key])
                for name, (low, high) in BOUNDS.items():
                    for way in (factor, 1 / factor):
                        old = row[name]
                        row[name] = min(max((old + (0.02 if name == "fill" and way > 1 else 0)) * way, low), high)
                        value = loss(rows, mine) + held(row, start[key])
                        if value < best - 1e-9:
                            best = value
                        else:
                            row[name] = old
    return rows


# --- halves ---

def collect(folder, machines, cases):
    """[(case, name, [Point, …])]"""
    found = []
    for name, text in corpus_files(folder):
        case = next((c for c in cases if c.pattern in name), None)
        if case is None:
            continue
        points = []
        for collective, hosts, rows in tables(text):
            listed = case.gpus == 0
            gpus = max(hosts.values()) if listed and hosts else case.gpus
            if gpus == 0:
                continue
            nodes = case.nodes
            platform = platform_of(machines, case, gpus)
            for size, time in rows:
                points.append(Point(platform, case.collective or collective, nodes, gpus * nodes, size, time, 1.0))
        if points:
            found.append((case, name, points))
    return found


def halves(found):
    """Files of a platform in the order of their hashes, in turn for fitting and for the test."""
    groups = collections.defaultdict(list)
    for entry in found:
        groups[entry[0].label].append(entry)
    for label in sorted(groups):
        for index, entry in enumerate(sorted(groups[label], key=lambda e: name_hash(e[1]))):
            yield (index % 2 == 0) != SWAPPED, entry


def weighted(entry, files):
    """A platform counts as one whatever the number of its files; sizes below 1 MiB count a little."""
    points = entry[2]
    total = sum(1.0 if p.size >= MIB else 0.15 for p in points)
    return [p._replace(weight=(1.0 if p.size >= MIB else 0.15) * 60 / total / files) for p in points]


def quantile(values, part):
    values = sorted(values)
    return values[min(int(len(values) * part), len(values) - 1)] if values else float("nan")


WIRE_SHARE = 0.05  # of latency, below which the wire alone rules: residuals there are a few per cent
LEAST_POINTS = 8  # of 1 MiB and more, for a row to count as fitted


def slowest(seen, least, unknown, most):
    """A tenth more than the slowest healthy run but one in fifty: other nodes, other releases. unknown: where few were seen."""
    return min(max((quantile(seen, 0.98) if seen else 0) * 1.1, least if len(seen) >= LEAST_POINTS else unknown), most)


def spread(rows, points):
    """What healthy runs of the fitting half were, measured / expected: the interval of each row."""
    large, small, names = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(set)
    wire, middle = collections.defaultdict(list), collections.defaultdict(list)
    for label, point in points:
        time, row, share = predict(rows, point)
        (large if point.size >= MIB else small)[row["id"]].append(point.time_us / time)
        if point.size >= MIB:
            (wire if share < WIRE_SHARE else middle)[row["id"]].append(point.time_us / time)
        names[row["id"]].add(label)
    for row in rows.values():
        seen, tiny = large[row["id"]], small[row["id"]]
        row["fitted"] = len(seen) >= LEAST_POINTS
        row["points"], row["platforms"] = len(seen), sorted(names[row["id"]])
        row["p5"], row["p95"] = quantile(seen, 0.05), quantile(seen, 0.95)
        row["slower"] = slowest(wire[row["id"]], 1.2, 1.3, 2.5) if row["fitted"] else 2.0
        row["slower_middle"] = max(slowest(middle[row["id"]], 1.6, 2.0, 3.0), row["slower"]) if row["fitted"] else 2.0
        row["quicker"] = max(min(quantile(seen, 0.02) / 1.1, 0.8), 0.4) if row["fitted"] else 0.5
        row["slower_small"] = min(max(quantile(tiny, 0.98) * 1.5, 3.0), 6.0) if len(tiny) >= LEAST_POINTS else 4.0


def derive(rows):
    for key, like, other in DERIVED:
        if key in rows:
            continue
        row = dict(rows[like])
        row.update({"id": " ".join(filter(None, key)), "link": key[0], "algorithm": key[1], "collective": key[2],
                    "fitted": False, "like": rows[like]["id"], "slower": 2.0, "quicker": 0.5, "slower_middle": 2.0,
                    "slower_small": 4.0})
        row.update(other)
        rows[key] = row


def source_of(row):
    if row["like"]:
        return f"carried over from {row['like']}; {row.get('why', 'no measurement')}"
    if not row["fitted"]:
        return f"an estimate: {row['points']} points of 1 MiB and more were seen"
    return (f"fitted on {row['points']} points of 1 MiB and more: {'; '.join(row['platforms'])}; measured / expected "
            f"{row['p5']:.2f} to {row['p95']:.2f} (p5, p95)")


HEAD = """# Made by tools/fit_cost.py: fit again rather than edit. What collectives reach on hardware; docs/expectation.md has the
# formulas. Fitted on public results of nccl-tests (src/cost/corpus_cases.inc lists them); p5 and p95 are of the fitting half.
"""


def write(rows, path):
    out = [HEAD]
    for key in sorted(rows):
        row = rows[key]
        lines = ["[[hardware_cost]]", f'id = "{row["id"]}"', f'link = "{row["link"]}"', f'algorithm = "{row["algorithm"]}"']
        if row["collective"]:
            lines.append(f'collective = "{row["collective"]}"')
        lines += [f"{name} = {row[name]:.3g}" for name in ("efficiency", "base_us", "step_us", "fill", "extra", "low", "quicker",
                                                           "slower", "slower_middle", "slower_small")]
        lines += [f"fitted = {str(row['fitted']).lower()}", f'source = "{source_of(row)}"', ""]
        out.append("\n".join(lines))
    out.append(SOCKET)
    pathlib.Path(path).write_text("\n".join(out), encoding="utf-8")


SOCKET = """# efficiency is GB/s here: what one NIC moves to and from GPUs of the other socket. No measurement of ours.
[[hardware_cost]]
id = "socket Path"
link = "socket"
algorithm = "Path"
efficiency = 20
base_us = 0
step_us = 0
fill = 0
extra = 1
low = 1
quicker = 0.5
slower = 2
slower_middle = 2
slower_small = 4
fitted = false
source = "an estimate between 10 and 40 GB/s, the range of links between sockets of servers since 2017"
"""


def report(rows, found, out):
    lines = collections.defaultdict(list)
    for fitting, (case, _, points) in halves(found):
        if case.health != "good":
            continue
        for point in points:
            if point.size >= MIB:
                lines[case.label, fitting].append(point.time_us / predict(rows, point)[0])
    print(f"{'platform':44} {'half':5} {'points':>6} {'median':>7} {'p90':>6}  time measured / expected, p5 to p95", file=out)
    for (label, fitting), ratios in sorted(lines.items(), key=lambda e: (e[0][0], not e[0][1])):
        errors = [abs(1 / r - 1) for r in ratios]
        print(f"{label:44} {'fit' if fitting else 'test':5} {len(ratios):6} {quantile(errors, .5)*100:6.1f}% {quantile(errors, .9)*100:5.1f}%"
              f"  {quantile(ratios, .05):.2f} to {quantile(ratios, .95):.2f}", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--machines", default=HERE.parent / "data/cost_machines.toml")
    parser.add_argument("--out")
    parser.add_argument("--swap", action="store_true", help="fit on the other half: what the split itself does to the errors")
    arguments = parser.parse_args()
    machines = tomllib.loads(pathlib.Path(arguments.machines).read_text(encoding="utf-8"))["cost_machine"]
    cases = read_cases()
    found = collect(arguments.corpus, machines, cases)
    chosen = [entry for fitting, entry in halves(found) if fitting and entry[0].health == "good"]
    files = collections.Counter(entry[0].label for entry in chosen)
    points = [p for entry in chosen for p in weighted(entry, files[entry[0].label])]
    rows = first_rows()
    rows = fit(rows, points)
    for row in rows.values():
        row.update({name: float(f"{row[name]:.3g}") for name in BOUNDS})  # as written
    spread(rows, [(entry[0].label, point) for entry in chosen for point in entry[2]])
    derive(rows)
    report(rows, found, sys.stdout)
    if arguments.out:
        write(rows, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
