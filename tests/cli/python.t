#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python stacks, in every interpreter there is: this machine's own (in PATH and of pyenv) and those that
`make check-pythons` fetched into a cache folder. Each version that we support and is not here is skipped aloud."""
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../python"))
import compare  # noqa: E402

FETCHED = os.environ.get("XPUPROF_PYTHONS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "xpuprof-tests/pythons")
WANTED = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "3.13t", "3.14t", "3.15t"]
SAY_VERSION = "import sys, sysconfig as s; print('%d.%d%s' % (*sys.version_info[:2], " \
    "'t' if s.get_config_var('Py_GIL_DISABLED') else ''))"


def candidates():
    folders = os.environ.get("PATH", "").split(":") + glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin"))
    for folder in folders:
        yield from sorted(glob.glob(os.path.join(folder, "python3.[0-9]")) +
                          glob.glob(os.path.join(folder, "python3.[0-9][0-9]")) +
                          glob.glob(os.path.join(folder, "python3.[0-9][0-9]t")))
    yield from sorted(glob.glob(os.path.join(FETCHED, "*/python")))


def version_of(path):
    try:
        result = subprocess.run([path, "-c", SAY_VERSION], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def interpreters():
    """(version, command) of each one once; shims of pyenv are not interpreters."""
    seen = set()
    for path in candidates():
        real = os.path.realpath(path)
        if real in seen or "/shims/" in path:
            continue
        seen.add(real)
        version = version_of(path)
        if version in WANTED:
            yield version, path


def name_of(version, path):
    """What tells interpreters of one version apart, without where they are."""
    folder = path.split("/")
    if path.startswith(FETCHED):
        return "%s (%s)" % (version, folder[-2])
    return "%s (%s)" % (version, "pyenv" if ".pyenv" in folder else "the system's")


def may_look():
    """Whether the kernel lets us look into processes of our own user."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as f:
            return f.read().strip() == "0" or os.geteuid() == 0
    except OSError:
        return True


def main():
    count, missing, failed = 0, list(WANTED), 0
    if not may_look():
        print("1..0 # SKIP the kernel does not let us look into other processes (yama/ptrace_scope)")
        return False
    for version, path in sorted(interpreters(), key=lambda x: [int(n) for n in x[0].rstrip("t").split(".")]):
        good, text = compare.check([path], "CPython " + name_of(version, path))
        count += 1
        failed += not good
        print("%s %d - %s" % ("ok" if good else "not ok", count, text), flush=True)
        if version in missing:
            missing.remove(version)
    for version in missing:
        count += 1
        print("ok %d - CPython %s # SKIP not on this machine; make check-pythons fetches what Debian has" %
              (count, version))
    print("1..%d" % count)
    return failed > 0


sys.exit(compare.with_cache(main))
