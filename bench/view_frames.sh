#!/bin/sh
# SPDX-License-Identifier: MIT
# How long frames take while somebody drags in the page of `xpuprof view`, over PAIRS launches with their work (two events
# each) on 8 GPUs: in headless Chromium, which draws without a GPU. A screen has a frame each 16.7 ms; `script` is what of it
# our own code takes. Needs node, npm and chromium.
#
#	bench/view_frames.sh [PAIRS [FRAMES]]
build=$("$(dirname "$0")/needs" xpuprof bench/profile_gen) || exit
here=$(cd "$(dirname "$0")" && pwd)
"$here/../tests/browser/install.sh" "$build/browser" || exit
export NODE_PATH="$build/browser/node_modules"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$build/bench/profile_gen" "$work/many.xpu" "${1:-5000000}" || exit 1
node "$here/view_frames.js" "$build/xpuprof" "$work/many.xpu" "${2:-120}"
