# eBPF programs for GPUs that tests read, each for two generations of the instruction set.
EBPF_PROGRAMS := $(if $(filter 1,$(BPF)),$(patsubst tests/ebpf/%.bpf.c,%,$(wildcard tests/ebpf/*.bpf.c)))
EBPF_OBJECTS := $(EBPF_PROGRAMS:%=$(B)/tests/ebpf/%.v1.bpf.o) $(EBPF_PROGRAMS:%=$(B)/tests/ebpf/%.v3.bpf.o)
EBPF_FLAGS = $(subst -mcpu=v2,-mcpu=$(1),$(BPFFLAGS)) -Wno-unused-variable -Wno-unused-function

$(B)/tests/ebpf/%.v1.bpf.o: tests/ebpf/%.bpf.c $(B)/built-with
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(CLANG) $(call EBPF_FLAGS,v1) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ $<

$(B)/tests/ebpf/%.v3.bpf.o: tests/ebpf/%.bpf.c $(B)/built-with
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(CLANG) $(call EBPF_FLAGS,v3) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ $<

tests: $(EBPF_OBJECTS) $(B)/tests/ebpf/run_case

$(B)/obj/tests/unit/ebpf_%.o: COMMON += -DEBPF_PROGRAMS='"$(abspath $(B))/tests/ebpf"'
$(UNIT_TESTS): | $(EBPF_OBJECTS)

# What becomes of programs is run by the interpreter of PTX.
EBPF_RUN := $(addprefix $(B)/tests/unit/ebpf_,twin_test.t tools_test.t)
$(EBPF_RUN:$(B)/tests/%.t=$(B)/obj/tests/%.o): COMMON += -I.
$(EBPF_RUN): $(B)/tests/unit/%.t: $(B)/obj/tests/unit/%.o $(SIM_PTX) $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lm

# The same for programs that others wrote down (conformance.py).
$(B)/obj/tests/ebpf/run_case.o: COMMON += -I.
$(B)/tests/ebpf/run_case: $(B)/obj/tests/ebpf/run_case.o $(SIM_PTX) $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lm
