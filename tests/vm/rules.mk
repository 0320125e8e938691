# The kernel matrix: tests in virtual machines with kernels of Debian's. KERNEL_TESTS: these of them only.

KERNELS := $(wildcard tests/vm/kernels/*)
VM_PROGRAMS := $(B)/tests/vm/busy $(B)/tests/vm/busy_frameless $(B)/tests/vm/leaks \
	$(if $(filter 1,$(BPF)),$(B)/tests/vm/load_programs)

VM_UNIT_TESTS := $(filter %/bpf_walk_test.t %/monitor_watch_test.t,$(UNIT_TESTS))

.PHONY: check-kernels
tests: $(VM_PROGRAMS)

$(B)/tests/vm/load_programs: tests/vm/load_programs.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -o $@ $< $(LIBS)

$(B)/tests/vm/busy $(B)/tests/vm/busy_frameless: tests/vm/busy.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -fno-optimize-sibling-calls $(if $(findstring frameless,$@),-fomit-frame-pointer) \
		-o $@ $< -pthread

$(B)/tests/vm/leaks: tests/vm/leaks.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -fno-optimize-sibling-calls -o $@ $<

# As with `check`, those tests that fail on a busy machine get one more try: these are emulated, and slow anyway.
KERNELS_PROVE := XPUPROF_BUILD=$(abspath $(B)) prove --timer --statefile $(B)/kernels.state

check-kernels: all tests $(VM_UNIT_TESTS)
	@rm -f $(B)/kernels.state
	@$(KERNELS_PROVE) --exec tests/vm/run --state=save $(KERNELS) $(if $(KERNEL_TESTS),:: $(KERNEL_TESTS)) || { \
		grep -q 'last_result: [^0]' $(B)/kernels.state && \
		echo && echo "== those that failed" && \
		$(KERNELS_PROVE) --exec "tests/vm/run --failed" --state=failed $(if $(KERNEL_TESTS),:: $(KERNEL_TESTS)); }
