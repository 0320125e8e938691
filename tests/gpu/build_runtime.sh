#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the programs with known launches with NVIDIA's CUDA runtime, as tests/programs/ builds
# them with the simulated one: NAME_static and NAME_shared in $XPUPROF_BUILD/tests/gpu. Needs a
# CUDA toolkit (13.0 or later).
set -e
cd "$(dirname "$0")/../.."
: "${XPUPROF_BUILD:=build}"
cuda=${CUDA_HOME:-/usr/local/cuda}
[ -e "$cuda/include/cuda_runtime.h" ] || { echo "no CUDA toolkit in $cuda" >&2; exit 1; }
for folder in lib64 lib targets/x86_64-linux/lib; do
	[ -e "$cuda/$folder/libcudart_static.a" ] && library=$cuda/$folder
done
[ "$library" ] || { echo "no libcudart_static.a in $cuda" >&2; exit 1; }
out=$XPUPROF_BUILD/tests/gpu
mkdir -p "$out"
flags="-std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls"
flags="$flags -DGPU_RUNTIME -I$cuda/include -Itests/programs"
for name in launches launch_rate fork_after_cuda crash; do
	${CC:-cc} $flags -o "$out/${name}_static" "tests/programs/$name.c" \
		-L"$library" -lcudart_static -lrt -ldl -lpthread
	${CC:-cc} $flags -o "$out/${name}_shared" "tests/programs/$name.c" \
		-L"$library" -lcudart -Wl,-rpath,"$library" -lpthread
	echo "$out/${name}_static $out/${name}_shared"
done
