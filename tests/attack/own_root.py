# SPDX-License-Identifier: MIT
"""own_root.py KIND OUTSIDE: maps code without names, whose debug file it says is outside of its root folder, and runs
there. OUTSIDE is the path of such a file, as others see it; /d is a folder of this program's.

    good        its debug file is beside it
    up, rooted  the name is a path to OUTSIDE
    link        the file is a link to OUTSIDE
    folder      the folder is a link to that of OUTSIDE
    exchanged   the mapped file is a link to OUTSIDE by now
"""
import ctypes
import os
import platform
import struct
import sys
import zlib

CODE, STRINGS, SYMBOLS, LINK, HEADERS, SIZE = 4096, 8192, 8448, 8704, 12288, 16384
MACHINE, LOOP = {"x86_64": (62, b"\xeb\xfe"), "aarch64": (183, b"\0\0\0\x14")}.get(platform.machine(), (0, b""))


def section(name=0, kind=0, flags=0, address=0, offset=0, size=0, link=0, info=0, entry=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, address, offset, size, link, info, 1, entry)


def elf(function=None, link=None):
    """Code with the name of one function, or with a debug link."""
    names = b"\0.text\0.symtab\0.strtab\0.gnu_debuglink\0" + (function or b"") + b"\0"
    sections = [section(), section(1, 1, 6, CODE, CODE, 64), section(15, 3, 0, 0, STRINGS, len(names))]
    parts = [(CODE, LOOP), (STRINGS, names)]
    if function:
        sections.append(section(7, 2, 0, 0, SYMBOLS, 48, 2, 1, 24))
        parts.append((SYMBOLS, struct.pack("<24xIBBHQQ", len(names) - len(function) - 1, 0x12, 0, 1, CODE, 64)))
    if link:
        sections.append(section(23, 1, 0, 0, LINK, len(link)))
        parts.append((LINK, link))
    header = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, MACHINE, 1, 0, 64, HEADERS, 0, 64, 56, 1, 64, len(sections), 2)
    parts += [(0, header + struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, SIZE, SIZE, 4096)), (HEADERS, b"".join(sections))]
    content = bytearray(SIZE)
    for at, data in parts:
        content[at:at + len(data)] = data
    return bytes(content)


def write(path, content):
    with open(path, "wb") as f:
        f.write(content)


def link_to(name, debug):
    """Of .gnu_debuglink."""
    name += b"\0" * (4 - len(name) % 4)
    return name + struct.pack("<I", zlib.crc32(debug))


def prepare(kind, folder, outside):
    """The name of the debug file."""
    name = os.path.basename(outside)
    if kind == "good":
        write(f"{folder}/{kind}.debug", elf(b"own_function"))
        return f"{kind}.debug"
    if kind == "up":
        return "../" * 9 + outside.lstrip("/")
    if kind == "rooted":
        return outside
    if kind == "link":
        os.mkdir(f"{folder}/.debug")
        os.symlink(outside, f"{folder}/.debug/{name}")
        os.symlink("../" * 9 + outside.lstrip("/"), f"{folder}/{name}")
    if kind == "folder":
        os.symlink(os.path.dirname(outside), f"{folder}/.debug")
    return name


def run(path):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    at = libc.mmap(None, SIZE, 5, 2, os.open(path, os.O_RDONLY), 0)
    return ctypes.CFUNCTYPE(None)(at + CODE)


def main(kind, outside):
    folder = f"/d/{kind}"
    os.mkdir(folder)
    debug = elf(b"own_function" if kind == "good" else b"secret_function")
    write(f"{folder}/code", elf(link=link_to(prepare(kind, folder, outside).encode(), debug)))
    spin = run(f"{folder}/code")
    if kind == "exchanged":
        os.unlink(f"{folder}/code")
        os.symlink(outside, f"{folder}/code")
    print("ready", flush=True)
    spin()


if __name__ == "__main__":
    main(*sys.argv[1:])
