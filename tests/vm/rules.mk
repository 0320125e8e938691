# The kernel matrix: tests in virtual machines with kernels of Debian's. KERNEL_TESTS: these of them only.

KERNELS := $(wildcard tests/vm/kernels/*)
VM_PROGRAMS := $(B)/tests/vm/busy $(B)/tests/vm/busy_frameless $(B)/tests/vm/leaks \
	$(if $(filter 1,$(BPF)),$(B)/tests/vm/load_programs)

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

# As with `check`, what fails on a busy machine gets one more try: these are emulated, and slow anyway.
KERNELS_PROVE := XPUPROF_BUILD=$(abspath $(B)) prove --timer --exec tests/vm/run --statefile $(B)/kernels.state

check-kernels: all tests
	@rm -f $(B)/kernels.state
	@$(KERNELS_PROVE) --state=save $(KERNELS) $(if $(KERNEL_TESTS),:: $(KERNEL_TESTS)) || { \
		grep -q 'last_result: [^0]' $(B)/kernels.state && \
		echo && echo "== those that failed" && \
		$(KERNELS_PROVE) --state=failed $(if $(KERNEL_TESTS),:: $(KERNEL_TESTS)); }
