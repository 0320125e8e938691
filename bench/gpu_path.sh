#!/bin/sh
# SPDX-License-Identifier: MIT
# What a launch costs in our own code, without CUDA: bench/gpu_path.c.
"${XPUPROF_BUILD:-build}/bench/gpu_path"
