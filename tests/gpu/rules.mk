# What the tests on a real GPU need; built everywhere, as the simulated one is compared with it.

programs: $(patsubst tests/gpu/%.c,$(B)/tests/gpu/lib%.so,$(filter-out %/sampling_late.c,$(wildcard tests/gpu/*.c)))

$(B)/tests/gpu/lib%.so: tests/gpu/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -Isim/include -fPIC -shared -fvisibility=hidden -MMD -MP -o $@ $< \
		-pthread -ldl
