/* SPDX-License-Identifier: MIT */
/*
 * The frame of a profile file, shared by writer and reader; docs/file-format.md is normative.
 *
 *	 0            8         12      16
 *	 +------------+---------+-------+---------+---------+- - - -+---------+
 *	 | "XPUPROF\0"| version | crc   | chunk   | chunk   |       | END     |
 *	 +------------+---------+-------+---------+---------+- - - -+---------+
 *
 *	 0        4        8        12
 *	 +--------+--------+--------+---------------- - - -+
 *	 | type   | size   | crc    | payload, `size` bytes|     one chunk
 *	 +--------+--------+--------+---------------- - - -+
 *
 * All of these numbers are 32 bits, little-endian. The checksum is CRC-32C: in the file header over
 * the 12 bytes before it, in a chunk over type, size and payload.
 */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define FILE_MAGIC	  "XPUPROF"
#define FILE_MAGIC_BYTES  8
#define FILE_VERSION	  2 /* is written */
#define FILE_VERSION_MIN  1 /* and read from this on */
#define FILE_HEADER_BYTES 16

#define CHUNK_HEADER_BYTES 12
/* No payload is larger; a longer one is damage. */
#define CHUNK_MAX_BYTES (4u << 20)
/* Strings and values of metadata are cut there. */
#define STRING_MAX_BYTES (1u << 20)
#define META_MAX_BYTES	 (64u << 10)

#define CHUNK_TYPE(a, b, c, d)                                                                     \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

#define CHUNK_STRINGS	CHUNK_TYPE('S', 'T', 'R', 'S')
#define CHUNK_MODULES	CHUNK_TYPE('M', 'O', 'D', 'S')
#define CHUNK_LOCATIONS CHUNK_TYPE('L', 'O', 'C', 'S')
#define CHUNK_STACKS	CHUNK_TYPE('S', 'T', 'K', 'S')
#define CHUNK_PROCESSES CHUNK_TYPE('P', 'R', 'O', 'C')
#define CHUNK_THREADS	CHUNK_TYPE('T', 'H', 'R', 'D')
#define CHUNK_DEVICES	CHUNK_TYPE('D', 'E', 'V', 'S')
#define CHUNK_OPS	CHUNK_TYPE('O', 'P', 'S', ' ')
#define CHUNK_INLINES	CHUNK_TYPE('I', 'N', 'L', 'N')
#define CHUNK_SEGMENTS	CHUNK_TYPE('S', 'E', 'G', 'S')
#define CHUNK_UPDATES	CHUNK_TYPE('U', 'P', 'D', 'T')
#define CHUNK_EVENTS	CHUNK_TYPE('E', 'V', 'T', 'S')
#define CHUNK_LOSSES	CHUNK_TYPE('L', 'O', 'S', 'S')
#define CHUNK_ACCOUNTS	CHUNK_TYPE('C', 'P', 'U', 'T')
#define CHUNK_META	CHUNK_TYPE('M', 'E', 'T', 'A')
#define CHUNK_END	CHUNK_TYPE('E', 'N', 'D', '!')

#define CHUNK_GPU_FUNCTIONS CHUNK_TYPE('G', 'F', 'U', 'N')
#define CHUNK_INSTRUCTIONS  CHUNK_TYPE('I', 'N', 'S', 'T')
#define CHUNK_WINDOWS	    CHUNK_TYPE('W', 'I', 'N', 'S')
#define CHUNK_COUNTERS	    CHUNK_TYPE('C', 'T', 'R', 'S')
#define CHUNK_BURSTS	    CHUNK_TYPE('B', 'R', 'S', 'T')

#define CHUNK_PROBE_OBJECTS  CHUNK_TYPE('P', 'O', 'B', 'J')
#define CHUNK_PROBE_MAPS     CHUNK_TYPE('P', 'M', 'A', 'P')
#define CHUNK_PROBE_CONTEXTS CHUNK_TYPE('P', 'C', 'T', 'X')
#define CHUNK_PROBE_KERNELS  CHUNK_TYPE('P', 'K', 'R', 'N')
#define CHUNK_PROBE_LINES    CHUNK_TYPE('P', 'L', 'I', 'N')

static inline void put_u32(uint8_t *p, uint32_t x)
{
	x = htole32(x);
	memcpy(p, &x, 4);
}

static inline uint32_t get_u32(const uint8_t *p)
{
	uint32_t x;

	memcpy(&x, p, 4);
	return le32toh(x);
}
