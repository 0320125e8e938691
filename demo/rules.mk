# The demo workload: built as a profiler's user would build it for good stacks, and without CUDA.

DEMO_FLAGS := -Isim/include -Idemo -fno-optimize-sibling-calls

demo: $(B)/demo/train

$(B)/demo/train: $(patsubst %.c,$(B)/%.o,$(wildcard demo/*.c))
	$(CC) -o $@ $^ -pthread -ldl

$(B)/demo/%.o: demo/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(DEMO_FLAGS) -MMD -MP -c -o $@ $<
