#!/usr/bin/env python3
"""What the compiler cannot see: rules of this house over the text of the sources.

A file that must break the length rules, or a library that must start a thread, says why in the first ten
lines: "// Long: <reason>", "// Threads: <reason>"."""

import argparse
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import source_tree

# May touch the operating system.
ACTING = {"host", "launch", "bench", "nccl_run", "mesh", "collective", "step"}
# May start threads besides those.
THREADED = ACTING | {"serve", "experiment"}
OS_HEADERS = re.compile(
    r"^\s*#\s*include\s+<(unistd\.h|fcntl\.h|dirent\.h|sched\.h|pthread\.h|dlfcn\.h|netdb\.h|poll\.h|signal\.h|csignal"
    r"|sys/\S+|linux/\S+|arpa/\S+|net/\S+|netinet/\S+|fstream|filesystem)>", re.M)
PRINT_HEADERS = re.compile(r"^\s*#\s*include\s+<(iostream|cstdio|stdio\.h|print)>", re.M)
# open() needs <fcntl.h>, which is refused above, so only the unmistakable ::open is looked for here.
CALLS = re.compile(r"(?<![\w.>:])(?:(?:std::|::)?(getenv|secure_getenv|setenv|system|popen|fork|execvp?e?|fopen"
                   r"|printf|fprintf|puts|exit|_exit|quick_exit|abort|terminate)|::(open(?:at)?))\s*\(")
STREAMS = re.compile(r"\b(std::cout|std::cerr|std::clog|fmt::print|std::print)\b")
THREADS = re.compile(r"\bstd::(thread|jthread|async)\b")
THROW = re.compile(r"\bthrow\b")
STATIC = re.compile(r"^\s+(?:static|thread_local|static thread_local)\s+(?!const\b|constexpr\b|assert)[^()]*(?:=|;|\{)",
                    re.M)
HEADER_LIBRARIES = re.compile(r"^\s*#\s*include\s+<(nlohmann/|fmt/|simdjson|sqlite3|pugixml|CLI/|httplib|zlib)", re.M)
MARKERS = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
# A checkout below one of these says nothing about the machine it stands on.
COMMON = {"/", "/root", "/home", "/tmp", "/var/tmp", "/opt", "/srv", "/mnt", "/usr/src", "/usr/local/src"}
TEXT = {".cpp", ".hpp", ".h", ".c", ".py", ".md", ".cmake", ".txt", ".toml", ".json", ".sh", ".snap", ".xml", ".yml", ""}
MAX_FILE = 800
MAX_FUNCTION = 80
# Lines that open a block without being a function.
NO_FUNCTION = re.compile(r"^\s*(namespace|class|struct|union|enum|if|for|while|switch|else|do|try|catch|case|return|extern|"
                         r"\}|[\w:<>,*& ]+ =|.*\]\s*(\(.*\))?\s*\{$)")


def is_test(path):
    return path.stem.endswith(("_test", "_fuzz")) or path.parts[0] == "tests"


def at(text, position):
    return text.count("\n", 0, position) + 1


def waived(text, word):
    return any(f"// {word}: " in line for line in text.split("\n")[:10])


def first_line_of(lines, number):
    """Where the statement that ends on this line begins."""
    while number > 0 and lines[number - 1].strip() and lines[number - 1].rstrip()[-1] not in ";{}:>":
        number -= 1
    return number


def long_functions(code):
    """(line, length) of functions longer than allowed, by the layout that clang-format guarantees."""
    lines = code.split("\n")
    found = []
    number = 0
    while number < len(lines):
        line = lines[number]
        first = first_line_of(lines, number)
        opening = "\n".join(lines[first:number + 1])
        if line.rstrip().endswith("{") and "(" in opening and not NO_FUNCTION.match(opening):
            indent = opening[:len(opening) - len(opening.lstrip())]
            end = next((i for i in range(number, len(lines)) if lines[i].rstrip() in (indent + "}", indent + "};")),
                       number)
            if end - number + 1 > MAX_FUNCTION:
                found.append((number + 1, end - number + 1))
            number = end
        number += 1
    return found


def check_length(path, text, code):
    if waived(text, "Long"):
        return []
    problems = []
    count = text.count("\n")
    if count > MAX_FILE:
        problems.append((1, f"{count} lines, more than {MAX_FILE}: split it, or say why in the header (// Long: …)"))
    return problems + [(line, f"function of {length} lines, more than {MAX_FUNCTION}: split it, "
                              "or say why in the header (// Long: …)") for line, length in long_functions(code)]


def check_header(text, library):
    problems = []
    if not text.startswith("//"):
        problems.append((1, "a header begins with a comment: what it is and is not"))
    if "#pragma once" not in text:
        problems.append((1, "no #pragma once"))
    if library not in ("base", "host", "tests"):
        problems += [(at(text, m.start()), f"<{m.group(1)}…> in a header: hide it in the .cpp (build time)")
                     for m in HEADER_LIBRARIES.finditer(text)]
    return problems


def check_library(text, code, library):
    """Libraries of src, tests and harnesses left out."""
    problems = []
    if library not in ACTING:
        problems += [(at(text, m.start()), f"<{m.group(1)}>: only host, launch, bench and apps touch the system")
                     for m in OS_HEADERS.finditer(text)]
    problems += [(at(text, m.start()), f"<{m.group(1)}>: libraries do not print") for m in PRINT_HEADERS.finditer(text)]
    for m in CALLS.finditer(code):
        name = m.group(1) or m.group(2)
        acts = name in ("open", "openat", "getenv", "secure_getenv", "fork", "execvp", "execve", "execvpe")
        if not (library in ACTING and acts):
            problems.append((at(code, m.start()), f"{name}(): libraries neither act on the system nor print nor exit"))
    problems += [(at(code, m.start()), f"{m.group(1)}: libraries do not print") for m in STREAMS.finditer(code)]
    if library not in THREADED and not waived(text, "Threads"):
        problems += [(at(code, m.start()), f"std::{m.group(1)}: threads start in apps; say why this one cannot (// Threads: …)") for m in THREADS.finditer(code)]
    return problems + [(at(code, m.start() + 1), "mutable static: pass the state") for m in STATIC.finditer(code)]


def check_cpp(path, text):
    """Problems of one C++ file as (line, words); path is relative to the root."""
    code = source_tree.blank_comments_and_strings(text)
    problems = check_length(path, text, code)
    problems += [(at(code, m.start()), "throw: own code returns Result") for m in THROW.finditer(code)]
    library = path.parts[1] if path.parts[0] == "src" and len(path.parts) > 2 else path.parts[0]
    if path.suffix == ".hpp":
        problems += check_header(text, library)
    if path.parts[0] == "src" and not is_test(path):
        problems += check_library(text, code, library)
    return problems


def machine_paths(root):
    """Places of this machine that no file may name: the checkout, the folder around it, the home."""
    places = {str(root), str(root.parent), os.path.expanduser("~")} - COMMON
    return [re.compile(r"(?<![\w.\-])" + re.escape(place) + r"(?![\w\-])") for place in sorted(places)]


def check_text(text, places):
    problems = [(at(text, m.start()), f"{m.group(1)}: finish it or file it") for m in MARKERS.finditer(text)]
    for place in places:
        problems += [(at(text, m.start()), f"names a place of this machine: {m.group(0)}") for m in place.finditer(text)]
    return problems


def check_commands(root):
    """Each subcommand has its page, which begins with its name, and a golden case."""
    cases = [path.read_text(errors="replace") for path in (root / "tests" / "cases").rglob("cmd")]
    problems = []
    for source in sorted((root / "apps" / "angio").glob("*_command.cpp")):
        verb = source.stem.removesuffix("_command").replace("_", "-")
        shown = source.relative_to(root)
        page = source.with_suffix(".md")
        if not page.is_file():
            problems.append(f"{shown}: {verb} has no page {page.name}")
        elif not page.read_text(errors="replace").startswith(f"# angio {verb}: "):  # a formatter took one for C++
            problems.append(f'{page.relative_to(root)}:1: the page begins with "# angio {verb}: ", then what it does')
        if not any(re.search(r"\$\{?ANGIO\}?\"?\s+" + re.escape(verb) + r"\b", case) for case in cases):
            problems.append(f"{shown}: {verb} has no golden case below tests/cases")
    return problems


def check(root):
    problems = check_commands(root)
    places = machine_paths(root)
    for path in source_tree.repository_files(root):
        relative = path.relative_to(root)
        if path.suffix not in TEXT and path.name != "dev":
            continue
        text = path.read_text(errors="replace")
        found = check_text(text, places)
        if path.suffix in (".cpp", ".hpp") and relative.parts[0] in ("src", "apps", "tests", "plugins", "phantom", "benchmarks"):
            found += check_cpp(relative, text)
        problems += [f"{relative}:{line}: {words}" for line, words in sorted(found)]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=source_tree.ROOT)
    return source_tree.report(check(parser.parse_args().root.resolve()), "check_sources")


if __name__ == "__main__":
    sys.exit(main())
