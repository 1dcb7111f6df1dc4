#!/usr/bin/env python3
"""Gets the releases of NCCL that the tests run on phantom GPUs, as wheels by pip, and keeps their libraries.

usage: fetch_nccl.py FOLDER    prints FOLDER when at least one release is there

One sub-folder a release: FOLDER/2.28.9-cu13/nvidia/nccl/lib/libnccl.so.2 (200 to 300 MB). What is there is not
fetched again. Without pip or a network it says so on stderr and ends with 1; the tests then skip."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

# One of each kind: choices without the collective's name; NCCL_ALGO's old grammar; its new one; the release that
# the captured logs are of; the newest.
RELEASES = (("2.21.5", "cu12"), ("2.23.4", "cu12"), ("2.24.3", "cu12"), ("2.28.9", "cu13"), ("2.32.3", "cu13"))
LIBRARY = "nvidia/nccl/lib/libnccl.so.2"


def say(text):
    print(f"fetch_nccl: {text}", file=sys.stderr)


def unpack(wheel, target):
    """The library alone, complete or not there."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extract(LIBRARY, folder)
        target.mkdir(exist_ok=True)
        shutil.move(pathlib.Path(folder) / "nvidia", target / "nvidia")


def fetch(version, cuda, target):
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check",
                   "--timeout", "30", "-d", folder, f"nvidia-nccl-{cuda}=={version}"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        wheels = list(pathlib.Path(folder).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            reason = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
            say(f"NCCL {version} ({cuda}) cannot be had: {reason}")
            return
        try:
            unpack(wheels[0], target)
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            say(f"NCCL {version} ({cuda}): {error}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for version, cuda in RELEASES:
        target = folder / f"{version}-{cuda}"
        if not (target / LIBRARY).is_file():
            fetch(version, cuda, target)
    if not list(folder.glob(f"*/{LIBRARY}")):
        sys.exit(1)
    print(folder)


if __name__ == "__main__":
    main()
