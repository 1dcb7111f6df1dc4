#!/usr/bin/env python3
"""Turns data/**/*.toml into C++ tables (*_tables.inc, one for each translation unit that includes it). The format is in
data/README.md.

Only shape is checked here, enough never to write a wrong table; tools/check_data.py checks the rest.
Any file may hold any kind of table; entries of one kind are joined and sorted by their key.
"""
import argparse
import pathlib
import sys

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    import tomli as tomllib

SEVERITY = {"info": "kInfo", "warning": "kWarning", "critical": "kCritical"}
CONFIDENCE = {"measured": "kMeasured", "documented": "kDocumented", "heuristic": "kHeuristic"}
LAYER = {"application": "kApplication", "framework": "kFramework", "nccl": "kNccl", "library": "kLibrary",
         "driver": "kDriver", "firmware": "kFirmware", "hardware": "kHardware", "system": "kSystem"}
BASIS = {"documented": "true", "heuristic": "false"}
VARIABLE = {"bool": "kBool", "integer": "kInteger", "size": "kSize", "time": "kTime", "enum": "kEnum",
            "enum-list": "kEnumList", "path-class": "kPathClass", "list": "kList", "path": "kPath",
            "plugin": "kPlugin", "text": "kText"}
LINT_SEVERITY = ("error", "warning", "info")


class Shape(Exception):
    """An entry that is not what data/README.md says."""


def literal(text):
    """A C++ string literal, cut so that no escape swallows the next character."""
    out = []
    for char in text.strip():
        if char in "\"\\":
            out.append("\\" + char)
        elif char == "\n":
            out.append("\\n")
        elif char == "?":
            out.append("\\?")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def number(value):
    return repr(float(value))


def need(entry, key, kind, types=str):
    if key not in entry or not isinstance(entry[key], types) or isinstance(entry[key], bool) and types is not bool:
        name = entry.get("id") or entry.get("match") or entry.get("name") or "?"
        raise Shape(f"{entry['_file']}: [[{kind}]] {name}: {key} is missing or of the wrong type")
    return entry[key]


def choice(entry, key, kind, words):
    value = need(entry, key, kind)
    if value not in words:
        raise Shape(f"{entry['_file']}: [[{kind}]] {entry.get('id')}: {key} = {value!r} is none of {', '.join(words)}")
    return words[value]


def read_all(folder):
    """{kind: [entry, …]}, each entry with its file."""
    tables = {}
    for path in sorted(pathlib.Path(folder).rglob("*.toml")):
        with open(path, "rb") as file:
            try:
                document = tomllib.load(file)
            except tomllib.TOMLDecodeError as error:
                raise Shape(f"{path.name}: {error}") from error
        for kind, entries in document.items():
            if not isinstance(entries, list):
                raise Shape(f"{path.name}: {kind} must be an array of tables, [[{kind}]]")
            for entry in entries:
                entry["_file"] = path.relative_to(folder).as_posix()
                tables.setdefault(kind, []).append(entry)
    return tables


def emit_rules(entries):
    lines, rows = [], []
    for number_, entry in enumerate(sorted(entries, key=lambda e: need(e, "id", "rule"))):
        sources = need(entry, "sources", "rule", list)
        lines.append(f"constexpr std::string_view kRuleSources{number_}[] = {{" + ", ".join(map(literal, sources)) + "};")
        fixes = entry.get("fix", [])
        for fix in fixes:
            fix["_file"] = entry["_file"]
        if fixes:
            body = ",\n".join(
                "    {" + ", ".join([literal(need(fix, "text", "rule.fix")), literal(fix.get("command", "")),
                                     literal(fix.get("risk", "")), literal(fix.get("when", "")),
                                     str(bool(fix.get("root", False))).lower(),
                                     str(bool(fix.get("reboot", False))).lower()]) + "}" for fix in fixes)
            lines.append(f"constexpr FixText kRuleFixes{number_}[] = {{\n{body}}};")
        rows.append("  {" + ", ".join([
            literal(entry["id"]), literal(need(entry, "summary", "rule")), literal(need(entry, "explain", "rule")),
            "model::Severity::" + choice(entry, "severity", "rule", SEVERITY),
            "model::Confidence::" + choice(entry, "confidence", "rule", CONFIDENCE),
            "model::Layer::" + choice(entry, "layer", "rule", LAYER), literal(need(entry, "disprove", "rule")),
            f"kRuleSources{number_}", f"kRuleFixes{number_}" if fixes else "std::span<const FixText>()"]) + "},")
    return lines + table("RuleText", "kRules", rows)


def table(type_, name, rows):
    if not rows:
        return [f"constexpr std::array<{type_}, 0> {name}{{}};"]
    return [f"constexpr {type_} {name}[] = {{"] + rows + ["};"]


def emit_simple(entries, kind, type_, name, key, fields):
    """fields: functions entry → C++ text, in the order of the struct's members."""
    rows = ["  {" + ", ".join(field(entry) for field in fields) + "},"
            for entry in sorted(entries, key=lambda e: need(e, key, kind, (str, int, float)))]
    return table(type_, name, rows)


def text_of(kind, key, default=None):
    if default is None:
        return lambda entry: literal(need(entry, key, kind))
    return lambda entry: literal(str(entry.get(key, default)))


def number_of(kind, key, default=None):
    if default is None:
        return lambda entry: number(need(entry, key, kind, (int, float)))
    return lambda entry: number(entry.get(key, default))


def count_of(kind, key, default=None):
    if default is None:
        return lambda entry: str(need(entry, key, kind, int))
    return lambda entry: str(int(entry.get(key, default)))


def flag_of(key):
    return lambda entry: str(bool(entry.get(key, False))).lower()


class Pool:
    """Rows of many entries in one array; each entry refers to its part. Far cheaper to compile than an array each."""

    def __init__(self, type_, name):
        self.type, self.name, self.rows = type_, name, []

    def take(self, rows):
        if not rows:
            return f"std::span<const {self.type}>()"
        start = len(self.rows)
        self.rows += rows
        return f"std::span<const {self.type}>({self.name} + {start}, {len(rows)})"

    def lines(self):
        return table(self.type, self.name, ["  " + row + "," for row in self.rows])


def row_of(entry, kind, member, keys):
    """A table inside an entry as a C++ initialiser of texts."""
    if not isinstance(entry, dict) or set(entry) - set(keys):
        raise Shape(f"[[{kind}]] {member}: {entry!r} has members other than {', '.join(keys)}")
    return "{" + ", ".join(literal(str(entry.get(key, ""))) for key in keys) + "}"


def emit_variables(entries):
    words, defaults = Pool("VariableWord", "kVariableWords"), Pool("VariableDefault", "kVariableDefaults")
    between, specials = Pool("VariableInteraction", "kVariableInteractions"), Pool("std::string_view", "kVariableSpecials")
    rows = []
    for entry in sorted(entries, key=lambda e: need(e, "name", "variable")):
        has_range = "minimum" in entry or "maximum" in entry
        bound = lambda key: str(need(entry, key, "variable", int)) if has_range else "0"
        rows.append("  {" + ", ".join([
            literal(entry["name"]), literal(need(entry, "component", "variable")),
            "VariableKind::" + choice(entry, "kind", "variable", VARIABLE), literal(entry.get("grammar", "")),
            str(has_range).lower(), bound("minimum"), bound("maximum"),
            specials.take([literal(value) for value in entry.get("special_values", [])]),
            words.take([row_of(word, "variable", "words", ("word", "since", "until", "meaning"))
                        for word in entry.get("words", [])]),
            defaults.take([row_of(value, "variable", "defaults", ("since", "value")) for value in entry.get("defaults", [])]),
            *(literal(entry.get(key, "")) for key in ("since", "until", "deprecated_since", "replaced_by", "subsystem")),
            literal(need(entry, "effect", "variable")), literal(entry.get("risk", "")),
            between.take([row_of(other, "variable", "interactions", ("with", "text"))
                          for other in entry.get("interactions", [])]),
            flag_of("documented")(entry), flag_of("uniform")(entry), literal(need(entry, "source", "variable")),
            literal(entry.get("not_read", ""))]) + "},")
    lines = [line for pool in (words, defaults, between, specials) for line in pool.lines()]
    return lines + table("Variable", "kVariables", rows)


def emit_lint(entries):
    sources, rows = Pool("std::string_view", "kLintSources"), []
    for entry in sorted(entries, key=lambda e: need(e, "id", "lint")):
        severity = need(entry, "severity", "lint")
        if severity not in LINT_SEVERITY:
            raise Shape(f"{entry['_file']}: [[lint]] {entry['id']}: severity is one of {', '.join(LINT_SEVERITY)}")
        rows.append("  {" + ", ".join([
            literal(entry["id"]), literal(need(entry, "summary", "lint")), literal(need(entry, "explain", "lint")),
            literal(severity), choice(entry, "basis", "lint", BASIS),
            sources.take(list(map(literal, need(entry, "sources", "lint", list))))]) + "},")
    return sources.lines() + table("LintRule", "kLintRules", rows)


def generate_variables(tables):
    lines = ["// Generated by tools/generate_knowledge.py from data/; do not edit."]
    lines += emit_variables(tables.get("variable", [])) + emit_lint(tables.get("lint", []))
    return "\n".join(lines) + "\n"


def generate_glossary(tables):
    """Terms, an index of all their names in lower case, and the lines of logs."""
    texts, terms, names = Pool("std::string_view", "kGlossaryTexts"), [], []
    for number_, entry in enumerate(sorted(tables.get("term", []), key=lambda e: need(e, "names", "term", list)[0].lower())):
        entry["name"] = entry["names"][0]
        listed = [texts.take([literal(text) for text in entry.get(key, [])]) for key in ("names", "see")]
        terms.append("  {" + ", ".join([listed[0], literal(need(entry, "kind", "term")), literal(need(entry, "text", "term")),
                                        literal(entry.get("more", "")), listed[1], literal(need(entry, "source", "term"))]) + "},")
        names += [(name.lower(), number_) for name in entry["names"]]
    lines = []
    for entry in sorted(tables.get("log_line", []), key=lambda e: need(e, "pattern", "log_line").lstrip("* ").lower()):
        lines.append("  {" + ", ".join([literal(entry["pattern"]), literal(need(entry, "meaning", "log_line")),
                                        literal(entry.get("cause", "")), literal(entry.get("next", "")),
                                        texts.take([literal(text) for text in entry.get("see", [])]),
                                        literal(need(entry, "source", "log_line"))]) + "},")
    rows = [f"  {{{literal(name)}, {number_}}}," for name, number_ in sorted(names)]
    return "\n".join(["// Generated by tools/generate_knowledge.py from data/; do not edit."] + texts.lines()
                     + table("GlossaryTerm", "kGlossary", terms) + table("GlossaryName", "kGlossaryNames", rows)
                     + table("LogLine", "kLogLines", lines)) + "\n"


def generate_nccl_topology(tables):
    values, rows = Pool("double", "kNcclTopologyValues"), []
    for entry in sorted(tables.get("nccl_topology", []), key=lambda e: (need(e, "name", "nccl_topology"), e["id"])):
        if ("values" in entry) == ("text" in entry):
            raise Shape(f"{entry['_file']}: [[nccl_topology]] {entry['id']}: either values or text")
        rows.append("  {" + ", ".join([
            literal(need(entry, "id", "nccl_topology")), literal(entry["name"]), literal(entry.get("since", "")),
            literal(entry.get("until", "")), values.take([number(value) for value in entry.get("values", [])]),
            literal(entry.get("text", "")), literal(entry.get("unit", "")),
            literal(need(entry, "meaning", "nccl_topology")), literal(need(entry, "source", "nccl_topology"))]) + "},")
    lines = ["// Generated by tools/generate_knowledge.py from data/; do not edit."] + values.lines()
    return "\n".join(lines + table("NcclTopologyFigure", "kNcclTopology", rows)) + "\n"


# What is known of versions, and the cells of the scenario table: kinds whose entries are texts, numbers and flags, in the
# order of the struct's members. A default of None: the member must be there.
FLAT = {
    "cuda_toolkit": ("CudaToolkit", "kCudaToolkits", "version", [("version", None), ("name", None), ("driver", None), ("source", None)]),
    "cuda_floor": ("CudaFloor", "kCudaFloors", "major", [("major", int), ("driver", None), ("source", None)]),
    "driver_branch": ("DriverBranch", "kDriverBranches", "branch",
                      [("branch", int), ("kind", None), ("end_of_life", None), ("source", None)]),
    "architecture": ("GpuArchitecture", "kArchitectures", "capability",
                     [("capability", None), ("name", None), ("first_toolkit", ""), ("last_toolkit", ""), ("last_driver", int),
                      ("first_nccl", ""), ("nvlink_model", float), ("nvlink_version", int), ("source", None)]),
    "gpu_capability": ("GpuCapability", "kGpuCapabilities", "match", [("match", None), ("capability", None), ("source", None)]),
    "nccl_release": ("NcclRelease", "kNcclReleases", "version", [("version", None), ("date", None), ("source", None)]),
    "framework_build": ("FrameworkBuild", "kFrameworkBuilds", "id",
                        [("framework", None), ("version", None), ("cuda", None), ("nccl", None), ("evidence", None), ("source", None)]),
    "adapter": ("AdapterFamily", "kAdapters", "name", [("name", None), ("firmware_family", None), ("source", None)]),
    "plugin_api": ("PluginApi", "kPluginApis", "id",
                   [("kind", None), ("since", None), ("newest", int), ("oldest", int), ("source", None)]),
    "scenario": ("Scenario", "kScenarios", "id",
                 [("id", None), ("title", None), ("order", int), ("assumes", None), ("source", None)]),
    "cell": ("ScenarioCell", "kScenarioCells", "id",
             [("scenario", None), ("topic", None), ("order", int), ("said", ""), ("verdict", ""), ("text", None), ("reason", None),
              ("since", ""), ("until", ""), ("status", None), ("source", None)]),
    "advice": ("AdviceText", "kAdviceTexts", "id",
               [("id", None), ("topic", None), ("order", int), ("when", ""), ("text", None), ("reason", None), ("since", ""),
                ("until", ""), ("status", None), ("source", None)]),
    "library_choice": ("LibraryChoice", "kLibraryChoices", "id",
                       [("id", None), ("criterion", None), ("order", int), ("nccl", None), ("mpi", None), ("ucx", None), ("source", None)]),
}
RULES = {"requirement": "kRequirements", "known_bad": "kKnownBad", "remark": "kRemarks", "nccl_feature": "kNcclFeatures"}
VERSION_KINDS = set(FLAT) | set(RULES) | {"forward_compat", "nccl_build", "doca"}


def flat_member(entry, kind, name, type_):
    if type_ in (int, float):
        value = need(entry, name, kind, (int, float) if type_ is float else int)
        return number(value) if type_ is float else str(value)
    return literal(need(entry, name, kind)) if type_ is None else literal(str(entry.get(name, type_)))


def emit_flat(kind, entries):
    type_, name, key, members = FLAT[kind]
    rows = ["  {" + ", ".join(flat_member(entry, kind, member, of) for member, of in members) + "},"
            for entry in sorted(entries, key=lambda e: in_order(need(e, key, kind, (str, int))))]
    return table(type_, name, rows)


def in_order(key):
    """2.9.9 comes before 2.30.7: versions by their numbers, other keys as they are."""
    parts = str(key).split(".")
    return (0, [int(part) for part in parts], "") if all(part.isdigit() for part in parts) else (1, [], str(key))


def emit_conditions(kind, entries, conditions):
    take = lambda entry, member: conditions.take(
        [row_of(one, kind, member, ("part", "since", "until", "is")) for one in entry.get(member, [])])
    rows = ["  {" + ", ".join([literal(entry["id"]), literal(need(entry, "title", kind)), literal(entry.get("about", "")),
                               take(entry, "when"), take(entry, "needs"), take(entry, "unless"), literal(entry.get("text", "")),
                               literal(entry.get("fix", "")), literal(entry.get("date", "")),
                               literal(need(entry, "source", kind))]) + "},"
            for entry in sorted(entries, key=lambda e: need(e, "id", kind))]
    return table("VersionRule", RULES[kind], rows)


def emit_lists(get):
    """Version facts with a list in each entry."""
    numbers, texts, pairs = Pool("std::uint32_t", "kVersionNumbers"), Pool("std::string_view", "kVersionTexts"), Pool(
        "DocaFirmware", "kDocaFirmware")
    packages = ["  {" + ", ".join([literal(need(e, "package", "forward_compat")), str(need(e, "own", "forward_compat", int)),
                                   numbers.take([str(int(b)) for b in need(e, "branches", "forward_compat", list)]),
                                   literal(need(e, "source", "forward_compat"))]) + "}," for e in get("forward_compat")]
    builds = ["  {" + ", ".join([literal(need(e, "nccl", "nccl_build")), texts.take([literal(c) for c in need(e, "cuda", "nccl_build", list)]),
                                 literal(need(e, "evidence", "nccl_build")), literal(need(e, "source", "nccl_build"))]) + "},"
              for e in get("nccl_build")]
    docas = ["  {" + ", ".join([literal(need(e, "release", "doca")),
                                pairs.take([f"{{{literal(d)}, {literal(v)}}}" for d, v in need(e, "firmware", "doca", dict).items()]),
                                literal(need(e, "source", "doca"))]) + "}," for e in get("doca")]
    return (numbers.lines() + texts.lines() + pairs.lines() + table("ForwardCompat", "kForwardCompat", packages)
            + table("NcclBuild", "kNcclBuilds", builds) + table("DocaRelease", "kDocaReleases", docas))


def generate_versions(tables):
    lines = ["// Generated by tools/generate_knowledge.py from data/; do not edit."]
    get = lambda kind: tables.get(kind, [])
    for kind in FLAT:
        lines += emit_flat(kind, get(kind))
    conditions = Pool("VersionCondition", "kVersionConditions")
    rules = [line for kind in RULES for line in emit_conditions(kind, get(kind), conditions)]
    return "\n".join(lines + conditions.lines() + rules + emit_lists(get)) + "\n"


def generate_phantom(tables):
    """GPUs of --gpu: PCI device ids and wires of all in one array each."""
    devices, wires, rows = Pool("std::uint32_t", "kPhantomDevices"), Pool("PhantomWire", "kPhantomWires"), []
    for entry in sorted(tables.get("phantom_gpu", []), key=lambda e: need(e, "name", "phantom_gpu")):
        if any(len(wire) != 3 or not all(isinstance(part, int) for part in wire) for wire in entry.get("wires", [])):
            raise Shape(f"{entry['_file']}: [[phantom_gpu]] {entry['name']}: a wire is [first GPU, second GPU, links]")
        rows.append("  {" + ", ".join([
            literal(entry["name"]), literal(need(entry, "product", "phantom_gpu")), count_of("phantom_gpu", "memory_gb")(entry),
            flag_of("multicast")(entry), devices.take([str(int(device, 16)) for device in entry.get("devices", [])]),
            wires.take(["{" + ", ".join(map(str, wire)) + "}" for wire in entry.get("wires", [])]),
            literal(need(entry, "source", "phantom_gpu"))]) + "},")
    lines = ["// Generated by tools/generate_knowledge.py from data/; do not edit."] + devices.lines() + wires.lines()
    return "\n".join(lines + table("PhantomGpu", "kPhantomGpus", rows)) + "\n"


RDMA_COUNTER_KIND = {"traffic": "kTraffic", "link": "kLink", "elsewhere": "kElsewhere", "loss": "kLoss", "timeout": "kTimeout",
                     "congestion": "kCongestion", "host": "kHost", "receiver": "kReceiver", "consequence": "kConsequence",
                     "other": "kOther"}


def generate_rdma_counters(tables):
    rows = []
    for entry in sorted(tables.get("rdma_counter", []), key=lambda e: need(e, "name", "rdma_counter")):
        kind = choice(entry | {"id": entry["name"]}, "kind", "rdma_counter", RDMA_COUNTER_KIND)
        rows.append("  {" + ", ".join([
            literal(entry["name"]), f"RdmaCounterKind::{kind}", literal(need(entry, "unit", "rdma_counter")),
            f"{int(entry.get('maximum', 0))}ULL", str(int(entry.get("wraps_at_bits", 0))),
            literal(need(entry, "source", "rdma_counter"))]) + "},")
    lines = ["// Generated by tools/generate_knowledge.py from data/; do not edit."]
    return "\n".join(lines + table("RdmaCounterFact", "kRdmaCounters", rows)) + "\n"


def generate_hardware_cost(tables):
    """What collectives reach on hardware, and the machine that a GPU's name stands for."""
    kind, machine = "hardware_cost", "cost_machine"
    lines = ["// Generated by tools/generate_knowledge.py from data/; do not edit."]
    lines += emit_simple(tables.get(kind, []), kind, "HardwareCost", "kHardwareCosts", "id",
                         [text_of(kind, "id"), text_of(kind, "link"), text_of(kind, "algorithm"), text_of(kind, "collective", "")]
                         + [number_of(kind, key) for key in ("efficiency", "base_us", "step_us", "fill", "extra", "low",
                                                             "quicker", "slower", "slower_middle",
                                                             "slower_small")]
                         + [flag_of("fitted"), text_of(kind, "source")])
    lines += emit_simple(tables.get(machine, []), machine, "CostMachine", "kCostMachines", "match",
                         [text_of(machine, "match"), count_of(machine, "gpus"), text_of(machine, "fabric"),
                          count_of(machine, "links", 0), number_of(machine, "link_gbs", 0), number_of(machine, "host_gbs"),
                          count_of(machine, "nics", 0), number_of(machine, "nic_gbps", 0), text_of(machine, "nic_kind", ""),
                          text_of(machine, "source")])
    return "\n".join(lines) + "\n"


def generate_fabric(tables):
    """What counters of InfiniBand links are held against."""
    lines = ["// Generated by tools/generate_knowledge.py from data/; do not edit."]
    lines += emit_simple(tables.get("link_errors", []), "link_errors", "LinkErrorLimit", "kLinkErrorLimits", "speed",
                         [text_of("link_errors", "speed"), number_of("link_errors", "normal"), number_of("link_errors", "limit"),
                          text_of("link_errors", "source")])
    lines += emit_simple(tables.get("wait_tick", []), "wait_tick", "WaitTick", "kWaitTicks", "device",
                         [count_of("wait_tick", "device"), text_of("wait_tick", "name"), count_of("wait_tick", "bytes"),
                          flag_of("per_lane"), text_of("wait_tick", "source")])
    return "\n".join(lines) + "\n"


def generate(tables):
    known = {"link_errors", "wait_tick", "rule", "formula", "threshold", "pcie", "nvlink", "lane", "gpu", "cuda", "nccl", "nccl_topology", "variable", "lint", "term", "log_line", "phantom_gpu", "rdma_counter", "hardware_cost", "cost_machine"} | VERSION_KINDS
    for kind in tables:
        if kind not in known:
            raise Shape(f"{tables[kind][0]['_file']}: [[{kind}]] is no kind of data; known: {', '.join(sorted(known))}")
    get = lambda kind: tables.get(kind, [])
    lines = ["// Generated by tools/generate_knowledge.py from data/; do not edit."]
    lines += emit_rules(get("rule"))
    lines += emit_simple(get("formula"), "formula", "Formula", "kFormulas", "id",
                         [text_of("formula", "id"), text_of("formula", "text"), text_of("formula", "source")])
    lines += emit_simple(get("threshold"), "threshold", "Threshold", "kThresholds", "id",
                         [text_of("threshold", "id"), number_of("threshold", "value"), text_of("threshold", "unit"),
                          text_of("threshold", "meaning"),
                          lambda e: choice(e, "basis", "threshold", BASIS), text_of("threshold", "source")])
    lines += emit_simple(get("pcie"), "pcie", "PcieGeneration", "kPcie", "generation",
                         [count_of("pcie", "generation"), number_of("pcie", "transfers_per_second"),
                          number_of("pcie", "efficiency"), text_of("pcie", "encoding"), text_of("pcie", "source")])
    lines += emit_simple(get("nvlink"), "nvlink", "NvLinkVersion", "kNvLink", "version",
                         [count_of("nvlink", "version"), number_of("nvlink", "bytes_per_second"),
                          text_of("nvlink", "source")])
    lines += emit_simple(get("lane"), "lane", "LaneSpeed", "kLanes", "name",
                         [text_of("lane", "name"), number_of("lane", "bits_per_second"), text_of("lane", "source")])
    lines += emit_simple(get("gpu"), "gpu", "GpuModel", "kGpus", "match",
                         [text_of("gpu", "match"), count_of("gpu", "nvlinks", 0), flag_of("nvlink_optional"),
                          flag_of("nvswitch"), flag_of("c2c"), count_of("gpu", "pcie_generation", 0),
                          count_of("gpu", "pcie_width", 0), flag_of("data_centre"), text_of("gpu", "source")])
    lines += emit_simple(get("cuda"), "cuda", "CudaFamily", "kCuda", "major",
                         [count_of("cuda", "major"), count_of("cuda", "minimum_driver"), text_of("cuda", "source")])
    lines += emit_simple(get("nccl"), "nccl", "NcclFact", "kNccl", "id",
                         [text_of("nccl", "id"), text_of("nccl", "since", ""), text_of("nccl", "until", ""),
                          text_of("nccl", "text"), text_of("nccl", "source")])
    return "\n".join(lines) + "\n"


FILES = {"knowledge_tables.inc": generate, "variables_tables.inc": generate_variables, "glossary_tables.inc": generate_glossary,
         "nccl_topology_tables.inc": generate_nccl_topology,
         "version_tables.inc": generate_versions, "phantom_tables.inc": generate_phantom,
         "rdma_counters_tables.inc": generate_rdma_counters, "fabric_tables.inc": generate_fabric,
         "hardware_cost_tables.inc": generate_hardware_cost}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    try:
        tables = read_all(arguments.data)
        files = {name: make(tables) for name, make in FILES.items()}
    except Shape as error:
        print(f"generate_knowledge.py: {error}", file=sys.stderr)
        return 1
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if not (out / name).exists() or (out / name).read_text(encoding="utf-8") != text:  # else nothing is rebuilt
            (out / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
