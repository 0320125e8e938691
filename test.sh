#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing (Debian, with apt), builds, and runs all tests.
#
#	./test.sh            everything: the tests, the fuzzers for a while, the tests with sanitizers, each unit test once
#	./test.sh --quick    the tests alone
#
# Tests that this machine cannot run (no rights for BPF, no browser, no QEMU) say so and are skipped.
# FUZZ_SECONDS=N fuzzes each reader for N seconds.
#
# Some stages run beside each other. The output of each is in build/stages/ and is shown in one piece when the stage is
# done. The first that fails stops the others, as an interrupt does.
set -e
cd "$(dirname "$0")"

quick=
case $1 in
'') ;;
--quick) quick=yes ;;
*)
	echo "usage: ./test.sh [--quick]" >&2
	exit 2
	;;
esac

logs=build/stages
jobs=$(nproc)
stages= # process groups

say() {
	echo
	echo "== $*"
}

# Runs a command and says how long it took. The second line is the CPU time of the command and of all that it has waited
# for, in user mode and in the kernel.
timed='begin=$(date +%s)
status=0
"$@" || status=$?
echo "$(($(date +%s) - begin)) s, CPU time of the shell, and of what it ran:"
times
exit $status'

# begin NAME COMMAND...: in a process group of its own, which stop_all can end.
begin() {
	name=$1
	shift
	setsid sh -c "$timed" sh "$@" >"$logs/$name.log" 2>&1 </dev/null &
	eval "stage_$name=$!"
	stages="$stages $!"
}

# show NAME TITLE: waits for it and shows what it printed, and how long that took; its status.
show() {
	status=0
	eval "wait \$stage_$1" || status=$?
	say "$2"
	cat "$logs/$1.log"
	return $status
}

finish() { # NAME TITLE: no further when it failed
	show "$1" "$2" && return
	echo "failed: $2" >&2
	exit 1
}

stop_all() {
	for stage in $stages; do
		kill -s TERM -- "-$stage" 2>/dev/null || :
	done
}

trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "packages"
tools/install-packages build test browser vm
tools/install-packages style || echo "how sources are formatted will not be checked"
mkdir -p $logs
begin browser tests/browser/install.sh build/browser
begin prometheus tests/prometheus/fetch build/prometheus
begin neo timeout 300 tests/neo/fetch build/neo
begin rusticl timeout 300 tests/rusticl/fetch build/rusticl
kernel=6.1
[ "$quick" ] || begin modules tests/vm/build-modules $kernel # which fetches the kernel, too
say "build"
unit=0 # with sanitizers alone, which find all that would be found without
[ -z "$quick" ] || unit=1
make -j"$jobs" UNIT=$unit all tests
show browser "readers for the browser tests" ||
	echo "they could not be fetched; those tests will be skipped"
show prometheus "Prometheus" ||
	echo "it could not be fetched; the tests that need it will be skipped"
show neo "Intel's drivers" || echo "they could not be fetched; the tests that need them will be skipped"
show rusticl "Mesa's OpenCL" || echo "it could not be fetched; tests/cli/opencl_rusticl.t will be skipped"
# Nothing else runs beside tests, and many of them wait for most of their time.
test_jobs=${TEST_JOBS:-$((2 * jobs))}
if [ "$quick" ]; then
	say "tests"
	make check TEST_JOBS="$test_jobs"
	exit
fi

# Those that between them run every BPF program; make check-kernels: all, on all kernels. (walk.t, which takes long where the
# processor is emulated, runs the programs that samples.t and launches.t run.)
kernel_tests=
for test in programs samples launches waits monitor_programs monitor_drm blocked join; do
	kernel_tests="$kernel_tests tests/vm/$test.t"
done
# An emulated machine that gets little time, and tests that measure time, fail for no fault of theirs: the one has the
# processors for itself but for what yields to it, the others altogether. The sanitizers' build is wanted before the fuzzers.
show modules "a kernel and modules for it" || echo "they could not be had; tests in virtual machines will say so"
begin kernel make UNIT=0 check-kernels KERNELS=tests/vm/kernels/$kernel KERNEL_TESTS="$kernel_tests"
begin sanitized nice -n 10 make -j"$jobs" SAN=1 all tests
begin fuzzers nice -n 19 make -j"$jobs" fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-3}"
begin style nice -n 19 make check-style
finish kernel "tests on another kernel"
finish style "style"
finish sanitized "build with sanitizers"
finish fuzzers "fuzzers"
begin tests make UNIT=0 check-tests TEST_JOBS="$test_jobs"
finish tests "tests"
begin sanitizers make SAN=1 check-tests TEST_JOBS="$test_jobs"
finish sanitizers "tests with sanitizers"
