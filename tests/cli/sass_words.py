# SPDX-License-Identifier: MIT
"""The instructions of a cubin's kernel, for GPUs of 16-byte instructions: the lower 8 bytes of each. The lowest 12 bits
say what it is (docs/gpu-code.md)."""
import re
import struct
import subprocess


def words(path, kernel):
    data = open(path, "rb").read()
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\]\s+\.text\." + kernel + r"\s+\S+\s+\S+\s+(\S+)\s+(\S+)", sections)
    start, size = int(found[1], 16), int(found[2], 16)
    return [struct.unpack_from("<Q", data, at)[0] for at in range(start, start + size, 16)]
