# Attacks by strangers on a recorder that runs as root (README.md): tests/attack/*.t, and the programs that attack.

ATTACKS := $(patsubst tests/attack/%.c,$(B)/tests/attack/%,$(wildcard tests/attack/*.c))

tests: $(ATTACKS)

# Not sanitized: they are recorded.
$(B)/tests/attack/%: tests/attack/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -MMD -MP -o $@ $< -pthread

CLI_TESTS += $(wildcard tests/attack/*.t)
