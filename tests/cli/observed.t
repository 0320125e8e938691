#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record --gpu=observe`, on the simulated CUDA: of programs that cannot be joined, here for a seccomp filter, every call
is counted with its stack, and what waits is timed; there are no kernels and no GPU times; the program goes on as if nothing had
been; and those that can be joined are joined.

usage: observed.t [calls|waits|samples|windows|later|forks|two|kill|joined|rights|options...]
       observed.t filtered COMMAND...    runs a command with a filter"""
import collections
import ctypes
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import joining
import tap
from joining import NOBODY, ROUNDS, TARGET, end_well, report, text_of, wait_for

ME = os.path.abspath(__file__)
REFUSAL = "its seccomp filter does not let 'memfd_create' pass"
# What a round asks for (tests/programs/rounds.c): the function that calls, and its call.
A_ROUND = {("launch_direct", "cuLaunchKernel"): 5, ("move_bytes", "cuMemcpyHtoDAsync_v2"): 1, ("move_bytes", "cuMemsetD8Async"): 1,
           ("replay_graph", "cuGraphLaunch"): 1}


def run_filtered(command):
    """No file in memory can be made: joining needs one."""
    load, equal, result = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ, BPF_RET
    memfd_create, refuse, allow = 319, 0x00050000 | 1, 0x7fff0000
    code = ((load, 0, 0, 0), (equal, 0, 1, memfd_create), (result, 0, 0, refuse), (result, 0, 0, allow))
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        sys.exit("cannot set a filter")
    os.execvp(command[0], command)


def running(*command, filtered=True, **variables):
    """As joining.running, with a filter."""
    return joining.running(*([sys.executable, ME, "filtered"] if filtered else []), *command, variables=variables)


def record(pid, *options, seconds="2", path="p.xpu", before=()):
    return subprocess.run([*before, tap.PROGRAM, "record", "-d", seconds, "-o", path, "--gpu=observe", *options, "-p", str(pid)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)


def lost(path="p.xpu"):
    """But for stacks, and for what is to be missing: the work, and the waits of the last moment."""
    return {key: n for key, n in report(path)["losses"].items()
            if n and not key.startswith(("walk_", "stacks_incomplete", "tables_", "gpu_never_connected", "waits_observed"))}


def rounds_of(name):
    """(tid, begin, end) in nanoseconds."""
    words = [line.split() for line in text_of(name).splitlines()]
    return [tuple(map(int, w)) for w in words if len(w) == 3 and all(one.isdigit() for one in w)]


def calls_of(path="p.xpu"):
    """(tid, begin, call, nanoseconds that it waited)."""
    events = json.loads(tap.run(tap.PROGRAM, "export", "--to", "chrome", "-o", "-", path))["traceEvents"]
    return [(e["tid"], round(e["ts"] * 1000), e["name"].split()[-1], round(e["dur"] * 1000)) for e in events
            if e.get("cat", "").startswith("CUDA_")]


def compare(path="p.xpu", name="log"):
    """What is wrong with rounds between a thread's first call and its last, how many these are, and which part of their time was waited."""
    calls = calls_of(path)
    if not calls:
        return ["there are no calls"], 0, 0
    wanted = collections.Counter({call: n for (_, call), n in A_ROUND.items()}) + collections.Counter(cuStreamSynchronize=1)
    by_thread, wrong, compared, waited, took = collections.defaultdict(list), [], 0, 0, 0
    for tid, *call in calls:
        by_thread[tid].append(call)
    seen = {tid: (mine[0][0], mine[-1][0] - 50_000_000) for tid, mine in by_thread.items()}
    for tid, start, stop in rounds_of(name):
        if tid not in seen or start < seen[tid][0] or stop > seen[tid][1]:
            continue
        mine = by_thread[tid]
        while mine and mine[0][0] < start:
            mine.pop(0)
        inside = []
        while mine and mine[0][0] <= stop:
            inside.append(mine.pop(0))
        if collections.Counter(call for _, call, _ in inside) != wanted:
            wrong.append((tid, start, inside))
        compared += 1
        waited += sum(ns for _, _, ns in inside)
        took += stop - start
    return wrong, compared, waited / took if took else 0


def paths(path="p.xpu"):
    """(function that called, call): how often, by the picture of calls."""
    found = collections.Counter()
    for line in tap.run(tap.PROGRAM, "export", "--to", "folded", "--view", "calls", "-o", "-", path).splitlines():
        frames, count = line.rsplit(" ", 1)
        found[tuple(frame.split("(")[0] for frame in frames.split(";")[-2:])] += int(count)
    return found


def probes_in(pid):
    """Breakpoints at the driver's launching call, in the program's memory."""
    library = os.path.realpath(os.path.join(tap.BUILD, "sim/libcuda.so.1"))
    for line in text_of(f"/proc/{pid}/maps").splitlines():
        start, flags, offset, path = re.match(r"(\w+)-\w+ (\S+) (\w+) \S+ \S+ +(.*)", line).groups()
        if "x" in flags and os.path.realpath(path) == library:
            base = int(start, 16) - int(offset, 16)
    symbols = tap.run("nm", "-D", "--defined-only", library)
    address = int(re.search(r"(\w+) T cuLaunchKernel\n", symbols).group(1), 16)
    with open(f"/proc/{pid}/mem", "rb") as f:
        f.seek(base + address)
        return f.read(1) == b"\xcc"


def check_calls():
    for form in ("", "_runtime"):
        with running(ROUNDS + form, "--threads", "3", "--pause", "300") as program:
            done = record(program.pid)
            wrong, compared, _ = compare()
            tap.result(not wrong and compared > 20 and not lost(),
                       f"rounds{form}: every call is there, once, and nothing is lost", *wrong[:3], compared, lost(), done.stderr)
            tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])
        found, calls = paths(), report()["calls"]
        counts = {call["api"]: call["count"] for call in calls if call["observed"] and call["kind"] != "wait"}
        by_path = {call: n for (_, call), n in found.items()}
        wanted = {call for _, call in A_ROUND}
        tap.result(by_path == counts and set(counts) == wanted, "the picture has as many calls as the report", found, counts)
        if not form:
            tap.result(set(found) == set(A_ROUND), "each under the function that made it", found)
        r, text = report(), tap.run(tap.PROGRAM, "report", "p.xpu")
        tap.result(not r["works"] and not r["gpu_ns"] and not r["kernels"] and "GPU time      none recorded" in text,
                   "there is no GPU work, and no GPU time", text[:600])
        tap.result(r["meta"]["observed"] == f"{program.pid}: {REFUSAL}" and f"process {program.pid}: {REFUSAL}" in text and
                   "no kernels, no GPU times" in text, "the report says why, and what is known", text[:600])
        tap.result(f"process {program.pid} is not recorded, only its calls are: {REFUSAL}" in done.stderr, "and the summary, too",
                   done.stderr)


def check_waits():
    with running(ROUNDS, XPUPROF_SIM_KERNEL_NS="1000000") as program:
        record(program.pid)
        wrong, compared, part = compare()
        wait = [call for call in report()["calls"] if call["kind"] == "wait" and call["observed"]]
    tap.result(not wrong and compared > 20 and 0.8 < part < 1, "what waits has its time: nearly all, where kernels are long", part,
               compared, *wrong[:3])
    tap.result([call["api"] for call in wait] == ["cuStreamSynchronize"] and wait[0]["mean_ns"] > 6e6, "in the report as well", wait)
    folded = tap.run(tap.PROGRAM, "export", "--to", "folded", "--view", "wall", "-o", "-", "p.xpu")
    tap.result("run;cuStreamSynchronize;[waiting for the GPU];[work not recorded]" in folded and "GPU idle" not in folded,
               "what it waited for is not known", folded)


def check_samples():
    """Calls that wait return by way of the kernel then: the return address on the stack is not the caller's."""
    with running(ROUNDS, "--pause", "100") as program:
        record(program.pid, "-F", "999")
    waiting = [line for line in tap.run(tap.PROGRAM, "export", "--to", "folded", "--view", "cpu", "-o", "-", "p.xpu").splitlines()
               if "sim_wait_until" in line]
    wrong = [line for line in waiting if "incomplete" in line or "start_thread;run;cuStreamSynchronize;" not in line]
    tap.result(waiting and not wrong, "CPU samples in them have their whole stacks", len(waiting), *wrong[:5])


def check_windows():
    with running(ROUNDS, "--threads", "2", "--pause", "1000") as program:
        done = record(program.pid, "--overhead", "20", seconds="8")
        time.sleep(0.2)
        tap.result(not probes_in(program.pid), "no probe stays")
        r = report()
        start, end = int(r["meta"]["start_ns"]), int(r["meta"]["end_ns"])
        true = sum(start < begin < end for _, begin, _ in rounds_of("log"))
        tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])
    bursts = r["bursts"]
    tap.result(bursts["count"] > 5 and bursts["recorded_ns"] < bursts["of_ns"] / 2 and not lost(),
               "under --overhead there are windows", bursts, lost(), done.stderr)
    for call in r["calls"]:
        per_round = {call: n for (_, call), n in A_ROUND.items()}.get(call["api"], 1)
        error = max(call["count_high"] - call["count"], 0.1 * call["count"])
        tap.result(abs(call["count"] - true * per_round) < 3 * error, f"{call['api']}: an estimate of what there was", call, true)


def check_later():
    """The driver's library comes in after the recording has begun, twice: in a child, and with another program in its process."""
    script = f"echo ready; sleep 2; '{ROUNDS}' --seconds 2 --pause 300; exec '{ROUNDS}' --seconds 2 --pause 300"
    with running("sh", "-c", script) as program:
        done = record(program.pid, seconds="20")
    wrong, compared, _ = compare()
    whys = report()["meta"]["observed"].splitlines()
    tap.result(len(whys) == 2 and len({line.split(":")[0] for line in whys}) == 2 and not wrong and compared > 20 and not lost(),
               "programs that begin meanwhile are observed, too", whys, *wrong[:3], compared, lost(), done.stderr)


def check_forks():
    """An observed program may fork, also where the child uses CUDA, and execute another program."""
    launches = 400000
    for what in ("fork", "spawn", "exec"):
        with running("sh", "-c", f"echo ready; sleep 1.5; exec '{TARGET}' {what} {launches}") as program:
            done = record(program.pid, seconds="30")
            status = program.wait()
            counted = sum(call["count"] for call in report()["calls"] if call["api"] == "cuLaunchKernel")
            tap.result(status == 0 and text_of("log").endswith("done\n") and 1000 < counted <= launches + 1 and not done.returncode,
                       f"{what}: the program ends as alone, with its own calls counted", status, counted, text_of("log")[-300:], done.stderr)


def check_two():
    with running(ROUNDS, "--pause", "300") as program:
        first = subprocess.Popen([tap.PROGRAM, "record", "-q", "-o", "first.xpu", "--gpu=observe", "-p", str(program.pid)],
                                 stderr=subprocess.DEVNULL)
        wait_for(lambda: probes_in(program.pid))
        record(program.pid, path="second.xpu")
        first.send_signal(signal.SIGINT)
        first.wait()
        for which in ("first", "second"):
            wrong, compared, _ = compare(f"{which}.xpu")
            tap.result(not wrong and compared > 20, f"the {which} of two recorders has every call", *wrong[:3], compared)
        tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def check_kill():
    with running(ROUNDS, "--threads", "2", "--pause", "300") as program:
        recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "-o", "k.xpu", "--gpu=observe", "-p", str(program.pid)])
        probed = wait_for(lambda: probes_in(program.pid))
        time.sleep(0.2)
        recorder.kill()
        recorder.wait()
        tap.result(probed and wait_for(lambda: not probes_in(program.pid)), "the probes of a recorder that is killed go")
        tap.result(end_well(program), "and the program ends as alone", text_of("log")[-200:])


def check_joined():
    with running(ROUNDS, "--pause", "300", filtered=False) as program:
        done = record(program.pid)
        r = report()
        tap.result(r["gpu_ns"] > 0 and r["meta"].get("joined") == str(program.pid) and "observed" not in r["meta"] and
                   not any(call["observed"] for call in r["calls"]), "what can be joined is joined", r["meta"], done.stderr)


def check_rights():
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    os.chmod(".", 0o777)
    with running(*user, ROUNDS, "--pause", "300") as program:
        done = record(program.pid, path="user.xpu", seconds="1", before=[*user, "env", "HOME=/tmp"])
        said = [line for line in done.stderr.splitlines() if "observed" in line]
        tap.result(len(said) == 1 and said[0].startswith("xpuprof: no calls are observed: "), "without rights a line says so",
                   done.stderr)


def check_options():
    for options, why in ((["--", "true"], "needs -p or -a"), (["--cpu-only", "-p", "1"], "exclude each other"),
                         (["--stack-source=none", "-p", "1"], "needs stacks")):
        done = subprocess.run([tap.PROGRAM, "record", "--gpu=observe", "-o", "refused.xpu", *options], stderr=subprocess.PIPE, text=True)
        tap.result(done.returncode == 2 and why in done.stderr, f"{' '.join(options)}: refused", done.stderr)


def check():
    joining.run_parts(check_calls, check_waits, check_samples, check_windows, check_later, check_forks, check_two, check_kill,
                      check_joined, check_rights, check_options)


def why_not():
    if os.geteuid():
        return "needs root"
    done = subprocess.run([tap.PROGRAM, "record", "-d", "0.1", "-o", "none.xpu", "--gpu=observe", "-p", str(os.getpid())],
                          stderr=subprocess.PIPE, text=True)
    return (done.stderr.strip() or "nothing can be recorded") if done.returncode or "no calls are observed" in done.stderr else ""


if sys.argv[1:2] == ["filtered"]:
    run_filtered(sys.argv[2:])
tap.main(check, why_not)
