#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof doctor` on this kernel: it can record, and says what is different here.
. "$(dirname "$0")/tap.sh"

run xpuprof doctor
printf '%s\n' "$out" | sed 's/^/# /'
is "$status" 0 "the machine can record all there is"
is "$err" "" "and there is nothing to complain about"
has "$out" "Linux $(uname -r)" "the kernel is named"
has "$out" "chosen" "a launch marker is chosen"
has "$out" "records CPU work: yes" "CPU work can be recorded"
has "$out" "records GPU work: yes" "and GPU work"
done_testing
