// SPDX-License-Identifier: MIT
/*
 * Portable: slicing by eight. table[0] advances a checksum by one byte; table[k] by one byte
 * followed by k zero bytes, so that eight independent look-ups advance it by eight bytes at once.
 * The tables are computed when the program starts, before any thread could look.
 */
#include "profile/crc32c.h"

#include <endian.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t table[8][256];

__attribute__((constructor)) static void fill_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][i] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (int i = 0; i < 256; i++)
			table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
}

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t word;

	crc = ~crc;
	for (; size >= 8; p += 8, size -= 8) {
		memcpy(&word, p, 8);
		word = le64toh(word) ^ crc;
		crc = 0;
		for (int k = 0; k < 8; k++)
			crc ^= table[7 - k][word >> (8 * k) & 0xff];
	}
	for (; size; p++, size--)
		crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
	return ~crc;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
#if defined(__x86_64__)
	if (crc32c_x86_usable())
		return crc32c_x86(crc, data, size);
#endif
	return crc32c_portable(crc, data, size);
}
