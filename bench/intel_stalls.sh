#!/bin/sh
# SPDX-License-Identifier: MIT
# How fast a stream of stall records of Intel's GPUs becomes a profile.
build=$("$(dirname "$0")/needs" bench/intel_stalls) || exit
exec "$build/bench/intel_stalls"
