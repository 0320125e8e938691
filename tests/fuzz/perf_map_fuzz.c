// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as a perf map; names must lie within it, and in one line. */
#include <stdlib.h>
#include <string.h>

#include "elf/perf_map.h"

#define ADDRESSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses that texts of few letters are likely to tell of. */
static uint64_t address_of(size_t i)
{
	return i < 48 ? i * 3 : (uint64_t)1 << i;
}

static void check(const struct perf_map_match *m, const char *text, size_t size)
{
	if (!m->name)
		return;
	if (m->name < text || m->name > text + size ||
		m->name_length > (size_t)(text + size - m->name) || !m->name_length)
		__builtin_trap();
	if (memchr(m->name, '\n', m->name_length))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_map_match matches[ADDRESSES] = {0};
	char *exact = malloc(size ? size : 1); /* so that reading past the end is seen */

	if (!exact)
		return 0;
	memcpy(exact, data, size);
	for (size_t i = 0; i < ADDRESSES; i++)
		matches[i].address = address_of(i);
	if (perf_map_match(exact, size, matches, ADDRESSES))
		__builtin_trap();
	for (size_t i = 0; i < ADDRESSES; i++)
		check(&matches[i], exact, size);
	free(exact);
	return 0;
}
