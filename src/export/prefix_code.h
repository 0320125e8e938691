/* SPDX-License-Identifier: MIT */
/*
 * Codes for symbols of which some come more often than others (Huffman's): whole numbers of bits,
 * none the beginning of another. As deflate wants them: RFC 1951, 3.2.2.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PREFIX_CODES_MAX 288 /* symbols */

struct prefix_code {
	uint16_t bits; /* the first one lowest */
	uint16_t size; /* in bits; 0: the symbol does not come */
};

/* `counts` says how often each symbol comes, in all less than 2^31 times; of fewer than two, others
 * are taken as if they came. No code is longer than `longest`, at most 15. */
void prefix_codes(
	struct prefix_code *codes, const uint32_t *counts, size_t n, unsigned int longest);
