# Programs with known launches, for the tests on the simulated and on real GPUs: NAME uses the
# driver API through dlopen, NAME_runtime the runtime API. tests/gpu/ builds the latter once more
# with NVIDIA's runtime.

GPU_PROGRAMS := launches launch_rate fork_after_cuda crash devices situations gpu_waits named_thread \
	kill_target rounds
PLAIN_PROGRAMS := fork_wrapper sigprog made_code
PROGRAM_FLAGS := -Isim/include -Idemo -Itests/programs -fno-optimize-sibling-calls

.PHONY: programs
all: programs
tests: programs

programs: $(GPU_PROGRAMS:%=$(B)/tests/programs/%) $(GPU_PROGRAMS:%=$(B)/tests/programs/%_runtime) \
	$(PLAIN_PROGRAMS:%=$(B)/tests/programs/%)

$(GPU_PROGRAMS:%=$(B)/tests/programs/%): %: %.o $(B)/demo/driver.o
	$(CC) -o $@ $^ -pthread -ldl

$(B)/tests/programs/%_runtime: $(B)/tests/programs/%_runtime.o $(B)/sim/libcudart.so.13
	$(CC) -o $@ $^ -pthread

$(PLAIN_PROGRAMS:%=$(B)/tests/programs/%): %: %.o
	$(CC) -o $@ $^

$(B)/tests/programs/%_runtime.o: tests/programs/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(PROGRAM_FLAGS) -DGPU_RUNTIME -MMD -MP -c -o $@ $<

$(B)/tests/programs/%.o: tests/programs/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(PROGRAM_FLAGS) -MMD -MP -c -o $@ $<
