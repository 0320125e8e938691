#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing (Debian, with apt), builds, records the demo program of demo/, prints the report and
# draws demo.svg and demo-stalls.svg, and writes demo-matmul.html. Without an NVIDIA driver the program runs on the simulated one of sim/, and all output
# says so.
set -e
cd "$(dirname "$0")"

say() {
	echo
	echo "== $*"
}

say "packages"
tools/install-packages build
say "build"
mkdir -p build
make -j"$(nproc)" >build/demo.log 2>&1 || {
	cat build/demo.log
	exit 1
}

gpu=
if [ ! -e /proc/driver/nvidia/version ]; then
	say "no NVIDIA driver here: the demo runs on a simulated GPU"
	gpu="env LD_LIBRARY_PATH=$PWD/build/sim XPUPROF_SIM_STALLS=$PWD/tests/data/pcsampling"
fi

# CPU samples and stacks need the right to load BPF programs.
as_root=
if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null; then
	say "recording needs root (sudo); without it there are no CPU samples and no stacks"
	sudo -v && as_root=sudo
fi

say "record: ${as_root:+$as_root }build/xpuprof record --stalls -o demo.xpu -- ${gpu:+$gpu }build/demo/train"
$as_root build/xpuprof record --stalls -o demo.xpu -- $gpu build/demo/train
say "report: build/xpuprof report demo.xpu"
build/xpuprof report demo.xpu
say "picture: build/xpuprof flame -o demo.svg demo.xpu"
build/xpuprof flame -o demo.svg demo.xpu
say "why its kernels wait: build/xpuprof report --stalls --top 2 demo.xpu"
build/xpuprof report --stalls --top 2 demo.xpu
say "picture: build/xpuprof flame --view stall -o demo-stalls.svg demo.xpu"
build/xpuprof flame --view stall -o demo-stalls.svg demo.xpu
# Code of the simulated GPU was compiled elsewhere: its sources are here.
sources=${gpu:+--source-map=/tmp/pcsampling-sources=$PWD/tests/data/pcsampling}
say "where one of them waits: build/xpuprof annotate ${sources:+$sources }-o demo-matmul.html matmul_tiled demo.xpu"
build/xpuprof annotate $sources -o demo-matmul.html matmul_tiled demo.xpu
echo "The flame graphs are $PWD/demo.svg and demo-stalls.svg, a kernel's source is demo-matmul.html: open them in a browser."
