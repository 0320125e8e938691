#!/bin/sh
# SPDX-License-Identifier: MIT
# What we have written down of rocprofiler-sdk's interface is what AMD's own headers say, of two versions. Where tests/rocm/fetch
# has not fetched them this is skipped.
. "$(dirname "$0")/tap.sh"
root=$(cd "$here/../.." && pwd)
headers=${XPUPROF_ROCM:-$root/build/rocm}
set -- "$headers"/*/version
[ -e "$1" ] || skip_all "the headers are not there: 'tests/rocm/fetch build/rocm' fetches them"

# compared OURS: the comparison, with our description from that folder, compiles against the headers of $release, and is made
compared() {
	cc -w -std=gnu11 -I"$1" -I"$root/src" -I"$root/tests" -isystem "$headers/$release/include" -o comparison \
		"$root/tests/unit/rocprofiler_abi_test.c" 2>errors && ./comparison >said && ! grep -q SKIP said
}

# differs FILE EXPRESSION NAME: ours changed by sed is found to be another
differs() {
	rm -rf changed
	mkdir -p "changed/$(dirname "$1")"
	sed "$2" "$root/src/$1" >"changed/$1"
	cmp -s "$root/src/$1" "changed/$1" && result 1 "$release: $3 (nothing was changed)" && return
	compared changed && result 1 "$release: $3" && return
	grep -q "static assertion failed" errors
	result $? "$release: $3"
}

for version; do
	release=$(basename "$(dirname "$version")")
	comment "rocprofiler-sdk $(cat "$version"), of ROCm $release"
	compared "$root/src"
	good=$?
	[ $good = 0 ] || comment "$(cat errors said)"
	result $good "$release: structures, constants and places of arguments are those of the headers"
	differs inject/rocprofiler/abi.h '/struct rocprofiler_agent {/,/^}/s/skipped2\[16\]/skipped2[17]/' \
		"a member elsewhere would be noticed"
	differs inject/rocprofiler/abi.h 's/ROCPROFILER_REQUEST_DISPATCH = 11/ROCPROFILER_REQUEST_DISPATCH = 12/' \
		"so would another number"
	differs inject/rocprofiler/abi.h 's/RESULT_BYTES 24u/RESULT_BYTES 16u/' "and another size"
	differs vendor/amd/calls.h 's/hipModuleLaunchKernel, 40/hipModuleLaunchKernel, 48/' "and another place of an argument"
done
done_testing
