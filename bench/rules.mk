# Benchmarks: every bench/*.c is a program, every bench/*.sh prints a table (it finds the programs by bench/needs).

BENCH_PROGRAMS := $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c))
BENCH_SCRIPTS := $(wildcard bench/*.sh)

$(B)/bench/%: $(B)/obj/bench/%.o $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/obj/bench/%.o: COMMON += -Itests

# Their stacks are walked by unwind tables.
$(B)/obj/bench/marker.o $(B)/obj/bench/sampling.o: COMMON += -fomit-frame-pointer -fno-optimize-sibling-calls

# The injected library's code, called directly. It comes before the archive, which has names like its own.
$(B)/bench/gpu_path: $(B)/obj/bench/gpu_path.o $(INJECT_OBJECTS) $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The library's connection and ring, in a program that stands in for it.
$(B)/bench/ring_writer: $(B)/obj/bench/ring_writer.o $(INJECT_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ -lpthread -ldl

# Sees each stop of a thread.
$(B)/bench/join: LDFLAGS += -Wl,--wrap=tracee_stop,--wrap=tracee_go

# For bench/gpu/probes.py, which needs a GPU.
BENCH_EBPF := $(if $(filter 1,$(BPF)),$(patsubst bench/ebpf/%.bpf.c,$(B)/bench/ebpf/%.bpf.o,$(wildcard bench/ebpf/*.bpf.c)))
bench-programs: $(BENCH_EBPF)

$(B)/bench/ebpf/%.bpf.o: bench/ebpf/%.bpf.c $(B)/built-with
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(CLANG) $(BPFFLAGS) -Wno-unused-variable -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ $<

# For bench/gpu/overhead.py, which needs a GPU.
$(B)/bench/tiny_worker: bench/gpu/tiny_worker.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -o $@ $< -ldl

# For bench/gpu/probes.py, which needs a GPU.
$(B)/bench/probed_times: bench/gpu/probed_times.c $(B)/demo/driver.o $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -Isim/include -Idemo -o $@ $< $(B)/demo/driver.o -ldl

programs: $(B)/bench/tiny_worker $(B)/bench/probed_times

.PHONY: bench-programs
bench-programs: all $(BENCH_PROGRAMS) $(B)/tests/targets/opencl $(B)/tests/targets/opencl_liar

# Measures what needs no GPU, keeps the results in docs/lab/results, and writes docs/figures.md from them.
.PHONY: figures
figures: bench-programs
	XPUPROF_BUILD=$(abspath $(B)) bench/figures run

bench: bench-programs
	@for script in $(BENCH_SCRIPTS); do \
		XPUPROF_BUILD=$(abspath $(B)) $$script || exit 1; \
	done
