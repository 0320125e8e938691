#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What programs add to a kernel, as NVIDIA's assembler makes it: instructions and registers, without a GPU.

For each tool and architecture, of the vector add of tests/data/ptx: instructions from its beginning to its end where no program
runs ("off": the shortest way through its own loads and its store), instructions in all, the kernel's and the programs', and
registers. A vector add of a million threads takes about 35 ns longer for each instruction that all warps execute.
With --list the instructions of one tool.

usage: ptx_sass.py [--build DIR,...] [--sm N,...] [--tools TOOL,...] [--list]
"""
import argparse
import os
import re
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "..", "build")))
SHAPES = os.path.join(HERE, "..", "tests", "data", "ptx", "shapes-sm75.ptx")
TOOLS = "empty,count,timer,hash,blocktime,smload,threadhist,blocks,threadscheduling,divergence,memtrace,coalesce"
KERNEL = "vector_add"
BYTES = 16


def ptxas():
    return shutil.which("ptxas") or shutil.which("ptxas", path=os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"))


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 else value


def target(at, low, sm):
    """Where a BRA or BSSY leads."""
    high = signed(low >> 34, 30)
    return at + BYTES + (high * 4 if sm < 90 else ((high << 8) | (low >> 16 & 0xFF)) * 4)


class Code:
    def __init__(self, build, path, sm):
        lines = subprocess.run([os.path.join(BUILD, "bench", "sass"), path, KERNEL], capture_output=True, text=True, check=True).stdout
        self.sm, self.all = sm, []
        for line in lines.splitlines():
            at, low, text = line.split(" ", 2)
            guard, _, op = text.rpartition(" ")
            self.all.append((int(at), int(low, 16), guard, op))
        while self.all and self.all[-1][3] == "NOP":
            self.all.pop()
        if self.all and self.all[-1][3] == "BRA":
            self.all.pop()  # to itself, behind the end

    def shortest(self):
        """Instructions of the shortest way to an EXIT through two loads and a store."""
        done, now, steps = set(), {(0, 0, 0)}, 0
        while now:
            steps, following = steps + 1, set()
            for index, loads, stores in now:
                if index >= len(self.all) or (index, loads, stores) in done:
                    continue
                done.add((index, loads, stores))
                at, low, guard, op = self.all[index]
                name = op.split(".")[0]
                loads, stores = min(2, loads + (name == "LDG")), min(1, stores + (name == "STG"))
                if name == "EXIT" and loads == 2 and stores:
                    return steps
                if name == "BRA":
                    following.add((target(at, low, self.sm) // BYTES, loads, stores))
                if name not in ("EXIT", "BRA") or guard or ".DIV" in op or ".U" in op:
                    following.add((index + 1, loads, stores))
            now = following
        return None


def programs_of(build, tool):
    file = os.path.join(build, "bench", "ebpf", f"{tool}.bpf.o")
    return file if os.path.exists(file) else tool


def assembled(build, tool, sm, folder):
    """The code, and its registers; of the kernel as it is where there is no tool."""
    text, cubin = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
    with open(text, "wb") as file:
        if tool:
            splice = os.path.join(build, "tests", "helpers", "splice_ebpf")
            file.write(subprocess.run([splice, SHAPES, programs_of(build, tool)], capture_output=True, check=True).stdout)
        else:
            file.write(open(SHAPES, "rb").read())
    said = subprocess.run([ptxas(), "-v", f"-arch=sm_{sm}", "-o", cubin, text], capture_output=True, text=True, check=True).stderr
    registers = re.search(rf"for '?{KERNEL}'?.*?Used (\d+) registers", said, re.S)[1]
    return Code(build, cubin, sm), int(registers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=BUILD)
    parser.add_argument("--sm", default="75,90,100")
    parser.add_argument("--tools", default=TOOLS)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    builds, sms = given.build.split(","), [int(sm) for sm in given.sm.split(",")]
    if not ptxas():
        raise SystemExit("ptx_sass: there is no ptxas")
    print(f"{'off, all, registers':<20}" + "".join(f"{'sm_' + str(sm):>18}" * len(builds) for sm in sms))
    with tempfile.TemporaryDirectory() as folder:
        for tool in [None, *given.tools.split(",")]:
            line = f"{tool or 'no program':<20}"
            for sm in sms:
                for build in builds:
                    code, registers = assembled(os.path.abspath(build), tool, sm, folder)
                    line += f"{code.shortest() or 0:>8}{len(code.all):>5}{registers:>5}"
                    if given.list and tool:
                        print("\n".join(f"{at:6x} {guard:>5} {op}" + (f" {target(at, low, sm):x}" if op[:3] == "BRA" or op == "BSSY" else "")
                                        for at, low, guard, op in code.all))
            print(line, flush=True)


main()
