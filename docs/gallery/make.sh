#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the pictures of this folder anew, on a machine with an NVIDIA GPU, a CUDA toolkit and PyTorch:
#
#	docs/gallery/make.sh [FOLDER]
#
# puts the recordings and pictures into FOLDER (/tmp/gallery). $XPUPROF is the program (xpuprof).
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-/tmp/gallery}
xpuprof=${XPUPROF:-xpuprof}

mkdir -p "$folder"
cp "$here"/*.cu "$here"/*.py "$folder"
cd "$folder"

draw() { # NAME TITLE
	"$xpuprof" flame --view stall --max-frames 20000 --title "$2" -o "$1.svg" "$1.xpu"
	"$xpuprof" report --stalls --top 3 "$1.xpu" >"$1.txt"
}

nvcc -O3 -std=c++17 -lineinfo -arch=native -o raymarch raymarch.cu
"$xpuprof" record --stalls -o raymarch.xpu -- ./raymarch
draw raymarch "raymarch.cu: small functions, many levels deep"
"$xpuprof" annotate render raymarch.xpu -o raymarch.html
"$xpuprof" record --stalls -o softmax.xpu -- python3 softmax.py
draw softmax "softmax.py: two kernels in Triton"
"$xpuprof" record --stalls -o transformer.xpu -- python3 transformer.py
draw transformer "transformer.py: a training loop in PyTorch"
