#!/bin/sh
# SPDX-License-Identifier: MIT
# The simulator's headers say the same as NVIDIA's, where those are installed.
. "$(dirname "$0")/tap.sh"
cuda=${CUDA_HOME:-/usr/local/cuda}/include
root=$here/../..
[ -e "$cuda/cupti.h" ] || skip_all "no CUDA headers in $cuda"
grep -q 'define CUDA_VERSION 13000' "$cuda/cuda.h" ||
	skip_all "the headers in $cuda are not CUDA 13.0's"

layout() { # FOLDER OF HEADERS, OUTPUT
	cc -w -I"$1" -isystem "$here/../cxx" -o layout "$here/sim_layout.c" && ./layout >"$2"
}

# "name number" of every function in a table of the simulator
driver_table() {
	sed -nE 's/^[FUL]0?\(([0-9]+), (cu[A-Za-z0-9_]+),.*/\2 \1/p' \
		"$root/sim/driver/driver_api.def" | sort
}

runtime_table() {
	sed -nE 's/^[RNK]0?\(([0-9]+), ([0-9]+), ([A-Za-z0-9_]+),.*/\3_v\2 \1/p' \
		"$root/sim/runtime/runtime_api.def" | sort
}

cupti_table() { # DRIVER|RUNTIME FILE
	sed -nE "s/.*CUPTI_$1_TRACE_CBID_([A-Za-z0-9_]+) *= *([0-9]+).*/\1 \2/p" "$cuda/$2" | sort
}

true_that "the test compiles with the simulator's headers" layout "$root/sim/include" ours
true_that "and with NVIDIA's" layout "$cuda" theirs
is "$(diff ours theirs)" "" "structs and constants are the same"
driver_table >ours
cupti_table DRIVER cupti_driver_cbid.h >theirs
true_that "the driver's table is read" [ "$(wc -l <ours)" -gt 150 ]
is "$(comm -23 ours theirs)" "" "every driver function has the number that CUPTI gives it"
runtime_table >ours
cupti_table RUNTIME cupti_runtime_cbid.h >theirs
true_that "the runtime's table is read" [ "$(wc -l <ours)" -gt 80 ]
is "$(comm -23 ours theirs)" "" "every runtime function has the number that CUPTI gives it"
done_testing
