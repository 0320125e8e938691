#!/bin/sh
# SPDX-License-Identifier: MIT
# The records that cubins are compared with are what the CUPTI of this machine says.
. "$(dirname "$0")/tap.sh"

data=$here/../data/cubin

for cubin in "$data"/*.cubin; do
	name=$(basename "$cubin" .cubin)
	run "$build/tests/helpers/cupti_lines" "$cubin"
	if [ "$status" = 77 ]; then
		skip "the places that CUPTI has for $name" "$err"
	else
		is "$out" "$(cat "$data/$name.cupti")" "the places that CUPTI has for $name are the recorded ones"
	fi
done

run "$build/tests/helpers/cupti_lines" "$build/xpuprof"
is "$status $err" "1 not a cubin: an ELF image for machine $(readelf -h "$build/xpuprof" |
	sed -n 's/.*Machine:.*X86-64/62/p; s/.*Machine:.*AArch64/183/p')" "another ELF file is refused, and it says which"
done_testing
