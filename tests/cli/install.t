#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`make install` installs every page, and every file that a page links to."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)|<img[^>]* src=\"([^\"]+)\"")
results = []


def result(ok, name, notes=()):
    results.append(ok)
    print(f"{'ok' if ok else 'not ok'} {len(results)} - {name}")
    for note in notes if not ok else ():
        print(f"# {note}")


def links(page):
    """The files that a page links to; addresses of other machines are left out."""
    with open(page, encoding="utf-8") as file:
        targets = ["".join(found) for found in LINK.findall(file.read())]
    return [os.path.join(os.path.dirname(page), t) for t in targets if not re.match(r"[a-z]+:", t)]


def follow(page):
    """All pages that can be reached from a page by links, and links that lead nowhere."""
    reached, broken, waiting = set(), [], [page]
    while waiting:
        page = os.path.normpath(waiting.pop())
        if page in reached:
            continue
        reached.add(page)
        for target in links(page):
            if not os.path.exists(target):
                broken.append(f"{page}: {target}")
            elif target.endswith(".md"):
                waiting.append(target)
    return reached, broken


def main():
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(["make", "-C", ROOT, "install-docs", f"DESTDIR={folder}", "PREFIX=/usr"],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        result(made.returncode == 0, "the documents can be installed without building anything", made.stdout.splitlines())
        documents = os.path.join(folder, "usr/share/doc/xpuprof")
        reached, broken = follow(os.path.join(documents, "README.md"))
        result(not broken, "what installed pages link to is installed", broken)
        pages = {os.path.join(at, name) for at, _, names in os.walk(documents) for name in names if name.endswith(".md")}
        result(pages <= reached, "each installed page can be reached from the README", sorted(pages - reached))
        result(len(os.listdir(os.path.join(folder, "usr/share/man/man1"))) ==
               len([name for name in os.listdir(os.path.join(ROOT, "man")) if name.endswith(".1")]),
               "and all man pages are installed")
        result(os.path.exists(os.path.join(folder, "usr/include/xpuprof/xpuprof_gpu.h")), "so is the header for programs in GPU kernels")
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
        result(re.search(r"^install: .*\binstall-docs\b", file.read(), re.M), "make install installs the documents")
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


sys.exit(main())
