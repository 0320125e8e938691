#!/bin/sh
# SPDX-License-Identifier: MIT
# The script that records difficult programs on a real GPU (tests/gpu/situations.py), on the simulated one, which takes
# it ill as a real one does when two sample it: some of its situations, so that it and what it expects stay right.
build=$(cd "${XPUPROF_BUILD:-$(dirname "$0")/../../build}" && pwd) || exit 1
export XPUPROF_BUILD="$build" LD_LIBRARY_PATH="$build/sim" PYTHONDONTWRITEBYTECODE=1
export XPUPROF_SIM_MACHINE="situations $$" XPUPROF_SIM_FAULTS=one-sampler
unset XPUPROF_SIM_DEVICES
user=
if [ "$(id -u)" != 0 ] || setpriv --reuid=nobody --clear-groups test -r "$build/sim/libcuda.so.1"; then
	user=user
fi
exec "$(dirname "$0")/../gpu/situations.py" exact $user contexts processes recorders interrupted
