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

# To be killed while it uses Level Zero, OpenCL or HIP.
programs: $(addprefix $(B)/tests/programs/kill_target_,levelzero opencl amd)

$(B)/tests/programs/kill_target_levelzero: tests/programs/kill_target.c tests/programs/gpu.h tests/programs/gpu_levelzero.h \
		$(B)/sim/levelzero/libze_loader.so.1 $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(PROGRAM_FLAGS) -Isim/levelzero -DGPU_LEVELZERO -o $@ $< $(B)/sim/levelzero/libze_loader.so.1

$(B)/tests/programs/kill_target_opencl: tests/programs/kill_target.c tests/programs/gpu.h tests/programs/gpu_opencl.h \
		demo/opencl_api.h $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(PROGRAM_FLAGS) -DGPU_OPENCL -o $@ $< -ldl

$(B)/tests/programs/kill_target_amd: tests/programs/kill_target.c tests/programs/gpu.h tests/programs/gpu_amd.h \
		$(B)/sim/amd/libamdhip64.so.7 $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(PROGRAM_FLAGS) -Isim/amd -DGPU_AMD -o $@ $< $(B)/sim/amd/libamdhip64.so.7

$(PLAIN_PROGRAMS:%=$(B)/tests/programs/%): %: %.o
	$(CC) -o $@ $^

$(B)/tests/programs/%_runtime.o: tests/programs/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(PROGRAM_FLAGS) -DGPU_RUNTIME -MMD -MP -c -o $@ $<

$(B)/tests/programs/%.o: tests/programs/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(PROGRAM_FLAGS) -MMD -MP -c -o $@ $<
