# Programs with known launches, for the tests on the simulated and on real GPUs.

.PHONY: programs
all: programs
tests: programs
