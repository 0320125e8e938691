#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/monitor.sh in a virtual machine, whose processor is emulated: what is said of a ratio holds there, and no
# figure by itself does. Arguments: kernels of tests/vm/kernels (6.12).
here=$(dirname "$0")
build=$("$here/needs" bench/monitor) || exit
export XPUPROF_BUILD="$build"
for kernel in "${@:-6.12}"; do
	"$here/../tests/vm/run" --file "$build/bench/monitor:/xpuprof/build/bench/monitor" \
		$(command -v bpftrace >/dev/null && echo --file "$(command -v bpftrace):/bin/bpftrace") \
		"$here/../tests/vm/kernels/$kernel" "$here/monitor_vm.t" || exit 1
done
