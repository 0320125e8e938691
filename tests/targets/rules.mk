# Libraries that stack_target loads and unloads: the same code under two names.

STACK_PLUGINS := $(B)/tests/targets/plugin_a.so $(B)/tests/targets/plugin_b.so

tests: $(STACK_PLUGINS)

$(STACK_PLUGINS): $(B)/tests/targets/plugin_%.so: tests/targets/plugin/plugin.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -fno-optimize-sibling-calls -fPIC -shared -DPLUGIN_STEP=step_in_plugin_$* -o $@ $<

# A library that is put into programs, and what its programs calculate with.
tests: $(B)/tests/targets/joined.so

$(B)/tests/targets/joined.so: tests/targets/joined/library.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -fPIC -shared -o $@ $< -ldl

# Stands in for Intel's disassembler.
tests: $(B)/tests/targets/iga.so

$(B)/tests/targets/iga.so: tests/targets/iga/library.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -fPIC -shared -o $@ $<

# Somebody else's layer of OpenCL, tracer of Level Zero and tool of rocprofiler-sdk.
OTHERS := $(addprefix $(B)/tests/targets/,opencl_layer.so levelzero_tracer.so rocprofiler_tool.so)
tests: $(OTHERS)

$(OTHERS): $(B)/tests/targets/%.so: tests/targets/others/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -Isim/levelzero -fPIC -shared -o $@ $< -ldl

$(B)/tests/targets/join_target: LDLIBS += -lm

# A program for probes, once more linked with the driver.
tests: $(B)/tests/targets/probed_linked

$(B)/tests/targets/probed_linked: tests/targets/probed.c $(B)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -Isim/include -DLINKED -o $@ $^ -pthread

# A program that is linked with Level Zero's loader, here with the simulated one.
LEVELZERO_TARGETS := $(addprefix $(B)/tests/targets/,levelzero levelzero_code levelzero_real)
$(LEVELZERO_TARGETS:%=%.o): COMMON += -Isim/levelzero
$(LEVELZERO_TARGETS): $(B)/sim/levelzero/libze_loader.so.1

# The same as a plugin that is linked with it, where nothing else of its program is.
tests: $(B)/tests/targets/levelzero_plugin.so

$(B)/tests/targets/levelzero_plugin.so: tests/targets/levelzero.c $(B)/sim/levelzero/libze_loader.so.1
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -Isim/include -Idemo -Isim/levelzero -fPIC -shared -o $@ $^

# One with HSA's alone.
$(B)/tests/targets/amd_hsa.o: COMMON += -Isim/amd
$(B)/tests/targets/amd_hsa: $(B)/sim/amd/libhsa-runtime64.so.1

$(B)/tests/targets/opencl_liar.o: COMMON += -Isim/amd

# A program that is linked with HIP's runtime, here with the simulated one.
$(B)/tests/targets/amd.o: COMMON += -Isim/amd
$(B)/tests/targets/amd: $(B)/sim/amd/libamdhip64.so.7

# A simulated driver with probes of its own, also with one more that nobody can read, and a program that is linked with it.
PROBED_DRIVERS := $(patsubst %,$(B)/tests/targets/probed_driver_%/libze_intel_gpu.so.1,library unreadable)
$(B)/tests/targets/probed_driver: $(firstword $(PROBED_DRIVERS))

tests: $(PROBED_DRIVERS)

$(lastword $(PROBED_DRIVERS)): COMMON += -DUNREADABLE

$(PROBED_DRIVERS): tests/targets/probed_driver/driver.c $(B)/sim/xe/stalls.o $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -fPIC -fvisibility=hidden -shared -Wl,-soname,$(@F) -o $@ $(filter %.c %.o,$^)
