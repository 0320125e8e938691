// SPDX-License-Identifier: MIT
/* CRC-32C by the instruction of SSE 4.2: eight bytes a step. */
#if defined(__x86_64__)

#include "profile/crc32c.h"

#include <nmmintrin.h>
#include <string.h>

int crc32c_x86_usable(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) uint32_t crc32c_x86(uint32_t crc, const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t state = (uint32_t)~crc, word;

	for (; size >= 8; p += 8, size -= 8) {
		memcpy(&word, p, 8);
		state = _mm_crc32_u64(state, word);
	}
	for (; size; p++, size--)
		state = _mm_crc32_u8((uint32_t)state, *p);
	return ~(uint32_t)state;
}

#endif
