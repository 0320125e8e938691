#!/bin/sh
# SPDX-License-Identifier: MIT
# Code that is mapped over other code: walkers hear of that at once, and no stack is cut off. Linux 5.10 does not let
# itself be probed where it tells perf of mappings; there the first stacks may be.
. "$(dirname "$0")/tap.sh"
command -v python3 >/dev/null || skip_all "there is no python3"

recorded bpf --gpu-only -- "$build/tests/targets/stack_target" reload 8
describe
is "$status $err" "0 " "libraries come and go while a program launches"
has "$out" "the same addresses" "one after the other at the same addresses"
case $(uname -r) in
5.*) most=60 ;;
*) most=0 ;;
esac
is "$(told "s['launches'], s['launches_incomplete'] <= $most, s['launches_without']")" "240 True 0" "every launch has its whole stack"
is "$(xpuprof export --to folded --view gpu p.xpu | grep -c -e 'plugin_a;.*scale' -e 'plugin_b;.*axpy')" 0 "of the library that made it"
done_testing
