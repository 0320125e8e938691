#!/bin/sh
# SPDX-License-Identifier: MIT
# The script that records waits for a real GPU (tests/gpu/waits.py), on the simulated one: `record --off-cpu` knows what each
# synchronizing call waited for.
build=$(cd "${XPUPROF_BUILD:-$(dirname "$0")/../../build}" && pwd) || exit 1
export XPUPROF_BUILD="$build" LD_LIBRARY_PATH="$build/sim" PYTHONDONTWRITEBYTECODE=1
export XPUPROF_SIM_MACHINE="gpu waits $$"
unset XPUPROF_SIM_DEVICES
exec "$(dirname "$0")/../gpu/waits.py" "$build/tests/programs/gpu_waits" "$build/tests/programs/gpu_waits_runtime"
