#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `xpuprof probe --cost`: programs are switched off and on while kernels run, which changes no result, and the launches of both states
# are told apart: exactly so, as programs count what they ran in.
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from probing import TARGET, why_not

SHAPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx", "shapes-sm75.ptx")
THREADS = 40 * 128  # of a launch
SWITCHES = 1000
LAUNCHES, LAUNCHES_MAX = 1000, 64000
SIMULATED = {"LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim"), "XPUPROF_SIM_COMPUTE": "1"}
SECONDS = 300
FOLDER = tempfile.mkdtemp(prefix="probe_cost.")
atexit.register(shutil.rmtree, FOLDER)


def run(*arguments, **variables):
    return subprocess.run([tap.PROGRAM, *arguments], cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **SIMULATED, **variables}, timeout=SECONDS)


def cost(*options, command, **variables):
    done = run("probe", "blocktime", "--json", *options, "--", TARGET, SHAPES, *command, **variables)
    try:
        return done, json.loads(done.stdout[done.stdout.index("{"):])["probes"]
    except ValueError:
        return done, None


def counted(found):
    return sum(e["value"] for m in found["objects"][0]["maps"] if m["name"] == "nanoseconds" for e in m["entries"])


def check_launches(what, kernel, found, launches, threads=THREADS):
    """Each launch is in one place, and the programs say in which it was at least and at most."""
    on, off, left_out = kernel["on"]["launches"], kernel["off"]["launches"], kernel["straddling"] + kernel["unknown"]
    tap.result(on + off + left_out == launches, f"{what}: each launch is with programs, without, or left out", kernel, launches)
    tap.result(on * threads <= counted(found) <= (on + left_out) * threads,
               f"{what}: those with programs are those in which programs ran", kernel, counted(found))


def check_many():
    launches = LAUNCHES
    while True:
        done, found = cost("--cost=1", command=("checked", "dlsym", str(launches)))
        if not found or found["cost"]["switches"] >= SWITCHES or launches >= LAUNCHES_MAX:
            break
        launches *= 2
    tap.result(not done.returncode and done.stdout.startswith(f"{launches}\n"), "all results are right, bit by bit", done.returncode, done.stderr)
    tap.result(found["cost"]["switches"] >= SWITCHES, f"programs were switched {SWITCHES} times meanwhile", found["cost"], launches)
    kernel, = found["cost"]["kernels"]
    check_launches("many switches", kernel, found, launches)


def check_ratio():
    done, found = cost("--cost=20", command=("checked", "dlsym", "800"))
    kernel, = found["cost"]["kernels"]
    check_launches("turns of 20 ms", kernel, found, 800)
    tap.result(kernel["ratio_low"] <= kernel["ratio"] <= kernel["ratio_high"] and kernel["on"]["median_ns"] > 0 < kernel["off"]["median_ns"],
               "the ratio is inside of its interval", kernel)
    tap.result(abs(kernel["ratio"] - kernel["on"]["mean_ns"] / kernel["off"]["mean_ns"]) < 0.001, "and that of the means", kernel)
    # Interpreted instructions take time: programs cost much here.
    tap.result(kernel["ratio"] > 1, "what takes longer is seen", kernel)
    done, found = cost("--cost=60000", command=("launch",))
    kernel, = found["cost"]["kernels"]
    tap.result(kernel["on"]["launches"] + kernel["straddling"] == 3 and not kernel["off"]["launches"] and "ratio" not in kernel and found["cost"]["switches"] == 0,
               "without a switch there is no ratio", found["cost"])
    done, found = cost("--cost=1", command=("contexts",), XPUPROF_SIM_DEVICES="2")
    check_launches("contexts of two devices", found["cost"]["kernels"][0], found, 12)
    done, found = cost("--cost=1", command=("graph",))
    check_launches("graph", found["cost"]["kernels"][0], found, 5)


def check_recordings():
    profile = os.path.join(FOLDER, "a.xpu")
    done = run("record", "--gpu-only", "--probe", "blocktime", "--probe-cost=5", "-o", profile, "--", TARGET, SHAPES, "checked", "dlsym", "100")
    found = json.loads(run("report", "--probes", "--json", profile).stdout)["probes"]
    check_launches("in a recording", found["cost"]["kernels"][0], found, 100)
    text = run("report", "--probes", profile).stdout
    tap.result("What the programs cost" in text and "95 % interval" in text and "vector_add" in text, "as text", text)
    done = run("probe", "blocktime", "--cost", "-o", profile, "--", TARGET, SHAPES, "launch")
    found = json.loads(run("report", "--probes", "--json", profile).stdout)["probes"]
    tap.result(not done.returncode and found["cost"]["kernels"][0]["name"] == "vector_add", "probe --cost -o keeps the recording", done.stderr, found)
    run("record", "--gpu-only", "--probe", "blocktime", "-o", profile, "--", TARGET, SHAPES, "launch")
    found = json.loads(run("report", "--probes", "--json", profile).stdout)["probes"]
    tap.result("cost" not in found, "without turns there is no such table", found)


def check_use():
    done = run("probe", "blocktime", "--cost", "--", TARGET, SHAPES, "no such mode")
    tap.result(done.returncode == 2, "it ends as the command ended", done.returncode, done.stderr)
    done = run("probe", "blocktime", "--cost", "--", "/no/such/command")
    tap.result(done.returncode == 127 and "/no/such/command" in done.stderr, "a command that is not there", done.returncode, done.stderr)
    for arguments, why in ((("probe", "blocktime", "--cost=0", "--", "true"), "takes a number of milliseconds from 1 to"),
                           (("probe", "blocktime", "--cost", "-i", "1", "--", "true"), "does not go with -i"),
                           (("record", "--probe-cost", "--", "true"), "--probe-cost needs --probe")):
        done = run(*arguments)
        tap.result(done.returncode == 2 and why in done.stderr, f"wrong use: {' '.join(arguments)}", done.returncode, done.stderr)


def check():
    check_many()
    check_ratio()
    check_recordings()
    check_use()


tap.main(check, why_not)
