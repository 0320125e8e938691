# SPDX-License-Identifier: MIT
"""debug_loops.py FOLDER KIND...: makes code whose debug information does not end, maps it and runs there, each in a thread.

    siblings    an entry that is its own next one
    entries     60 entries within one another, each of which is also the next one of what it is in
    inlines     the same of what is inlined into a function
    origins     functions that are declared by, and copies of, one another
    lines       60 KB that are, unpacked, 15 million lines
    ranges      20,000 functions of the same 20,000 ranges each
    unwind      the same for unwind information: 15 million states to remember, entries that are their own common part
    plain       none of these, to compare with
    elsewhere   a name that is in another file, FOLDER/other
"""
import ctypes
import os
import platform
import struct
import sys
import threading
import zlib

CODE, CODE_BYTES, BODY = 4096, 64, 8192
MACHINE, LOOP = {"x86_64": (62, b"\xeb\xfe"), "aarch64": (183, b"\0\0\0\x14")}.get(platform.machine(), (0, b""))
UNIT, FUNCTION, BLOCK, COPY, DECLARED, SCATTERED, SPACE, WHOLE, INLINED, ABSENT = range(1, 11)
LINES, STATES, DEPTH = 15000000, 15000000, 60
ABBREVIATIONS = b"\1\x11\1\x11\1\x12\7\x10\x17\0\0" b"\2\x2e\0\x11\1\x12\7\3\x08\0\0" b"\3\x0b\1\1\x13\0\0" \
    b"\4\x2e\0\x11\1\x12\7\x31\x13\0\0" b"\5\x2e\0\x47\x13\0\0" b"\6\x2e\0\x55\x17\0\0" \
    b"\7\x39\1\1\x13\0\0" b"\x08\x2e\1\x11\1\x12\7\0\0" b"\x09\x1d\1\x01\x13\0\0" \
    b"\x0a\x2e\0\x11\1\x12\7\3\xa1\x3e\0\0" b"\0"
PLACE = struct.pack("<QQ", CODE, CODE_BYTES)
FIRST = 11 + 1 + 16 + 4 # where the first entry of the unit is


def info(entries):
    unit = struct.pack("<HIB", 4, 0, 8) + bytes([UNIT]) + PLACE + struct.pack("<I", 0) + entries + b"\0"
    return struct.pack("<I", len(unit)) + unit


def lines(count):
    header = struct.pack("<BBBbBB12B", 1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1) + b"\0a.c\0\0\0\0\0"
    program = b"\0\x09\2" + struct.pack("<Q", CODE) + b"\x12" * count + b"\2" + bytes([CODE_BYTES]) + b"\0\1\1"
    body = struct.pack("<HI", 4, len(header)) + header + program
    return struct.pack("<I", len(body)) + body


def packed(content):
    return struct.pack("<IIQQ", 1, 0, len(content), 1) + zlib.compress(content, 1)


def entry(content):
    content += b"\0" * (-len(content) % 8)
    return struct.pack("<I", len(content)) + content


def unwind():
    """.debug_frame: a common entry, what remembers, and one that begins itself."""
    common = entry(struct.pack("<I", 0xffffffff) + b"\4\0\x08\0\1\x78\x10\x0c\7\x08\x90\1\0\0\0")
    function = entry(struct.pack("<I", 0) + PLACE + b"\x0a" * STATES)
    return common + function + entry(struct.pack("<I", len(common) + len(function)) + PLACE)


def within(number, first):
    """Entries within one another, from that place on. The next one after each is the first within it."""
    return b"".join(struct.pack("<BI", number, first + 5 * (n + 1)) for n in range(DEPTH)) + b"\0" * (DEPTH + 1)


def sections_of(kind, folder):
    """Name, flags (0x800: compressed) and content."""
    function = bytes([FUNCTION]) + PLACE + b"f\0"
    entries = {
        "siblings": bytes([BLOCK]) + struct.pack("<I", FIRST) + b"\0" + function,
        "entries": function + within(SPACE, FIRST + len(function)),
        "inlines": bytes([WHOLE]) + PLACE + within(INLINED, FIRST + 17),
        "origins": bytes([COPY]) + PLACE + struct.pack("<I", FIRST + 21) + bytes([DECLARED]) + struct.pack("<I", FIRST + 26)
        + bytes([DECLARED]) + struct.pack("<I", FIRST + 21),
        "elsewhere": bytes([ABSENT]) + PLACE + struct.pack("<I", 0),
        "ranges": (bytes([SCATTERED]) + struct.pack("<I", 0)) * 20000,
    }.get(kind, function)
    found = [(b".debug_info", 0, info(entries)), (b".debug_abbrev", 0, ABBREVIATIONS),
             (b".debug_line", 0x800, packed(lines(LINES if kind == "lines" else 1)))]
    if kind == "ranges":
        found.append((b".debug_ranges", 0, struct.pack("<QQ", 0, CODE_BYTES) * 20000 + b"\0" * 16))
    if kind == "elsewhere":
        found.append((b".gnu_debugaltlink", 0, os.fsencode(f"{folder}/other") + b"\0" + b"x" * 20))
    if kind == "unwind":
        found.append((b".debug_frame", 0x800, packed(unwind())))
    return found


def elf(kind, folder):
    names, body, sections = b"\0.text\0.names\0", b"", [b"\0" * 64]
    symbols = b"\0" * 24 + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, CODE, CODE_BYTES) # its name: ".text"
    parts = [(b".text", 6, 1, None)] + [(name, flags, 1, content) for name, flags, content in sections_of(kind, folder)]
    for name, flags, number, content in parts + [(b".symtab", 0, 2, symbols)]:
        sections.append(struct.pack("<IIQQQQIIQQ", len(names), number, flags, CODE if content is None else 0,
                                    CODE if content is None else BODY + len(body), CODE_BYTES if content is None else len(content),
                                    len(parts) + 2, 1, 1, 24 if number == 2 else 0))
        names += name + b"\0"
        body += content or b""
    sections.append(struct.pack("<IIQQQQIIQQ", 7, 3, 0, 0, BODY + len(body), len(names), 0, 0, 1, 0))
    body += names + b"\0" * (-(len(body) + len(names)) % 8)
    header = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, MACHINE, 1, 0, 64, BODY + len(body), 0, 64, 56, 1, 64, len(sections), len(sections) - 1)
    header += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, BODY, BODY, 4096)
    return header.ljust(CODE, b"\0") + LOOP.ljust(BODY - CODE, b"\0") + body + b"".join(sections)


def mapped(path):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    return libc.mmap(None, BODY, 5, 2, os.open(path, os.O_RDONLY), 0)


def main(folder, *kinds):
    for kind in kinds:
        path = os.path.join(folder, kind)
        with open(path, "wb") as f:
            f.write(elf(kind, folder))
        threading.Thread(target=ctypes.CFUNCTYPE(None)(mapped(path) + CODE)).start()
    print("ready", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
