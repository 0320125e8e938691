# SPDX-License-Identifier: MIT
# Kernel modules that a test has asked for (tests/vm/run), in virtual machines. A stand-in is called as the driver is that
# it stands for.
modules=/vm/loadable

has_module() {
	[ -e "$modules/$1.order" ]
}

# load NAME [PARAMETER=VALUE]...: with what it needs; false when it cannot be loaded, or its name is taken
load() {
	for each in $(cat "$modules/$1.order"); do
		[ "$each" = "$1" ] || [ -d "/sys/module/${each#stand_in_}" ] || insmod "$modules/$each.ko" || return
	done
	each=$1
	shift
	insmod "$modules/$each.ko" "$@"
}

# unload NAME: with what it needed and nobody else does; false when it is still there
unload() {
	for each in $(sed '1!G;h;$!d' "$modules/$1.order"); do # from the last one on
		rmmod "${each#stand_in_}" 2>/dev/null || [ "$each" != "$1" ] || return
	done
}
