#!/bin/sh
# SPDX-License-Identifier: MIT
# How long it takes to find the source of GPU instructions in an image as large as those of large libraries.
exec "${XPUPROF_BUILD:-$(dirname "$0")/../build}/bench/cubin"
