#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `xpuprof probe --check`: what programs of tests/ebpf/ become, and that NVIDIA's assembler takes it.
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ebpf")]
import tap
import wrap

OBJECTS = os.path.join(tap.BUILD, "tests", "ebpf")
SPLICE = os.path.join(tap.BUILD, "tests", "helpers", "splice_ebpf")
SHAPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx", "shapes-sm75.ptx")
ARCHITECTURES = [75, 80, 90, 100, 120]
MAPS = {
    "added": (True, 256 * 64 * 8),
    "added_hash": (True, 256 * 512 * (8 + 16 + 8)),
    ".bss": (False, 72),
    "kept": (False, 4 * 32),
    "by_key": (False, 512 * (8 + 16 + 24)),
    "per_thread": (False, 2 * 8 << 20),
    "per_sm": (False, 256 * 128),
}
# Programs whose stack cannot be made of registers.
IN_MEMORY = {"guarded"}


def probe(*arguments):
    return subprocess.run([tap.PROGRAM, "probe", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL)


def no_program():
    """An object whose programs stand in sections that are not of GPUs."""
    with open(os.path.join(OBJECTS, "nothing.v3.bpf.o"), "rb") as file:
        data = file.read()
    with open("nothing.o", "wb") as file:
        file.write(data.replace(b"gpu/", b"gqu/"))
    return "nothing.o"


def find_ptxas():
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("ptxas") or shutil.which("ptxas", path=os.path.join(home, "bin"))


def check_shown(shown):
    programs = {name: (said, body) for name, said, body in wrap.programs(shown)}
    tap.result(len(programs) == 9, "each program is shown", list(programs))
    tap.result(re.search("entry of kernels '\\*', once per warp, cookie \\d, parameter 1$", programs["enter"][0]), "and where it runs", programs["enter"][0])
    tap.result("in every thread" in programs["keep"][0], "in which threads", programs["keep"][0])
    for name, (is_sum, size) in MAPS.items():
        found = re.search(rf"^// map '{re.escape(name)}': [^\n]*?(\d+) bytes([^\n]*)$", shown, re.M)
        tap.result(found and int(found[1]) == size and ("added up" in found[2]) == is_sum,
                   f"map {name} has {size} bytes, {'one copy for each SM' if is_sum else 'as it is'}", found and found[0])
    adds = re.findall(r"^ *(?:@%elead )?(?:red|atom)\S+", programs["add"][1], re.M)
    tap.result(adds == ["    red.global.add.u64"] * 2 and "@!%elead bra xpu_rest;" in programs["add"][1], "what only adds has no result", adds)
    tap.result("%xpu_cookie, %e0;" in programs["enter"][1] and "mov.u64 %e0, %xpu_cookie;" in programs["add"][1],
               "the entry's result is the exit's cookie")
    tap.result(not re.search(r"\b(call|ret|exit)\b", "".join(body for _, body in programs.values())), "a body has no calls, and is left at its end only")


def check_assembled(ptxas, name, shown, in_memory=()):
    for sm in ARCHITECTURES:
        found, said = wrap.assemble(ptxas, shown, sm, "module.ptx")
        tap.result(len(found) == len(wrap.programs(shown)), f"{name}: ptxas takes it for sm_{sm}", said)
        spilled = {n: f for n, f in found.items() if n not in in_memory and (f[1] or f[2])}
        tap.result(not spilled, f"{name}: no local memory on sm_{sm}", spilled)


def check_tools(ptxas):
    """Tools are loaded into others' kernels: none may need local memory, whatever the architecture."""
    names = [line.split()[0] for line in probe("--list").stdout.splitlines()]
    tap.result("blocktime" in names and "coalesce" in names, "--list prints the tools", names)
    for name in names:
        done = probe("--check", name)
        tap.result(done.returncode == 0, f"{name} passes", done.stderr)
        verdicts = re.findall(r"^// the kernel's verifier (.*)\n// program", done.stdout, re.M)
        allowed = [v for v in verdicts if v != "may not be asked by this user"]
        tap.result(len(verdicts) == len(wrap.programs(done.stdout)) and set(allowed) <= {"accepts it"},
                   f"{name}: the kernel's verifier accepts it, where it may be asked", verdicts)
        for sm in ARCHITECTURES if ptxas else ():
            found, said = wrap.assemble(ptxas, done.stdout, sm, "module.ptx")
            tap.result(len(found) == len(wrap.programs(done.stdout)), f"{name}: ptxas takes it for sm_{sm}", said)
            tap.result(not any(stack or spilled for _, stack, spilled in found.values()), f"{name}: no local memory on sm_{sm}", found)
            if sm == 90:
                print("#", name, ", ".join(f"{program}: {registers} registers" for program, (registers, _, _) in found.items()))


def check_lanes():
    """Programs that only add run in all lanes: none of these waits for others, which costs more than the rest."""
    for name in ("blocktime", "divergence"):
        spliced = tap.run(SPLICE, SHAPES, name)
        tap.result("%xpu_below" in spliced and not re.search(r"bar\.warp\.sync|shfl\.sync", spliced), f"{name}: no lane waits for another")
    for name in ("smload", "coalesce"):
        spliced = tap.run(SPLICE, SHAPES, name)
        tap.result("%xpu_below" in spliced and "bra xpu_rest" in spliced and ("bar.warp.sync" in spliced) == (name == "coalesce"),
                   f"{name}: lanes go past several additions at once, and meet again where the kernel goes on")
    spliced = tap.run(SPLICE, SHAPES, "coalesce")
    tap.result("atom.acquire" not in spliced and re.search(r"ld\.const\.u64 %xpu_sites0, \[__xpuprof_words\+16\];", spliced), "coalesce: its sums are found without a search")
    spliced = tap.run(SPLICE, SHAPES, "memheat")
    tap.result("bar.warp.sync" in spliced and "%xpu_below" not in spliced, "memheat: those that wait for one to make an entry meet again")


def check_spliced(ptxas):
    """In kernels of others: no more local memory than they had, and how many registers more."""
    with open(SHAPES) as file:
        plain, _ = wrap.assemble_text(ptxas, file.read(), 90, "plain.ptx")
    for line in probe("--list").stdout.splitlines():
        name = line.split()[0]
        spliced = tap.run(SPLICE, SHAPES, name)
        for sm in ARCHITECTURES:
            found, said = wrap.assemble_text(ptxas, spliced, sm, "spliced.ptx")
            tap.result(found.keys() == plain.keys() and found, f"{name} in kernels: ptxas takes it for sm_{sm}", said)
        found, said = wrap.assemble_text(ptxas, spliced, 90, "spliced.ptx")
        tap.result(found.keys() == plain.keys() and found, f"{name} in kernels: ptxas takes it", said)
        tap.result(all(found[k][1:] == plain[k][1:] for k in found), f"{name} in kernels: no more local memory", found)
        print("#", name, f"in vector_add: {found['vector_add'][0] - plain['vector_add'][0]:+} registers")


def check_limits():
    features = os.path.join(OBJECTS, "features.v3.bpf.o")
    done = probe("--check", features, "--map-memory", "1")
    tap.result(done.returncode == 1 and "map 'per_thread' takes 16777216 bytes" in done.stderr,
               "a map that is larger than allowed is refused by name", done.stderr)
    done = probe("--check", features, "--map-memory", "1", "--threads", "1000")
    tap.result(done.returncode == 0 and re.search("map 'added_hash': .*kept 64 times.*--map-memory", done.stdout),
               "copies are fewer where they would not fit, which is said", done.stdout[:2000])


def check_refused():
    done = probe("--check", os.path.join(OBJECTS, "refused.v3.bpf.o"))
    tap.result(done.returncode == 1 and re.search(r"program 'reads', instruction \d+ \(refused.bpf.c:11\): reads memory.*--allow-reads",
                                                  done.stderr), "a refusal names program, instruction and line", done.stderr)
    done = probe("--allow-reads", "--check", os.path.join(OBJECTS, "refused.v3.bpf.o"))
    tap.result(done.returncode == 0, "which may be allowed", done.stderr)
    done = probe("--check", os.path.join(OBJECTS, "sections.v3.bpf.o"))
    tap.result(done.returncode == 1 and "hash 'by_pair'" in done.stderr, "a map that cannot be shared is refused by name", done.stderr)
    for arguments, said in ((["--check", "missing.o"], "'missing.o' is neither a file nor a tool; 'xpuprof probe --list' prints"), (["--check", os.path.join(tap.BUILD, "libxpuprof-inject.so")], "not an eBPF object"),
                            (["--check", no_program()], "nothing.o: an eBPF object has no program for a GPU (sections gpu/entry:GLOB"),
                            (["-e", no_program(), "--", "true"], "nothing.o: an eBPF object has no program for a GPU (sections gpu/entry:GLOB")):
        done = probe(*arguments)
        tap.result(done.returncode == 1 and said in done.stderr and done.stderr.count("\n") == 1, f"{said}: one line", done.stderr)
    tap.result(probe().returncode == 2, "something must be asked for")


def check():
    ptxas = find_ptxas()
    for version in ("v1", "v3"):
        done = probe("--check", os.path.join(OBJECTS, f"features.{version}.bpf.o"))
        tap.result(done.returncode == 0, f"features.{version} passes", done.stderr)
        if version == "v3":
            check_shown(done.stdout)
        if ptxas:
            check_assembled(ptxas, f"features.{version}", done.stdout, IN_MEMORY)
    done = probe("--check", os.path.join(OBJECTS, "many.v3.bpf.o"))
    tap.result(len(wrap.programs(done.stdout)) == 64, "64 programs in one object", done.stderr)
    if not ptxas:
        tap.result(True, "what ptxas says # SKIP there is no ptxas")
    check_tools(ptxas)
    check_lanes()
    if ptxas:
        check_spliced(ptxas)
    check_limits()
    check_refused()


tap.main(check, lambda: "" if glob.glob(os.path.join(OBJECTS, "*.bpf.o")) else "this build has no clang for eBPF")
