#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing (Debian, with apt), builds, records the demo program of demo/, prints the report and
# draws demo.svg and demo-stalls.svg, and writes demo-matmul.html. Without an NVIDIA driver the program runs on the simulated one of sim/, and all output
# says so.
#
#	./demo.sh --opencl
#
# does the same with a program that uses OpenCL (demo/edges.c), on whatever device there is: where there is no GPU with
# an OpenCL driver, that is the CPU (PoCL), whose name says so. It draws demo-opencl.svg.
set -e
cd "$(dirname "$0")"
case $* in
'' | --opencl) ;;
*)
	echo "usage: ./demo.sh [--opencl]" >&2
	exit 2
	;;
esac

say() {
	echo
	echo "== $*"
}

say "packages"
tools/install-packages build ${1:+opencl}
say "build"
mkdir -p build
make -j"$(nproc)" >build/demo.log 2>&1 || {
	cat build/demo.log
	exit 1
}

# CPU samples of the kernel's work need the right to load BPF programs.
as_root=
if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null; then
	say "root (sudo) to sample the CPU in the kernel, too; without it only the program itself is sampled"
	sudo -v && as_root=sudo
fi

if [ "$1" = --opencl ]; then
	say "record: ${as_root:+$as_root }build/xpuprof record -o demo-opencl.xpu -- build/demo/edges"
	$as_root build/xpuprof record -o demo-opencl.xpu -- build/demo/edges
	say "report: build/xpuprof report demo-opencl.xpu"
	build/xpuprof report demo-opencl.xpu
	say "picture: build/xpuprof flame -o demo-opencl.svg demo-opencl.xpu"
	build/xpuprof flame -o demo-opencl.svg demo-opencl.xpu
	echo "The flame graph is $PWD/demo-opencl.svg: open it in a browser."
	exit
fi

gpu=
if [ ! -e /proc/driver/nvidia/version ]; then
	say "no NVIDIA driver here: the demo runs on a simulated GPU"
	gpu="env LD_LIBRARY_PATH=$PWD/build/sim XPUPROF_SIM_STALLS=$PWD/tests/data/pcsampling"
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
