#!/bin/sh
# SPDX-License-Identifier: MIT
# Launch-and-work pairs through correlator, writer and reader. Arguments: those of build/bench/pipeline.
exec "${XPUPROF_BUILD:-build}/bench/pipeline" "$@"
