#!/bin/sh
# SPDX-License-Identifier: MIT
# A few kills of recorders, of what works for them and of programs, at random moments (tests/kill.py). How old what is missing
# may be is measured elsewhere: here it says whether there is anything. $RECORDER_KILLS: how many, divided among nine sorts of programs.
. "$(dirname "$0")/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "needs root"
cpu_side || skip_all "CPU samples cannot be had here"
unshare --mount --net true 2>/dev/null || skip_all "needs a mount namespace of its own"

run python3 "$here/../kill.py" --kills "${RECORDER_KILLS:-28}" --jobs 4 --age 20
is "$status" 0 "whoever is killed: the profile opens, the program ends as alone, and nothing is left behind"
context=$out
has "$out" "left behind: nothing" "also none of our folders and sockets"
done_testing
