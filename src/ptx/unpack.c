// SPDX-License-Identifier: MIT
/*
 * Text of fatbins is plain, LZ4 blocks or zstd frames. LZ4 is unpacked here; zstd by libzstd, if
 * the machine has it, as its format is large and everybody's systems have that library.
 *
 * A block of LZ4 is a list of: a byte with two lengths, literals, two bytes of distance. A length
 * of 15 goes on in the bytes that follow, as long as they are 255.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/reader.h"
#include "ptx/fatbin.h"

#define MOST_BYTES ((size_t)1 << 30)
#define LONGER	   15
#define MATCH_MIN  4

static size_t read_length(struct reader *r, size_t length)
{
	uint8_t more;

	if (length < LONGER)
		return length;
	do {
		more = reader_u8(r);
		length += more;
	} while (more == 255);
	return length;
}

/* Exactly `size` bytes; false where the block has more, fewer, or is damaged. */
static bool unpack_lz4(struct reader r, uint8_t *to, size_t size)
{
	size_t at = 0;

	while (reader_left(&r)) {
		uint8_t lengths = reader_u8(&r);
		size_t count = read_length(&r, lengths >> 4), distance;
		const uint8_t *literals = reader_take(&r, count);

		if (!literals || count > size - at)
			return false;
		memcpy(to + at, literals, count);
		at += count;
		if (!reader_left(&r))
			break;
		distance = reader_u16(&r);
		count = read_length(&r, lengths & 15) + MATCH_MIN;
		if (r.failed || !distance || distance > at || count > size - at)
			return false;
		/* It may repeat what it writes. */
		for (; count; count--, at++)
			to[at] = to[at - distance];
	}
	return !r.failed && at == size;
}

typedef size_t zstd_decompress(void *to, size_t room, const void *from, size_t size);

static int unpack_zstd(const struct ptx_fatbin_entry *e, uint8_t *to)
{
	void *library = dlopen("libzstd.so.1", RTLD_NOW);
	zstd_decompress *decompress;
	bool good;

	if (!library)
		return error_set(
			-ENOTSUP, "its PTX is packed by zstd, and libzstd.so.1 is not installed");
	decompress = (zstd_decompress *)dlsym(library, "ZSTD_decompress");
	good = decompress && decompress(to, e->bytes, e->data, e->packed_bytes) == e->bytes;
	dlclose(library);
	return good ? 0 : error_set(-EINVAL, "damaged PTX in a fatbin (zstd)");
}

int ptx_fatbin_unpack(const struct ptx_fatbin_entry *e, struct buf *ret)
{
	struct reader r = {.at = e->data, .end = e->data + e->packed_bytes};
	uint8_t *to;
	int error = 0;

	if (e->bytes > MOST_BYTES)
		return error_set(-EINVAL, "damaged PTX in a fatbin: %zu bytes", e->bytes);
	if (!buf_reserve(ret, e->bytes + 1))
		return error_memory("PTX of a fatbin");
	to = (uint8_t *)ret->data + ret->size;
	if (e->packing == PTX_PLAIN)
		memcpy(to, e->data, e->bytes);
	else if (e->packing == PTX_ZSTD)
		error = unpack_zstd(e, to);
	else if (!unpack_lz4(r, to, e->bytes))
		error = error_set(-EINVAL, "damaged PTX in a fatbin (LZ4)");
	if (error)
		return error;
	to[e->bytes] = 0;
	ret->size += e->bytes;
	return 0;
}

int ptx_fatbin_text(const struct ptx_fatbin_entry *e, struct buf *ret)
{
	size_t before = ret->size;
	int error = ptx_fatbin_unpack(e, ret);

	if (!error)
		ret->size = before + strlen(ret->data + before);
	return error;
}
