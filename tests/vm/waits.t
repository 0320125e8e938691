#!/bin/sh
# SPDX-License-Identifier: MIT
# Waits of threads on this kernel, by each program that has to do with them: the tests of tests/cli/off_cpu.t that need no more
# (waits_more.t has the others); or where it is too old one line that says so.
. "$(dirname "$0")/tap.sh"
command -v python3 >/dev/null || skip_all "there is no python3"

case $(uname -r) in
5.[0-9].* | 5.1[01].*) ;;
*) XPUPROF_BUILD=$build exec "$here/../cli/off_cpu.t" known_waits threads unfinished attached ;;
esac
recorded default --cpu-only --off-cpu -- "$build/tests/vm/busy" 500
is "$status" 0 "without waits everything else is recorded"
has "$err" "Linux 5.12 or later" "a line says why there are none"
is "$(printf '%s\n' "$err" | wc -l)" 1 "and nothing more"
is "$(told 's["samples"] > 0')" True "CPU samples are there"
done_testing
