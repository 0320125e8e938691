#!/bin/sh
# SPDX-License-Identifier: MIT
# Files of programs are opened and read by processes of their own, and what comes of it is the same.
. "$(dirname "$0")/tap.sh"
xpuprof record -q --cpu-only -o check.xpu true 2>/dev/null || skip_all "CPU stacks cannot be had here"

cat >who.sh <<END
"$build/tests/vm/busy_frameless" 400 &
for process in \$(pgrep -P \$PPID); do
	tr '\\0' ' ' </proc/\$process/cmdline
	grep -s '^Uid:' /proc/\$process/status
done >processes
cp "$build/tests/vm/busy_frameless" gone
./gone 600 >/dev/null &
sleep 0.3
rm gone
wait
END
run xpuprof record -q --cpu-only -F 499 -o p.xpu -- sh who.sh
is "$status $err" "0 " "a program is recorded"
is "$(grep -c 'sandbox opener' processes)" 1 "one process opens its files"
true_that "others read them" grep -q 'sandbox reader' processes
xpuprof export --to folded --view cpu p.xpu >folded
is "$(grep -c ';outer;middle;inner' folded | sed 's/[1-9][0-9]*/some/')" some "its stacks are whole, without frame pointers"
is "$(xpuprof report --json p.xpu | python3 -c 'import json, sys
print(json.load(sys.stdin)["losses"]["files_unreadable"])')" 0 "all files were read"
is "$(xpuprof export --to folded --view cpu --by process p.xpu | grep '^gone.*;inner' | wc -l | sed 's/[1-9][0-9]*/some/')" some \
	"a program that was deleted is named"
done_testing
