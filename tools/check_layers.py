#!/usr/bin/env python3
"""Holds every #include "lib/…" of src, plugins, phantom and apps against the floors that CMake wrote to layers.json.

A library may include itself and the libraries it declares in DEPS; those stand on lower floors.
apps may include every library."""

import argparse
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import source_tree

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"/]+)/')
SOURCES = (".cpp", ".hpp", ".h", ".c", ".inc")


def check_table(layers):
    """Each dependency exists and stands lower: what CMake promises, checked again."""
    problems = []
    for name, library in layers.items():
        for dep in filter(None, library["deps"]):
            if dep not in layers:
                problems.append(f"layers.json: {name} depends on {dep}, which does not exist")
            elif layers[dep]["floor"] >= library["floor"]:
                problems.append(f"layers.json: {name} (floor {library['floor']}) depends on {dep} "
                                f"(floor {layers[dep]['floor']}): only lower floors are allowed")
    return problems


def check_file(path, shown, owner, layers):
    """Problems of one file; owner is the library it belongs to."""
    allowed = {owner, *layers[owner]["deps"]}
    problems = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found or found.group(1) not in layers or found.group(1) in allowed:
            continue
        used = found.group(1)
        why = ("add it to DEPS in src/" + owner + "/CMakeLists.txt"
               if layers[used]["floor"] < layers[owner]["floor"] else "it stands on the same floor or higher")
        problems.append(f"{shown}:{number}: {owner} (floor {layers[owner]['floor']}) includes {used} "
                        f"(floor {layers[used]['floor']}), which it does not declare: {why}")
    return problems


def check(root, layers):
    problems = check_table(layers)
    folders = {path.name for path in (root / "src").iterdir() if path.is_dir()}
    problems += [f"src/{name}: not in layers.json: its CMakeLists.txt must call angio_library"
                 for name in sorted(folders - layers.keys())]
    for path in source_tree.repository_files(root):
        relative = path.relative_to(root)
        if relative.parts[0] == "src" and path.suffix in SOURCES and relative.parts[1] in layers:
            problems += check_file(path, relative, relative.parts[1], layers)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layers", help="layers.json of a configured build folder")
    parser.add_argument("--root", type=pathlib.Path, default=source_tree.ROOT)
    arguments = parser.parse_args()
    with open(arguments.layers) as file:
        layers = json.load(file)
    if not layers:
        print("check_layers: layers.json is empty")
        return 1
    return source_tree.report(check(arguments.root, layers), f"check_layers: {len(layers)} libraries")


if __name__ == "__main__":
    sys.exit(main())
