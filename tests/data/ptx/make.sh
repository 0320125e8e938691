#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the PTX and the fatbins here from its sources, with nvcc of CUDA 13.0. In a folder of its own, as PTX with lines has the names of
# files in it.
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=/src
mkdir "$folder"
trap 'rm -r "$folder"' EXIT
cp "$here"/*.cu "$here"/*.h "$folder"
cd "$folder"
nvcc -ptx -arch=compute_75 -o "$here/shapes-sm75.ptx" shapes.cu
nvcc -ptx -arch=compute_90 -o "$here/shapes-sm90.ptx" shapes.cu
nvcc -ptx -arch=compute_80 -lineinfo -o "$here/shapes-lines.ptx" shapes.cu
nvcc -ptx -arch=compute_75 -G -o "$here/debug.ptx" debug.cu
nvcc -ptx -arch=compute_75 -fmad=false -o "$here/compute.ptx" compute.cu
for mode in none speed size balance; do
	nvcc -fatbin --compress-mode=$mode -o "$here/tiny-$mode.fatbin" tiny.cu \
		-gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=compute_90 \
		-gencode arch=compute_90a,code=compute_90a -gencode arch=compute_100f,code=compute_100f
done
nvcc -fatbin -lineinfo -o "$here/tiny-lines.fatbin" tiny.cu \
	-gencode arch=compute_80,code=sm_80 -gencode arch=compute_80,code=compute_80
