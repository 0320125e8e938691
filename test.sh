#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing (Debian, with apt), builds, and runs all tests.
#
#	./test.sh            everything: the tests, the fuzzers for a while, the tests with sanitizers
#	./test.sh --quick    the tests alone
#
# Tests that this machine cannot run (no rights for BPF, no browser, no QEMU) say so and are skipped.
# FUZZ_SECONDS=N fuzzes each reader for N seconds.
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

say() {
	echo
	echo "== $*"
}

say "packages"
tools/install-packages build test browser vm
tests/browser/install.sh build/browser ||
	echo "the readers for the browser tests could not be fetched; those tests will be skipped"
tests/prometheus/fetch build/prometheus ||
	echo "Prometheus could not be fetched; the tests that need it will be skipped"
say "build"
make -j"$(nproc)" all tests
say "tests"
make check
[ "$quick" ] && exit 0
say "tests on another kernel" # those that between them run every BPF program; make check-kernels: all, on all kernels
kernel_tests=
for test in programs samples launches walk waits monitor_programs monitor_drm; do
	kernel_tests="$kernel_tests tests/vm/$test.t"
done
make check-kernels KERNELS=tests/vm/kernels/6.1 KERNEL_TESTS="$kernel_tests"
say "fuzzers"
make -j"$(nproc)" fuzzers
make fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-10}"
say "tests with sanitizers"
make -j"$(nproc)" SAN=1 all tests
make SAN=1 check
