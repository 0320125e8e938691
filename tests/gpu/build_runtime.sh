#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the programs with known launches with NVIDIA's CUDA runtime, as tests/programs/ builds
# them with the simulated one: NAME_static and NAME_shared in $XPUPROF_BUILD/tests/gpu. By nvcc
# where there is one, else by cc. Needs a CUDA toolkit (13.0 or later).
cd "$(dirname "$0")/../.." || exit 1
: "${XPUPROF_BUILD:=build}"
cuda=${CUDA_HOME:-/usr/local/cuda}
[ -e "$cuda/include/cuda_runtime.h" ] || { echo "no CUDA toolkit in $cuda" >&2; exit 1; }
for folder in lib64 lib targets/x86_64-linux/lib; do
	[ -e "$cuda/$folder/libcudart_static.a" ] && library=$cuda/$folder
done
[ "$library" ] || { echo "no libcudart_static.a in $cuda" >&2; exit 1; }
out=$XPUPROF_BUILD/tests/gpu
mkdir -p "$out"
nvcc=$(PATH=$PATH:$cuda/bin command -v nvcc)
flags="-D_GNU_SOURCE -DGPU_RUNTIME -O2 -g -Itests/programs"
frames="-fno-omit-frame-pointer -fno-optimize-sibling-calls"

by_nvcc() { # NAME static|shared
	"$nvcc" -x cu $flags -Xcompiler "$(echo $frames | tr ' ' ,)" -cudart "$2" \
		-Xlinker -rpath,"$library" -o "$out/$1_$2" "tests/programs/$1.c" -lpthread
}

by_cc() { # NAME static|shared
	case $2 in
	static) runtime="-lcudart_static -lrt -ldl" ;;
	shared) runtime="-lcudart -Wl,-rpath,$library" ;;
	esac
	${CC:-cc} -std=gnu11 $flags $frames -I"$cuda/include" -o "$out/$1_$2" \
		"tests/programs/$1.c" -L"$library" $runtime -lpthread
}

jobs=
for name in launches fork_after_cuda crash devices situations gpu_waits rounds; do
	for kind in static shared; do
		if [ "$nvcc" ]; then by_nvcc $name $kind & else by_cc $name $kind & fi
		jobs="$jobs $!"
	done
done
for job in $jobs; do
	wait "$job" || failed=yes
done
[ "$failed" ] && exit 1
echo "built by ${nvcc:-${CC:-cc}}"
