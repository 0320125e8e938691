#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU sampling at 99 Hz by `xpuprof record --cpu-only` and by `perf record`, of the same programs: a table for each.

usage: against_perf.py [-r ROUNDS] [PROGRAM ...]      default: 3 rounds of all programs

In each round a program runs alone, under xpuprof, under perf with DWARF (its usual 8 KiB of each stack) and under perf
with frame pointers, one after the other, each round beginning with another one. The columns:

  program   its CPU time over its CPU time alone in the same round (deep: per unit of work)
  tool      CPU time of the tool while it records and writes its file, its start and end included
  file      what it wrote
  names     CPU and wall time from the end of the program until there are stacks with names: xpuprof's end of recording
            and `xpuprof flame`; perf's end of recording and `perf script --no-inline`, without drawing anything
  whole     samples with code of the program in their stack whose outermost frame is where a program or a thread begins,
            or what calls main, by its name in the text that `xpuprof export --native-python` and `perf script` print
  Python    samples with at least one Python function

perf takes the same timer (cpu-clock). With --buildid-mmap it need not look for the build ids of all files at the end,
nor copy the files into its cache. (Without it, perf 6.1's script aborts on what was recorded beside `xpuprof record`, which
asks the kernel for build ids of mappings; seen on Linux 6.18, the cause was not looked up.)
"""
import getopt
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDS = subprocess.run([HERE + "/needs", "xpuprof", "bench/sampling"], stdout=subprocess.PIPE, text=True)
if NEEDS.returncode:
    sys.exit(NEEDS.returncode)
BUILD = NEEDS.stdout.rstrip("\n")
XPUPROF = BUILD + "/xpuprof"
PYTHON = "/usr/bin/python3"
SECONDS = 6
TICKS = os.sysconf("SC_CLK_TCK")

PARSE = """
import ast, sys, textwrap, typing, argparse, difflib
lines = [open(m.__file__).read() for m in (ast, textwrap, typing, argparse)]
for i in range(15):
    texts = [ast.unparse(ast.parse(text)) for text in lines]
for text, again in zip(lines[:2], texts):
    list(difflib.unified_diff(text.split("\\n"), again.split("\\n")))
"""

CXX = """
#include <map>
#include <regex>
#include <string>
int count(const std::string &text)
{
	std::map<std::string, int> words;
	std::regex word("[a-z]+");
	for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i)
		words[i->str()]++;
	return (int)words.size();
}
"""

PROGRAMS = {
    "deep": ("both CPUs, 60 frames of C without frame pointers", [BUILD + "/bench/sampling", str(SECONDS)]),
    "python": ("python3 parses, unparses and compares its library", [PYTHON, "-c", PARSE]),
    "xz": ("xz -6 of 12 MB", ["xz", "-T1", "-6", "-k", "-c", "{text}"]),
    "sort": ("sort of 3 million lines", ["sort", "{lines}"]),
    "openssl": ("openssl, SHA3-512 of 512 MB", ["openssl", "dgst", "-sha3-512", "{zeros}"]),
    "gcc": ("gcc -O2, files of xpuprof one by one",
            ["sh", "-c", "for f in " + HERE + "/../src/[sv]*/*.c " + HERE + "/../src/elf/*.c; do gcc -O2 -I" + HERE + "/../src -std=gnu11"
             " -D_GNU_SOURCE -c -o {folder}/o.o $f || exit; done"]),
    "g++": ("g++ -O2, standard library's <regex> and <map>", ["g++", "-O2", "-c", "-o", "{folder}/o.o", "{cc}"]),
}

XPUPROF_RECORD = [XPUPROF, "record", "-q", "--cpu-only", "-F", "99", "-o"]
PERF_RECORD = ["perf", "record", "-q", "--buildid-mmap", "-e", "cpu-clock", "-F", "99", "--call-graph"]
TOOLS = {"alone": None, "xpuprof": XPUPROF_RECORD, "perf, DWARF": [*PERF_RECORD, "dwarf", "-o"],
         "perf, frame pointers": [*PERF_RECORD, "fp", "-o"]}

BEGINNINGS = {"_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone", "clone3", "__clone", "__clone3",
              "__clone_internal"}


class Run:
    """One run of a program under a tool, or alone."""

    def __init__(self, folder, command, tool):
        times, output = folder + "/times", folder + "/output"
        self.path = folder + "/" + ("p.data" if tool and tool[0] == "perf" else "p.xpu")
        shell = f'TIMEFORMAT="%U %S"; {{ time "$@" >{output} 2>/dev/null; }} 2>{times} || exit; echo $EPOCHREALTIME >>{times}'
        whole = [*(tool + [self.path, "--"] if tool else []), "bash", "-c", shell, "bash", *command]
        process = subprocess.Popen(whole, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        end = time.time()
        with open(f"/proc/{process.pid}/stat") as f:
            words = f.read().rpartition(")")[2].split()
        if process.wait():
            sys.exit(f"against_perf.py: {' '.join(whole)} failed")
        with open(times) as f:
            user, system, ended = f.read().split()
        self.program_s = float(user) + float(system)
        self.tool_s = (int(words[11]) + int(words[12])) / TICKS
        self.end_s = end - float(ended)
        with open(output, "rb") as f:
            units = f.read(16).strip()
        self.unit_s = self.program_s / int(units) if command[0].endswith("/sampling") else self.program_s
        self.bytes = os.path.getsize(self.path) if tool else 0


def timed(command, output):
    """Runs it: CPU time, wall time."""
    begin = time.monotonic()
    with open(output, "w") as f:
        process = subprocess.Popen(command, stdout=f, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"against_perf.py: {' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin


def begins_there(names):
    """Names from the inside to the outside. What calls libc's start may have no name, nor what is in the loader."""
    return (names[-1] in BEGINNINGS or names[-1].startswith("ld-linux") or
            (len(names) > 1 and names[-2].startswith("__libc_start_main")))


def perf_name(frame):
    """Of 'function+0x12 (/path/of/its/file)': the function, or the file of one that has no name."""
    name, _, path = frame.rpartition(" (")
    return os.path.basename(path) if name == "[unknown]" else name.split("+0x")[0]


def count_perf(text):
    """Of perf script's text: samples, with the program's code, whole, with Python functions."""
    stacks, whole, python, samples = 0, 0, 0, 0
    with open(text, errors="replace") as f:
        for paragraph in f.read().split("\n\n"):
            lines = paragraph.strip("\n").split("\n")
            if not lines[0]:
                continue
            samples += 1
            names = [line.split(None, 1)[1] for line in lines[1:]
                     if len(line.split(None, 1)) == 2 and "([kernel." not in line]
            if not names:
                continue
            stacks += 1
            python += any("py::" in name for name in names)
            whole += begins_there([perf_name(name) for name in names])
    return samples, stacks, whole, python


def count_xpuprof(folder, path):
    """The same of xpuprof's folded text, in which a line is so many microseconds."""
    stacks, whole, python, samples = 0, 0, 0, 0
    for line in subprocess.run([XPUPROF, "export", "--to", "folded", "--native-python", path], check=True,
                               capture_output=True, text=True, errors="replace").stdout.splitlines():
        stack, _, us = line.rpartition(" ")
        count = round(int(us) * 99 / 1e6)
        samples += count
        names = [name for name in stack.split(";") if not name.endswith("_[k]")]
        if not names:
            continue
        stacks += count
        python += count * any(".py)" in name or "(<string>)" in name for name in names)
        whole += count * begins_there(names[::-1])
    return samples, stacks, whole, python


def read_back(folder, tool, path):
    """CPU and wall time until names are there; counts."""
    text = folder + "/text"
    if tool == "xpuprof":
        took = timed([XPUPROF, "flame", "-o", folder + "/f.svg", path], os.devnull)
        return took, count_xpuprof(folder, path)
    took = timed(["perf", "script", "--no-inline", "-F", "comm,pid,tid,time,event,ip,sym,symoff,dso", "-i", path],
                 text)
    return took, count_perf(text)


def spread(values, form):
    return f"{form.format(statistics.median(values))} ({form.format(min(values))} to {form.format(max(values))})"


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def compare(folder, name, rounds):
    title, command = PROGRAMS[name]
    command = [word.replace("{folder}", folder).replace("{text}", folder + "/text-in").replace(
        "{lines}", folder + "/lines-in").replace("{zeros}", folder + "/zeros-in").replace("{cc}", folder + "/in.cc")
        for word in command]
    order = list(TOOLS)
    rows = {tool: [] for tool in order}
    Run(folder, command, None)  # its files are in memory from here on
    for number in range(rounds):
        for tool in order[number % len(order):] + order[:number % len(order)]:
            run = Run(folder, command, TOOLS[tool])
            run.read, run.counts = read_back(folder, tool, run.path) if TOOLS[tool] else ((0, 0), (0, 0, 0, 0))
            rows[tool].append(run)
    alone = statistics.median(run.program_s for run in rows["alone"])
    load = os.getloadavg()[0]
    print(f"\n{name}: {title}; {alone:.2f} s of CPU alone, {rounds} rounds, load {load:.1f}")
    print(f"  {'':21}{'program':24}{'tool':>8}{'file':>11}{'names, CPU':>12}{'wall':>9}{'samples':>9}{'whole':>9}"
          f"{'Python':>9}")
    for tool in order[1:]:
        runs = rows[tool]
        ratios = [run.unit_s / other.unit_s for run, other in zip(runs, rows["alone"])]
        samples, stacks, whole, python = (sum(run.counts[i] for run in runs) for i in range(4))
        middle = {key: statistics.median(value(run) for run in runs) for key, value in
                  {"tool": lambda r: r.tool_s, "bytes": lambda r: r.bytes / 1e3,
                   "cpu": lambda r: r.read[0], "wall": lambda r: r.read[1] + r.end_s}.items()}
        print(f"  {tool:21}{spread(ratios, '{:.3f}'):24}{middle['tool']:6.2f} s{middle['bytes']:8,.0f} kB"
              f"{middle['cpu']:10.2f} s{middle['wall']:7.2f} s{samples:9,}{share(whole, stacks):>9}"
              f"{share(python, stacks):>9}")
    sys.stdout.flush()


def make_inputs(folder):
    with open(folder + "/text-in", "wb") as f:
        with open(XPUPROF, "rb") as program:
            f.write((program.read() * 16)[:12_000_000])
    with open(folder + "/lines-in", "w") as f:
        f.writelines(f"{i * 2654435761 % 4294967296:x} line\n" for i in range(3_000_000))
    with open(folder + "/zeros-in", "wb") as f:
        f.truncate(512_000_000)
    with open(folder + "/in.cc", "w") as f:
        f.write(CXX)


def main():
    options, names = getopt.getopt(sys.argv[1:], "r:")
    rounds = int(dict(options).get("-r", 3))
    if os.geteuid() or not shutil.which("perf"):
        print("against_perf.py: skipped, it needs root and perf (Debian's linux-perf)")
        return
    version = subprocess.run(["perf", "--version"], capture_output=True, text=True).stdout.strip()
    print(f"CPU sampling beside {version}, 99 Hz. Medians (least to most).")
    for name in names or PROGRAMS:
        if name not in PROGRAMS:
            sys.exit(f"against_perf.py: no program '{name}'; there are {', '.join(PROGRAMS)}")
        with tempfile.TemporaryDirectory(prefix="xpuprof-bench-") as folder:
            make_inputs(folder)
            compare(folder, name, rounds)


if __name__ == "__main__":
    main()
