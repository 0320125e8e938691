// SPDX-License-Identifier: MIT
#include "ptx/fatbin.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/reader.h"

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC  0xba55ed50u
#define ENTRY_BYTES   64

enum { KIND_PTX = 1, KIND_ELF = 2 };

/* Seen in what nvcc 13.0 writes with each --compress-mode, for sm_90a and for sm_100f. */
enum {
	FLAG_LZ4 = 0x2000,
	FLAG_ZSTD = 0x8000,
	FLAG_ONLY_THIS = 0x100000,
	FLAG_FAMILY = 0x200000,
};

static uint16_t u16_at(const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint64_t u64_at(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static bool is_text(const char *image)
{
	size_t i = 0;

	while (i < 15 && isspace((unsigned char)image[i]))
		i++;
	return image[i] == '.' || (image[i] == '/' && (image[i + 1] == '/' || image[i + 1] == '*'));
}

enum ptx_image ptx_image_of(const void *image)
{
	const char *bytes = image;

	for (size_t i = 0; i < 4; i++)
		if (!bytes[i])
			return PTX_IMAGE_OTHER;
	if (u32_at(image) == WRAPPER_MAGIC)
		return PTX_IMAGE_WRAPPER;
	if (u32_at(image) == FATBIN_MAGIC)
		return PTX_IMAGE_FATBIN;
	if (!memcmp(bytes, "\177ELF", 4))
		return PTX_IMAGE_CUBIN;
	return is_text(bytes) ? PTX_IMAGE_TEXT : PTX_IMAGE_OTHER;
}

size_t ptx_fatbin_bytes(const void *fatbin)
{
	const uint8_t *p = fatbin;
	uint64_t bytes = u64_at(p + 8);

	if (u32_at(p) != FATBIN_MAGIC || u16_at(p + 6) < 16 ||
		__builtin_add_overflow(bytes, (uint64_t)u16_at(p + 6), &bytes) || bytes > SIZE_MAX)
		return 0;
	return (size_t)bytes;
}

int ptx_fatbin_open(const void *fatbin, size_t size, struct ptx_fatbin *ret)
{
	const uint8_t *p = fatbin;
	size_t bytes = size < 16 ? 0 : ptx_fatbin_bytes(p);

	if (!bytes || bytes > size)
		return error_set(-EINVAL, "a damaged fatbin: its size");
	*ret = (struct ptx_fatbin){p + u16_at(p + 6), p + bytes};
	return 0;
}

static void read_options(const uint8_t *header, uint32_t header_bytes, struct ptx_fatbin_entry *e)
{
	uint32_t place = u32_at(header + 20), offset, bytes;

	if (!e->is_ptx || place < ENTRY_BYTES || place > header_bytes - 8)
		return;
	offset = u32_at(header + place);
	bytes = u32_at(header + place + 4);
	if (offset > header_bytes || bytes > header_bytes - offset)
		return;
	e->options = (const char *)header + offset;
	e->options_bytes = strnlen(e->options, bytes);
}

int ptx_fatbin_next(struct ptx_fatbin *f, struct ptx_fatbin_entry *ret)
{
	size_t left = (size_t)(f->end - f->at);
	struct ptx_fatbin_entry e = {0};
	uint32_t header_bytes;
	uint64_t data_bytes, flags;

	if (left < ENTRY_BYTES)
		return 0;
	header_bytes = u32_at(f->at + 4);
	data_bytes = u64_at(f->at + 8);
	if (header_bytes < ENTRY_BYTES || header_bytes > left || data_bytes > left - header_bytes)
		return error_set(-EINVAL, "a damaged fatbin: an entry's size");
	flags = u64_at(f->at + 40);
	e.is_ptx = u16_at(f->at) == KIND_PTX;
	e.is_code = u16_at(f->at) == KIND_ELF;
	e.sm = u32_at(f->at + 28);
	e.version = u16_at(f->at + 26) * 10u + u16_at(f->at + 24);
	e.scope = flags & FLAG_ONLY_THIS ? PTX_ONLY_THIS
		  : flags & FLAG_FAMILY	 ? PTX_FAMILY
					 : PTX_ALL_LATER;
	e.packing = flags & FLAG_ZSTD ? PTX_ZSTD : flags & FLAG_LZ4 ? PTX_LZ4 : PTX_PLAIN;
	e.data = f->at + header_bytes;
	e.packed_bytes = e.packing ? u32_at(f->at + 16) : (size_t)data_bytes;
	e.bytes = e.packing ? u64_at(f->at + 56) : (size_t)data_bytes;
	if (e.packed_bytes > data_bytes)
		return error_set(-EINVAL, "a damaged fatbin: the packed size of an entry");
	read_options(f->at, header_bytes, &e);
	f->at += header_bytes + data_bytes;
	*ret = e;
	return 1;
}

static bool takes(unsigned int sm, const struct ptx_fatbin_entry *e)
{
	switch (e->scope) {
	case PTX_ONLY_THIS:
		return sm == e->sm;
	case PTX_FAMILY:
		return sm >= e->sm && sm / 10 == e->sm / 10;
	default:
		return sm >= e->sm;
	}
}

int ptx_fatbin_choose_code(
	const void *fatbin, size_t size, unsigned int sm, struct ptx_fatbin_entry *ret)
{
	struct ptx_fatbin_entry e, best = {0};
	struct ptx_fatbin f;
	int more, error = ptx_fatbin_open(fatbin, size, &f);

	if (error)
		return error;
	/* It is for one major version; without a suffix for the later ones of that, too. */
	while ((more = ptx_fatbin_next(&f, &e)) > 0)
		if (e.is_code && takes(sm, &e) && e.sm / 10 == sm / 10 &&
			(!best.data || e.sm > best.sm || (e.sm == best.sm && e.scope > best.scope)))
			best = e;
	*ret = best;
	return more < 0 ? more : best.data != NULL;
}

int ptx_fatbin_choose(
	const void *fatbin, size_t size, unsigned int sm, struct ptx_fatbin_entry *ret)
{
	struct ptx_fatbin_entry e, best = {0};
	struct ptx_fatbin f;
	unsigned int others = 0, code = 0;
	int more, error = ptx_fatbin_open(fatbin, size, &f);

	if (error)
		return error;
	while ((more = ptx_fatbin_next(&f, &e)) > 0) {
		code += !e.is_ptx;
		if (!e.is_ptx)
			continue;
		if (!takes(sm, &e))
			others++;
		else if (!best.data || e.sm > best.sm || (e.sm == best.sm && e.scope > best.scope))
			best = e;
	}
	if (more < 0)
		return more;
	if (!best.data)
		return others ? error_set(-ENOENT, "its PTX is not for this GPU (sm_%u)", sm)
			      : error_set(-ENOENT, "it has no PTX, only machine code (%u images)",
					code);
	*ret = best;
	return 0;
}
