#!/bin/sh
# SPDX-License-Identifier: MIT
# Python's stacks on this kernel.
. "$(dirname "$0")/tap.sh"
command -v python3 >/dev/null || skip_all "there is no python3"

cat >spin.py <<'END'
import sys, threading, time

def leaf(n):
    return sum([i * i for i in range(n)])

def middle(end):
    while time.monotonic() < end:
        leaf(1000)

def begin(seconds):
    middle(time.monotonic() + seconds)

thread = threading.Thread(target=begin, args=[float(sys.argv[1])])
thread.start()
begin(float(sys.argv[1]))
thread.join()
END
recorded default --cpu-only -- python3 spin.py 2
describe
is "$status $err" "0 " "a Python program is recorded"
is "$(told 's["samples_python"] >= 40')" True "its samples have Python's frames"
is "$(told 's["samples_incomplete"] * 20 <= s["samples"]')" True "and are complete"
xpuprof export --to folded --view cpu p.xpu >folded
for root in '<module>' 'Thread.run'; do
	is "$(grep -c "$root.*;begin (spin.py);middle (spin.py);leaf (spin.py)" folded | sed 's/[1-9][0-9]*/some/')" some \
		"there are whole stacks from $root on"
done
is "$(grep 'leaf (spin.py)' folded | grep -vc 'begin (spin.py);middle (spin.py);leaf (spin.py)')" 0 "and no others"
done_testing
