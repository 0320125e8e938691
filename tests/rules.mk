# Tests: every tests/unit/*.c is a TAP program, every tests/cli/*.t a TAP script.

UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/tests/unit/%.t,$(wildcard tests/unit/*.c))
CLI_TESTS := $(wildcard tests/cli/*.t)

$(B)/tests/unit/%.t: $(B)/obj/tests/unit/%.o $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/obj/tests/%.o: COMMON += -Itests

tests: $(UNIT_TESTS)

check: all tests check-style
	XPUPROF_BUILD=$(abspath $(B)) prove --timer $(UNIT_TESTS) $(CLI_TESTS)

check-style:
	tools/check-includes
