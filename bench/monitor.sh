#!/bin/sh
# SPDX-License-Identifier: MIT
# What monitors cost, beside bpftrace (bench/monitor.c). Needs root. Argument: rounds.
: "${XPUPROF_BUILD:=build}"
exec "$XPUPROF_BUILD/bench/monitor" "${1:-5}" $(command -v bpftrace)
