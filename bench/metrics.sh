#!/bin/sh
# SPDX-License-Identifier: MIT
# What putting a monitor's totals into Prometheus' text costs, by how many processes use how many rings.
build=$("$(dirname "$0")/needs" bench/metrics) || exit
echo "metrics: text of one scrape of the drm monitor (CPU time, median of 21)"
printf '%10s %6s %8s %8s %10s %8s\n' processes rings rows lines bytes ms
for processes in 1 10 100 1000; do
	"$build/bench/metrics" $processes 8 | while read -r rows lines bytes ms; do
		printf '%10s %6s %8s %8s %10s %8s\n' $processes 8 "$rows" "$lines" "$bytes" "$ms"
	done
done
