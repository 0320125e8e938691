#!/bin/sh
# SPDX-License-Identifier: MIT
# Our decoding of GPU instructions beside nvdisasm's, where that is installed: for the cubins of
# tests/data/cubin, those in $XPUPROF_CUBINS (files, with blanks between), and, with
# XPUPROF_SASS_SWEEP=1, which takes minutes, for every opcode of every architecture.
. "$(dirname "$0")/tap.sh"
check=$build/tests/helpers/sass_check

run "$check" "$here"/../data/cubin/*.cubin
[ "$status" != 77 ] || skip_all "$out"

same() { # NAME
	result "$status" "$1"
	printf '%s\n' "$out" | sed 's/^/# /'
}

same "guard and mnemonic of each instruction are nvdisasm's, and no modifier is made up"
for cubin in $XPUPROF_CUBINS; do
	run "$check" "$cubin"
	same "also in $cubin"
done
if [ "$XPUPROF_SASS_SWEEP" = 1 ]; then
	for sm in 75 80 86 87 88 89 90 100 103 110 120 121; do
		run "$check" --sweep $sm 000fe20000000000 000fe20008000000 000fe200001e1900
		same "every opcode of sm_$sm that nvdisasm knows with these fillings is known"
	done
fi
done_testing
