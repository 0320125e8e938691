#!/bin/sh
# SPDX-License-Identifier: MIT
# How long annotate takes for a kernel of 20,000 lines with as many accesses to memory.
build=$("$(dirname "$0")/needs" bench/annotate) || exit
"$build/bench/annotate" "$@"
