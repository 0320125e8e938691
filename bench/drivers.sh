#!/bin/sh
# SPDX-License-Identifier: MIT
# What an event costs that `record --drivers` keeps (bench/drivers.c). Needs root. Arguments: calls a second, seconds, rounds.
build=$("$(dirname "$0")/needs" bench/drivers) || exit
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "drivers: calls to the system recorded as jobs are, ${1:-100000} a second for ${2:-5} s, load $(cut -d' ' -f1 /proc/loadavg)"
for round in $(seq "${3:-3}"); do
	echo
	"$build/bench/drivers" "${1:-100000}" "${2:-5}" "$folder"
done
