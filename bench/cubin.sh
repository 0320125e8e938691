#!/bin/sh
# SPDX-License-Identifier: MIT
# How long it takes to find the source of GPU instructions in an image as large as those of large libraries.
build=$("$(dirname "$0")/needs" bench/cubin) || exit
exec "$build/bench/cubin"
