#!/bin/sh
# SPDX-License-Identifier: MIT
# As gpu_waits.t, with two GPUs: some calls name streams of the one that is not current.
build=$(cd "${XPUPROF_BUILD:-$(dirname "$0")/../../build}" && pwd) || exit 1
export XPUPROF_BUILD="$build" LD_LIBRARY_PATH="$build/sim" PYTHONDONTWRITEBYTECODE=1
export XPUPROF_SIM_MACHINE="gpu waits two $$" XPUPROF_SIM_DEVICES=2
exec "$(dirname "$0")/../gpu/waits.py" "$build/tests/programs/gpu_waits" "$build/tests/programs/gpu_waits_runtime"
