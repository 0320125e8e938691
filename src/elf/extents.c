// SPDX-License-Identifier: MIT
/*
 * Where functions without symbols begin and end, by the unwind information. The table at the
 * beginning of .eh_frame_hdr, sorted by address, leads to a function's entry (FDE) in .eh_frame.
 * Its common entry (CIE) says how the addresses are encoded:
 *
 *	.eh_frame_hdr  version, three encodings, an address, count, [(start, address of the FDE)] -> .eh_frame
 *
 * (LSB Core, "Exception Frames" and "DWARF Exception Header Encoding".) All linkers write that
 * table in the one encoding that is read here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "base/search.h"
#include "elf/elf_internal.h"
#include "elf/limits.h"

#define HEADER_BYTES 12
#define ROW_BYTES    8

#define PE_UDATA4      0x03
#define PE_FORM	       0x0f
#define PE_BASE	       0xf0
#define PE_PC	       0x10
#define PE_DATA_SDATA4 0x3b

struct extents {
	struct elf_contents header;
	struct elf_contents frames;
	size_t count; /* of rows; 0: there is no table that we read */
};

void elf_extents_free(struct extents *e)
{
	if (!e)
		return;
	elf_contents_release(&e->header);
	elf_contents_release(&e->frames);
	free(e);
}

static uint32_t word_at(const struct elf_contents *c, size_t at)
{
	uint32_t word;

	memcpy(&word, c->data + at, sizeof(word));
	return word;
}

static size_t count_rows(const struct elf_contents *header)
{
	size_t count;

	/* The address before the count, that of .eh_frame, has four bytes in this form too. */
	if (header->size < HEADER_BYTES || header->data[0] != 1 ||
		(header->data[1] & 7) != PE_UDATA4 || header->data[2] != PE_UDATA4 ||
		header->data[3] != PE_DATA_SDATA4)
		return 0;
	count = word_at(header, 8);
	return count <= (header->size - HEADER_BYTES) / ROW_BYTES ? count : 0;
}

/* NULL: no memory. */
static struct extents *read_extents(struct elf_file *f)
{
	struct extents *e = calloc(1, sizeof(*e));

	if (e && !elf_file_read_section(f, ".eh_frame_hdr", ELF_FRAMES_MAX_BYTES, &e->header) &&
		!elf_file_read_section(f, ".eh_frame", ELF_FRAMES_MAX_BYTES, &e->frames))
		e->count = count_rows(&e->header);
	return e;
}

/* An address in a row: column 0 is where a function begins, 1 where its entry is. */
static uint64_t row_address(const struct extents *e, size_t row, size_t column)
{
	return e->header.vaddr + (uint64_t)(int64_t)(int32_t)word_at(
					 &e->header, HEADER_BYTES + row * ROW_BYTES + 4 * column);
}

/* The last row that begins at `vaddr` or before it; false: none. */
static bool find_row(const struct extents *e, uint64_t vaddr, size_t *ret)
{
	size_t behind = search_first(i, 0, e->count, row_address(e, i, 0) > vaddr);

	*ret = behind - 1;
	return behind;
}

/* The entry at an address in .eh_frame, without its length. */
static struct reader entry_at(const struct extents *e, uint64_t at)
{
	struct reader r = {.at = e->frames.data, .end = e->frames.data + e->frames.size};
	uint64_t size;

	reader_take(&r, at);
	size = reader_u32(&r);
	if (size == UINT32_MAX)
		size = reader_u64(&r);
	if (size > reader_left(&r))
		reader_fail(&r);
	else
		r.end = r.at + size;
	return r;
}

static uint64_t read_form(struct reader *r, uint8_t encoding)
{
	switch (encoding & PE_FORM) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return reader_u64(r);
	case 0x02:
		return reader_u16(r);
	case 0x0a:
		return (uint64_t)reader_s16(r);
	case PE_UDATA4:
		return reader_u32(r);
	case 0x0b:
		return (uint64_t)reader_s32(r);
	default:
		reader_fail(r);
		return 0;
	}
}

/* How the FDEs of a CIE encode addresses; false: not determined. */
static bool read_encoding(struct reader r, uint8_t *ret)
{
	uint32_t id = reader_u32(&r);
	uint8_t version = reader_u8(&r);
	const char *letters = (const char *)r.at;
	const uint8_t *nul = memchr(r.at, 0, reader_left(&r));

	if (r.failed || !nul || id || (version != 1 && version != 3))
		return false;
	*ret = 0;
	r.at = nul + 1;
	reader_uleb(&r);
	reader_sleb(&r);
	if (version == 1)
		reader_u8(&r);
	else
		reader_uleb(&r);
	if (*letters != 'z')
		return !*letters && !r.failed;
	reader_uleb(&r);
	for (letters++; *letters && *letters != 'R'; letters++) {
		if (*letters == 'L')
			reader_u8(&r);
		else if (*letters == 'P')
			read_form(&r, reader_u8(&r));
		else if (*letters != 'S' && *letters != 'B' && *letters != 'G')
			return false;
	}
	if (*letters)
		*ret = reader_u8(&r);
	return !r.failed;
}

/* The size of the function whose entry is in a row; 0: not determined. */
static uint64_t size_of(const struct extents *e, size_t row)
{
	uint64_t at = row_address(e, row, 1) - e->frames.vaddr, start, common;
	struct reader r = entry_at(e, at);
	uint64_t id_at = (uint64_t)(r.at - e->frames.data), here, size;
	uint8_t encoding;

	common = id_at - reader_u32(&r);
	here = e->frames.vaddr + (uint64_t)(r.at - e->frames.data);
	if (r.failed || common == id_at || !read_encoding(entry_at(e, common), &encoding))
		return 0;
	start = read_form(&r, encoding) + ((encoding & PE_BASE) == PE_PC ? here : 0);
	size = read_form(&r, encoding);
	if (r.failed || (encoding & PE_BASE & ~PE_PC) || start != row_address(e, row, 0))
		return 0;
	return (encoding & PE_FORM) == 0x0b ? (uint32_t)size : size;
}

int elf_file_function_start(struct elf_file *f, uint64_t vaddr, uint64_t *ret_start)
{
	uint64_t start;
	size_t row;

	if (!f->extents)
		f->extents = read_extents(f);
	if (!f->extents || !find_row(f->extents, vaddr, &row))
		return -ENOENT;
	start = row_address(f->extents, row, 0);
	if (vaddr - start >= size_of(f->extents, row))
		return -ENOENT;
	*ret_start = start;
	return 0;
}
