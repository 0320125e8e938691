#!/bin/sh
# SPDX-License-Identifier: MIT
# Launch-and-work pairs through correlator, writer and reader. Arguments: those of build/bench/pipeline.
build=$("$(dirname "$0")/needs" bench/pipeline) || exit
exec "$build/bench/pipeline" "$@"
