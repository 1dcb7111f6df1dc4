#!/usr/bin/env python3
"""Runs clang-tidy over the product's sources with the flags of a configured build folder.

A file that passed is not looked at again until it, a header, the checks or its flags change; the memory of
that is a folder of empty files named by hash, inside the build folder."""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import source_tree


def commands(build, root, tests):
    """Compile commands of our sources, one per file."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        inside = path.is_relative_to(root) and not path.is_relative_to(build)
        if inside and (tests or not path.stem.endswith("_test")):
            found[path] = entry["command"]
    return dict(sorted(found.items()))


def headers_hash(root):
    """Of every header: a changed header means looking at everything again."""
    digest = hashlib.sha256()
    for path in source_tree.repository_files(root):
        if path.suffix == ".hpp":
            digest.update(path.read_bytes())
    return digest.hexdigest()


def changed_files(root):
    """Sources that differ from the main branch or are not committed."""
    names = ""
    for options in (["diff", "--name-only", "main"], ["ls-files", "--others", "--exclude-standard"]):
        names += subprocess.run(["git", "-C", str(root), *options], capture_output=True, text=True, check=False).stdout
    return {root / name for name in names.splitlines()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--tidy", default="clang-tidy-19")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tests", action="store_true", help="also the unit tests")
    parser.add_argument("--changed", action="store_true", help="only what differs from main")
    parser.add_argument("pattern", nargs="?", default="", help="only files whose path contains this")
    arguments = parser.parse_args()
    root = source_tree.ROOT
    build = arguments.build.resolve()
    version = subprocess.run([arguments.tidy, "--version"], capture_output=True, text=True, check=True).stdout
    shared = version + (root / ".clang-tidy").read_text() + headers_hash(root)
    memory = build / "tidy"
    memory.mkdir(exist_ok=True)

    work = {}
    selected = commands(build, root, arguments.tests)
    if arguments.changed:
        changed = changed_files(root)
        selected = {path: command for path, command in selected.items() if path in changed}
    for path, command in selected.items():
        key = hashlib.sha256((shared + command).encode() + path.read_bytes()).hexdigest()
        if arguments.pattern in str(path) and not (memory / key).exists():
            work[path] = memory / key

    def look(path):
        done = subprocess.run(
            [arguments.tidy, "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-ignored-gch", str(path)],
            capture_output=True, text=True, check=False)
        if done.returncode == 0:
            work[path].touch()
            return ""
        return done.stdout + "".join(line for line in done.stderr.splitlines(True) if "warnings generated" not in line)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        problems = [words for words in pool.map(look, work) if words]
    for words in problems:
        print(words)
    print(f"tidy: {len(selected)} files, {len(work)} looked at, {len(problems)} with problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
