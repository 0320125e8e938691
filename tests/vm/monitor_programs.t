#!/bin/sh
# SPDX-License-Identifier: MIT
# Each entry of the generic program of monitors loads on this kernel; tests/vm/watch.t uses them.
. "$(dirname "$0")/tap.sh"
cd "$build" || exit 1
exec tests/vm/load_programs bpf/monitor.bpf.o
