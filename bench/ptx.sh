#!/bin/sh
# SPDX-License-Identifier: MIT
# How fast PTX is read, and probes put into it.
here=$(cd "$(dirname "$0")" && pwd)
build=$("$here/needs" bench/ptx) || exit
exec "$build/bench/ptx" "$here/../tests/data/ptx/shapes-sm90.ptx"
