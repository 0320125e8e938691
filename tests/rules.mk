# Tests: every tests/unit/*.c is a TAP program, every tests/cli/*.t a TAP script, every tests/fuzz/*_fuzz.c a
# libFuzzer target.

NEEDS_BPF_TESTS := bpf_walk ebpf_object ebpf_tools ebpf_verifier memheat monitor_types preload_plan recorded refusal
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/tests/unit/%.t,$(filter-out \
	$(if $(filter 1,$(BPF)),,$(NEEDS_BPF_TESTS:%=tests/unit/%_test.c)),$(wildcard tests/unit/*.c)))
CLI_TESTS := $(wildcard tests/cli/*.t)

# With sanitizers run all unit tests, and of the others those that lead whole commands through code that reads what nobody
# vouches for: profiles and pictures of them, programs and their debug information, memory and maps of other processes, GPU code,
# what a library sends, requests over HTTP. The others are about the library in the program and the simulated GPU, which are
# never sanitized, about this tree, moments, rights, what the kernel measures or a browser shows; where they read such things, it
# is through the same code.
SANITIZED := $(patsubst %,tests/cli/%.t,annotate changed_profiles cubin demo diff export html jit markers metrics pprof_files \
	printable probe python ranges record sandbox symbolize view whole_stacks) \
	$(patsubst %,tests/attack/%.t,chunks debug_loops debug_server descriptors elf_files endless_name jitdump names perf_map \
	probe python_loops ring ring_over slow_headers socket)

# make UNIT=0 check: without the unit tests, which ./test.sh runs with sanitizers.
UNIT ?= 1

# What several of them check with.
CHECKS := $(patsubst tests/checks/%.c,$(B)/obj/tests/checks/%.o,$(wildcard tests/checks/*.c))

$(B)/libchecks.a: $(CHECKS)
	@rm -f $@
	$(AR) rcs $@ $(CHECKS)

$(B)/tests/unit/%.t: $(B)/obj/tests/unit/%.o $(B)/libchecks.a $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The injected library's code, called directly. It comes before the archive, which has names like its own. Its dlsym would be
# the sanitizers', too, before they are ready.
INJECT_TESTED := $(filter-out %/dlsym_entry.o,$(INJECT_OBJECTS))
$(B)/tests/unit/inject_%.t: $(B)/obj/tests/unit/inject_%.o $(INJECT_TESTED) $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# Memory runs out in it where it says so.
$(B)/tests/unit/amd_object_test.t: LDFLAGS += -Wl,--wrap=realloc,--wrap=calloc

# So too the preloaded library's.
$(B)/tests/unit/preload_%.t: $(B)/obj/tests/unit/preload_%.o $(B)/inject/src/preload/plan.o $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/obj/tests/unit/inject_stacks_test.o: COMMON += -fomit-frame-pointer

# Its functions are walked by unwind tables.
$(B)/obj/tests/unit/bpf_walk_test.o: COMMON += -fomit-frame-pointer -fno-optimize-sibling-calls

# Programs that command-line tests need.
HELPERS := $(patsubst tests/helpers/%.c,$(B)/tests/helpers/%,$(wildcard tests/helpers/*.c))

$(B)/tests/helpers/%: $(B)/obj/tests/helpers/%.o $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/obj/tests/%.o: COMMON += -Itests

# The program as machines have it on which everything is missing that may be.
BARE := $(B)/obj/src/main.o $(filter-out $(patsubst %.c,$(B)/obj/%.o,$(NEEDS_BPF) $(NEEDS_LIBRARIES)),$(OBJECTS)) \
	$(patsubst %.c,$(B)/obj/%.o,$(BPF_FALLBACKS) $(LIBRARY_FALLBACKS))
HELPERS += $(B)/tests/helpers/xpuprof-bare

$(B)/tests/helpers/xpuprof-bare: $(BARE)
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -rdynamic -o $@ $^ $(filter-out -lbpf -llzma -ldw -lmicrohttpd,$(LIBS))

# Programs to be recorded. Not sanitized, like the libraries that are loaded into them.
TARGETS := $(patsubst tests/targets/%.c,$(B)/tests/targets/%,$(wildcard tests/targets/*.c))

$(B)/tests/targets/%: $(B)/tests/targets/%.o $(B)/demo/driver.o
	$(CC) -o $@ $^ -pthread -ldl $(LDLIBS)

$(B)/tests/targets/%.o: tests/targets/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -Isim/include -Idemo -MMD -MP -c -o $@ $<

# As hard to unwind as real programs are.
$(B)/tests/targets/unwind_target.o: COMMON += -fomit-frame-pointer
$(B)/obj/tests/unit/unwind_truth_test.o $(B)/obj/tests/unit/unwind_libraries_test.o: COMMON += $(if $(LIBDW),-DHAVE_LIBDW)

# Real CUDA headers, where there are some, for the tests that compare ours with them.
CUDA_INCLUDE := $(or $(CUDA_HOME),/usr/local/cuda)/include
$(B)/obj/tests/unit/pm_abi_test.o: COMMON += -isystem $(CUDA_INCLUDE) -isystem tests/cxx
$(B)/obj/tests/unit/cupti_abi_test.o: COMMON += -isystem $(CUDA_INCLUDE) -DCUDA_INCLUDE='"$(CUDA_INCLUDE)"'

# So too of Intel's and of the kernel's drivers, where tests/neo/fetch has put them.
NEO := $(wildcard build/neo/version)
NEO_COMPARED := $(addprefix $(B)/obj/tests/unit/,levelzero_abi_test.o xe_abi_test.o)
$(NEO_COMPARED): COMMON += $(if $(NEO),-isystem build/neo/include)
$(NEO_COMPARED): $(NEO)

tests: $(if $(filter 1,$(UNIT)),$(UNIT_TESTS)) $(HELPERS) $(TARGETS)

# Failures with all they have to say. A test that hangs fails after some time, much longer than any takes, and one whose
# prove was interrupted ends. More run beside each other than there are CPUs, since many wait for most of their time;
# tests/order.yml says which run alone.
TEST_SECONDS ?= 600
TEST_JOBS ?= $(shell echo $$((2 * $$(nproc))))

# Where python3 is something that looks for an interpreter each time (pyenv), which takes as long as many a test's script, that
# is found once.
real_python = $(shell python3 -c 'import os, sys; print(os.path.dirname(sys.executable))' 2>/dev/null)
python_path = $(if $(findstring /shims/,$(shell command -v python3)),PATH="$(real_python):$$PATH")

PROVE = $(python_path) XPUPROF_BUILD=$(abspath $(B)) HARNESS_RULESFILE=tests/order.yml prove --statefile $(B)/tests.state --timer \
	--failures --comments --exec "setpriv --pdeathsig TERM tests/limited $(TEST_SECONDS)"

# On a machine that is busier than any of them expects, a test of what a moment holds may fail: those that do get one
# more try, by themselves, and what the first one said stays in the output.
.PHONY: check check-tests
check: check-style check-tests

CHECKED = $(if $(filter 1,$(UNIT)),$(UNIT_TESTS)) $(if $(filter 1,$(SAN)),$(SANITIZED),$(CLI_TESTS))
check-tests: all tests
	@rm -f $(B)/tests.state
	@$(PROVE) --state=save -j $(TEST_JOBS) $(CHECKED) || { \
		grep -q 'last_result: [^0]' $(B)/tests.state && \
		echo && echo "== those that failed, one at a time" && $(PROVE) --state=failed; }

# What goes on at random moments, for much longer, and what is extreme: an hour or two. Recorders are killed 200 times over
# each sort of program.
.PHONY: check-long
check-long: all tests
	XPUPROF_BUILD=$(abspath $(B)) JOIN_KILLS=1000 JOINED_KILLS=300 JOINED_FORKINGS=100 DORMANT_KILLS=300 DORMANT_ENDS=300 \
		DORMANT_FORKINGS=100 ARMED_KILLS=300 JOINED_STALLS_KILLS=300 RECORDER_KILLS=1800 EXTREME_THREADS=100000 \
		prove --timer $(addprefix tests/cli/,join.t joined.t joined_stalls_harm.t armed.t dormant.t dormant_harm.t kill.t \
			extreme_threads.t)

# The same on a machine that has more to do than it can: no test depends on that.
.PHONY: check-under-load
STRESS ?= --cpu $(shell echo $$((2 * $$(nproc)))) --switch 1 --io 1
check-under-load: all tests
	stress-ng --quiet $(STRESS) --timeout 0 & stress=$$!; trap 'kill $$stress' EXIT; trap 'exit 130' INT TERM; \
		$(MAKE) check

# Python's stacks in the interpreters of other Debian releases and in free-threaded ones too.
.PHONY: check-pythons
check-pythons: all tests
	XPUPROF_BUILD=$(abspath $(B)) tests/python/fetch
	XPUPROF_BUILD=$(abspath $(B)) prove -v tests/cli/python.t

check-style:
	tools/check-includes
	tools/check-format
	tools/check-vendor-words

# Fuzzing: the library once more, by clang, with its fuzzer and sanitizers. What a fuzzer has learnt stays in
# build/fuzz/corpus/; input that broke something is left as build/fuzz/NAME-crash-...
FUZZ_SECONDS ?= 30
FB := build/fuzz
FUZZFLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZERS := $(patsubst tests/fuzz/%.c,$(FB)/%,$(wildcard tests/fuzz/*_fuzz.c))
# What no fuzzer needs, is not built for them: where one comes to need more, it does not link.
FUZZ_SOURCES := $(filter-out $(wildcard src/monitor/*.c) $(patsubst %,src/%/%,bpfload capture cmd correlate join \
	monitor/tables page record serve top view/timeline),$(SOURCES)) \
	$(addprefix src/capture/,changes.c cpus.c perf_maps.c perf_ring.c) src/join/filters.c
FUZZ_OBJECTS := $(FUZZ_SOURCES:%.c=$(FB)/obj/%.o) $(B)/obj/src/inject/marker.o
# Files to begin with, for fuzzers whose input is something that the build leaves anyway; others have
# theirs in tests/fuzz/seeds/NAME/.
# What was freed is kept apart for a while, so that uses of it are found: 16 MiB, which is several inputs' worth. With the usual 256
# most of the time of those that take some 100 KiB for an input goes to page faults (amd_object_fuzz: 3 times as many inputs a second).
# What files claim takes 256 MiB at most (src/elf/limits.h); sanitizers keep as much again of what was freed.
FUZZ_MIB_elf_fuzz := 1024
FUZZ_MIB_debug_link_fuzz := 1024
FUZZ_MIB_unwind_cfi_fuzz := 1024
FUZZ_FOLDER_trace_format_fuzz := tests/data/formats
FUZZ_FOLDER_ptx_fuzz := tests/data/ptx
FUZZ_SEEDS_elf_fuzz := $(B)/obj/src/main.o $(B)/libxpuprof-inject.so $(FB)/mini.so
FUZZ_SEEDS_ebpf_object_fuzz := $(wildcard $(B)/tests/ebpf/*.bpf.o)
FUZZ_SEEDS_unwind_cfi_fuzz := $(FB)/eh_frame
FUZZ_SEEDS_cubin_fuzz := $(wildcard tests/data/cubin/*.cubin)
FUZZ_SEEDS_zebin_fuzz := $(wildcard tests/data/zebin/*.zebin)
FUZZ_SEEDS_amd_object_fuzz := $(wildcard tests/data/amdgpu/*.hsaco)

# A program with stubs, and with mini debug info where xz is there.
$(FB)/mini.so: $(B)/libxpuprof-inject.so
	@mkdir -p $(@D)
	strip -o $@ $<
	nm --defined-only $< | awk '$$2 == "t" {print $$3}' >$(FB)/mini.keep
	objcopy --only-keep-debug $< $(FB)/mini.debug
	objcopy -S --keep-symbols=$(FB)/mini.keep $(FB)/mini.debug $(FB)/mini
	! command -v xz >/dev/null || { xz -9f $(FB)/mini && objcopy --add-section .gnu_debugdata=$(FB)/mini.xz $@; }

$(FB)/obj/tests/%.o: COMMON += -Itests

.PHONY: fuzzers $(FUZZERS:$(FB)/%=fuzz-%)

$(FB)/obj/%.o: %.c $(B)/built-with | $(B)/needs
	$(call say,CLANG,$<)
	@mkdir -p $(@D)
	$(CLANG) $(COMMON) $(FUZZFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(filter $(FB)/obj/src/capture/% $(FB)/obj/src/monitor/%,$(FUZZ_OBJECTS)): | $(BPF_SKELETONS)

$(FB)/libxpuprof.a: $(FUZZ_OBJECTS) $(B)/made-of
	@rm -f $@
	$(AR) rcs $@ $(FUZZ_OBJECTS)

$(FB)/%_fuzz: $(FB)/obj/tests/fuzz/%_fuzz.o $(FB)/libxpuprof.a
	$(CLANG) $(FUZZFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)

# The injected library's code, called directly, as far as it is needed.
FUZZ_INJECT := $(patsubst %.c,$(FB)/obj/%.o,$(filter %.c,$(INJECT_SOURCES)))

$(FB)/libinject.a: $(FUZZ_INJECT)
	@rm -f $@
	$(AR) rcs $@ $^

# Assembly stands before the archives: what it defines is not taken from them, and what it needs is.
FUZZ_INJECT_ASM := $(filter $(patsubst %.S,$(B)/inject/%.o,$(filter %.S,$(INJECT_SOURCES))),$(INJECT_TESTED))

$(FB)/rocprofiler_fuzz: $(FUZZ_INJECT_ASM) $(FB)/obj/tests/fuzz/rocprofiler_fuzz.o $(FB)/libinject.a $(FB)/libxpuprof.a
	$(CLANG) $(FUZZFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)

$(FB)/eh_frame: $(B)/libxpuprof-inject.so
	@mkdir -p $(@D)
	objcopy -O binary --only-section=.eh_frame $< $@

fuzz-unwind_cfi_fuzz: $(FB)/eh_frame

fuzzers: $(FUZZERS)

fuzz: $(FUZZERS:$(FB)/%=fuzz-%)

$(FUZZERS:$(FB)/%=fuzz-%): fuzz-%: $(FB)/% $(B)/obj/src/main.o $(B)/libxpuprof-inject.so $(FB)/mini.so
	@mkdir -p $(FB)/corpus/$*
	@$(if $(FUZZ_SEEDS_$*),cp $(FUZZ_SEEDS_$*) $(FB)/corpus/$*/)
	@ASAN_OPTIONS=$$ASAN_OPTIONS:quarantine_size_mb=16 $(FB)/$* -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=$(or $(FUZZ_MIB_$*),2048) -print_final_stats=1 \
		-artifact_prefix=$(FB)/$*- $(FB)/corpus/$* $(wildcard tests/fuzz/seeds/$*) $(FUZZ_FOLDER_$*) \
		>$(FB)/$*.log 2>&1 || { cat $(FB)/$*.log; exit 1; }
	@sed -n 's/^stat::number_of_executed_units: */$*, $(FUZZ_SECONDS) s, inputs tried: /p' $(FB)/$*.log
