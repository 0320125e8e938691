#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names that try to steer a terminal, in all outputs of all commands: every string of a recording has them."""
import json
import os
import re
import struct
import subprocess

import tap

# Ways to steer a terminal, to turn text, to break a line; bytes that are not UTF-8, and what has no shape.
HOSTILE = (b"\x1b]0;owned\x07", b"\x1b[31m", b"\xc2\x9b31m", b"\x9b31m", b"\x7f\x08\r", b"\nFORGED 1", b"\xe2\x80\xae",
           b"\xe2\x81\xa6\xd8\x9c", b"\xe2\x80\xa8\xe2\x80\xa9\xc2\x85", b"\xff\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
           b"\xef\xbf\xbf\xef\xbb\xbf", b"\xe2\x82")
SUFFIX = b"".join(HOSTILE)
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff0-\ufffb"
                         "\ufffe\uffff]")
VIEWS = ("merge", "gpu", "cpu", "stall", "off-cpu", "wall")
# Where JSON has several lines of text.
LINES = ("meta", "otherData", "refused")


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xffffffff


def number(value):
    text = bytearray()
    while value >= 128:
        text.append(value & 127 | 128)
        value >>= 7
    return bytes(text + bytes([value]))


def read_number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def read_texts(data, at):
    while at < len(data):
        size, at = read_number(data, at)
        yield data[at:at + size]
        at += size


def spoiled_strings(payload):
    first, at = read_number(payload, 0)
    texts = list(read_texts(payload, at))
    return number(first) + b"".join(number(len(t + SUFFIX)) + t + SUFFIX for t in texts)


def spoiled_meta(payload):
    texts = list(read_texts(payload, 0))
    for n in range(1, len(texts), 2):
        if not re.fullmatch(rb"[0-9.:, x-]*", texts[n]):
            texts[n] += SUFFIX.replace(b"\n", b"")
    return b"".join(number(len(t)) + t for t in texts)


def spoil(path, to):
    """The same profile with hostile names (docs/file-format.md). Metadata may have several lines."""
    data = open(path, "rb").read()
    out, at = bytearray(data[:16]), 16
    while at < len(data):
        kind, (size,) = data[at:at + 4], struct.unpack("<I", data[at + 4:at + 8])
        payload = data[at + 12:at + 12 + size]
        at += 12 + size
        payload = {b"STRS": spoiled_strings, b"META": spoiled_meta}.get(kind, bytes)(payload)
        head = kind + struct.pack("<I", len(payload))
        out += head + struct.pack("<I", crc32c(head + payload)) + payload
    open(to, "wb").write(out)


def texts_of(value, several_lines=False):
    """(text, whether it may have several lines), of all there are in JSON."""
    if isinstance(value, str):
        yield value, several_lines
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item, several_lines)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key, False
            yield from texts_of(item, several_lines or key in LINES)


def faults(output, also=""):
    """What is wrong with an output, in words."""
    found = []
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        return [f"not UTF-8: {error}"]
    for match in UNPRINTABLE.finditer(text):
        if match[0] not in "\n" + also:
            found.append(f"{match[0]!a} in {text[max(0, match.start() - 40):match.end() + 20]!a}")
    found += [f"a forged line: {line!a}" for line in text.splitlines() if re.match(r"\W*FORGED", line)]
    return found[:3]


def json_faults(output):
    found = faults(output, also="\t")
    for text, several in texts_of(json.loads(output)):
        match = UNPRINTABLE.search(text.replace("\n", "") if several else text)
        if match:
            found.append(f"{match[0]!a} in the JSON string {text!a}")
    return found[:3]


class Outputs:
    def __init__(self):
        self.wrong = []
        self.count = 0
        self.bytes = 0

    def add(self, title, output, check=faults, **options):
        self.count += 1
        self.bytes += len(output)
        self.wrong += [f"{title}: {fault}" for fault in check(output, **options)]

    def run(self, *arguments, check=faults, file=None, **options):
        done = subprocess.run([tap.PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        title = b" ".join(os.fsencode(a) for a in arguments).decode(errors="backslashreplace")
        self.add(f"{title} (errors)", done.stderr)
        self.add(title, done.stdout, check if done.stdout and not file else faults, **options)
        if file and os.path.exists(file):
            with open(file, "rb") as written:
                self.add(f"{title} -> {file}", written.read(), check, **options)
            os.unlink(file)
        return done

    def tell(self, name):
        tap.result(not self.wrong and self.bytes > 1000, f"{name} ({self.count} outputs)", *self.wrong[:20])


def check_profile(name, path):
    outputs = Outputs()
    for options in ((), ("--wide",), ("--stalls", "--wide"), ("--counters",), ("--inline", "--stalls", "--counters")):
        outputs.run("report", *options, path)
        outputs.run("report", "--json", *options[:1], path, check=json_faults)
    for view in VIEWS:
        by = ("--by", "process,thread,device,stream") if view != "stall" else ("--lines",)
        for more in ((), by, ("--inline", "--lines", "--native-python", "--gpu-api-frames"), ("--reverse",)):
            outputs.run("export", "--to", "folded", "--view", view, *more, path)
        outputs.run("flame", "--view", view, *by, "-o", "out.svg", path, file="out.svg", also="\t")
    outputs.run("export", "--to", "extended-folded", path)
    outputs.run("export", "--to", "chrome", path, check=json_faults)
    outputs.run("export", "--to", "speedscope", path, check=json_faults)
    outputs.run("export", "--to", "firefox", path, check=json_faults)
    outputs.run("export", "--to", "perf-script", path, also="\t")
    outputs.run("export", "--to", "html", path, also="\t")
    outputs.run("symbolize", "--inline", "-o", "named.xpu", path)
    outputs.tell(f"no command lets names of {name} through")


def check_annotate(path):
    outputs = Outputs()
    for kernel in ("matmul", "reduce", "no such kernel", b"no \x1b[31m such\nFORGED"):
        outputs.run("annotate", kernel, path)
        outputs.run("annotate", "--all", "--wide", "--instructions", kernel, path)
        outputs.run("annotate", "-o", "page.html", kernel, path, file="page.html", also="\t")
    outputs.tell("nor does annotate, as text and as a page")


def check_folded():
    """Folded text of other programs, read and written again."""
    with open("other.folded", "wb") as other:
        for n, hostile in enumerate(HOSTILE):
            frame = hostile.replace(b"\n", b"\v")
            other.write(b"main;f%d%s;[GPU_Kernel]k%s %d\n" % (n, frame, frame, n + 1000))
    outputs = Outputs()
    outputs.run("export", "--to", "folded", "other.folded")
    outputs.run("flame", "-o", "out.svg", "other.folded", file="out.svg", also="\t")
    outputs.run("flame", "--title", SUFFIX, "-o", "out.svg", "other.folded", file="out.svg", also="\t")
    outputs.tell("nor does folded text of others get through")


def check_arguments():
    """What the user, or a folder with files of others, has the commands name."""
    outputs = Outputs()
    odd = b"odd" + SUFFIX.replace(b"/", b"")
    for command in ("report", "flame", "symbolize", "export", "annotate", "record", "monitor", "doctor"):
        outputs.run(command, odd)
        outputs.run(command, b"--" + odd)
        outputs.run(command, "-o", odd + b"/x", odd)
    for more in ((b"--view", odd), (b"--by", odd), (b"--to", odd)):
        outputs.run("export", *more, "small.xpu")
    outputs.run(odd)
    outputs.run("record", "-q", "--cpu-only", "-o", "none.xpu", b"./" + odd)
    with open(odd + b".xpu", "wb") as file, open("small.xpu", "rb") as small:
        file.write(small.read())
    outputs.run("symbolize", odd + b".xpu")
    outputs.run("flame", odd + b".xpu", file=odd + b".svg", also="\t")
    outputs.run("report", odd + b".xpu")
    outputs.run("report", "--json", odd + b".xpu", check=json_faults)
    outputs.tell("nor do arguments and names of files")


def check():
    helpers = os.path.join(tap.BUILD, "tests", "helpers")
    kinds = (("sample_profile", "small"), ("sample_profile", "hostile"), ("sample_profile", "python"),
             ("counter_profile", "small"), ("counter_profile", "refused"), ("driver_profile", "small"),
             ("driver_profile", "hostile"), ("wait_profile", "small"), ("wait_profile", "held"), ("wait_profile", "stalls"),
             ("stall_profile", "small", "/src/app"), ("stall_profile", "hostile", "/src/app"),
             ("stall_profile", "refused", "/src/app"))
    for program, kind, *more in kinds:
        tap.run(os.path.join(helpers, program), kind, f"{kind}.xpu", *more)
        spoil(f"{kind}.xpu", "spoiled.xpu")
        check_profile(f"{program} {kind}", "spoiled.xpu")
        if program == "stall_profile":
            check_annotate("spoiled.xpu")
    check_folded()
    check_arguments()


tap.main(check, lambda: "")
