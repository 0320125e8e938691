# The simulated CUDA: libraries with NVIDIA's names, for LD_LIBRARY_PATH=$(B)/sim. Never
# sanitized: they are loaded into programs that are not.

SIM_FLAGS := -Isim/include -fPIC -fvisibility=hidden -ftls-model=initial-exec
SIM_OBJECTS = $(patsubst %.c,$(B)/%.o,$(wildcard sim/$(1)/*.c))
SIM_LINK := $(CC) -shared -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -pthread
SIM_LIBRARIES := $(B)/sim/libcuda.so.1 $(B)/sim/libcudart.so.13 $(B)/sim/libcudart.so \
	$(B)/sim/libcupti.so.13 $(B)/sim/libcupti.so $(B)/sim/without-cupti/libcuda.so.1

sim: $(SIM_LIBRARIES)

$(B)/sim/libcuda.so.1: $(call SIM_OBJECTS,driver)
	$(SIM_LINK) -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) -ldl

$(B)/sim/libcudart.so.13: $(call SIM_OBJECTS,runtime) $(B)/sim/libcuda.so.1 sim/runtime/exports.map
	$(SIM_LINK) -Wl,-soname,$(@F) -Wl,--version-script=sim/runtime/exports.map -o $@ \
		$(filter-out %.map,$^)

$(B)/sim/libcupti.so.13: $(call SIM_OBJECTS,cupti) $(B)/sim/libcuda.so.1
	$(SIM_LINK) -Wl,-soname,$(@F) -o $@ $^

$(B)/sim/%.so: $(B)/sim/%.so.13
	ln -sf $(<F) $@

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
