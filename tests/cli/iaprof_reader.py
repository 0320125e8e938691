# SPDX-License-Identifier: MIT
"""Reads what `xpuprof export --to iaprof` writes by the rules of proviz (its parsers/iaprof_parser.j), and prints it as folded stacks,
in the order of their names. What proviz would not read ends it."""
import sys

REASONS = ["active", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "tdr"]


def stacks(lines):
    """By stack and interval: samples."""
    strings, found, kernel, time = {"0": "<unknown>"}, {}, None, None
    for number, line in enumerate(lines):
        kind, *fields = line.split("\t")
        if number == 0:
            assert line == "string\t1\t[unknown file]", line  # what it knows the format by
        if kind == "string":
            assert len(fields) == 2 and fields[0] not in strings, line
            strings[fields[0]] = fields[1]
        elif kind == "interval":
            assert len(fields) == 2 and (time is None or float(fields[1]) > time), line
            time, kernel = float(fields[1]), None
        elif kind == "kernel":
            address, command, pid, stack, file, symbol = fields
            assert int(address, 16) == 0 and int(pid) > 0
            kernel = f"{strings[command]};{int(pid)};{strings[stack]};-;{strings[file]}_[G];{strings[symbol]}_[G]"
        else:
            assert kind == "eustall" and kernel and len(fields) == 2 + len(REASONS), line
            for reason, count in zip(REASONS, map(int, fields[2:])):
                stack = f"{kernel};{strings[fields[1]]}_[g];{reason}_[g];{fields[0]}_[g]"
                if count:
                    found[stack, time] = found.get((stack, time), 0) + count
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        found = stacks(f.read().splitlines())
    sums = {}
    for (stack, _), count in found.items():
        sums[stack] = sums.get(stack, 0) + count
    for stack in sorted(sums):
        print(stack, sums[stack])


if __name__ == "__main__":
    main()
