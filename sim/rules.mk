# The simulated CUDA: libraries with NVIDIA's names, for LD_LIBRARY_PATH=$(B)/sim; and the simulated Level
# Zero, for LD_LIBRARY_PATH=$(B)/sim/levelzero; and the simulated HIP, for LD_LIBRARY_PATH=$(B)/sim/amd. Never sanitized: they are loaded into programs that are not.

SIM_FLAGS := -Isim/include -fPIC -fvisibility=hidden -ftls-model=initial-exec
SIM_OBJECTS = $(patsubst %.c,$(B)/%.o,$(wildcard sim/$(1)/*.c))
SIM_LINK := $(CC) -shared -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -pthread
SIM_LIBRARIES := $(B)/sim/libcuda.so.1 $(B)/sim/libcudart.so.13 $(B)/sim/libcudart.so \
	$(B)/sim/libcupti.so.13 $(B)/sim/libcupti.so $(B)/sim/libsanitizer-public.so $(B)/sim/without-cupti/libcuda.so.1 \
	$(B)/sim/xe/node.so $(B)/sim/levelzero/libze_loader.so.1 $(B)/sim/levelzero/driver/libze_intel_gpu.so.1 \
	$(B)/sim/amd/libamdhip64.so.7 $(B)/sim/amd/librocprofiler-sdk.so.1 $(B)/sim/amd/libhsa-runtime64.so.1 $(B)/sim/amd/alone/libamdhip64.so.7

sim: $(SIM_LIBRARIES)

# The interpreter of PTX, and what the driver needs of src/ to read PTX and fatbins.
SIM_PTX := $(call SIM_OBJECTS,ptx)
SIM_SRC := $(addprefix $(B)/sim/src/,ptx/lex.o ptx/module.o ptx/module_functions.o ptx/module_variables.o ptx/fatbin.o ptx/unpack.o base/buf.o base/error.o)
$(SIM_PTX) $(B)/sim/driver/compute.o $(B)/sim/driver/module.o: COMMON += -I.

$(B)/sim/libcuda.so.1: $(call SIM_OBJECTS,driver) $(SIM_PTX) $(SIM_SRC)
	$(SIM_LINK) -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) -ldl -lm

$(B)/sim/src/%.o: src/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(SIM_FLAGS) -MMD -MP -c -o $@ $<

$(B)/sim/libcudart.so.13: $(call SIM_OBJECTS,runtime) $(B)/sim/libcuda.so.1 sim/runtime/exports.map
	$(SIM_LINK) -Wl,-soname,$(@F) -Wl,--version-script=sim/runtime/exports.map -o $@ \
		$(filter-out %.map,$^)

$(B)/sim/libcupti.so.13: $(call SIM_OBJECTS,cupti) $(B)/sim/libcuda.so.1
	$(SIM_LINK) -Wl,-soname,$(@F) -o $@ $^

# It is loaded while a program runs, when there is no place for variables of threads but what is made then.
$(B)/sim/dynamic/src/%.o: src/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(SIM_FLAGS) -ftls-model=global-dynamic -MMD -MP -c -o $@ $<

# A simulated Sanitizer library, which splices calls into the text that the simulated driver has for machine code.
$(call SIM_OBJECTS,sanitizer): COMMON += -I.
$(B)/sim/libsanitizer-public.so: $(call SIM_OBJECTS,sanitizer) \
		$(addprefix $(B)/sim/dynamic/src/,$(addprefix ptx/,access.o branches.o called.o deferred.o leave.o lex.o module.o module_functions.o module_variables.o names.o site.o splice.o walk.o) \
			$(addprefix base/,buf.o demangle.o error.o map.o)) $(B)/sim/libcuda.so.1
	$(SIM_LINK) -Wl,-soname,$(@F) -o $@ $^ -liberty

$(B)/sim/%.so: $(B)/sim/%.so.13
	ln -sf $(<F) $@

$(call SIM_OBJECTS,levelzero): COMMON += -Isrc
$(B)/sim/levelzero/libze_loader.so.1: $(filter-out %/driver.o,$(call SIM_OBJECTS,levelzero)) $(B)/sim/xe/stalls.o
	$(SIM_LINK) -Wl,-soname,$(@F) -o $@ $^

# A render node of Linux's xe driver, for LD_PRELOAD into xpuprof and programs over Intel's driver.
$(call SIM_OBJECTS,xe): COMMON += -Isrc
$(B)/sim/xe/node.so: $(call SIM_OBJECTS,xe)
	$(SIM_LINK) -o $@ $^ -ldl

# As a driver, under a name that real loaders look for, with functions that have the loader's names.
$(B)/sim/levelzero/driver/libze_intel_gpu.so.1: $(call SIM_OBJECTS,levelzero) $(B)/sim/xe/stalls.o
	@mkdir -p $(@D)
	$(SIM_LINK) -Wl,-Bsymbolic -Wl,-soname,$(@F) -o $@ $^

$(call SIM_OBJECTS,amd): COMMON += -Isrc
$(B)/sim/amd/libamdhip64.so.7: $(B)/sim/amd/hip.o $(B)/sim/amd/register.o
	$(SIM_LINK) -Wl,-soname,$(@F) -o $@ $^ -ldl

$(B)/sim/amd/libhsa-runtime64.so.1: $(B)/sim/amd/hsa.o $(B)/sim/amd/register.o
	$(SIM_LINK) -Wl,-soname,$(@F) -o $@ $^ -ldl

$(B)/sim/amd/librocprofiler-sdk.so.1: $(B)/sim/amd/sdk.o $(B)/sim/amd/delivery.o $(B)/sim/amd/code.o
	$(SIM_LINK) -Wl,-soname,$(@F) -o $@ $^ -ldl

# A machine without rocprofiler-sdk.
$(B)/sim/amd/alone/%: $(B)/sim/amd/%
	@mkdir -p $(@D)
	cp $< $@

# A machine without CUPTI.
$(B)/sim/without-cupti/%: $(B)/sim/%
	@mkdir -p $(@D)
	cp $< $@

$(B)/sim/%.o: sim/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(SIM_FLAGS) -MMD -MP -c -o $@ $<

# Its tests load it at run time and are compiled with its headers.
SIM_TESTS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/sim_*.c))
$(SIM_TESTS:%=$(B)/obj/tests/unit/%.o): COMMON += -Isim/include -Idemo
$(SIM_TESTS:%=$(B)/tests/unit/%.t): $(B)/obj/demo/driver.o | sim
$(B)/obj/demo/driver.o: COMMON += -Isim/include

# The interpreter's tests call it directly, and compute the same in C without fused multiplications.
$(patsubst tests/unit/%.c,$(B)/obj/tests/unit/%.o,$(wildcard tests/unit/sim_ptx*.c)): COMMON += -I. -ffp-contract=off
$(B)/tests/unit/sim_ptx%.t: $(B)/obj/tests/unit/sim_ptx%.o $(SIM_PTX) $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lm

# So does that of the render node's command streamer, without what takes the place of open, ioctl and others.
$(B)/obj/tests/unit/sim_xe_test.o: COMMON += -Isim/xe
$(B)/tests/unit/sim_xe_test.t: $(B)/obj/tests/unit/sim_xe_test.o $(filter-out %/node.o,$(call SIM_OBJECTS,xe))
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ -pthread
