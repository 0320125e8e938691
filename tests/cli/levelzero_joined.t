#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record -p` records what programs that run already do with Level Zero, over the simulated loader and, where tests/neo/fetch
has fetched them, over Intel's own loader and driver with a simulated GPU: all work but that of lists that were recorded before, and
the program goes on as if nothing had been.

usage: levelzero_joined.t [rounds|again|patient|old|layerless|two|kills|neo|stalls...]"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap
from joining import (end_well, has_library, is_left, kill_recorders, lost, record_joined, report, run_parts, running, state_of, text_of,
                     wait_for, why_not)

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(tap.BUILD, "tests/targets/levelzero_real")
ZEBIN = os.path.join(HERE, "../data/zebin/bmg.zebin")
NODE = os.path.join(tap.BUILD, "sim/xe/node.so")
NEO = os.environ.get("XPUPROF_NEO", os.path.join(HERE, "../../build/neo"))
KILLS = int(os.environ.get("JOINED_KILLS", 6))
BUSY_NS, TINY_NS = 572916, 57291  # SIM_LEVELZERO_CYCLES of 1,000 groups and of 10


def driver():
    """A library with the name of Intel's driver, by which programs are known to use Level Zero: the simulated loader needs none."""
    if not os.path.exists("libze_intel_gpu.so.1"):
        subprocess.run(["cc", "-shared", "-x", "c", "-o", "libze_intel_gpu.so.1", "/dev/null"], check=True)
    return os.path.abspath("libze_intel_gpu.so.1")


def simulated(what="rounds", **variables):
    return running(TARGET, what, ZEBIN, variables={"LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim/levelzero"), "LD_PRELOAD": driver(),
                                                   **variables})


def real(what="rounds", **variables):
    """Over Intel's loader and driver, with their own C library."""
    libraries = os.path.join(NEO, "libraries")
    return running(os.path.join(libraries, "ld-linux-x86-64.so.2"), "--library-path", libraries, TARGET, what, ZEBIN,
                   variables={"LD_LIBRARY_PATH": os.path.join(NEO, "loader"), "LD_PRELOAD": NODE, "XPUPROF_SIM_XE_DEVICE": "bmg",
                              "XPUPROF_SIM_XE_TOLD": os.path.abspath("told"), "NEOReadDebugKeys": "1", "NEO_CACHE_PERSISTENT": "0",
                              "OverrideDeviceName": "Simulated GPU below Intel's driver", **variables})


def kernels():
    return {k["name"]: k for k in report()["kernels"]}


def whole(what):
    """What of each round can be known is there, a round at each end may be in part."""
    r, known = report(), kernels()
    counts = {name: k["count"] for name, k in known.items()}
    missing = {key: n for key, n in lost().items() if key.startswith(("gpu_", "images_"))}
    unseen = missing.pop("gpu_lists", 0)
    tap.result(set(counts) == {"busy", "tiny"} and counts["busy"] > 50 and max(counts.values()) - min(counts.values()) <= 1 and
               abs(unseen - counts["busy"]) <= 1, f"{what}: each round's kernels, and that its old list ran unseen", counts, lost())
    tap.result(not missing and not sum(r["works_without_stack"].values()) and r["simulated"], f"{what}: nothing is lost", missing,
               r["works_without_stack"])
    tap.result(known["busy"]["total_ns"] == counts["busy"] * BUSY_NS and known["tiny"]["total_ns"] == counts["tiny"] * TINY_NS,
               f"{what}: with the device's times", known)
    folded = tap.run(tap.PROGRAM, "export", "--to", "folded", "--view", "gpu", "p.xpu")
    tap.result(";run_rounds;launch_busy;zeCommandListAppendLaunchKernel;[GPU_Kernel]busy " in folded and
               ";run_rounds;execute;zeCommandQueueExecuteCommandLists;" in folded, f"{what}: below the functions that asked for them",
               folded[:2000])


def check_rounds():
    with simulated() as program:
        done = record_joined(program.pid, "--gpu-only")
        whole("joined")
        tap.result(done.returncode == 0 and "stays" not in done.stderr and "cannot leave" not in done.stderr and
                   "executions of lists of GPU commands that were recorded unseen" in done.stderr,
                   "the summary says what was not seen, and that nothing stays", done.stderr)
        tap.result(report()["meta"]["joined"] == str(program.pid), "reports say that it was joined", report()["meta"])
        tap.result(is_left(program.pid), "the library has left", state_of(program.pid))
        tap.result(end_well(program), "the program ends as alone", text_of("log"))


def check_again():
    with simulated() as program:
        record_joined(program.pid, "--gpu-only", seconds=0.5)
        first = is_left(program.pid) and state_of(program.pid)
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as maps:
            mappings = len(maps.readlines())
        for _ in range(4):
            record_joined(program.pid, "--gpu-only", seconds=0.3)
        record_joined(program.pid, "--gpu-only")
        whole("the sixth time")
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as maps:
            more = len(maps.readlines()) - mappings
        tap.result(is_left(program.pid) and state_of(program.pid) == first and more <= 2, "no threads, descriptors and mappings are added",
                   first, state_of(program.pid), more)
        tap.result(end_well(program), "the program ends as alone", text_of("log"))


def check_patient():
    with simulated("patient") as program:
        record_joined(program.pid, "--gpu-only", seconds=4)
        whole("beside a thread that waits")
        tap.result(wait_for(lambda: not set(state_of(program.pid)[2]) - {"/memfd:xpuprof-stay"}) and is_left(program.pid),
                   "the library leaves when a wait that it has seen begin is over", state_of(program.pid))
        tap.result(end_well(program), "the program ends as alone", text_of("log"))


def check_old():
    with simulated(XPUPROF_SIM_ZE_OLD="1") as program:
        done = record_joined(program.pid)
        tap.result(done.returncode == 0 and "process in which no usable tracer was found" in done.stderr,
                   "a loader that cannot trace programs that run is told", done.stderr)
        tap.result(is_left(program.pid), "the library has left", state_of(program.pid))
        tap.result(end_well(program), "the program ends as alone", text_of("log"))


def check_layerless():
    with simulated(XPUPROF_SIM_ZE_NO_LAYER="1") as program:
        done = record_joined(program.pid, seconds=2)
        tap.result(done.returncode == 0 and "process in which no usable tracer was found" in done.stderr,
                   "a loader without its tracing layer is told", done.stderr)
        tap.result(is_left(program.pid), "the library has left", state_of(program.pid))
        tap.result(end_well(program), "nothing was switched on, and the program ends as alone", text_of("log"))


def check_two():
    with simulated() as program:
        first = subprocess.Popen([tap.PROGRAM, "record", "-q", "--gpu-only", "-o", "first.xpu", "-p", str(program.pid)])
        wait_for(lambda: has_library(program.pid))
        second = subprocess.Popen([tap.PROGRAM, "record", "-q", "--gpu-only", "-o", "p.xpu", "-p", str(program.pid)])
        wait_for(lambda: libraries_of(program.pid) == 2)
        for recorder, seconds in ((first, 0.3), (second, 1.5)):
            time.sleep(seconds)
            recorder.send_signal(signal.SIGINT)
            recorder.wait()
        counts = {path: {k["name"]: k["count"] for k in report(path)["kernels"]} for path in ("first.xpu", "p.xpu")}
        tap.result(counts["p.xpu"]["busy"] > 2 * counts["first.xpu"]["busy"], "who came second records on when the first has left", counts)
        tap.result(is_left(program.pid), "both have left", state_of(program.pid))
        tap.result(end_well(program), "the program ends as alone", text_of("log"))


def libraries_of(pid):
    count = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            count += text_of(f"/proc/{pid}/task/{task}/comm") == "xpuprof\n"
    return count


def check_kills():
    with simulated() as program:
        kill_recorders(program, KILLS)
        tap.result(wait_for(lambda: not set(state_of(program.pid)[2]) - {"/memfd:xpuprof-stay"}) and is_left(program.pid),
                   "the library has left", state_of(program.pid))
        record_joined(program.pid, "--gpu-only")
        whole("after killed recorders")
        tap.result(end_well(program), "the program ends as alone", text_of("log"))


def has_neo(test):
    if os.path.exists(os.path.join(NEO, "version")):
        return True
    tap.result(True, f"{test} # SKIP Intel's drivers are not there: 'tests/neo/fetch build/neo' fetches them")
    return False


def check_neo():
    if not has_neo("joined over Intel's driver"):
        return
    with real() as program:
        for n in ("joined", "joined again"):
            record_joined(program.pid, "--gpu-only")
            whole(f"Intel's driver, {n}")
            tap.result(is_left(program.pid), f"Intel's driver, {n}: the library has left", state_of(program.pid))
        tap.result("libze_loader.so.1" in report()["meta"]["cupti"], "the loader is the real one", report()["meta"])
        tap.result(end_well(program), "the program ends as alone", text_of("log"))


def check_stalls():
    if not has_neo("instructions over Intel's driver"):
        return
    pipe = os.path.abspath("pipe")
    for path in (pipe, pipe + ".1"):
        os.mkfifo(path)
    recorder = ["env", f"LD_PRELOAD={NODE}", "XPUPROF_SIM_XE_DEVICE=bmg", f"XPUPROF_SIM_XE={pipe}", "XPUPROF_SIM_XE_PATIENCE_MS=0"]
    for what, when in (("rounds", "were there"), ("kernels_anew", "are made of a module that was there")):
        check_sampled(what, when, recorder, pipe)


def check_sampled(what, when, recorder, pipe):
    with real(what, XPUPROF_SIM_XE=pipe, XPUPROF_SIM_XE_PATIENCE_MS="0") as program:
        done = record_joined(program.pid, "--stalls", before=recorder)
        stalls = {k["name"]: k["samples"] for k in report_stalls()}
        tap.result(set(stalls) == {"busy", "tiny"} and min(stalls.values()) > 1000, f"instructions are sampled, at kernels that {when}",
                   stalls, done.stderr)
        tap.result("the code of 2 of 2 sampled GPU functions was not available" in done.stderr, "code from before has names only",
                   done.stderr)
        tap.result(is_left(program.pid), "the library has left", state_of(program.pid))
        tap.result(end_well(program), "the program ends as alone", text_of("log"))


def report_stalls():
    return json.loads(tap.run(tap.PROGRAM, "report", "--json", "--stalls", "p.xpu"))["stalls"]["kernels"]


def check():
    run_parts(check_rounds, check_again, check_patient, check_old, check_layerless, check_two, check_kills, check_neo, check_stalls)


tap.main(check, why_not)
