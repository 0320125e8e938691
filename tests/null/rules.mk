# A vendor that does not exist (tests/null/null.h), the program once more with its rows in the tables of vendors, and a
# program that uses its API.

NULL_OBJECTS := $(patsubst %.c,$(B)/obj/%.o,tests/null/gpu.c tests/null/vendor.c tests/null/code.c tests/null/tables.c)

tests: $(B)/tests/null/xpuprof $(B)/tests/null/program

$(NULL_OBJECTS): COMMON += -Itests/null

# The tables come before the archive, which has the real ones under the same names.
$(B)/tests/null/xpuprof: $(B)/obj/src/main.o $(NULL_OBJECTS) $(B)/libxpuprof.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(LDFLAGS) -rdynamic -o $@ $^ $(LIBS)

$(B)/tests/null/program: tests/null/program.c tests/null/null.h $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -fno-optimize-sibling-calls -rdynamic -o $@ $<
