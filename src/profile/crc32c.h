/* SPDX-License-Identifier: MIT */
/*
 * CRC-32C (Castagnoli; RFC 3720, appendix B.4), the checksum of the chunks of a profile file.
 * Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to begin with) over `size` more bytes. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* The two ways it is computed, for tests; crc32c picks the faster one that this processor has. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size);
/* The processor's own instruction (crc32c_x86.c). */
uint32_t crc32c_x86(uint32_t crc, const void *data, size_t size);
/* Whether the processor has it. */
int crc32c_x86_usable(void);
