#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Modules that programs of `xpuprof probe` get into, on the simulated GPU: two with a kernel of one name are told apart, what cannot be
# read is listed, and what is lost is said.
import atexit
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from probing import DATA, answer, entries, environment, probe, why_not

FOLDER = tempfile.mkdtemp(prefix="probe_modules.")
atexit.register(shutil.rmtree, FOLDER)

# Loads each module that is named ("text:PATH" or "file:PATH"), in a context of its own where it is "context:PATH", and launches its
# kernel k, 4 blocks of 64 threads, on 1 MiB. "leave:" leaves the context.
RUNNER = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
Pointer = ctypes.c_void_p
def ok(result): assert not result, result
def context():
    ok(cuda.cuCtxCreate_v2(ctypes.byref(Pointer()), 0, 0))
ok(cuda.cuInit(0))
context()
for how, path in (a.split(":", 1) for a in sys.argv[1:]):
    module, kernel, memory = Pointer(), Pointer(), ctypes.c_uint64()
    if how == "context": context()
    if how == "leave":
        ok(cuda.cuCtxPopCurrent_v2(ctypes.byref(Pointer())))
        continue
    if how == "file": result = cuda.cuModuleLoad(ctypes.byref(module), path.encode())
    else:
        with open(path, "rb") as f: image = f.read() + b"\\0"
        result = cuda.cuModuleLoadData(ctypes.byref(module), image)
    if how == "bad" and result: continue
    ok(result)
    if cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"k"): continue
    ok(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)))
    arguments = (Pointer * 1)(ctypes.cast(ctypes.pointer(memory), Pointer))
    ok(cuda.cuLaunchKernel(kernel, 4, 1, 1, 64, 1, 1, 0, None, arguments, None))
    ok(cuda.cuCtxSynchronize())
print("done")
"""
HEADER = ".version 7.0\n.target sm_75\n.address_size 64\n"


def module(name, text):
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def accessing(name, file="", line=0, stride=4, registers=8, bounds=""):
    """A module whose kernel k stores one number in each thread, `stride` bytes from that of the next."""
    named = (f'.file 1 "{file}"\n', f".loc 1 {line} 0\n") if file else ("", "")
    return module(name, f"""{HEADER}{named[0]}.visible .entry k(.param .u64 p)
{bounds}
{{
	.reg .b64 %rd<4>;
	.reg .b32 %r<{registers}>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, {stride};
	add.u64 %rd1, %rd1, %rd2;
	{named[1]}st.global.u32 [%rd1], %r1;
	ret;
}}
""")


def running(*images):
    return (sys.executable, "-c", RUNNER, *images)


def check_names():
    """Kernels of one name in two modules."""
    one, two = accessing("one.ptx", "/src/one.cu", 12), accessing("two.ptx", "/src/two.cu", 78, 128, 40)
    done = probe("coalesce", "--kernels", command=running(f"text:{one}", f"text:{two}"))
    rows = re.findall(r"(\d+\.\d\d)      1\.00   32\.0      4  (\S+ of .*)$", done.stdout, re.M)
    tap.result(rows == [("32.00", "two.cu:78 of k (two.cu)"), ("1.00", "one.cu:12 of k (one.cu)")], "accesses of two kernels of one name are two rows", done.stdout,
               done.stderr)
    sizes = dict(reversed(row) for row in re.findall(r" (\d+) > \d+  .* (one\.cu|two\.cu) +k$", done.stdout, re.M))
    tap.result(len(sizes) == 2 and int(sizes["one.cu"]) < int(sizes["two.cu"]), "--kernels has the module of each, and its own registers", done.stdout)
    profile = os.path.join(FOLDER, "names.xpu")
    done = probe("blocks", "-o", profile, command=running(f"text:{one}", f"text:{two}", f"text:{one}"))
    report = subprocess.run([tap.PROGRAM, "report", "--probes", profile], stdout=subprocess.PIPE, text=True, env=environment()).stdout
    tap.result(re.findall(r"^  +(\d+)  .* k( .*)$", report.split("kernels with")[0], re.M) == [("8", " (one.cu)"), ("4", " (two.cu)")] and
               re.findall(r" +(\d+)  (\S+) +k$", report, re.M) == [("2", "one.cu"), ("1", "two.cu")], "so has a recording", report, done.stderr)
    kernels = json.loads(subprocess.run([tap.PROGRAM, "report", "--probes", "--json", profile], stdout=subprocess.PIPE, text=True, env=environment()).stdout)
    kernels = kernels["probes"]["kernels"]
    tap.result([k["file"] for k in kernels] == ["/src/one.cu", "/src/two.cu"] and len({k["module"] for k in kernels}) == 2, "and its JSON", kernels)


def check_same_file():
    """Nothing but the text tells the modules apart, as those of templates and of compilers that run while the program does."""
    variants = [accessing(f"variant{i}.ptx", "/src/many.py", 5, 4 << i) for i in range(2)]
    plain = [accessing(f"plain{i}.ptx", stride=4 << i) for i in range(2)]
    done = probe("coalesce", command=running(*(f"text:{path}" for path in variants + plain)))
    named = re.findall(r"many\.py:5 of k \(many\.py ([0-9a-f]{8})\)$", done.stdout, re.M)
    numbered = re.findall(r"access 0 of k \(([0-9a-f]{8})\)$", done.stdout, re.M)
    tap.result(len(set(named)) == 2 and len(set(numbered)) == 2, "modules of one file, or of none, have a number", done.stdout, done.stderr)
    again = probe("coalesce", command=running(*(f"text:{path}" for path in reversed(variants + plain))))
    tap.result(set(named + numbered) == set(re.findall(r"([0-9a-f]{8})\)$", again.stdout, re.M)), "which is the same in each run", again.stdout)
    done, found = answer("coalesce", command=running(f"file:{variants[0]}", f"text:{variants[0]}", f"context:{variants[0]}"))
    tap.result(found and [(k["images"], k["file"]) for k in found["kernels"]] == [(3, variants[0])] and
               [e["value"]["accesses"] for e in entries(found, "accesses")] == [3 * 8], "one text is one module, however it is loaded", found and found["kernels"],
               done.stderr)
    done, found = answer("coalesce", command=("sh", "-c", '"$@" && "$@"', "sh", *running(f"text:{variants[0]}")))
    tap.result(found and [k["images"] for k in found["kernels"]] == [2], "and in several processes", found and found["kernels"], done.stderr)


def damaged_fatbin(capability):
    """One whose PTX cannot be unpacked, and whose machine code is for GPUs of this capability."""
    with open(os.path.join(DATA, "tiny-lines.fatbin"), "rb") as f:
        image = bytearray(f.read())
    at = 16
    while at < len(image):
        kind, _, head, size = struct.unpack_from("<HHIQ", image, at)
        if kind == 1:
            image[at + head:at + head + 4] = b"####"
        else:
            struct.pack_into("<I", image, at + 28, capability)
        at += head + size
    path = os.path.join(FOLDER, "damaged.fatbin")
    with open(path, "wb") as f:
        f.write(image)
    return path


def check_unreadable():
    """Images that cannot have programs: which of their kernels somebody named, and why."""
    texts = {
        "narrow": (".version 7.0\n.target sm_75\n.address_size 32\n.visible .entry k() { ret; }", "the module has addresses of 32 bits"),
        "ours": (HEADER + ".visible .entry k() { bra xpu_rest; xpu_rest: ret; } // .entry no", "the module has names that only probes have"),
        "cut": (HEADER + ".visible .entry k() { ret; }\n.visible .entry other() { ret", "PTX line 5: "),
    }
    for name, (text, why) in texts.items():
        command = running(f"bad:{module(name + '.ptx', text)}")
        done, found = answer("blocktime", "-k", "k*", command=command)
        listed = found and [(k["name"], k["why"], k["images"]) for k in found["kernels_without_programs"]]
        tap.result(listed == [("k", "not readable", 1)] and why in found["kernels_without_programs"][0]["reason"] and found["losses"]["images_unreadable"] == 1 and
                   not found["losses"]["images_without_names"], f"{name}: its kernel is listed, with the reason", found, done.stderr)
        done = probe("blocktime", "-k", "k*", "--kernels", command=command)
        tap.result(re.search(rf"^ +1  not readable +k \({re.escape(why)}.*\)$", done.stdout, re.M) and why in done.stderr, f"{name}: by --kernels, too", done.stdout,
                   done.stderr)
        done, found = answer("blocktime", "-k", "another", command=command)
        tap.result(found and not found["kernels_without_programs"] and found["losses"]["images_unreadable"] == (name != "ours" and name != "narrow"),
                   f"{name}: not where it is not meant", found and found["losses"])
    for capability, listed in ((80, []), (90, [("tiny", "not readable")])):
        done, found = answer("blocktime", "-k", "tiny*", command=running(f"bad:{damaged_fatbin(capability)}"))
        tap.result(found and [(k["name"], k["why"]) for k in found["kernels_without_programs"]] == listed and
                   found["losses"]["images_without_names"] == (not listed),
                   f"a damaged fatbin: names are those of its machine code for this GPU ({capability})", found, done.stderr)
    profile = os.path.join(FOLDER, "unreadable.xpu")
    probe("blocktime", "-k", "k*", "-o", profile, command=running(f"bad:{os.path.join(FOLDER, 'narrow.ptx')}"))
    report = subprocess.run([tap.PROGRAM, "report", "--probes", profile], stdout=subprocess.PIPE, text=True, env=environment()).stdout
    tap.result(re.search(r"^ +1  not readable +k \(the module has addresses of 32 bits\)$", report, re.M), "recordings have the reason, too", report)


def losses_of(profile):
    done = subprocess.run([tap.PROGRAM, "report", "--probes", "--json", profile], stdout=subprocess.PIPE, text=True, env=environment())
    return {name: n for name, n in json.loads(done.stdout)["losses"].items() if n and name.startswith("probe_")}


def check_unseen():
    """Ends of threads in functions: of those that the kernel calls, once for each text."""
    function = ".func f()\n{\n	exit;\n}\n"
    for does, unseen in (("", 0), ("call f, ();", 1)):
        text = module("calls.ptx", f"{HEADER}{function}.visible .entry k(.param .u64 p)\n{{\n	.reg .pred %p<2>;\n	.reg .b32 %r<2>;\n"
                      f"	mov.u32 %r1, %tid.x;\n	setp.gt.u32 %p1, %r1, 1000;\n	@%p1 bra L;\n	ret;\nL:\n	{does}\n	ret;\n}}\n")
        command = running(f"text:{text}", f"text:{text}", f"context:{text}")
        done, found = answer("blocktime", command=command)
        tap.result(found and found["kernels"] and found["losses"]["unseen_exits"] == unseen, f"'{does}': {unseen} unseen ends of threads", found and found["losses"],
                   done.stderr)
        done = probe("blocktime", command=command)
        tap.result(("1 place where threads end is not seen" in done.stderr) == bool(unseen), "and stderr has as many", done.stderr)


def check_contexts():
    """A process has programs in 64 contexts at once."""
    text = accessing("contexts.ptx")
    command = running(f"text:{text}", *(f"{how}:{text}" for _ in range(66) for how in ("context", "text", "leave")))
    done, found = answer("divergence", command=command)
    tap.result(found and sum(e["value"] for e in entries(found, "active_lanes")) == (1 + 63 * 2) * 8 and found["losses"]["contexts_without_programs"] == 3,
               "contexts without programs are counted once each", found and found["losses"])
    tap.result("xpuprof: 3 contexts ran without programs: there were too many" in done.stderr, "and told of", done.stderr)
    profile = os.path.join(FOLDER, "contexts.xpu")
    probe("divergence", "-o", profile, command=command)
    tap.result(losses_of(profile) == {"probe_contexts": 3}, "so in a recording", losses_of(profile))


def check_causes():
    """Each cause has a count of its own, on stderr and in recordings."""
    text = accessing("causes.ptx")
    full = module("full.ptx", f"{HEADER}.const .b8 c[65536];\n.visible .entry k(.param .u64 p)\n{{\n	ret;\n}}\n")
    cases = ((full, {}, "module has no constant memory left", "probe_slow"),
             (text, {"XPUPROF_SIM_FAULTS": f"small-blocks={os.path.getsize(text) + 10},fail-load=3"}, "could not have run in blocks as large as before", "probe_smaller"),
             (text, {"XPUPROF_SIM_FAULTS": "fail-load=1"}, "with programs was refused by the driver, and ran as it is", "probe_refused"))
    for path, faults, said, loss in cases:
        done = probe("blocktime", command=running(f"bad:{path}"), **faults)
        tap.result(f"xpuprof: 1 {'module' if path == full else 'image'} " in done.stderr and said in done.stderr, f"{loss}: stderr has it", done.stderr)
        profile = os.path.join(FOLDER, "causes.xpu")
        probe("blocktime", "-o", profile, command=running(f"bad:{path}"), **faults)
        tap.result(losses_of(profile) == {loss: 1}, f"{loss}: a recording has it alone", losses_of(profile))


def check_bounds():
    """Kernels whose launch bounds do not leave the registers that programs need, with --kernels and without."""
    said = re.compile(r"launch bounds of k leave (\d+) registers, too few for the programs in it: local memory of a thread 0 > (\d+) bytes, warps at once (\d+) > (\d+)$",
                      re.M)
    for bounds, left in ((".maxntid 1024, 1, 1", 64), (".reqntid 16, 32", 0), (".maxntid 256 .minnctapersm 4", 64), (".maxnreg 56", 56), ("", 0)):
        text = accessing("bounds.ptx", registers=170, bounds=bounds)
        for options in ((), ("--kernels",)):
            done = probe("coalesce", *options, command=running(f"text:{text}"))
            found = said.search(done.stderr)
            tap.result("lanes" in done.stdout and bool(found) == bool(left) and (not left or (int(found[1]) == left and int(found[2]) > 0)),
                       f"'{bounds}', {options}: that they leave too few registers is {'said' if left else 'not so'}", done.stderr)
    few = accessing("few.ptx", registers=20, bounds=".maxntid 1024, 1, 1")
    done, found = answer("coalesce", command=running(f"text:{few}"))
    tap.result(found and not done.stderr and "with" not in found["kernels"][0] and found["kernels"][0]["launch_bounds_registers"] == 64,
               "one that has enough is as it was, and no image is loaded twice for it", found and found["kernels"], done.stderr)
    text = accessing("bounds.ptx", registers=170, bounds=".maxntid 1024, 1, 1")
    profile = os.path.join(FOLDER, "bounds.xpu")
    probe("coalesce", "-o", profile, command=running(f"text:{text}"))
    report = subprocess.run([tap.PROGRAM, "report", "--probes", profile], stdout=subprocess.PIPE, text=True, env=environment()).stdout
    tap.result(said.search(report), "a recording says it, too", report)


def check():
    check_names()
    check_same_file()
    check_unreadable()
    check_unseen()
    check_contexts()
    check_causes()
    check_bounds()


tap.main(check, why_not)
