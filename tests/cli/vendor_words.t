#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/check-vendor-words finds vendors' words where they do not belong, and nothing else.
. "$(dirname "$0")/tap.sh"

mkdir -p tools src/view src/view/nvidia src/inject/cupti src/monitor/tables
cp "$here/../../tools/check-vendor-words" tools/
printf '/* A CUDA call. */\nint cut, current, sassy;\nsigprocmask(SIG_BLOCK, cursor);\n' >src/view/one.h
printf 'cuInit(0);\n"smsp__x";\n/* sm_90 SASS */\n/* NVIDIA */\n' >src/view/two.c
printf 'int chip, ship, cube, curl_easy; /* a process, more */\n' >src/view/none.c
for own in view/nvidia/own.c inject/cupti/own.c monitor/tables/i915.c; do
	echo 'cudaMalloc(nvidia);' >src/$own
done
printf '# what is left\nsrc/view/one.h 1\nsrc/view/two.c 4\n' >tools/vendor-words

run tools/check-vendor-words
is "$status $out" "0 " "as many lines as the list allows are fine, and vendors' folders have what they like"
run tools/check-vendor-words --rooms
is "$out" "src/view 5
all 5" "the lines of a room are counted"
run tools/check-vendor-words --list
is "$out" "src/view/one.h 1
src/view/two.c 4" "the list can be printed as it would have to be"

echo 'int cuda;' >>src/view/none.c
run tools/check-vendor-words
is "$status $out" "1 src/view/none.c: vendors' words in 1 lines, of which tools/vendor-words allows 0" "a new one is found"

echo >src/view/none.c
echo >src/view/one.h
run tools/check-vendor-words
is "$status $out" "1 src/view/one.h: vendors' words in 0 lines: lower its count in tools/vendor-words" \
	"a list that allows too many is found"

rm src/view/one.h
run tools/check-vendor-words
is "$status" 1 "and so is a file that is gone"
done_testing
