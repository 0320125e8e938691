#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the public cases of github.com/Alan-Jowett/bpf_conformance, translated to PTX.

usage: conformance.py FOLDER RUN_CASE

Each case is a program as text, or as bytes, memory that it gets in r1 and r2, and the result or that it is an error; the
instructions are those of RFC 9669. RUN_CASE (run_case.c) runs it. Cases about the assembler alone are left out. Prints each
case that has another result, and each that is refused without being an error; fails if there is one of the former."""
import pathlib
import re
import struct
import subprocess
import sys

ALU = dict(add=0, sub=1, mul=2, div=3, or_=4, and_=5, lsh=6, rsh=7, neg=8, mod=9, xor=10, mov=11, arsh=12)
JUMPS = dict(ja=0, jeq=1, jgt=2, jge=3, jset=4, jne=5, jsgt=6, jsge=7, jlt=10, jle=11, jslt=12, jsle=13)
SIZES = dict(w=0x00, h=0x08, b=0x10, dw=0x18)
ATOMS = dict(add=0x00, or_=0x40, and_=0x50, xor=0xa0, xchg=0xe1, cmpxchg=0xf1)
LDX, ST, STX, ATOMIC, SIGNED = 0x61, 0x62, 0x63, 0xc3, 0x81
CALL, EXIT, LOCAL, REGISTER = 0x85, 0x95, 1, 0x08


def number(text):
    return int(text, 0)


def register(text):
    return int(re.fullmatch(r"%?r(\d+)", text)[1])


def is_register(text):
    return text.startswith("%")


def place(text):
    base, offset = re.fullmatch(r"\[(%?r\d+)\s*([-+].*)?\]", text).groups()
    return register(base), number(offset.replace(" ", "")) if offset else 0


def packed(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhI", code, dst | src << 4, off, imm & 0xffffffff)


def operation(table, name):
    return table[name if name in table else name + "_"]


def alu(name, operands):
    signed = re.fullmatch(r"s(div|mod)(32)?", name)
    widened = re.fullmatch(r"movsx(8|16|32)(32|64)", name)
    swap = re.fullmatch(r"(be|le|swap|bswap)(16|32|64)", name)
    if swap:
        code = dict(be=0xdc, le=0xd4).get(swap[1], 0xd7)
        return packed(code, register(operands[0]), imm=int(swap[2]))
    off = 0
    if signed:
        name, off = name[1:], 1
    if widened:
        name, off = "mov" + ("32" if widened[2] == "32" else ""), int(widened[1])
    base = name[:-2] if name.endswith(("32", "64")) else name
    code = operation(ALU, base) << 4 | (4 if name.endswith("32") else 7)
    if base == "neg":
        return packed(code, register(operands[0]))
    if is_register(operands[1]):
        return packed(code | REGISTER, register(operands[0]), register(operands[1]), off)
    return packed(code, register(operands[0]), 0, off, number(operands[1]))


def jump(name, operands, target):
    """`target`: how far a label is from the next instruction."""
    narrow = name.endswith("32")
    base = name[:-2] if narrow else name
    code = JUMPS[base] << 4 | (6 if narrow else 5)
    distance = target(operands[-1])
    if base == "ja":
        return packed(code, imm=distance) if narrow else packed(code, off=distance)
    if is_register(operands[1]):
        return packed(code | REGISTER, register(operands[0]), register(operands[1]), distance)
    return packed(code, register(operands[0]), 0, distance, number(operands[1]))


def atomic(words, operands):
    fetch = words[0] == "fetch"
    name = words[1] if fetch else words[0]
    narrow = name.endswith("32")
    base, off = place(operands[0])
    kind = operation(ATOMS, name[:-2] if narrow else name) | fetch
    return packed(ATOMIC | SIZES["w" if narrow else "dw"], base, register(operands[1]), off, kind)


def instruction(line, labels, at):
    """Its bytes. `labels`: where each begins; `at`: where this one does."""
    words = line.replace(",", " , ").split()
    name = words[0]
    rest = re.sub(r"\s*\]", "]", re.sub(r"\[\s*", "[", line[len(name):].strip()))
    operands = [o.strip() for o in rest.split(",")] if rest else []
    load, store = re.fullmatch(r"ldx(s?)(b|h|w|dw)", name), re.fullmatch(r"st(x?)(b|h|w|dw)", name)

    def target(label):
        return labels[label] - at - 1 if label in labels else number(label)

    if name == "exit":
        return packed(EXIT)
    if name == "lddw":
        n = number(operands[1]) & (1 << 64) - 1
        return packed(0x18, register(operands[0]), imm=n) + packed(0, imm=n >> 32)
    if name == "call" and words[1] == "local":
        return packed(CALL, src=LOCAL, imm=labels[words[2]])
    if name == "call":
        return packed(CALL | REGISTER, register(words[1])) if is_register(words[1]) else packed(CALL, imm=number(words[1]))
    if name == "lock":
        words = line.split()
        operation_words = words[1:3] if words[1] == "fetch" else words[1:2]
        return atomic(operation_words, [o.strip() for o in line.split(operation_words[-1], 1)[1].split(",")])
    if load:
        base, off = place(operands[1])
        return packed((SIGNED if load[1] else LDX) | SIZES[load[2]], register(operands[0]), base, off)
    if store:
        base, off = place(operands[0])
        if store[1]:
            return packed(STX | SIZES[store[2]], base, register(operands[1]), off)
        return packed(ST | SIZES[store[2]], base, 0, off, number(operands[1]))
    if re.fullmatch(r"j\w+", name):
        return jump(name, operands, target)
    return alu(name, operands)


def assemble(text, before):
    """The program's bytes behind `before`, and how many instructions each function has. A jump to "exit" that has no such
    label leads to the last exit."""
    lines, labels, functions, at = [], {}, set(), len(before) // 8
    for line in text:
        line = line.split("#")[0].strip()
        if not line:
            continue
        if line.endswith(":"):
            labels[line[:-1]] = at
            continue
        lines.append((at, line))
        if line == "exit":
            labels["exit"] = at
        if line.startswith("call local"):
            functions.add(line.split()[2])
        at += 2 if line.startswith("lddw") else 1
    starts = sorted(labels[f] for f in functions) + [at]
    lengths = [starts[0]] + [b - a for a, b in zip(starts, starts[1:])]
    return before + b"".join(instruction(line, labels, place) for place, line in lines), lengths


def sections(text):
    parts, current = {}, []
    for line in text.splitlines():
        if line.startswith("-- "):
            current = parts.setdefault(line[3:].strip(), [])
        else:
            current.append(line)
    return parts


def case(path):
    """The line for RUN_CASE, and the result that is expected; None: a refusal."""
    parts = sections(path.read_text())
    memory = bytes.fromhex("".join(parts.get("mem", [])).replace(" ", ""))
    # r1 = the memory, as a section of variables; r2 = its size; r0, which programs may leave as it is
    before = packed(0x18, 1, 2 if memory else 0) + packed(0) + packed(0xb7, 2, imm=len(memory))
    if "error" in parts:
        code = before + packed(0xb7) + bytes.fromhex("".join(parts["raw"]))
        lengths, result = [len(code) // 8], None
    else:
        code, lengths = assemble(parts["asm"], before)
        result = number("".join(parts["result"]).strip()) & (1 << 64) - 1
    return f"{path.stem} {','.join(map(str, lengths))} {code.hex()} {memory.hex() or '-'}", result


def main(folder, runner):
    cases = [case(path) for path in sorted(pathlib.Path(folder).glob("tests/*.data"))]
    cases += [case(path) for path in sorted(pathlib.Path(folder).glob("negative/unused-*.data"))]
    said = subprocess.run([runner], input="".join(line + "\n" for line, _ in cases), text=True, check=True, stdout=subprocess.PIPE)
    right = refused = 0
    for (line, expected), got in zip(cases, said.stdout.splitlines(), strict=True):
        name, result = got.split(None, 1)
        assert name == line.split()[0]
        is_refused = result.startswith("refused")
        if is_refused if expected is None else not is_refused and number(result) == expected:
            right += 1
        else:
            refused += is_refused
            print(f"{name}: {result}" + ("" if is_refused else f", and {expected or 'a refusal'} is right"))
    wrong = len(cases) - right - refused
    print(f"{len(cases)} cases: {right} right, {wrong} wrong, {refused} refused")
    return wrong > 0 or not cases


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
