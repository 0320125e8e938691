#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `xpuprof probe` runs eBPF programs inside the kernels of tests/targets/probed.c, on the simulated GPU: counts are those of
# the launches, and the program's results are what they are without (it checks each bit).
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from probing import BLOCKS, COUNT, DATA, GRID, OBJECTS, SECONDS, SHAPES, TARGET, WARPS, answer, entries, environment, launches_of, probe, why_not

# Warps of which some thread has something to add, and one of these not all.
BUSY_WARPS = (COUNT + 31) // 32


def total(found, name):
    return sum(entry["value"] for entry in entries(found, name))


def kept(found):
    """That nothing was lost which would be missed."""
    allowed = {"unseen_exits", "unseen_accesses"}
    return not any(n for name, n in found["losses"].items() if name not in allowed)


# What each tool finds of `n` launches of vector_add.
def of_sum(name, wanted):
    return lambda found, n: total(found, name) == wanted * n


def of_records(wanted):
    return lambda found, n: len(found["records"]) == wanted * n


def check_smload(found, n):
    sums = [sum(e["value"] for e in entries(found, "load") if e["key"] == key) for key in (0, 1)]
    return sums == [GRID * n, WARPS * n] and len({e["sm"] for e in entries(found, "load")}) > 1


def sizes(found, number=0):
    return {e["key"]: e["value"] for e in entries(found, "by_size", number)}


def check_memtrace(found, n):
    return sizes(found) == {4: 2 * COUNT * n, 64 + 4: COUNT * n}


def check_coalesce(found, n):
    values = [e["value"] for e in entries(found, "accesses")]
    # Each warp's 32 numbers of 4 bytes are one line, as memory is aligned to more than that.
    return len(values) == 3 and all(v == {"accesses": BUSY_WARPS * n, "lanes_less": (32 * BUSY_WARPS - COUNT) * n, "lines_more": 0} for v in values)


def check_divergence(found, n):
    lanes = {e["key"]: e["value"] for e in entries(found, "active_lanes")}
    return lanes == {32: 3 * (COUNT // 32) * n, COUNT % 32: 3 * n}


def check_threadhist(found, n):
    runs = entries(found, "runs")
    return len(runs) == GRID and all(e["value"] == n for e in runs) and {e["thread"] for e in runs} == set(range(GRID))


def check_runs(found, n):
    runs = [e["value"]["count"] for e in entries(found, "runs")]
    return runs == [n]


def check_blocks(found, n):
    blocks = [r["value"] for r in found["records"]]
    return (sorted(b["number"] for b in blocks) == sorted(list(range(BLOCKS)) * n) and all(0 < b["start"] <= b["end"] for b in blocks))


TOOLS = {
    "blocktime": of_sum("nanoseconds", GRID),
    "blocks": check_blocks,
    "smload": check_smload,
    "coalesce": check_coalesce,
    "divergence": check_divergence,
    "memtrace": check_memtrace,
    "memheat": of_sum("bytes", 3 * 4 * COUNT),
    "threadhist": check_threadhist,
    "threadscheduling": of_sum("threads", GRID),
    "kernelretsnoop": of_records(GRID),
    "kernel_trace": of_records(1),
    "launchlate": of_records(1),
    "cudagraph": check_runs,
}


def check_tools():
    listed = [line.split()[0] for line in subprocess.run([tap.PROGRAM, "probe", "--list"], stdout=subprocess.PIPE, text=True).stdout.splitlines()]
    tap.result(sorted(listed) == sorted(TOOLS), "each tool is tested", listed)
    for tool, check in TOOLS.items():
        done, found = answer(tool)
        n = launches_of(done)
        tap.result(found and n == 3 and not done.returncode and check(found, n) and kept(found), f"{tool} finds what ran", done.stdout[-2000:], done.stderr)
        done = probe(tool)
        tap.result(not done.returncode and re.search(rf"^{tool}: ", done.stdout, re.M) and "nothing" not in done.stdout and
                   len(done.stdout.splitlines()) >= 4, f"{tool} has a table", done.stdout, done.stderr)


# Each way to load images, and each that a program may go.
MODES = ["options", "file", "library", "graph", "streams", "contexts", "threads", "reset", "unload", "fork-after", "fork-before"]


def check_counts(name, *command, n=None, tool="blocktime", grid=GRID, **variables):
    done, found = answer(tool, command=command, **variables)
    launched = launches_of(done)
    tap.result(found and launched > 0 and n in (None, launched) and not done.returncode and kept(found) and
               total(found, "nanoseconds") == grid * launched, name, done.stdout[-1000:], done.stderr)
    return found


def check_modes():
    for mode in MODES:
        for how in ("dlsym", "procaddress"):
            check_counts(f"{mode}, by {how}: all threads are counted", TARGET, SHAPES, mode, how)
    for mode in ("launch", "library", "contexts"):
        check_counts(f"{mode}, linked with the driver: all threads are counted", TARGET + "_linked", SHAPES, mode)
    found = check_counts("contexts of two devices are added up", TARGET, SHAPES, "contexts", n=12, XPUPROF_SIM_DEVICES="2")
    tap.result(found and sorted(c["device"] for c in found["contexts"]) == [0, 0, 1, 1], "and told apart", found and found["contexts"])
    done = probe("blocktime", command=(TARGET, SHAPES, "contexts"), XPUPROF_SIM_DEVICES="2")
    tap.result(len(re.findall(r"^  30,720 threads$", done.stdout, re.M)) == 2 and len(re.findall(r"^blocktime: .*, device [01]$", done.stdout, re.M)) == 2,
               "each device has a table", done.stdout)
    done = probe("blocks", command=(TARGET, SHAPES, "contexts"), XPUPROF_SIM_DEVICES="2")
    tap.result(re.findall(r"^ +240 .* vector_add(.*)$", done.stdout, re.M) == [", device 0", ", device 1", "", ""],
               "rows of records say of which device they are, where there are several", done.stdout)
    for packing in ("none", "speed", "balance", "size", "lines"):
        check_counts(f"a fatbin, {packing}", TARGET, os.path.join(DATA, f"tiny-{packing}.fatbin"), "fatbin", grid=32)


def check_old_targets():
    """PTX for GPUs before sm_70 gets what their instructions suffice for."""
    with open(SHAPES, encoding="ascii") as shapes, open("old.ptx", "w", encoding="ascii") as old:
        old.write(shapes.read().replace(".target sm_75", ".target sm_60"))
    check_counts("PTX for sm_60 has its threads counted", TARGET, "old.ptx", "launch")
    done, found = answer("memtrace", command=(TARGET, "old.ptx", "launch"))
    tap.result(found and check_memtrace(found, 3) and kept(found), "and its accesses", found and sizes(found), done.stderr)
    for tool in ("coalesce", "blocks"):
        done, found = answer(tool, command=(TARGET, "old.ptx", "launch"))
        tap.result(found and launches_of(done) == 3 and found["losses"]["images_unreadable"] == 1 and
                   "its PTX is for sm_60, and the programs need sm_70: compile it for sm_70 or later" in done.stderr,
                   f"{tool} needs more, and says so", done.stderr)
    with open(os.path.join(tap.BUILD, "demo", "train"), "rb") as demo:
        tap.result(b".target sm_70\n" in demo.read(), "the demo's PTX gets all programs")


def check_captured():
    """Graphs that are captured before, and while, programs are switched off."""
    done = probe("--json", "blocktime", "-d", "1", command=(TARGET, SHAPES, "captured"))
    found = json.JSONDecoder().raw_decode(done.stdout)[0] if done.stdout.startswith("{") else None
    tap.result(found and not done.returncode and launches_of(done) == 15 and total(found, "nanoseconds") == 5 * GRID,
               "graphs have programs while these are on, whenever they were captured", found and total(found, "nanoseconds"), done.stderr)
    check_counts("a capture during which values are read, and results are right", TARGET, SHAPES, "captured", n=15)


def check_many():
    """64 programs of one object run in each kernel."""
    done, found = answer("-e", os.path.join(OBJECTS, "many.v3.bpf.o"), "-k", "vector_add")
    counts = {e["key"]: e["value"] for e in entries(found, "counts")} if found else {}
    kernel = found["kernels"][0] if found else {}
    tap.result(found and not done.returncode and launches_of(done) == 3 and kernel["programs"] == 64 and sum(counts.values()) == many(3),
               "64 programs of one object run", counts, kernel, done.stderr)


def many(launches):
    """What the programs of tests/ebpf/many.bpf.c add up: each its number; warps of vector_add enter together, and one leaves in two parts."""
    with open(os.path.join(DATA, "..", "..", "ebpf", "many.bpf.c"), encoding="ascii") as file:
        eights = [int(n) for n in re.findall(r"^EIGHT\((\d+)\)|EIGHT\((\d+)\)", file.read()) for n in n if n]
    numbers = [(int(f"{n}{part}{last}"), part) for n in eights for part in (1, 2) for last in range(4)]
    return sum(launches * (WARPS + (part == 2)) * number for number, part in numbers)


def check_lines():
    done = probe("coalesce", command=(TARGET, os.path.join(DATA, "tiny-lines.fatbin"), "fatbin"))
    tap.result(re.search(r" tiny\.cu:\d+ of tiny$", done.stdout, re.M), "accesses are named by their lines of source", done.stdout, done.stderr)


def check_numbers():
    """Values by access are found whatever was loaded before, how often, and where."""
    for mode in MODES:
        done, found = answer("coalesce", command=(TARGET, SHAPES, mode))
        n = launches_of(done)
        values = {(e["key"]["kernel"], e["key"]["insn"], e["key"]["size"]): e["value"]["accesses"] for e in entries(found, "accesses")} if found else {}
        vector = [k["hash"] for k in found["kernels"] if k["name"] == "vector_add"] if found else []
        tap.result(not done.returncode and vector and kept(found) and values == {(vector[0], insn, 4): BUSY_WARPS * n for insn in range(3)},
                   f"{mode}: values by access are those of the accesses of one kernel", values, done.stderr)
    done, found = answer("coalesce", "-k", "vector*", "--accesses", "2")
    tap.result(found and [e["key"]["insn"] for e in entries(found, "accesses")] == [0, 1] and found["losses"]["accesses_without_place"] == 1,
               "accesses without a place are counted, and the others are right", found and found["losses"], done.stderr)
    done = probe("coalesce", "-k", "vector*", "--accesses", "2")
    tap.result("1 access in a kernel had no place in an array by access (--accesses)" in done.stderr, "and told of", done.stderr)


def check_unprobed():
    """Kernels of machine code are named where somebody names kernels, with the reason."""
    code = os.path.join(DATA, "..", "cubin", "ptx.cubin")
    done, found = answer("blocktime", "-k", "shared_*", command=(TARGET, code, "launch"))
    tap.result(found and found["kernels_without_programs"] == [{"name": "_Z13shared_kernelPf", "why": "machine code only", "reason": "", "images": 1}] and
               found["losses"]["images_of_machine_code"] == 1, "kernels in machine code are named", found and found["kernels_without_programs"], done.stderr)
    done = probe("blocktime", "-k", "shared_*", "--kernels", command=(TARGET, code, "launch"))
    tap.result(re.search(r"^ +1  machine code only +shared_kernel\(float\*\)$", done.stdout, re.M) and
               "1 kernel that the programs are for ran without them (--kernels lists it)" in done.stderr, "--kernels lists them with the reason", done.stdout, done.stderr)
    for options in (("-k", "other*"), ()):
        done, found = answer("blocktime", *options, command=(TARGET, code, "launch"))
        tap.result(found and not found["kernels_without_programs"] and found["losses"]["images_of_machine_code"] == 1,
                   f"{options}: none that is not named", found and found["kernels_without_programs"])
    profile = os.path.abspath("code.xpu")
    probe("blocktime", "-k", "shared_*", "-o", profile, command=(TARGET, code, "launch"))
    done = subprocess.run([tap.PROGRAM, "report", "--probes", profile], stdout=subprocess.PIPE, text=True)
    tap.result(re.search(r"^ +1  machine code only +shared_kernel\(float\*\)$", done.stdout, re.M), "recordings have them, too", done.stdout)


def check_options():
    done, found = answer("blocktime", "-k", "vector*")
    tap.result(found and [k["name"] for k in found["kernels"]] == ["vector_add"] and total(found, "nanoseconds") == 3 * GRID,
               "-k chooses kernels", done.stdout[-500:], done.stderr)
    done, found = answer("blocktime", "-k", "none*")
    tap.result(found and not found["kernels"] and "no kernel was loaded that the programs are for" in done.stderr and launches_of(done) == 3,
               "where it names none, that is said, and the program runs", done.stderr)
    done, found = answer("-e", "blocktime", "-e", "memtrace", "-e", "blocks")
    tap.result(found and total(found, "nanoseconds") == 3 * GRID and
               sizes(found, 1) == {4: 6 * COUNT, 64 + 4: 3 * COUNT} and len(found["records"]) == 3 * BLOCKS,
               "several objects run beside each other", done.stdout[-1000:], done.stderr)
    done, found = answer("threadhist", "--threads", "1000")
    tap.result(found and len(entries(found, "runs")) == 1000 and found["losses"]["threads_without_place"] == 3 * (GRID - 1000),
               "threads without a place are counted", found and found["losses"])
    done, found = answer("-e", os.path.join(OBJECTS, "nothing.v3.bpf.o"))
    tap.result(found and len(found["kernels"]) > 10 and all((k["programs"], k["accesses"]) == (3, 0) for k in found["kernels"]) and
               launches_of(done) == 3 and not done.stderr, "programs without effects are told of, and the kernels stay as they are", done.stdout[-500:], done.stderr)
    done = probe("blocktime", "--kernels")
    tap.result(re.search(r"^ +2 +2 +0 +1  +\d+ > \d+ +0 +\d+( > \d+)?  [0-9a-f]{8} +vector_add$", done.stdout, re.M), "--kernels lists them", done.stdout)
    for arguments, said in ((["blocktime", "--set", "nothing=1"], "no program uses"), (["blocktime", "--set", "x"], "cannot read 'x'"),
                            (["nosuchtool"], "is no tool"), (["-e", "nosuchtool"], "nor a tool; 'xpuprof probe --list' prints"),
                            (["-o", "no.xpu", "-e", "nosuchtool"], "nor a tool; 'xpuprof probe --list' prints"), (["--thread", "--warp", "blocks"], "exclude")):
        done = probe(*arguments)
        tap.result(done.returncode in (1, 2) and said in done.stderr and not done.stdout, f"{' '.join(arguments)} is refused", done.stderr)
    done, found = answer("blocktime", "--set", "nanoseconds[5]=1000000")
    tap.result(found and total(found, "nanoseconds") == 3 * GRID + 1000000, "--set begins with a value", done.stderr)


def check_status():
    done = probe("blocktime", command=("sh", "-c", "exit 7"))
    tap.result(done.returncode == 7 and "no process of the command loaded code for a GPU" in done.stderr, "the status is the command's", done.stderr)
    done = probe("blocktime", command=("sh", "-c", "kill -TERM $$"))
    tap.result(done.returncode == -signal.SIGTERM, "and its signal", done.returncode)
    done = probe("blocktime", command=("/nonexistent",))
    tap.result(done.returncode == 127 and not done.stdout, "a command that is not there", done.stderr)
    done = probe("blocktime", command=("sh", "-c", 'echo "$LD_PRELOAD"'), LD_PRELOAD="libdl.so.2")
    tap.result(re.match(r"\S*/libxpuprof-probe\.so:libdl\.so\.2$", done.stdout.splitlines()[0]), "what the user preloads stays", done.stdout)


def check_refused():
    """Every second image is refused by the driver, of which each is loaded twice then."""
    done, found = answer("blocktime", command=(TARGET, SHAPES, "unload"), XPUPROF_SIM_FAULTS="fail-load=2")
    refused = found["losses"]["images_refused"] if found else 0
    tap.result(found and launches_of(done) == 20 and not done.returncode and refused == 19 and total(found, "nanoseconds") == GRID,
               "an image that the driver refuses runs as it is", done.stdout[-500:], done.stderr)
    tap.result("19 images with programs were refused by the driver" in done.stderr, "and that is said", done.stderr)
    for mode in ("options", "options-twice"):
        done, found = answer("blocktime", command=(TARGET, SHAPES, mode), XPUPROF_SIM_FAULTS="fail-load=2")
        tap.result(found and found["losses"]["images_refused"] == 1 and launches_of(done) == 3 and "log" not in done.stdout,
                   f"the program has no log of that ({mode})", done.stdout[-500:], done.stderr)
    larger = f"small-blocks={os.path.getsize(SHAPES) + 10}"
    done, found = answer("blocktime", XPUPROF_SIM_FAULTS=larger)
    tap.result(found and total(found, "nanoseconds") == 3 * GRID and not found["losses"]["images_of_smaller_blocks"],
               "kernels whose blocks would be smaller are compiled for blocks as large as before", done.stdout[-500:], done.stderr)
    done, found = answer("blocktime", XPUPROF_SIM_FAULTS=larger + ",fail-load=3")
    tap.result(found and launches_of(done) == 3 and not total(found, "nanoseconds") and found["losses"]["images_of_smaller_blocks"] == 1,
               "and run without programs where that is not possible", done.stdout[-500:], done.stderr)
    done, found = answer("blocktime", XPUPROF_SIM_FAULTS="small-blocks=1000")
    tap.result(found and total(found, "nanoseconds") == 3 * GRID and not found["losses"]["images_of_smaller_blocks"],
               "those that had small blocks before are taken as they are", done.stdout[-500:], done.stderr)
    done, found = answer("blocktime", command=(TARGET, SHAPES, "launch"), XPUPROF_PROBE_SOCKET="/nonexistent")
    tap.result(found and total(found, "nanoseconds") == 3 * GRID, "the variable of another run does not matter", done.stderr)


def check_without_end():
    done, found = answer("blocktime", command=(TARGET, SHAPES, "no-exit"))
    tap.result(found and total(found, "nanoseconds") == 3 * GRID and found["losses"]["contexts_cut"] == 1,
               "a program that leaves by _exit: values of a second before, and that is said", done.stdout[-300:], done.stderr)


class Running:
    """A program that goes on until its input is closed."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([tap.PROGRAM, "probe", *arguments, "--", TARGET, SHAPES, "on-and-on"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.first = self.process.stdout.readline()

    def target(self):
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
        return int(found[0]) if found else 0

    def end(self):
        return self.process.communicate("\n", timeout=SECONDS)


def gone(pid):
    return not os.path.exists(f"/proc/{pid}") or "Z" == open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[0]


def check_live():
    running = Running("blocktime", "-i", "0.3")
    time.sleep(2)
    out, err = running.end()
    counts = [int(n.replace(",", "")) for n in re.findall(r"^  ([\d,]+) threads$", out, re.M)]
    tap.result(len(counts) >= 3 and counts == sorted(counts) and counts[-1] == GRID * int(re.findall(r"^(\d+)$", out, re.M)[-1]),
               "-i prints tables while it runs, and the last has all", counts, out[-400:], err)
    running = Running("blocktime", "-d", "0.5")
    time.sleep(1.5)
    out, err = running.end()
    counts = [int(n.replace(",", "")) for n in re.findall(r"^  ([\d,]+) threads$", out, re.M)]
    launched = re.findall(r"^(\d+)$", out, re.M)
    tap.result(not running.process.returncode and len(counts) == 1 and launched and 0 < counts[0] < GRID * int(launched[-1]),
               "-d ends the probing, and the program goes on", out[-400:], err)
    running = Running("memtrace")
    os.kill(running.process.pid, signal.SIGINT)
    out = running.process.stdout.readline()
    tap.result("memtrace: " in out, "a signal to xpuprof alone prints what there is", out)
    running.end()


def check_killed():
    running = Running("coalesce")
    target = running.target()
    os.kill(running.process.pid, signal.SIGKILL)
    time.sleep(2.5)
    alive = not gone(target)
    running.process.stdin.close()
    rest = running.process.stdout.read()
    for _ in range(100):
        if gone(target):
            break
        time.sleep(0.1)
    # It leaves with 3 and without a number where one result is wrong.
    tap.result(target and alive and re.match(r"\d+$", rest) and int(rest) > 1, "with xpuprof killed the program runs on, and its results are right", rest)


def check():
    check_tools()
    check_modes()
    check_old_targets()
    check_captured()
    check_many()
    check_lines()
    check_numbers()
    check_unprobed()
    check_options()
    check_status()
    check_refused()
    check_without_end()
    check_live()
    check_killed()


tap.main(check, why_not)
