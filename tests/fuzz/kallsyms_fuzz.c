// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as /proc/kallsyms; names must lie within it, and before their
 * addresses. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "symbolize/kallsyms.h"

#define ADDRESSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses that texts of few digits are likely to have, in order. */
static uint64_t address_of(size_t i)
{
	return i < 48 ? i * 5 : (uint64_t)1 << i;
}

static void check(const struct kallsyms_match *m, const char *text, size_t size)
{
	if (!m->name)
		return;
	require(m->name >= text && m->name < text + size && m->name_length &&
		m->name_length <= (size_t)(text + size - m->name));
	require(m->start && m->start <= m->address);
	require(!memchr(m->name, '\n', m->name_length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kallsyms_match matches[ADDRESSES] = {0};
	char *exact = malloc(size ? size : 1); /* so that reading past the end is seen */

	if (!exact)
		return 0;
	memcpy(exact, data, size);
	for (size_t i = 0; i < ADDRESSES; i++)
		matches[i].address = address_of(i);
	kallsyms_match(exact, size, matches, ADDRESSES);
	for (size_t i = 0; i < ADDRESSES; i++) {
		require(matches[i].address == address_of(i));
		check(&matches[i], exact, size);
	}
	free(exact);
	return 0;
}
