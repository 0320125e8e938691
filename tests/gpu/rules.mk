# What the tests on a real GPU need; built everywhere, as the simulated one is compared with it.

programs: $(patsubst tests/gpu/%.c,$(B)/tests/gpu/lib%.so,$(filter-out $(addprefix tests/gpu/,correlation_ids.c sampling_late.c sampling_names.c sanitizer_sequence.c),$(wildcard tests/gpu/*.c)))
programs: $(B)/tests/gpu/sanitizer_sequence

$(B)/tests/gpu/lib%.so: tests/gpu/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -Isim/include -fPIC -shared -fvisibility=hidden -MMD -MP -o $@ $< \
		-pthread -ldl

$(B)/tests/gpu/sanitizer_sequence: tests/gpu/sanitizer_sequence.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -MMD -MP -o $@ $< -ldl
