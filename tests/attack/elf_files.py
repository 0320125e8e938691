#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""elf_files.py KIND FOLDER [NAME]: makes an ELF file that is small on disk and claims much, maps it as code and runs there.

    notes       2,500 sections of notes over the same megabyte
    sections    the headers of 2^26 sections
    segments    those of 2^27 segments
    symbols     a table of symbols of a terabyte
    frames      unwind information of a terabyte
    link        a debug link to a file of a terabyte, by checksum
"""
import ctypes
import os
import struct
import sys

TIB = 1 << 40
NAMES, HEADERS, CODE, CONTENTS = 65536, 131072, 1 << 19, 1 << 20
LOOP = b"\xeb\xfe" # jmp to itself
TABLES = {"symbols": (".symtab", 2, TIB), "frames": (".eh_frame", 1, TIB), "link": (".gnu_debuglink", 1, 16)}


def section(name=0, kind=0, offset=0, size=0, link=0, info=0, address=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, 0, address, offset, size, link, info, 1, 0)


def make(path, kind):
    sections, names = [section()], b"\0"
    count, segments = None, 1
    if kind == "notes":
        sections += [section(0, 7, CONTENTS, (1 << 20) - i) for i in range(2500)]
    elif kind == "sections":
        count, sections = 0, [section(size=1 << 26)]
    elif kind == "segments":
        segments, sections = 0xffff, [section(info=1 << 27)]
    else:
        name, number, size = TABLES[kind]
        names += name.encode() + b"\0"
        sections += [section(1, number, CONTENTS, size, 2, address=CONTENTS), section(0, 3, NAMES, len(names))]
    with open(path, "wb") as f:
        f.truncate(CONTENTS * 3 if kind == "notes" else 2 * TIB)
        f.write(b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
            "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, HEADERS, 0, 64, 56, segments, 64,
            len(sections) if count is None else count, len(sections) - 1 if kind in TABLES else 0))
        f.write(struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, CONTENTS, CONTENTS, 4096))
        for at, data in (NAMES, names), (HEADERS, b"".join(sections)), (CODE, LOOP), (CONTENTS, b"endless\0" * 2):
            f.seek(at)
            f.write(data)


def run(path):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    at = libc.mmap(None, CONTENTS, 5, 2, os.open(path, os.O_RDONLY), 0)
    ctypes.CFUNCTYPE(None)(at + CODE)()


kind, folder, name = (*sys.argv[1:], "bomb")[:3]
make(os.path.join(folder, name), kind)
make(os.path.join(folder, "endless"), "frames")
run(os.path.join(folder, name))
