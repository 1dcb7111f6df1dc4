"""The initrd of the VM: busybox, some modules and init, as a cpio archive that this file writes itself."""

import gzip
import os
import pathlib
import stat

import kernel

INIT = pathlib.Path(__file__).with_name("guest") / "init"


def entry(name, mode, data=b""):
    """One file of the "newc" format (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    encoded = name.encode() + b"\0"
    # magic, inode, mode, owner, group, links, time, size, four device numbers, length of the name, checksum
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08x" % value for value in fields) + encoded
    return header + b"\0" * (-len(header) % 4) + data + b"\0" * (-len(data) % 4)


def folder(name):
    return entry(name, stat.S_IFDIR | 0o755)


def program(name, data):
    return entry(name, stat.S_IFREG | 0o755, data)


def alternatives():
    """awk, editors and others in /usr/bin are links into this folder of the host's /etc, which the VM has not."""
    place = pathlib.Path("/etc/alternatives")
    links = sorted(place.iterdir()) if place.is_dir() else []
    return [entry(f"alternatives/{link.name}", stat.S_IFLNK | 0o777, os.readlink(link).encode())
            for link in links if link.is_symlink()]


def busybox():
    for place in ("/bin/busybox", "/usr/bin/busybox", "/usr/lib/initramfs-tools/bin/busybox"):
        data = pathlib.Path(place).read_bytes() if os.path.exists(place) else b""
        if data and b"/lib64/ld-linux" not in data[:4096]:
            return data
    raise kernel.Missing("no static busybox here (package busybox-static)")


def write(path, modules):
    parts = [folder(name) for name in ("bin", "modules", "alternatives")]
    parts += [program("bin/busybox", busybox()), program("init", INIT.read_bytes())]
    parts += [program(f"modules/{number:02}-{module.name}", module.read_bytes())
              for number, module in enumerate(modules)]
    parts += alternatives() + [entry("TRAILER!!!", 0)]
    path.write_bytes(gzip.compress(b"".join(parts), compresslevel=1, mtime=0))
