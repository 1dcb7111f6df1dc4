"""Debian's kernel for the VM: fetched once as a package, cut down to what a VM needs.

Out of the package come the uncompressed kernel, which QEMU starts by PVH and so without decompressing it in the
emulated machine, and the modules for virtio, 9p, soft-RoCE and netem. Nothing is installed."""

import fcntl
import gzip
import io
import lzma
import pathlib
import re
import shutil
import struct
import subprocess
import tarfile

# Folders below lib/modules/VERSION/kernel that hold what mounting a 9p share, RDMA devices in software and a network
# in trouble need.
MODULE_FOLDERS = ("drivers/virtio/", "net/9p/", "fs/9p/", "fs/netfs/", "fs/fscache/", "fs/configfs/",
                  "drivers/infiniband/core/", "drivers/infiniband/sw/rxe/", "drivers/net/", "net/ipv4/", "net/ipv6/",
                  "net/sched/", "crypto/")
# What every machine loads; the modules these depend on come with them.
WANTED_MODULES = ("virtio_pci", "9pnet_virtio", "9p")
# Beside vmlinux: the folders whose modules were kept.
KEPT = "module-folders"


class Missing(Exception):
    """Something that this computer lacks: a reason to skip, not a failure."""


def run(*command, cwd=None):
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise Missing(f"no {command[0]} here") from error
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise Missing(f"{' '.join(command)} failed: {words[-1] if words else done.returncode}")
    return done.stdout


def newest_package():
    """The package behind linux-image-amd64; its name carries an ABI number that changes with security updates."""
    listing = run("apt-cache", "depends", "linux-image-amd64").decode()
    found = re.search(r"Depends: (linux-image-\S+-amd64)", listing)
    if not found:
        raise Missing("apt offers no linux-image-amd64 (Debian's kernel; other systems' kernels are not tried)")
    return found[1]


def decompressed(image):
    """The ELF kernel inside a bzImage; the offsets are those of the boot protocol (Documentation/x86/boot.rst)."""
    if image[0x202:0x206] != b"HdrS":
        raise Missing("the kernel image has no boot header")
    sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    begin = (sectors + 1) * 512 + offset
    payload = image[begin:begin + length]
    if payload.startswith(b"\xfd7zXZ"):
        return lzma.LZMADecompressor().decompress(payload)  # stops at the end of the stream; the size follows it
    if payload.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=io.BytesIO(payload[:-4])).read()
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            return subprocess.run(["zstd", "-dcq"], input=payload[:-4], capture_output=True, check=True).stdout
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            raise Missing("the kernel is packed with zstd and zstd cannot unpack it") from error
    raise Missing(f"the kernel is packed in a way that is not known here: it begins {payload[:6].hex()}")


def plain_module(name, data):
    if name.endswith(".xz"):
        return lzma.decompress(data)
    if name.endswith(".gz"):
        return gzip.decompress(data)
    return data


def unpack(package, folder):
    """Writes vmlinux and modules/NAME.ko; reads the package once, from a pipe, and keeps nothing else of it."""
    modules = folder / "modules"
    modules.mkdir(parents=True)
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as unpacker:
        with tarfile.open(fileobj=unpacker.stdout, mode="r|") as archive:
            for member in archive:
                path = member.name.removeprefix("./").removeprefix("usr/")
                inside = re.fullmatch(r"lib/modules/[^/]+/kernel/(.+/)([^/]+)\.ko(\.\w+)?", path)
                if path.startswith("boot/vmlinuz-"):
                    (folder / "vmlinux").write_bytes(decompressed(archive.extractfile(member).read()))
                elif inside and inside[1] in MODULE_FOLDERS:
                    data = plain_module(path, archive.extractfile(member).read())
                    (modules / f"{inside[2].replace('-', '_')}.ko").write_bytes(data)
    if unpacker.returncode != 0 or not (folder / "vmlinux").exists():
        raise Missing(f"{package.name} holds no kernel that could be unpacked")
    (folder / KEPT).write_text("\n".join(MODULE_FOLDERS), encoding="ascii")


def in_order(folder, wanted):
    """The wanted modules and what they need, each after its needs, as each module's own `depends=` says."""
    order = []

    def add(name):
        path = folder / f"{name}.ko"
        if path in order or not path.exists():  # absent: built into the kernel
            return
        found = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for needed in (found[1].decode() if found else "").split(","):
            if needed:
                add(needed.replace("-", "_"))
        order.append(path)

    for name in wanted:
        add(name)
    return order


def suffices(folder, wanted):
    """Whether a fetched kernel has the wanted modules: an earlier version of this file may have kept fewer. With all
    folders kept, an absent module is built in."""
    kept = folder / KEPT
    return (kept.exists() and kept.read_text(encoding="ascii") == "\n".join(MODULE_FOLDERS)) or all(
        (folder / "modules" / f"{name}.ko").exists() for name in wanted)


def fetch(cache, modules=()):
    """(vmlinux, modules in loading order). Downloads once; whoever wants a newer kernel removes the folder.
    modules: to be loaded besides those of every machine."""
    wanted = (*WANTED_MODULES, *modules)
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two tests of one ctest run start at the same time
        present = sorted(cache.glob("linux-image-*/vmlinux"))
        if present and suffices(present[-1].parent, wanted):
            folder = present[-1].parent
        else:
            package = newest_package()
            folder = cache / package
            download(cache, package, folder)
    return folder / "vmlinux", in_order(folder / "modules", wanted)


def download(cache, package, folder):
    scratch = cache / "unpacking"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    # No sandbox: apt's own user may not write into this folder.
    run("apt-get", "download", "-q", "-o", "APT::Sandbox::User=", package, cwd=scratch)
    archive = next(iter(scratch.glob("*.deb")), None)
    if archive is None:
        raise Missing(f"apt-get download left no {package}")
    unpack(archive, scratch / "content")
    shutil.rmtree(folder, ignore_errors=True)
    (scratch / "content").rename(folder)
    shutil.rmtree(scratch)
