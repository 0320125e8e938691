# Attacks by strangers on a recorder that runs as root (README.md): tests/attack/*.t, and the programs that attack.

ATTACKS := $(patsubst tests/attack/%.c,$(B)/tests/attack/%,$(wildcard tests/attack/*.c))

tests: $(ATTACKS)

# Not sanitized: they are recorded.
$(B)/tests/attack/%: tests/attack/%.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) -Itests $(CFLAGS) -MMD -MP -o $@ $< -pthread

$(B)/tests/attack/stripped: CFLAGS += -s -Wl,--build-id

CLI_TESTS += $(wildcard tests/attack/*.t)

# What strangers would have root load.
ATTACK_LIBRARY := $(B)/tests/attack/library.so

tests: $(ATTACK_LIBRARY)

$(ATTACK_LIBRARY): tests/attack/library/library.c $(B)/built-with
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -fPIC -shared -MMD -MP -o $@ $<
