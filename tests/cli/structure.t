#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/measure-structure counts what it says it counts, of a made-up tree of sources."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
results = []


def result(ok, name, notes=()):
    results.append(ok)
    print(f"{'ok' if ok else 'not ok'} {len(results)} - {name}")
    for note in notes if not ok else ():
        print(f"# {note}")


def write(folder, path, *lines):
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))


SAME = [f"\tcall_{n}();" for n in range(7)]


def make_tree(folder):
    """Four rooms: top -> mid, top -> inner, mid -> inner -> mid, mid -> low -> mid. Seven lines stand twice."""
    write(folder, "tools/check-includes", *(f'may["{room}"] = "x"' for room in ("top", "low", "mid", "mid/inner", "main.c")))
    write(folder, "src/top/a.c", '#include "mid/b.h"', '#include "mid/inner/c.h"', "int a(void)", "{", *SAME, "\treturn 0;", "}")
    write(folder, "src/mid/b.h", '#include "mid/inner/c.h"', "/* What CUDA says. */", "int b;")
    write(folder, "src/mid/inner/c.h", '#include "mid/b.h"', "static void c(void)", "{", *SAME, "}")
    write(folder, "src/mid/nvidia/d.c", "int cuda;")
    write(folder, "src/mid/e.c", '#include "low/f.h"')
    write(folder, "src/low/f.h", '#include "mid/b.h"')
    write(folder, "tests/unit/t.c", "int t;", "", "int u;")
    write(folder, "tests/data/t.txt", "not a program")


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_tree(folder)
        said = subprocess.run([os.path.join(ROOT, "tools/measure-structure"), "--at", folder], stdout=subprocess.PIPE, text=True, check=False)
    row = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", said.stdout, re.M))
    expected = {
        "rooms": "4",
        "arrows between rooms": "6",
        "of these inward": "1",
        "of these upward": "1 (low mid)",
        "files in `src/`": "6",
        "lines with a vendor's word": "1",
        "by room": "mid 1",
        "stretches of 6 and more lines that stand twice": "2 (14 lines)",
        "lines in `src/`": "30",
        "lines in `tests/`": "3",
    }
    if shutil.which("ctags"):
        expected.update({"functions": "2", "longest": "11: `a` in top/a.c"})
    for name, value in expected.items():
        result(row.get(name) == value, name, [f"got {row.get(name)}, expected {value}"])
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


sys.exit(main())
