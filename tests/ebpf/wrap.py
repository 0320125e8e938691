# SPDX-License-Identifier: MIT
"""Makes what `xpuprof probe --check` shows into a module of PTX: each program is the body of a kernel of its own, which
sets what a body is given from memory, and keeps what it leaves."""
import re
import subprocess

NUMBERS = ["arena", "cookie", "kernel", "addr", "sites"] + [f"arg{i}" for i in range(12)]
WORDS = ["lanes", "active", "argc", "size", "kind", "insn", "lines", "below", "site"]
PROGRAM = re.compile(r"^// program '([^']*)':([^\n]*)\n(\{\n.*?^\}\n)", re.M | re.S)


def programs(shown):
    """(name, what is said of it, body) of each."""
    return PROGRAM.findall(shown)


def kernel(name, body):
    lines = [f".visible .entry {name}(.param .u64 given)", "{", "\t.reg .b64 %given;"]
    lines += [f"\t.reg .b64 %xpu_{n};" for n in NUMBERS] + [f"\t.reg .b32 %xpu_{n};" for n in WORDS]
    lines += ["\tld.param.u64 %given, [given];"]
    lines += [f"\tld.global.u64 %xpu_{n}, [%given+{i * 8}];" for i, n in enumerate(NUMBERS)]
    lines += [f"\tld.global.u32 %xpu_{n}, [%given+{(len(NUMBERS) + i) * 8}];" for i, n in enumerate(WORDS)]
    return "\n".join(lines) + "\n" + body + "xpu_rest:\n\tst.global.u64 [%given+8], %xpu_cookie;\n\tret;\n}\n"


def module(shown, sm):
    text = f".version {9.0 if sm > 90 else 7.8}\n.target sm_{sm}\n.address_size 64\n"
    return text + "".join(kernel(name, body) for name, _, body in programs(shown))


def assemble(ptxas, shown, sm, path):
    """{program: (registers, bytes of stack, bytes spilled)}, and what ptxas says where it refuses."""
    return assemble_text(ptxas, module(shown, sm), sm, path)


def assemble_text(ptxas, text, sm, path):
    with open(path, "w") as file:
        file.write(text)
    done = subprocess.run([ptxas, "-v", f"-arch=sm_{sm}", "-o", "/dev/null", path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        return {}, done.stdout
    found = {}
    for name, stack, spilled, registers in re.findall(
            r"Function properties for (\S+)\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores.*?Used (\d+) registers",
            done.stdout, re.S):
        found[name] = int(registers), int(stack), int(spilled)
    return found, ""
