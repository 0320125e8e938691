#!/bin/sh
# SPDX-License-Identifier: MIT
# For how long threads are kept from their work by a library that is put into their program (bench/join.c): with a CPU free, and
# with all busy. Needs the right to trace.
build=$("$(dirname "$0")/needs" bench/join tests/targets/joined.so) || exit
joins=${1:-100}

echo "CPUs as they are:"
"$build/bench/join" "$build/tests/targets/joined.so" joined_entry "$joins"

busy=
for _ in $(seq "$(nproc)"); do
	sh -c 'while :; do :; done' &
	busy="$busy $!"
done
trap 'kill $busy' EXIT
echo
echo "All CPUs busy:"
"$build/bench/join" "$build/tests/targets/joined.so" joined_entry "$joins"
