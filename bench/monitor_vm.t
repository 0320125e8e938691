#!/bin/sh
# SPDX-License-Identifier: MIT
# What bench/monitor_vm.sh runs in a virtual machine.
"$XPUPROF_BUILD/bench/monitor" 3 $(command -v bpftrace) | sed 's/^/# /'
echo "ok 1 - monitors are measured"
echo "1..1"
