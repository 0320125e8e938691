#!/bin/sh
# SPDX-License-Identifier: MIT
# Unwind tables of large libraries: time to make them (CPU of one core, median of 5 runs), their size, time to read
# them back (file in the page cache, median of 5), the process's peak of memory; and what walking costs.
#
#	bench/unwind.sh [FILE...]
#
# Without files: the largest that are here, and a made-up library of 600,000 functions, as large as those of PyTorch.
build=$("$(dirname "$0")/needs" bench/unwind) || exit
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if [ $# = 0 ]; then
	python3 - >"$work/functions.s" <<'END'
import random
random.seed(1)
saved = ["rbx", "rbp", "r12", "r13", "r14", "r15"]
print(".text")
for i in range(600000):
    print(f".type f{i},@function\nf{i}: .cfi_startproc")
    pushes = random.randint(0, 6)
    for n in range(pushes):
        print(f"push %{saved[n]}\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset {saved[n]},0")
    room = 8 * random.randint(1, 60)
    print(f"sub ${room},%rsp\n.cfi_adjust_cfa_offset {room}\n.skip {random.randint(20, 400)},0x90")
    print(f".cfi_remember_state\nadd ${room},%rsp\n.cfi_adjust_cfa_offset -{room}")
    for n in reversed(range(pushes)):
        print(f"pop %{saved[n]}\n.cfi_adjust_cfa_offset -8")
    print(f"ret\n.cfi_restore_state\n.skip {random.randint(5, 60)},0x90\n.cfi_endproc\n.size f{i},.-f{i}")
END
	"${CC:-cc}" -shared -nostdlib -o "$work/600000-functions.so" "$work/functions.s" || exit 1
	rm "$work/functions.s"
	set -- "$work/600000-functions.so"
	for file in /usr/lib/firefox-esr/libxul.so /usr/lib/x86_64-linux-gnu/libLLVM-14.so.1 \
		/usr/local/cuda/lib64/libcublasLt.so.13 /usr/local/cuda/lib64/libcudnn_engines_precompiled.so.9 \
		/usr/lib/chromium/chromium /usr/lib/x86_64-linux-gnu/libc.so.6; do
		[ -e "$file" ] && set -- "$@" "$file"
	done
fi
"$build/bench/unwind" tables "$@"
for frames in 10 25 100; do
	"$build/bench/unwind" walk $frames
done
