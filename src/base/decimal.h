/* SPDX-License-Identifier: MIT */
/* Decimal numbers as text, of which there are millions. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DECIMAL_MAX 20 /* bytes of one */

static inline size_t decimal_size(uint64_t number)
{
	size_t size = 1;

	for (; number >= 10000; number /= 10000)
		size += 4;
	return size + (number >= 10) + (number >= 100) + (number >= 1000);
}

/* Where there is room for decimal_size of it; without a NUL. Returns the end. */
static inline char *decimal_put(char *at, uint64_t number)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char *end = at + decimal_size(number), *digit = end;

	for (; number >= 100; number /= 100) {
		digit -= 2;
		memcpy(digit, &pairs[number % 100 * 2], 2);
	}
	if (number >= 10)
		memcpy(at, &pairs[number * 2], 2);
	else
		*at = (char)('0' + number);
	return end;
}
