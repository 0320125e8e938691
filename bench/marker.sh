#!/bin/sh
# SPDX-License-Identifier: MIT
# What the launch marker costs, by depth of the stack (bench/marker.c). Needs root.
build=$("$(dirname "$0")/needs" bench/marker libxpuprof-inject.so) || exit
exec "$build/bench/marker" "$build/libxpuprof-inject.so" "$(dirname "$0")/marker_python.py"
