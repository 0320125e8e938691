# SPDX-License-Identifier: MIT
"""Programs on the simulated CUDA that run already and have their instructions sampled: what joined_stalls.t and
joined_stalls_harm.t share."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

import tap
from joining import state_of, text_of, wait_for

# One process at a time samples a GPU's instructions: that of other tests is another one.
os.environ["XPUPROF_SIM_MACHINE"] = f"joined {os.getpid()}"
HELD = os.path.join(tap.BUILD, "tests/targets/held_target")
HELD_MAX_MS = 2000


def stalls(path="p.xpu"):
    """Samples by kernel."""
    return {kernel["name"]: kernel["samples"] for kernel in report_stalls(path)["kernels"]}


def report_stalls(path="p.xpu"):
    return json.loads(tap.run(tap.PROGRAM, "report", "--json", "--stalls", path))["stalls"]


def held_ms(said, what):
    """How long the program was held to begin or to end, as the summary says."""
    return [float(ms) for ms in re.findall(rf"was held for ([0-9.]+) ms to {what} sampling", said)]


def sampled(what, done, *kernels, busy=False):
    """There are samples, of these kernels among others, the program was held twice, and sampling was off in the end. A program that
    is too busy to be held in the first second is recorded before it is sampled: then they have no names, which is said."""
    found, taken = stalls(), report_stalls()["taken"]
    named = all(found.get(kernel, 0) > 0 for kernel in kernels) or (busy and "without names" in done.stderr)
    begin, end = held_ms(done.stderr, "begin"), held_ms(done.stderr, "end")
    tap.result(not done.returncode and taken and named and len(begin) == len(end) == 1 and
               max(begin + end) < HELD_MAX_MS, f"{what}: instructions are sampled", found, done.stderr)


def stays(pid):
    """Something of the library does."""
    return state_of(pid)[2] != ["/memfd:xpuprof-stay"]


def ends(program, what):
    program.send_signal(signal.SIGTERM)
    status = program.wait()
    said = text_of("log").split("\n")
    tap.result(status == 0 and said[-2].startswith("done ") and not any("child" in line for line in said),
               f"{what}: the program ends as alone", status, text_of("log")[-300:])


def begun(times=1, path="p.xpu", seconds=50):
    """Whether sampling was switched on so often, as the recording says that is being made."""
    def says():
        done = subprocess.run([tap.PROGRAM, "report", "--json", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return not done.returncode and len(held_ms(json.loads(done.stdout)["meta"].get("stalls_held", ""), "begin")) == times
    return wait_for(says, seconds)


def recording(pid):
    """A recording of which it is told when to end."""
    with contextlib.suppress(FileNotFoundError):
        os.remove("p.xpu")
    return subprocess.Popen([tap.PROGRAM, "record", "--stalls", "--gpu-only", "-o", "p.xpu", "-p", str(pid)], stderr=subprocess.PIPE,
                            text=True)


def record_sampled(pid, seconds=1):
    """So long from when sampling is on, which takes as long as threads do to be between their calls."""
    recorder = recording(pid)
    begun()
    time.sleep(seconds)
    recorder.send_signal(signal.SIGINT)
    out, err = recorder.communicate()
    return subprocess.CompletedProcess(recorder.args, recorder.returncode, out, err)
