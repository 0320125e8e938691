#!/bin/sh
# SPDX-License-Identifier: MIT
# What a launch costs in our own code, without CUDA: bench/gpu_path.c.
build=$("$(dirname "$0")/needs" bench/gpu_path) || exit
"$build/bench/gpu_path"
