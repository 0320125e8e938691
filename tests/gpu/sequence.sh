#!/bin/sh
# SPDX-License-Identifier: MIT
# What CUPTI tells about `launches --sequence`, on this machine's GPU and on the simulated one,
# and how they differ in normal form (normal_sequence.py). Leaves gpu-FORM.txt, sim-FORM.txt and
# FORM.diff in the folder given (default: the present one), for the driver API and, after
# build_runtime.sh, for the shared and the static runtime. $CUPTI is libcupti's folder, where the
# loader does not know it. tests/data/cupti-*.txt are such files of an H200 with driver 580.159.04
# and CUDA 13.0.
normal=$(cd "$(dirname "$0")" && pwd)/normal_sequence.py
: "${XPUPROF_BUILD:=$(dirname "$0")/../../build}"
build=$(cd "$XPUPROF_BUILD" && pwd) || exit 1
cd "${1:-.}" || exit 1

sequence() { # OUTPUT PROGRAM
	XPUPROF_SEQUENCE=$1 CUDA_INJECTION64_PATH=$build/tests/gpu/libcupti_sequence.so \
		"$2" --sequence >/dev/null
}

compare() { # FORM PROGRAM PROGRAM_ON_THE_SIMULATOR
	[ -x "$2" ] || { echo "$1: not built"; return; }
	(
		LD_LIBRARY_PATH=$CUPTI:$LD_LIBRARY_PATH
		[ "$CUPTI" ] && export LD_LIBRARY_PATH
		sequence "gpu-$1.txt" "$2"
	) || { echo "$1: failed on this machine's GPU"; return; }
	LD_LIBRARY_PATH=$build/sim sequence "sim-$1.txt" "$3" || exit 1
	"${PYTHON:-python3}" "$normal" <"gpu-$1.txt" >gpu.normal
	"${PYTHON:-python3}" "$normal" <"sim-$1.txt" | diff -u gpu.normal - >"$1.diff"
	echo "$1: $(grep -c '^[-+][^-+]' "$1.diff") of $(wc -l <gpu.normal) lines differ"
}

compare driver "$build/tests/programs/launches" "$build/tests/programs/launches"
compare shared "$build/tests/gpu/launches_shared" "$build/tests/programs/launches_runtime"
compare static "$build/tests/gpu/launches_static" "$build/tests/programs/launches_runtime"
