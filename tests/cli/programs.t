#!/bin/sh
# SPDX-License-Identifier: MIT
# Each of our BPF programs loads on this kernel, and takes the verifier not long: a recording waits for that when it
# begins. (Other kernels: tests/vm/programs.t.)
. "$(dirname "$0")/tap.sh"
cpu_side || skip_all "BPF programs cannot be loaded here"
"$build/tests/vm/load_programs" "$build/bpf/capture.bpf.o"
