#!/usr/bin/env python3
"""small_snapshot.py FILE: a snapshot without the empty slots of its GID tables, to standard output.

rxe has 1,024 slots, of which two are used: as a fixture, three quarters of a snapshot would be lines of zeros. Angio
passes over empty slots, so it says the same of both."""

import re
import sys

PORT = r"(/sys/class/infiniband/\S+/ports/\d+)"


def empty_slots(lines):
    found = (re.fullmatch(rf"= {PORT}/gids/(\d+) ([0:]+)", line) for line in lines)
    return {(match[1], match[2]) for match in found if match}


def without(lines, empty):
    for line in lines:
        slot = re.match(rf"\S {PORT}/(?:gids|gid_attrs/types|gid_attrs/ndevs)/(\d+)\b", line)
        if slot and (slot[1], slot[2]) in empty:
            continue
        table = re.fullmatch(rf": {PORT}/gids (.*)", line)
        if table:
            kept = [name for name in table[2].split() if (table[1], name) not in empty]
            line = f": {table[1]}/gids {' '.join(kept)}"
        yield line


def main():
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        lines = file.read().split("\n")
    kept = list(without(lines, empty_slots(lines)))
    # The end line counts the records, which have no line of continuation.
    end = next(place for place in reversed(range(len(kept))) if kept[place].startswith("end "))
    before = next(place for place in reversed(range(len(lines))) if lines[place].startswith("end "))
    kept[end] = f"end {int(lines[before].split()[1]) - (len(lines) - len(kept))}"
    sys.stdout.write("\n".join(kept))


if __name__ == "__main__":
    main()
