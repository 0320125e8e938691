#!/bin/sh
# SPDX-License-Identifier: MIT
# Each of our BPF programs loads on this kernel.
. "$(dirname "$0")/tap.sh"
cd "$build" || exit 1
exec tests/vm/load_programs bpf/capture.bpf.o
