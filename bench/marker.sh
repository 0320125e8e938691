#!/bin/sh
# SPDX-License-Identifier: MIT
# What the launch marker costs, by depth of the stack (bench/marker.c). Needs root.
: "${XPUPROF_BUILD:=build}"
exec "$XPUPROF_BUILD/bench/marker" "$XPUPROF_BUILD/libxpuprof-inject.so" "$(dirname "$0")/marker_python.py"
