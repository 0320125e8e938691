#!/bin/sh
# SPDX-License-Identifier: MIT
# The walker in this kernel, over tables of known programs.
. "$(dirname "$0")/tap.sh"
exec "$build/tests/unit/bpf_walk_test.t"
