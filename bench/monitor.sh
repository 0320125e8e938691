#!/bin/sh
# SPDX-License-Identifier: MIT
# What monitors cost, beside bpftrace (bench/monitor.c). Needs root. Argument: rounds.
build=$("$(dirname "$0")/needs" bench/monitor) || exit
exec "$build/bench/monitor" "${1:-5}" $(command -v bpftrace)
