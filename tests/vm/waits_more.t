#!/bin/sh
# SPDX-License-Identifier: MIT
# More waits of threads on this kernel, of more threads, at more places: the rest of tests/cli/off_cpu.t.
. "$(dirname "$0")/tap.sh"
command -v python3 >/dev/null || skip_all "there is no python3"
XPUPROF_BUILD=$build exec "$here/../cli/off_cpu.t" least_length crowd storm places other_programs
