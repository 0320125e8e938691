#!/bin/sh
# SPDX-License-Identifier: MIT
# How long it takes to open an image of Intel GPU code of 10 MB, and to find the source of its instructions.
build=$("$(dirname "$0")/needs" bench/zebin) || exit
exec "$build/bench/zebin"
