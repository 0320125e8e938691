#!/bin/sh
# SPDX-License-Identifier: MIT
# How long it takes at the end of a recording to describe 690,000 GPU instructions: text, source lines and inlined functions,
# of 340 images with 13 functions each; "here": in the recorder itself, not in a process of the sandbox.
build=$("$(dirname "$0")/needs" bench/gpu_code) || exit
"$build/bench/gpu_code" "$(dirname "$0")/../tests/data/cubin/inline.cubin" 340 "$@"
