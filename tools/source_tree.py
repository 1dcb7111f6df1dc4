"""The files of the repository, for the checks: what git tracks or would track, or, in a tarball
without git, everything outside build folders."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def repository_files(root=ROOT):
    """Paths of all files, sorted, absolute."""
    try:
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True).stdout.decode()
        names = [name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
        names = [name for name in names if not name.startswith((".git/", "build", ".cache"))]
    return sorted(root / name for name in names if (root / name).is_file())


def blank_comments_and_strings(text):
    """C++ text with the insides of comments, strings and characters blanked; line numbers stay."""
    out = []
    at = 0
    while at < len(text):
        end = _skip(text, at)
        if end is None:
            out.append(text[at])
            at += 1
        else:
            out.append("".join(c if c == "\n" else " " for c in text[at:end]))
            at = end
    return "".join(out)


def _skip(text, at):
    """End of the comment, string or character that starts here; None when none does."""
    two = text[at:at + 2]
    if two == "//":
        return _or_end(text.find("\n", at), text)
    if two == "/*":
        end = text.find("*/", at + 2)
        return len(text) if end < 0 else end + 2
    if two == 'R"' and (at == 0 or not text[at - 1].isalnum()):
        opening = text.find("(", at)
        end = text.find(")" + text[at + 2:opening] + '"', opening) if opening > 0 else -1
        return len(text) if end < 0 else end + opening - at
    if text[at] == '"' or (text[at] == "'" and not (at > 0 and text[at - 1].isalnum())):
        return _skip_quoted(text, at)
    return None


def _skip_quoted(text, at):
    quote = text[at]
    end = at + 1
    while end < len(text) and text[end] not in (quote, "\n"):
        end += 2 if text[end] == "\\" else 1
    return min(end + 1, len(text))


def _or_end(found, text):
    return len(text) if found < 0 else found


def report(problems, what):
    """Prints the problems; the exit status for the shell."""
    for problem in problems:
        print(problem)
    print(f"{what}: {'ok' if not problems else str(len(problems)) + ' problems'}")
    return 1 if problems else 0
