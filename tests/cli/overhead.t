#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record --overhead`, on the simulated CUDA: GPU work is recorded in bursts, each with all that was asked for in it, and
what they stand for is what the program did, within the errors that the report states."""
import gzip
import json
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

ROUNDS = os.path.join(tap.BUILD, "tests/programs/rounds")
LIBRARY = os.path.join(tap.BUILD, "libxpuprof-inject.so")
SIMULATED = {**os.environ, "LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim")}
KERNELS_A_ROUND = 8


def rounds_of(text):
    """(begin, end) in nanoseconds, of each."""
    return [(int(words[1]), int(words[2])) for words in map(str.split, text.splitlines()) if len(words) == 3]


def report(path="p.xpu"):
    return json.loads(tap.run(tap.PROGRAM, "report", "--json", path))


def record(*options, seconds=5, threads=2, pause=3000):
    """Of a program that it starts: what was said, and the program's rounds."""
    done = subprocess.run([tap.PROGRAM, "record", *options, "-o", "p.xpu", "--", ROUNDS, "--threads", str(threads), "--pause",
                           str(pause), "--seconds", str(seconds)], env=SIMULATED, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done, rounds_of(done.stdout)


def lost(r):
    return {key: n for key, n in r["losses"].items() if n and key.startswith(("gpu", "stalls"))}


def check_whole_bursts(path="p.xpu"):
    """Each call that asked for work has all of it: five kernels of a launch each, three of a graph, a copy and a set."""
    calls, work = {}, {}
    for event in json.loads(tap.run(tap.PROGRAM, "export", "--to", "chrome", "-o", "-", path))["traceEvents"]:
        number = event.get("args", {}).get("correlationId")
        if event.get("cat", "").startswith("CUDA_") and re.search("Launch|Memcpy|Memset", event["name"]):
            calls[number] = event["name"]
        elif event.get("cat") in ("GPU_Kernel", "MemCopy", "MemSet"):
            work.setdefault(number, []).append(event["name"])
    wrong = [(calls[n], work.get(n)) for n in calls if len(work.get(n, [])) != (3 if "Graph" in calls[n] else 1)]
    tap.result(len(calls) > 100 and not wrong, "every call of a burst has all of its work", len(calls), wrong[:5])
    tap.result(len(set(work) - set(calls)) <= 2, "and no work is of another call", sorted(set(work) - set(calls))[:5])


def check_command():
    done, rounds = record("-q", "--overhead", "20")
    r = report()
    tap.result(done.returncode == 0 and "done" in done.stdout, "a program runs as alone", done.stdout[-200:], done.stderr)
    tap.result(not lost(r), "nothing is lost", lost(r))
    check_whole_bursts()
    seen, happened = sum(k["count"] for k in r["kernels"]), KERNELS_A_ROUND * len(rounds)
    low, high = (sum(k[f"count_{end}"] for k in r["kernels"]) for end in ("low", "high"))
    # twice as far as a range of 95 % says: this is no test of chance
    tap.result(seen - 2 * (seen - low) <= happened <= seen + 2 * (high - seen) and r["bursts"]["count"] > 3,
               "as many kernels are estimated as ran", seen, (low, high), happened, r["bursts"])
    tap.result(r["meta"].get("overhead") == "20", "the recording says under which budget", r["meta"])
    text = tap.run(tap.PROGRAM, "report", "p.xpu")
    tap.result("+-" in text and "in bursts" in text, "and the report which figures are estimates", text)
    found = re.search(r"^not in that .*tracer .*; CPU time of the recorder itself, ([0-9.]+) (ms|s) \(([0-9.]+) % of a CPU\)$", text, re.M)
    cpu_ns, elapsed_ns = int(r["meta"].get("recorder_cpu_ns", 0)), r["elapsed_ns"]
    tap.result(found and abs(float(found[1]) * (1e6 if found[2] == "ms" else 1e9) - cpu_ns) < 0.01 * cpu_ns
               and abs(float(found[3]) - 100 * cpu_ns / elapsed_ns) < 0.06 * float(found[3]),
               "and what is not in the budget: the tracer, and the recorder's own time", cpu_ns, elapsed_ns, text)


def check_pprof():
    tap.run(tap.PROGRAM, "export", "--to", "pprof", "-o", "p.pb.gz", "p.xpu")
    with gzip.open("p.pb.gz") as file:
        text = file.read()
    tap.result(b"in bursts: numbers and times of GPU work are estimates" in text, "a comment of pprof's says so, too")


def check_joined():
    with open("log", "w", encoding="utf-8") as log:
        program = subprocess.Popen([ROUNDS, "--threads", "2", "--pause", "2000"], env=SIMULATED, stdout=log)
    time.sleep(0.5)
    done = subprocess.run([tap.PROGRAM, "record", "-d", "4", "--overhead", "20", "-o", "p.xpu", "-p", str(program.pid)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    alive = program.poll() is None
    tap.result(alive and done.returncode == 0 and "left process" in done.stderr, "a program that runs is joined, and left", done.stderr)
    check_whole_bursts()
    r = report()
    tap.result(not lost(r) and r["bursts"]["count"] > 3, "nothing is lost there", lost(r), r["bursts"])
    program.terminate()
    program.wait()


def be_impatient(pid):
    """The library in a program does not go on for a minute with what cannot be held: a variable in its memory says how long."""
    symbols = tap.run("nm", LIBRARY).splitlines()
    offset = next(int(line.split()[0], 16) for line in symbols if line.endswith(" bursts_patience_ns"))
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        base = next(int(line.split("-")[0], 16) for line in maps if os.path.basename(LIBRARY) in line)
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(base + offset)
        memory.write(bytes(8))


def check_give_up():
    """Our thread alone costs more than a hundred-thousandth of the time, which is known after a burst or two: within six seconds."""
    command = ["sh", "-c", f"echo pid $$; exec '{ROUNDS}' --threads 2 --pause 3000 --seconds 8"]
    with subprocess.Popen([tap.PROGRAM, "record", "--overhead", "0.001", "-o", "p.xpu", "--", *command], env=SIMULATED,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as recorder:
        pid = recorder.stdout.readline().split()[1]
        recorder.stdout.readline()  # it is ready: the library is there
        be_impatient(pid)
        said = recorder.communicate()[1]
    r = report()
    tap.result(recorder.returncode == 0 and r["bursts"]["works_recorded"] < 200, "a small budget gives few bursts", r["bursts"], said)
    tap.result(lost(r) == {"gpu_overhead": 1} and "--overhead could not be held" in said, "one that cannot be held ends it, and the summary says so",
               lost(r), said)


def check_refusals():
    for options, says in ((["--overhead", "0"], "takes a percentage"), (["--overhead", "1x"], "takes a percentage"),
                          (["--overhead", "1", "--cpu-only"], "--cpu-only wants none"), (["--overhead", "1", "--stalls"], "--stalls")):
        done = subprocess.run([tap.PROGRAM, "record", *options, "-o", "n.xpu", "--", "true"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        tap.result(done.returncode == 2 and re.search(re.escape(says), done.stderr) and not os.path.exists("n.xpu"),
                   f"{' '.join(options)} is refused", done.returncode, done.stderr)


def main():
    check_command()
    check_pprof()
    check_joined()
    check_give_up()
    check_refusals()


tap.main(main, lambda: "" if tap.can_record("--cpu-only") else "programs cannot be joined here")
