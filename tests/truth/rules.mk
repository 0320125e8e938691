# Programs whose stacks are known, in all builds; a few of them are part of `make check`.

.PHONY: check-truth
check-truth: all
	XPUPROF_BUILD=$(abspath $(B)) tests/truth/truth.t all
	XPUPROF_BUILD=$(abspath $(B)) tests/truth/python.t all

CLI_TESTS += tests/truth/truth.t tests/truth/python.t
