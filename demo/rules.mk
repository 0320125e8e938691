# The demo workload: built as a profiler's user would build it for good stacks, and without CUDA.

DEMO_FLAGS := -Isim/include -Idemo -fno-optimize-sibling-calls

demo: $(B)/demo/train $(B)/demo/edges

$(B)/demo/train: $(patsubst %.c,$(B)/%.o,$(filter-out demo/edges.c,$(wildcard demo/*.c)))
	$(CC) -o $@ $^ -pthread -ldl

# That of OpenCL, built without its headers.
$(B)/demo/edges: $(B)/demo/edges.o
	$(CC) -o $@ $^ -pthread -ldl

$(B)/demo/%.o: demo/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(DEMO_FLAGS) -MMD -MP -c -o $@ $<
