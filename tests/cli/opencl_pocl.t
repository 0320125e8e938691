#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/cli/opencl.t over a newer PoCL than the system's, that of Debian's sid. Where tests/pocl/fetch has not fetched it this is skipped.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
pocl=${XPUPROF_POCL:-$(cd "$here/../.." && pwd)/build/pocl}
[ -e "$pocl/version" ] || skip_all "a newer PoCL is not there: 'tests/pocl/fetch build/pocl' fetches it"
unshare -m true 2>/dev/null || skip_all "this takes a namespace of mounts"
pocl=$(cd "$pocl" && pwd)
comment "PoCL $(cat "$pocl/version")"
# It looks for its compiler and functions in /usr, which a namespace of our own has, with the C library they want.
XPUPROF_BUILD=$build OCL_ICD_VENDORS=$pocl/vendors unshare -m sh -c \
	'mount -t overlay overlay -o "lowerdir=$1:/usr" /usr || exit 32; exec "$2"' sh "$pocl/usr" "$here/opencl.t"
status=$?
[ "$status" = 32 ] && skip_all "no overlay can be mounted here"
exit "$status"
