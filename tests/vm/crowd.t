#!/bin/sh
# SPDX-License-Identifier: MIT
# Threads that are preempted while the launch program runs, by others that run it too.
. "$(dirname "$0")/tap.sh"
command -v python3 >/dev/null || skip_all "there is no python3"

recorded bpf --gpu-only -- "$build/tests/programs/launch_rate" --launches 3000 --threads 8
describe
is "$status $err" "0 " "eight threads launch on two CPUs"
is "$(told 's["launches"], s["launches_without"], s["launches_incomplete"]')" "24000 0 0" \
	"and each launch has its whole stack"
done_testing
