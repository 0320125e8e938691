#!/bin/sh
# SPDX-License-Identifier: MIT
# The stand-ins for drivers (tests/vm/modules/) have trace events with the very formats that the drivers have, and
# `xpuprof monitor` takes those of the drivers.
# modules: i915 amdgpu xe drm gpu-sched stand_in_i915 stand_in_amdgpu stand_in_xe stand_in_drm stand_in_nvidia
. "$(dirname "$0")/tap.sh"
events=/sys/kernel/tracing/events

# formats_of GROUP FOLDER: copies them, without the number that each boot gives anew
formats_of() {
	mkdir -p "$2"
	for format in "$events/$1"/*/format; do
		sed '/^ID: /d' "$format" >"$2/$(basename "$(dirname "$format")")"
	done
}

# watch DRIVER: its monitor attaches to all events that this kernel's driver has
watch() {
	monitor=$1
	[ "$monitor" = drm ] && monitor=vblank
	run xpuprof monitor "$monitor" -d 0.3 --summary-only
	is "$status" 0 "monitor $monitor watches the events of $1"
	lacks "$out" "field" "and can read all of them"
	lacks "$out" "$1 is not loaded" "as the driver is there"
}

for driver in drm i915 amdgpu xe; do
	has_module "$driver" || continue
	true_that "the stand-in for $driver can be loaded" load "stand_in_$driver"
	formats_of "$driver" "$driver-stand-in"
	true_that "and unloaded" unload "stand_in_$driver"
	true_that "$driver itself can be loaded, without its hardware" load "$driver"
	formats_of "$driver" "$driver-own"
	watch "$driver"
	true_that "and unloaded" unload "$driver"
	true_that "there are events" test "$(ls "$driver-stand-in" | wc -l)" -ge 3
	for event in $(ls "$driver-stand-in"); do
		is "$(cat "$driver-stand-in/$event")" "$(cat "$driver-own/$event" 2>&1)" \
			"$driver:$event has the driver's format"
	done
done

# NVIDIA's driver is none of Debian's kernel; this is what driver 580 has on Linux 6.18. A flag of the fields that are
# no numbers has changed its meaning in between (Linux 6.1 says 1).
own_format() { # NAME PREFIX
	cat <<END
name: $1
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:__data_loc char[] dev;	offset:8;	size:4;	signed:0;
	field:u32 error_code;	offset:12;	size:4;	signed:0;
	field:__data_loc char[] msg;	offset:16;	size:4;	signed:0;

print fmt: "$2 (PCI:%s): %u, %s", __get_str(dev), REC->error_code, __get_str(msg)
END
}
true_that "the stand-in for nvidia can be loaded" load stand_in_nvidia
for event in nvidia/nvidia_dev_xid:Xid nvswitch/nvswitch_dev_sxid:SXid; do
	name=${event%:*}
	is "$(sed -e '/^ID: /d' -e '/__data_loc/s/signed:1/signed:0/' "$events/$name/format")" \
		"$(own_format "${name#*/}" "${event#*:}")" "$name has the driver's format"
done
true_that "and unloaded" unload stand_in_nvidia
done_testing
