# What the tests on a real GPU need; built everywhere, as the simulated one is compared with it.

programs: $(B)/tests/gpu/libcupti_sequence.so $(B)/tests/gpu/libfloor_tool.so

$(B)/tests/gpu/lib%.so: tests/gpu/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -Isim/include -fPIC -shared -fvisibility=hidden -MMD -MP -o $@ $< \
		-pthread -ldl
