#!/usr/bin/env python3
"""What `angio tuner check` reads as TOML, Python's own TOML reader reads alike; what it takes, TOML takes.

usage: toml_peer.py ANGIO"""

import json
import random
import subprocess
import sys

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, Ubuntu 22.04
    import tomli as tomllib

KEYS = {
    "collective": ['"allreduce"', "'allgather'", '"AllReduce"', '"reduce_scatter"'],
    "algorithm": ['"ring"', "'ring'", '"Ring"'],
    "protocol": ['"ll"', '"simple"', "'LL128'"],
    "min_bytes": ["0", "1_024", '"64K"', "+7", '"1\\t"', "007", "1__0"],
    "max_bytes": ["1_048_576", '"1M"', '"*"', "-1", "1e6", "0x10"],
    "nodes": ["1", '"1-4"', "'*'", "[1, 2]", "1.0"],
    "ranks": ["8", '"8-*"', "{a = 1}", "true"],
    "channels": ["4", '"*"', "1979-05-27", '"4'],
    "reg_buff": ["true", "false", "0", "True"],
}
BLANKS = ["", " ", "\t", "  "]
TAILS = ["", " # words", "\t#", " ü # €", " 3"]


def make_table(dice):
    lines = []
    for _ in range(dice.randint(1, 3)):
        lines.append(dice.choice(["[[rule]]", "[[ rule ]]", "[[rule]] # x", "[rule]", "[[rules]]"] if dice.random() < 0.2
                                 else ["[[rule]]"]))
        for key, values in KEYS.items():
            needed = key in ("collective", "algorithm", "protocol")
            if not needed and dice.random() < 0.6:
                continue
            # The later values of a list are the odd ones.
            value = dice.choice(values if dice.random() < 0.15 else values[:2])
            blank = dice.choice(BLANKS)
            tail = dice.choice(TAILS) if dice.random() < 0.1 else ""
            lines.append(f"{blank}{key}{blank}={blank}{value}{tail}")
        if dice.random() < 0.05:
            lines.append(dice.choice(["nodes = 2", 'x."y" = 1', "=", "nodes", '"nodes" = 2', "#"]))
    return "\n".join(lines) + dice.choice(["\n", "\r\n", ""])


def size_of(value):
    if isinstance(value, str):
        unit = {"K": 1 << 10, "M": 1 << 20}.get(value.strip()[-1])
        return int(value.strip()[:-1]) * unit if unit else value
    return value


def compare(text, seen):
    """What differs between Angio's rows and Python's; empty: nothing."""
    rules = tomllib.loads(text).get("rule", [])
    if len(rules) != len(seen["rows"]):
        return f"{len(seen['rows'])} rows, expected {len(rules)}"
    for rule, row in zip(rules, seen["rows"]):
        word = rule["collective"].lower().replace("_", "")
        if row["collective"] != word or row["protocol"] != rule["protocol"].lower():
            return f"words differ: {row}"
        if row["bytes"]["min"] != size_of(rule.get("min_bytes", 0)):
            return f"min_bytes differ: {row}"
        expected = rule.get("max_bytes", "*")
        if row["bytes"]["max"] != (None if expected in ("*", -1) else size_of(expected)):
            return f"max_bytes differ: {row}"
        if isinstance(rule.get("nodes"), int) and row["nodes"] != {"min": rule["nodes"], "max": rule["nodes"]}:
            return f"nodes differ: {row}"
        expected = rule.get("reg_buff")
        if row["reg_buff"] != (None if expected is None else bool(expected)):
            return f"reg_buff differ: {row}"
    return ""


def main():
    dice = random.Random(5)
    accepted = refused = 0
    for number in range(400):
        text = make_table(dice)
        done = subprocess.run([sys.argv[1], "tuner", "check", "--format", "json", "-"], input=text.encode(),
                              capture_output=True, timeout=60, check=False)
        if done.returncode not in (0, 1):
            print(f"table {number} ended with {done.returncode}: {done.stderr.decode()}\n{text}")
            return 1
        seen = json.loads(done.stdout)
        if not seen["usable"]:
            refused += 1
            continue
        accepted += 1
        try:
            problem = compare(text, seen)
        except tomllib.TOMLDecodeError as error:
            problem = f"TOML does not take it: {error}"
        if problem:
            print(f"table {number}: {problem}\n{text}")
            return 1
    print(f"{accepted} tables read alike, {refused} refused")
    return 0 if accepted > 100 and refused > 100 else 1


if __name__ == "__main__":
    sys.exit(main())
