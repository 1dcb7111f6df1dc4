#!/usr/bin/env python3
"""Pages that are made of what stands elsewhere, so that a word is written once.

  generate_docs.py            rewrites docs/commands.md, docs/rules.md and docs/variables.md
  generate_docs.py --check    says whether they are current
  … --angio BINARY            with either: also the real output between the example marks of README.md
  generate_docs.py --manual DIRECTORY [--version V]
                              writes man pages and the bash completion of apps/angio/*_command.md and packaging/angio.md

A page begins with "# angio VERB: one line" and uses headings, paragraphs, "- " lists, tables, fenced or indented code."""

import argparse
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import source_tree

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, Ubuntu 22.04
    import tomli as tomllib

MADE = "<!-- Made by tools/generate_docs.py: edit its sources, then run it. -->\n\n"
SEVERITIES = ("critical", "warning", "info")


def command_pages(root):
    """(verb, text) of each command's page."""
    return [(path.stem.removesuffix("_command").replace("_", "-"), path.read_text())
            for path in sorted((root / "apps" / "angio").glob("*_command.md"))]


def title_of(text):
    """(name, one line) of the first heading "# angio topo: draw it"."""
    name, _, words = text.split("\n", 1)[0].lstrip("# ").partition(":")
    return name.strip(), words.strip()


# ---------------------------------------------------------------- pages for reading

def commands_page(root):
    parts = [MADE, "# Commands\n\n"]
    pages = command_pages(root)
    for verb, text in pages:
        name, words = title_of(text)
        parts.append(f"- [{name}](#{verb}): {words}\n")
    for verb, text in pages:
        body = text.split("\n", 1)[1] if "\n" in text else ""
        parts.append(f"\n<a id=\"{verb}\"></a>\n## {title_of(text)[0]}: {title_of(text)[1]}\n")
        parts.append(demote(body).rstrip() + "\n")
    return "".join(parts)


def demote(text):
    """Headings one level lower, code left alone."""
    lines, fenced = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        lines.append("#" + line if line.startswith("#") and not fenced else line)
    return "\n".join(lines)


def read_rules(root):
    rules = []
    for path in sorted((root / "data").rglob("*.toml")):
        rules += tomllib.loads(path.read_text()).get("rule", [])
    return sorted(rules, key=lambda rule: rule["id"])


def rules_page(root):
    rules = read_rules(root)
    parts = [MADE, "# Rules of the doctor\n\n", f"{len(rules)} rules. `angio explain RULE` prints the same.\n"]
    for topic in sorted({rule["id"].split(".")[0] for rule in rules}):
        parts.append(f"\n## {topic}\n\n| rule | severity | what it finds |\n|---|---|---|\n")
        of_topic = [rule for rule in rules if rule["id"].split(".")[0] == topic]
        parts += [f"| [{r['id']}](#{anchor(r['id'])}) | {r['severity']} | {r['summary']} |\n" for r in of_topic]
        parts += [rule_section(rule) for rule in of_topic]
    return "".join(parts)


def anchor(rule):
    """GitHub's anchor of a heading."""
    return rule.replace(".", "")


def rule_section(rule):
    lines = [f"\n### {rule['id']}\n", f"{rule['summary']}. Severity {rule['severity']}, {rule['confidence']}, "
             f"layer {rule['layer']}.\n", rule["explain"].strip() + "\n"]
    for fix in rule.get("fix", []):
        needs = [word for key, word in (("root", "root"), ("reboot", "a reboot")) if fix.get(key)]
        extra = "; ".join(([f"needs {' and '.join(needs)}"] if needs else []) + ([fix["risk"]] if fix.get("risk") else []))
        command = f": `{fix['command']}`" if fix.get("command") else ""
        lines.append(f"- Fix: {fix['text']}{command}{' (' + extra + ')' if extra else ''}")
    lines.append(f"- To disprove: {rule['disprove'].strip()}")
    lines += [f"- Source: {source}" for source in rule["sources"]]
    return "\n".join(lines) + "\n"


def variables_page(root):
    """One table for each file of data/env, under the file's own heading."""
    parts = []
    total = 0
    for path in sorted((root / "data" / "env").glob("*.toml")):
        text = path.read_text()
        variables = tomllib.loads(text).get("variable", [])
        total += len(variables)
        title = text.split("\n", 1)[0].lstrip("# ").partition(" Format:")[0].rstrip(".")
        parts.append(f"\n## {title}\n\n| variable | default | takes | what it does | what goes wrong | guide |\n|---|---|---|---|---|---|\n")
        parts += [variable_row(variable) for variable in variables]
    return (MADE + "# Environment variables\n\n"
            f"{total} variables. `angio explain NAME` tells the same with what happens between variables and where each "
            "statement is from; `--nccl VERSION` tells it of one release.\n\n"
            "Defaults: \"20 (2.23.4)\" is the value from that release on. `(unset)`: nothing is set; `(undefined)`: the "
            "communicator's configuration decides, and NCCL without one. Guide: whether the component's own guide names it. "
            "\"all ranks\": must be equal on all ranks of a communicator.\n" + "".join(parts))


def variable_row(variable):
    defaults = ", ".join(f"`{row['value']}`" + (f" ({row['since']})" if row.get("since") else "")
                         for row in reversed(variable.get("defaults", [])))
    life = " to ".join(text for text in (variable.get("since", ""), variable.get("until", "")) if text)
    name = f"`{variable['name']}`" + (f" {life}" if variable.get("until") else f" since {life}" if life else "")
    effect = variable["effect"]
    if variable.get("not_read"):
        effect += f". Not read: {variable['not_read']}"
    if variable.get("replaced_by"):
        effect += f". Instead: `{variable['replaced_by']}`"
    risk = variable.get("risk", "")
    if variable.get("uniform"):
        risk = "; ".join(text for text in (risk, "all ranks") if text)
    cells = [name, defaults, takes(variable), effect, risk, "yes" if variable.get("documented") else "no" if variable["component"] == "nccl" else ""]
    return "| " + " | ".join(map(cell_of, cells)) + " |\n"


def cell_of(text):
    """A bar ends a cell even in code; a "<" begins a tag outside it."""
    parts = text.replace("|", "\\|").split("`")
    return "`".join(part if i % 2 else part.replace("<", "&lt;") for i, part in enumerate(parts))


def takes(variable):
    words = ", ".join(f"`{word['word']}`" + (f" ({word['since']})" if word.get("since") and word["since"] != variable.get("since")
                                             else "") for word in variable.get("words", []))
    text = variable.get("grammar", "")
    if not text and "minimum" in variable:
        most = variable["maximum"]
        text = f"{variable['minimum']} and more" if most >= 2**31 - 1 else f"{variable['minimum']} to {most}"
        text += "".join(f", {value}" for value in variable.get("special_values", []))
    if not text and not words:
        text = {"bool": "0, 1", "integer": "a number"}.get(variable["kind"], variable["kind"])
    return "; ".join(part for part in (text, words) if part)


EXAMPLE = ["doctor", "tests/snapshots/example/gpu-c.snap"]
EXAMPLE_MARKS = ("<!-- example -->\n", "<!-- /example -->")


def readme_page(root, angio):
    """README.md with what the binary prints for one node of the example cluster; the time is left out."""
    environment = {"LC_ALL": "C.UTF-8", "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    printed = subprocess.run([angio, *EXAMPLE], cwd=root, env=environment, check=True, capture_output=True,
                             text=True).stdout
    printed = re.sub(r"\. [0-9.]+ s$", "", printed.rstrip(), flags=re.M)
    before, rest = (root / "README.md").read_text().split(EXAMPLE_MARKS[0])
    after = rest.split(EXAMPLE_MARKS[1])[1]
    block = f"```console\n$ angio {' '.join(EXAMPLE)}\n{printed}\n```\n"
    return before + EXAMPLE_MARKS[0] + block + EXAMPLE_MARKS[1] + after


# ---------------------------------------------------------------- man pages

def troff(text):
    """Inline markup and characters that troff would take for its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"\\fB\1\\fR", text)
    return "\\&" + text if text[:1] in (".", "'") else text


def split_row(line):
    """Cells of a table row; a bar of a cell's own is written \\| there."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


class ManPage:
    """Turns one page, line by line, into troff's man macros."""

    def __init__(self, name, words, version):
        self.out = [f'.TH {name.upper().replace(" ", "-")} 1 "" "Angio {version}" "Angio"', ".SH NAME",
                    f"{name.replace(' ', '-')} \\- {troff(words)}", ".SH DESCRIPTION"]
        self.code = False
        self.break_wanted = False

    def add(self, line):
        if line.startswith("```"):
            self.set_code(not self.code)
        elif self.code == "indented" and not line.startswith("    ") and line.strip():
            self.set_code(False)
            self.add(line)
        elif self.code:
            self.out.append(troff_verbatim(line.removeprefix("    ") if self.code == "indented" else line))
        elif line.startswith("    "):
            self.set_code("indented")
            self.add(line)
        else:
            self.add_text(line)

    def set_code(self, code):
        self.out.append(".PP\n.RS 4\n.nf" if code else ".fi\n.RE")
        self.code = code
        self.break_wanted = False

    def add_text(self, line):
        heading = re.match(r"(#+) (.*)", line)
        cells = split_row(line) if line.startswith("|") else []
        if heading:
            self.out.append((".SH " if len(heading.group(1)) == 2 else ".SS ") + troff(heading.group(2).upper() if
                            len(heading.group(1)) == 2 else heading.group(2)))
        elif cells and set("".join(cells)) <= set("-: "):
            del self.out[-2:]  # the row above was the table's head
        elif cells:
            self.out += [".TP\n\\fB" + troff(cells[0].replace("`", "")) + "\\fR", troff("; ".join(cells[1:]))]
        elif line.startswith("- "):
            self.out.append(".IP \\(bu 2\n" + troff(line[2:]))
        elif not line.strip():
            self.break_wanted = True
            return
        else:
            if self.break_wanted and not self.out[-1].startswith((".SH", ".SS")):
                self.out.append(".PP")
            self.out.append(troff(line.strip()))
        self.break_wanted = False

    def text(self):
        if self.code:
            self.set_code(False)
        return "\n".join(self.out) + "\n"


def troff_verbatim(line):
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line[:1] in (".", "'") else line


def man_page(text, version, see_also):
    name, words = title_of(text)
    page = ManPage(name, words, version)
    for line in text.split("\n")[1:]:
        page.add(line)
    return page.text() + ".SH SEE ALSO\n" + ", ".join(f"\\fB{other}\\fR(1)" for other in see_also if other != name) + "\n"


def completion(pages):
    """Bash completion: verbs, the options that a page names, files."""
    verbs = " ".join(verb for verb, _ in pages)
    lines = ["# bash completion for angio", "_angio() {", '  local word=${COMP_WORDS[COMP_CWORD]} options=""',
             '  if [ "$COMP_CWORD" -eq 1 ]; then', f'    COMPREPLY=($(compgen -W "{verbs} --help --version" -- "$word"))',
             "    return", "  fi", '  case ${COMP_WORDS[1]} in']
    for verb, text in pages:
        lines.append(f'    {verb}) options="{" ".join(sorted(set(re.findall(r"--[a-z][a-z-]+", text)) | {"--help"}))}" ;;')
    lines += ["  esac", '  case $word in', '    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;',
              '    *) COMPREPLY=($(compgen -f -- "$word")) ;;', "  esac", "}", "complete -o filenames -F _angio angio", ""]
    return "\n".join(lines)


def write_manual(root, directory, version):
    pages = command_pages(root)
    names = ["angio"] + [f"angio-{verb}" for verb, _ in pages]
    directory.mkdir(parents=True, exist_ok=True)
    for verb, text in pages:
        (directory / f"angio-{verb}.1").write_text(man_page(text, version, names))
    main = (root / "packaging" / "angio.md").read_text()
    main += "\n## Commands\n\n| command | |\n|---|---|\n"
    main += "".join(f"| `angio {verb}` | {title_of(text)[1]} |\n" for verb, text in pages)
    (directory / "angio.1").write_text(man_page(main, version, names))
    (directory / "angio.bash").write_text(completion(pages))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=source_tree.ROOT)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--manual", type=pathlib.Path)
    parser.add_argument("--version", default="")
    parser.add_argument("--angio", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.manual:
        write_manual(arguments.root, arguments.manual, arguments.version)
        return 0
    pages = {"docs/commands.md": commands_page(arguments.root), "docs/rules.md": rules_page(arguments.root),
             "docs/variables.md": variables_page(arguments.root)}
    if arguments.angio:
        pages["README.md"] = readme_page(arguments.root, arguments.angio.resolve())
    status = 0
    for name, text in pages.items():
        page = arguments.root / name
        if page.exists() and page.read_text() == text:
            continue
        if arguments.check:
            print(f"{name} is not current: run ./dev accept")
            status = 1
        else:
            page.write_text(text)
            print(f"{name}: rewritten")
    return status


if __name__ == "__main__":
    sys.exit(main())
