#!/bin/sh
# SPDX-License-Identifier: MIT
# Whole stacks on a real GPU: PyTorch programs of several kinds are recorded with each source of stacks, and
# check_stacks.py counts what is complete. As root, after `make`.
#
#	tests/gpu/stacks.sh [MODE...]     default: eager compile triton graph server
#
# $PYTHON is the python3 that has PyTorch, $XPUPROF_BUILD where xpuprof was built, $SOURCES which sources of
# launch stacks are tried, $KEEP a folder for the profiles.
here=$(cd "$(dirname "$0")" && pwd)
XPUPROF_BUILD=$(cd "${XPUPROF_BUILD:-$here/../../build}" && pwd) || exit 1
export XPUPROF_BUILD
python=${PYTHON:-python3}
folder=${KEEP:-$(mktemp -d)} || exit 1
mkdir -p "$folder" || exit 1
[ "$KEEP" ] || trap 'rm -rf "$folder"' EXIT
status=0
for mode in ${*:-eager compile triton graph server}; do
	for source in ${SOURCES:-inprocess bpf}; do
		profile=$folder/$mode-$source.xpu
		function=launch_$mode
		[ "$mode" != server ] || function=serve,launch_server
		echo "== $mode, stacks taken by $source"
		timeout 240 "$XPUPROF_BUILD/xpuprof" record -q --stack-source="$source" -o "$profile" -- \
			"$python" "$here/torch_stacks.py" "$mode" >"$folder/out" 2>&1 ||
			{ tail -5 "$folder/out"; status=1; continue; }
		"$here/check_stacks.py" "$profile" "$function" || status=1
	done
done
exit $status
