#!/bin/sh
# SPDX-License-Identifier: MIT
# How long it takes to name 100,000 places, and how much memory, in a library as large as PyTorch's: 600,000 functions
# and their DWARF; without and with source lines and inlined functions.
build=$("$(dirname "$0")/needs" bench/symbolize) || exit
units=${UNITS:-300}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# One compilation unit of 2,000 functions, each with two functions inlined into one another, is linked in as often as
# it takes, under other names.
python3 - >unit.c <<'END'
print("static inline __attribute__((always_inline)) int innermost(int *p, int x) { return p[x] * 3 + x; }")
print("static inline __attribute__((always_inline)) int middle(int *p, int x) { return innermost(p, x) + innermost(p, x + 1); }")
for i in range(2000):
    name = f"_ZN5torch8autograd9generated{'x' * 40}{i}Ev"
    print(f"int {name}(int *p, int x, struct s{i} *s) {{")
    print("  for (int i = 0; i < x; i++)\n    p[i] = middle(p, i)" + f" + {i};")
    print("  if (x > 5)\n    p[1] += middle(p, x);\n  return p[0] + middle(p + 7, x);\n}")
END
"${CC:-cc}" -w -O1 -g -fPIC -c -o unit.o unit.c || exit 1
n=0
while [ $n -lt "$units" ]; do
	objcopy --prefix-symbols="unit${n}_" unit.o "unit$n.o" || exit 1
	n=$((n + 1))
done
"${CC:-cc}" -shared -nostdlib -Wl,--build-id -o library.so unit[0-9]*.o || exit 1
rm -f unit*
ls -l library.so | awk '{printf "library: %.0f MB, ", $5 / 1e6}'
nm library.so | grep -c ' [tT] ' | sed 's/$/ functions/'
"$build/bench/symbolize" library.so
"$build/bench/symbolize" --inline library.so
