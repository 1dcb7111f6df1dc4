#!/usr/bin/env python3
"""Holds data/ against its own format (data/README.md) and against the code and tests that use it.

    tools/check_data.py [ROOT]

Unique keys; a source for each entry; words for severity, confidence and layer; rules in data and in
code are the same; formulas and thresholds named in code exist and those in data are used; words in braces are
filled somewhere in code; each rule has tests that fire, stay silent and are undecided.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import generate_knowledge as knowledge  # noqa: E402

KEYS = {"rule": "id", "formula": "id", "threshold": "id", "pcie": "generation", "nvlink": "version", "lane": "name",
        "gpu": "match", "cuda": "major", "nccl": "id", "nccl_topology": "id",
        "variable": "name", "lint": "id", "log_line": "pattern",
        "cuda_toolkit": "version", "cuda_floor": "major", "driver_branch": "branch", "architecture": "capability",
        "gpu_capability": "match", "nccl_release": "version", "framework_build": "id", "adapter": "name", "plugin_api": "id",
        "forward_compat": "package", "nccl_build": "nccl", "doca": "release", "requirement": "id", "known_bad": "id",
        "remark": "id", "nccl_feature": "id", "scenario": "id", "cell": "id", "advice": "id", "library_choice": "id",
        "phantom_gpu": "name", "link_errors": "speed", "wait_tick": "device", "rdma_counter": "name",
        "hardware_cost": "id", "cost_machine": "match"}
ALWAYS_FILLED = {"node", "device", "devices"}
FREE_WORDS = {"NCCL_SYM_KERNEL"}  # an enumeration whose words no document lists
VERSION = re.compile(r"^\d+(?:\.\d+){1,3}$")
RULE_ID = re.compile(r"^[a-z0-9]+(?:\.[a-z0-9-]+){2,}$")


class Checker:
    def __init__(self, root):
        self.root = root
        self.troubles = []
        sources = [p for p in (root / "src").rglob("*.[ch]pp")]
        self.code = {p: p.read_text(encoding="utf-8") for p in sources if "_test" not in p.name and "_fuzz" not in p.name}
        self.tests = "\n".join(p.read_text(encoding="utf-8") for p in sources if p.name.endswith("_test.cpp"))

    def complain(self, where, text):
        self.troubles.append(f"{where}: {text}")

    def entries(self, tables):
        for kind, key in KEYS.items():
            seen = {}
            for entry in tables.get(kind, []):
                name = entry.get(key)
                where = f"data/{entry['_file']} [[{kind}]] {name}"
                if name in seen:
                    self.complain(where, f"also in data/{seen[name]}")
                seen[name] = entry["_file"]
                sources = entry.get("sources", []) if kind in ("rule", "lint") else [entry.get("source", "")]
                if not sources or not all(isinstance(s, str) and len(s.strip()) > 3 for s in sources):
                    self.complain(where, "names no source")
                if kind == "threshold" and entry.get("basis") == "heuristic" and "chosen" not in entry.get("source", ""):
                    self.complain(where, 'a heuristic says how it was chosen: source = "chosen: …"')

    def rule_texts(self, rules):
        words = "\n".join(self.code.values())
        for rule in rules:
            where = f"data/{rule['_file']} {rule['id']}"
            if not RULE_ID.match(rule["id"]):
                self.complain(where, "an id has three parts of a-z 0-9 -: topic.object.trouble")
            if "\n" in rule["summary"] or len(rule["summary"]) > 100:
                self.complain(where, "the summary is one line of at most 100 characters")
            if not rule.get("fix"):
                self.complain(where, "has no fix")
            texts = [rule["disprove"]] + [fix.get(k, "") for fix in rule.get("fix", []) for k in ("text", "command", "risk")]
            wanted = {w for text in texts for w in re.findall(r"\{([a-z_]+)\}", text)}
            wanted |= {fix["when"] for fix in rule.get("fix", []) if fix.get("when")}
            for word in sorted(wanted - ALWAYS_FILLED):
                if f'"{word}"' not in words:
                    self.complain(where, f"no code fills {{{word}}}")

    def names_in_code(self, tables):
        code = "\n".join(self.code.values())
        # The whole name: NameRule of nccl_run is about variables.
        in_code = set(re.findall(r'\b(?:Against)?Rule\{"([^"]+)"', code))
        in_data = {rule["id"] for rule in tables.get("rule", [])}
        for rule in sorted(in_code - in_data):
            self.complain(f"rule {rule}", "has a check but no entry in data/rules")
        for rule in sorted(in_data - in_code):
            self.complain(f"rule {rule}", "has an entry in data/rules but no check")
        for kind, pattern in (("threshold", r'threshold\("([^"]+)"\)'), ("nccl", r'find_nccl_fact\("([^"]+)"\)')):
            known = {entry["id"] for entry in tables.get(kind, [])}
            for name in sorted(set(re.findall(pattern, code)) - known):
                self.complain(f"{kind} {name}", "is asked for in code but not in data/")
        quoted = set(re.findall(r'"([a-z0-9.-]+)"', code))
        for kind in ("threshold", "formula"):
            for entry in tables.get(kind, []):
                if entry["id"] not in quoted:
                    self.complain(f"data/{entry['_file']} [[{kind}]] {entry['id']}", "is used nowhere")
        formulas = {entry["id"] for entry in tables.get("formula", [])}
        for name in sorted(set(re.findall(r'formula = "([^"]+)"', code)) - formulas):
            self.complain(f"formula {name}", "is named in code but not in data/")

    def tests_of(self, rules):
        for rule in rules:
            suite = "".join(part[:1].upper() + part[1:] for part in re.split(r"[.-]", rule["id"]))
            for case in ("Fires", "Silent", "Undecided"):
                if not re.search(rf"TEST(?:_F)?\(\s*{suite},\s*{case}\w*\)", self.tests):
                    self.complain(f"rule {rule['id']}", f"has no TEST({suite}, {case}…)")

    def variables(self, variables):
        names = {entry["name"] for entry in variables}
        for entry in variables:
            where = f"data/{entry['_file']} {entry['name']}"
            words, defaults = entry.get("words", []), entry.get("defaults", [])
            versions = [entry.get(key, "") for key in ("since", "until")] + [row.get("since", "") for row in defaults]
            versions += [word.get(key, "") for word in words for key in ("since", "until")]
            for version in versions + ([entry["deprecated_since"]] if entry.get("deprecated_since", "?") != "?" else []):
                if version and not VERSION.match(version):
                    self.complain(where, f"{version!r} is no version")
            history = [tuple(map(int, row["since"].split("."))) for row in defaults if row.get("since")]
            if history != sorted(set(history)) or any("since" not in row for row in defaults[1:]):
                self.complain(where, "defaults go from the oldest to the newest, each with its release")
            if len({word["word"].lower() for word in words}) != len(words):
                self.complain(where, "a word stands twice")
            if entry.get("kind") == "enum" and not words and entry["name"] not in FREE_WORDS:
                self.complain(where, "an enum without words")
            if entry.get("minimum", 0) > entry.get("maximum", 0):
                self.complain(where, "minimum is greater than maximum")
            for other in [row["with"] for row in entry.get("interactions", [])] + [entry.get("replaced_by", "")]:
                if other and other not in names:
                    self.complain(where, f"names {other}, which is no variable here")

    def glossary(self, tables):
        known, terms = set(), {}
        for kind, key in (("variable", "name"), ("rule", "id"), ("lint", "id")):
            known |= {entry[key].lower() for entry in tables.get(kind, [])}
        for entry in tables.get("term", []):
            known |= {name.lower() for name in entry["names"]}
            where = f"data/{entry['_file']} [[term]] {entry['names'][0]}"
            if len(entry.get("source", "").strip()) <= 3:
                self.complain(where, "names no source")
            if len({name.lower() for name in entry["names"]}) != len(entry["names"]):
                self.complain(where, "a name stands twice")
            for name in entry["names"]:  # GB/s and Gb/s are two things
                if (entry["kind"], name) in terms:
                    self.complain(where, f"{name} is also a name of {terms[entry['kind'], name]}")
                terms[entry["kind"], name] = entry["names"][0]
        for entry in tables.get("term", []) + tables.get("log_line", []):
            for other in entry.get("see", []):
                if other.lower() not in known:
                    self.complain(f"data/{entry['_file']} {entry.get('pattern') or entry['names'][0]}",
                                  f"see {other}: there is no such word")

    def phantom_gpus(self, tables):
        """Capability and design come from other tables by the product's name; a PCI device id means one model."""
        of_device = {}
        for entry in tables.get("phantom_gpu", []):
            where = f"data/{entry['_file']} [[phantom_gpu]] {entry['name']}"
            for kind in ("gpu", "gpu_capability"):
                if not any(row["match"] in entry["product"] for row in tables.get(kind, [])):
                    self.complain(where, f"no [[{kind}]] matches {entry['product']!r}")
            for device in entry.get("devices", []):
                if of_device.setdefault(device, entry["name"]) != entry["name"]:
                    self.complain(where, f"device {device} is also one of {of_device[device]}")

    def rdma_counters(self, tables):
        """What a counter means stands in the glossary, once; what it is stands here."""
        meanings = {name for entry in tables.get("term", []) if entry["kind"] == "counter" for name in entry["names"]}
        for entry in tables.get("rdma_counter", []):
            if entry["name"] not in meanings:
                self.complain(f"data/{entry['_file']} [[rdma_counter]] {entry['name']}", "no counter of the glossary has this name")

    def lint_rules(self, rules):
        code = "\n".join(text for path, text in self.code.items() if "lint" in path.parts)
        quoted = set(re.findall(r'"([a-z0-9]+(?:\.[a-z0-9-]+)+)"', code))
        known = {rule["id"] for rule in rules}
        for rule in rules:
            where = f"data/{rule['_file']} {rule['id']}"
            if not RULE_ID.match(rule["id"]):
                self.complain(where, "an id has three parts of a-z 0-9 -: topic.object.trouble")
            if "\n" in rule["summary"] or len(rule["summary"]) > 100:
                self.complain(where, "the summary is one line of at most 100 characters")
            if rule["id"] not in quoted:
                self.complain(where, "no code of src/lint complains by it")
            if f'"{rule["id"]}"' not in self.tests:
                self.complain(where, "no test names it")
        for name in sorted(set(re.findall(r'\bcomplain\(\s*"([^"]+)"', code)) - known):
            self.complain(f"lint rule {name}", "is used in src/lint but not in data/lint")

    def run(self):
        try:
            tables = knowledge.read_all(self.root / "data")
            knowledge.generate(tables)
        except knowledge.Shape as error:
            self.complain("data", str(error))
            return
        self.entries(tables)
        self.rule_texts(tables.get("rule", []))
        self.names_in_code(tables)
        self.tests_of(tables.get("rule", []))
        self.variables(tables.get("variable", []))
        self.lint_rules(tables.get("lint", []))
        self.glossary(tables)
        self.phantom_gpus(tables)
        self.rdma_counters(tables)


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    checker = Checker(root)
    checker.run()
    for trouble in checker.troubles:
        print(trouble, file=sys.stderr)
    print(f"check_data.py: {len(checker.troubles)} troubles")
    return 1 if checker.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
