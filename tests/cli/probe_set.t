#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `xpuprof probe`: what maps begin with (--set), which kernels and threads are chosen, and values as their types say.
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from probing import OBJECTS, answer, entries, probe, why_not

TOOLS = [line.split()[0] for line in subprocess.run([tap.PROGRAM, "probe", "--list"], stdout=subprocess.PIPE, text=True).stdout.splitlines()]
SETTINGS = os.path.join(OBJECTS, "settings.v3.bpf.o")
PAIR = {"a": 1, "b": 2, "c": 3}
# Tools of warps, then of threads.
SOME = ("smload", "coalesce", "divergence", "threadhist", "kernelretsnoop")
# Warps of three launches of vector_add, three of which it leaves in two parts.
WARPS = 483


def settings(*assignments, objects=1):
    options = [word for _ in range(objects) for word in ("-e", SETTINGS)]
    return answer("-k", "vector_add", *options, *(word for a in assignments for word in ("--set", a)))


def values(found, name, index=0):
    return [e["value"] for e in entries(found, name, index)] if found else None


def check_maps():
    done, found = settings("wanted[1,2,3]=100", "wanted[1,2,3]=200", "wanted[9,9,9]=1", "looked_up[7]=70", "looked_up[8]=-1", "factors[0]=5",
                           "sums[0]=1000", "one=50", "many[0]=60", "many[3]=4")
    wanted = {tuple(e["key"].values()): e["value"] for e in entries(found, "wanted")} if found else None
    tap.result(wanted == {(1, 2, 3): 200 + WARPS, (9, 9, 9): 1},
               "an entry of a hash is found by programs on each multiprocessor, and its sum begins with the number", wanted, done.stderr)
    looked_up = {e["key"]: e["value"] for e in entries(found, "looked_up")} if found else None
    tap.result(looked_up == {7: 70, 8: 2**32 - 1}, "and of one that programs read", looked_up)
    variables = values(found, ".bss")
    tap.result(variables and variables[0]["results"] == [70, 2**32 - 1, 5], "which read it; each multiprocessor begins with what was set", variables)
    tap.result(sum(values(found, "sums") or []) == 1000 + WARPS, "values of multiprocessors that are added up begin with it once", values(found, "sums"))
    tap.result(values(found, "one") == [50 + WARPS] and values(found, "many") == [60 + WARPS, 4], "so do arrays", values(found, "many"))
    done, found = settings("wanted[9,9,9]=1")
    tap.result(found and [e["key"] for e in entries(found, "wanted")] == [{"a": 9, "b": 9, "c": 9}], "an entry that is not there stays so", done.stderr)
    done, found = settings(*(f"looked_up[{key}]={key + 1}" for key in range(64)))
    tap.result(found and {e["key"]: e["value"] for e in entries(found, "looked_up")} == {k: k + 1 for k in range(64)} and
               values(found, ".bss")[0]["results"][:2] == [8, 9], "a hash may begin full", done.stderr)


REFUSED = {
    "many=1": "map 'many' has 4 entries: which is many[KEY]",
    "many[4]=1": "map 'many' has no entry 4: it has 4",
    "many[0,0]=1": "map 'many' has no entry 0: it has 4",
    "wanted=1": "map 'wanted' is a hash: of which key is wanted[KEY]",
    "wanted[1]=1": "the key of 'wanted' has 12 bytes, and is not made up of 1 number\n",
    "looked_up[7]=4294967296": "a number for 'looked_up' does not fit into 32 bits: 0x100000000\n",
    "looked_up[7]=-2147483649": "a number for 'looked_up' does not fit into 32 bits",
    "looked_up[4294967296]=1": "a number for 'looked_up' does not fit into 32 bits",
    "one=1,2,3": "the value of 'one' has 8 bytes, and is not made up of 3 numbers",
    "threads[0]=1": "map 'threads' has values of each thread, which begin as 0",
    "ring[0]=1": "map 'ring' is a ring, which begins without records",
    ".bss=1": "'.bss' is a section: its variables have names of their own",
    "constant[0]=1": "'constant' is a variable, which has no keys",
    "nothing=1": "no program uses a map or variable that is called 'nothing'",
    "one": "cannot read 'one'",
    "one[x]=1": "cannot read 'one[x]=1'",
}


def check_refused():
    for setting, why in REFUSED.items():
        done, _ = settings(setting)
        tap.result(done.returncode == 1 and why in done.stderr and not done.stdout, f"--set {setting} is refused", done.stderr)


def check_several():
    done, found = settings("one=5", objects=2)
    tap.result(found and [values(found, "one", i) for i in (0, 1)] == [[5 + WARPS]] * 2 and
               "'one' was set in each of 2 objects that have it" in done.stderr, "each object that has it begins with it, and that is said", done.stderr)
    done, found = answer("blocktime", "-k", "vector_add", "-k", "leave*", "-k", "none", "-k", "neste?")
    names = [k["name"] for k in found["kernels"]] if found else []
    both = [k["name"] for glob in ("vector_add", "leave*", "neste?") for k in answer("blocktime", "-k", glob)[1]["kernels"]]
    tap.result("vector_add" in names and len(names) == 3 and sorted(names) == sorted(both), "kernels of each -k are probed", names, both)


def check_who():
    for option, said in (("--thread", "in every thread"), ("--warp", "once per warp"), (None, "once per warp")):
        done = subprocess.run([tap.PROGRAM, "probe", "--check", SETTINGS, *([option] if option else [])], stdout=subprocess.PIPE, text=True)
        tap.result(re.search(rf"^// program 'count': .*, {said}$", done.stdout, re.M), f"--check {option or ''} shows what would run", done.stdout[:500])


def check_types():
    done, found = settings("pair=1,2,3", "constant=0", "factors[0]=1")
    shown = {m["name"]: m["entries"][0]["value"] for m in found["objects"][0]["maps"] if m["kind"] == "section"} if found else {}
    tap.result(shown.get(".data") == {"bits": {"low": 5, "high": 1000, "below": -3}, "hidden": 7}, "variables have their names, and bit fields are numbers", shown)
    tap.result(shown.get(".bss") == {"results": [0, 0, 1], "four": [0, 7 + ord("n"), 0, 0], "pair": {"a": 1, "b": 1005, "c": 3}},
               "arrays and structs are what their types say", shown)
    tap.result(shown.get(".rodata") == {"constant": 0, "text": "name"}, "constants, too", shown)
    done = probe("-k", "vector_add", "-e", SETTINGS, "--set", "factors[0]=1")
    tap.result("    bits={low=5 high=1000 below=-3} hidden=7\n" in done.stdout, "tables show them so", done.stdout)


def check_tools():
    """A tool finds the same in other threads, or does not run in these."""
    found = {}
    for tool in TOOLS:
        for option in ("--thread", "--warp"):
            done, found[tool, option] = answer(tool, option, "-k", "vector_add")
            counts = "warps" if tool in SOME[:3] else "threads" if tool in SOME else ""
            if counts and counts not in option + "s":
                tap.result(done.returncode == 1 and f"'{tool}' counts {counts}, and does not go with {option}" in done.stderr, f"{tool} {option} is refused", done.stderr)
            else:
                tap.result(not done.returncode and found[tool, option], f"{tool} {option} runs", done.stderr)
    for tool, name, measure in (("blocktime", "nanoseconds", int), ("memtrace", "by_size", int), ("threadscheduling", "threads", int), ("memheat", "bytes", int),
                                ("cudagraph", "runs", lambda v: v["count"])):
        sums = [sum(measure(e["value"]) for e in entries(found[tool, option], name)) for option in ("--thread", "--warp")]
        tap.result(sums[0] == sums[1] > 0, f"{tool} finds the same in all threads as in one of each warp", sums)
    for tool in ("blocks", "kernel_trace", "launchlate"):
        counts = [len(found[tool, option]["records"]) for option in ("--thread", "--warp")]
        tap.result(counts[0] == counts[1] > 0, f"{tool} finds the same in all threads as in one of each warp", counts)
    done = subprocess.run([tap.PROGRAM, "probe", "--check", "smload", "--thread"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tap.result(done.returncode == 1 and not done.stdout, "--check refuses it, too", done.stderr)


def check_messages():
    text, parameters = (os.path.join(OBJECTS, f"{name}.v3.bpf.o") for name in ("prints_text", "parameters"))
    done = subprocess.run([tap.PROGRAM, "probe", "--check", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tap.result(done.returncode == 1 and "a text with %s: GPU programs print numbers only" in done.stderr and text in done.stderr,
               "a program that prints texts is refused, and its file named", done.stderr)
    with open("none.bpf.o", "w", encoding="ascii") as file:
        file.write("none")
    for arguments in (("--check", "none.bpf.o"), ("-e", "none.bpf.o", "true")):
        done = subprocess.run([tap.PROGRAM, "probe", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        tap.result(done.returncode == 1 and "none.bpf.o: not an eBPF object" in done.stderr, f"{arguments[0]}: what is no object is named", done.stderr)
    done, found = answer("-e", parameters, "-k", "vector_add", "-k", "leave_early")
    tap.result(found and found["losses"]["kernels_without_a_parameter"] == 2 and values(found, ".bss") == [{"last": WARPS - 3}] and
               "2 kernels have fewer parameters than programs read of them: those are 0" in done.stderr, "parameters that kernels do not have are 0, and counted", done.stderr)
    done = probe("-o", "a.xpu", "-e", parameters, "-k", "vector_add", "-k", "leave_early")
    report = subprocess.run([tap.PROGRAM, "report", "--json", "a.xpu"], stdout=subprocess.PIPE, text=True).stdout
    losses = json.loads(report)["losses"] if report else done.stderr
    tap.result(report and losses["probe_parameters"] == 2, "so they are in recordings", losses)
    done, found = answer("-e", SETTINGS, "-k", "vector_add")
    tap.result(found and not found["losses"]["kernels_without_a_parameter"], "those they have are not", found and found["losses"])


def check():
    check_messages()
    check_tools()
    check_types()
    check_maps()
    check_refused()
    check_several()
    check_who()


tap.main(check, why_not)
