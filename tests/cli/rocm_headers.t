#!/bin/sh
# SPDX-License-Identifier: MIT
# What we have written down of rocprofiler-sdk's interface is what AMD's own headers say, of two versions: by what was written down
# of those (tests/data/rocprofiler), and by the headers themselves where tests/rocm/fetch has fetched them.
. "$(dirname "$0")/tap.sh"
root=$(cd "$here/../.." && pwd)
headers=${XPUPROF_ROCM:-$root/build/rocm}

# compiled FOLDER [OPTION]...: the comparison, with our description from there
compiled() {
	cc -w -std=gnu11 -I"$1" -I"$root/src" -I"$root/tests" ${2:+-isystem "$2"} -o comparison \
		"$root/tests/unit/rocprofiler_abi_test.c" 2>errors
}

# compared FOLDER [HEADERS]: it is made, and all is the same
compared() {
	compiled "$@" && (cd "$root" && "$OLDPWD/comparison") >said
}

# differs HOW FILE EXPRESSION NAME: ours changed by sed is found to be another; HOW it is said
differs() {
	rm -rf changed
	mkdir -p "changed/$(dirname "$2")"
	sed "$3" "$root/src/$2" >"changed/$2"
	cmp -s "$root/src/$2" "changed/$2" && result 1 "$release: $4 (nothing was changed)" && return
	compared changed $include && result 1 "$release: $4" && return
	cat errors said | grep -q "$1"
	result $? "$release: $4"
}

# check HOW: and each change to ours is noticed
check() {
	: >said
	compared "$root/src" $include
	good=$?
	[ $good = 0 ] || comment "$(cat errors said)"
	result $good "$release: structures, constants and places of arguments are those of the headers"
	differs "$1" inject/rocprofiler/abi.h '/struct rocprofiler_agent {/,/^}/s/skipped2\[16\]/skipped2[17]/' \
		"a member elsewhere would be noticed"
	differs "$1" inject/rocprofiler/abi.h 's/ROCPROFILER_REQUEST_DISPATCH = 11/ROCPROFILER_REQUEST_DISPATCH = 12/' \
		"so would another number"
	differs "$1" inject/rocprofiler/abi.h 's/RESULT_BYTES 24u/RESULT_BYTES 16u/' "and another size"
	differs "$1" inject/rocprofiler/abi.h '/struct rocprofiler_dispatch {/,/^}/s/grid\[3\]/grid[24]/' "and a longer structure"
	differs "$1" vendor/amd/calls.h 's/hipModuleLaunchKernel, 40/hipModuleLaunchKernel, 48/' "and another place of an argument"
	differs "too few arguments" inject/rocprofiler/abi.h 's/uint64_t buffer, int flags/uint64_t buffer, int more, int flags/' \
		"and one argument more"
}

include=
release="what was written down"
check "^not ok\|static assertion failed" # the latter where headers are installed

for version in "$headers"/*/version; do
	[ -e "$version" ] || {
		comment "the headers are not there: 'tests/rocm/fetch build/rocm' fetches them"
		break
	}
	release=$(basename "$(dirname "$version")")
	include=$headers/$release/include
	comment "rocprofiler-sdk $(cat "$version"), of ROCm $release"
	check "static assertion failed"
	written=$root/tests/data/rocprofiler/$release
	[ -e "$written" ] || continue
	compiled "$root/src" "$include" && ./comparison --print >theirs
	grep -v '^#' "$written" | cmp -s - theirs
	result $? "$release: what was written down is what the headers say"
done
done_testing
