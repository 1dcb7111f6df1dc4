#!/usr/bin/env python3
"""Turns data/**/*.toml into C++ tables (knowledge_tables.inc). The format is in data/README.md.

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


def generate(tables):
    known = {"rule", "formula", "threshold", "pcie", "nvlink", "lane", "gpu", "cuda", "nccl"}
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    try:
        text = generate(read_all(arguments.data))
    except Shape as error:
        print(f"generate_knowledge.py: {error}", file=sys.stderr)
        return 1
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "knowledge_tables.inc").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
