#!/bin/sh
# SPDX-License-Identifier: MIT
# How long it takes to name 100,000 places in a library of 200,000 functions, and how much memory.
build=${XPUPROF_BUILD:-$(dirname "$0")/../build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 - >"$work/functions.s" <<'END'
print(".text")
for i in range(200000):
    name = f"_ZN5torch8autograd9generated{'x' * 40}{i}Ev"
    print(f".globl {name}\n.type {name},@function\n{name}: .skip 400,0x90\n.size {name},.-{name}")
END
"${CC:-cc}" -shared -nostdlib -Wl,--build-id -o "$work/functions.so" "$work/functions.s" || exit 1
"$build/bench/symbolize" "$work/functions.so"
