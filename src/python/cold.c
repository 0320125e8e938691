// SPDX-License-Identifier: MIT
/*
 * A function's body jumps to its unlikely part, and nobody else does: jumps, unlike calls, do not
 * leave a function but for its own parts (and for the functions it ends with a call of). So the
 * unlikely part is the piece of code outside of the body that most of the body's far jumps lead to,
 * if it jumps back.
 *
 * Where pieces of code begin is in .eh_frame_hdr, a sorted table.
 *
 *	version 1 | encodings | address of .eh_frame | count | (start, description)...
 *
 * Each number of the table has 4 bytes and is relative to the section's own address (0x3b).
 *
 * Source: Linux Standard Base 5.0, core specification, "The .eh_frame_hdr section".
 */
#include "python/cold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "elf/named.h"

#define TABLE_ENCODING 0x3b /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
#define COUNT_ENCODING 0x03 /* DW_EH_PE_udata4 */
#define PIECES_MAX     (1u << 20)
#define BODY_MAX       (1u << 20) /* bytes */
#define JUMPS_MIN      3

struct row {
	int32_t start;
	int32_t description;
};

struct pieces {
	uint64_t base; /* rows count from here */
	struct row *rows;
	uint32_t count;
};

static int load_pieces(struct elf_file *f, struct pieces *ret)
{
	struct elf_named section;
	uint8_t head[12];
	uint32_t count;

	if (elf_section_named(f, ".eh_frame_hdr", &section) || section.size < sizeof(head) ||
		elf_read_vaddr(f, section.vaddr, head, sizeof(head)) || head[0] != 1 ||
		head[2] != COUNT_ENCODING || head[3] != TABLE_ENCODING)
		return -ENOENT;
	memcpy(&count, head + 8, sizeof(count));
	if (!count || count > PIECES_MAX ||
		count > (section.size - sizeof(head)) / sizeof(struct row))
		return -ENOENT;
	ret->rows = malloc(count * sizeof(struct row));
	if (!ret->rows)
		return -ENOMEM;
	ret->base = section.vaddr;
	ret->count = count;
	if (!elf_read_vaddr(f, section.vaddr + sizeof(head), ret->rows, count * sizeof(struct row)))
		return 0;
	free(ret->rows);
	return -ENOENT;
}

static uint64_t start_of(const struct pieces *p, uint32_t i)
{
	return p->base + (uint64_t)(int64_t)p->rows[i].start;
}

/* The last piece that begins at or before `vaddr`, or -1. */
static int64_t piece_at(const struct pieces *p, uint64_t vaddr)
{
	return (int64_t)search_first(i, 0, p->count, start_of(p, (uint32_t)i) > vaddr) - 1;
}

/* The code of a range; NULL: it cannot be read, or *ret_error is -ENOMEM. */
static uint8_t *load_code(struct elf_file *f, const struct walk_range *r, int *ret_error)
{
	uint8_t *code;

	if (r->end <= r->start || r->end - r->start > BODY_MAX)
		return NULL;
	code = malloc(r->end - r->start);
	if (!code) {
		*ret_error = -ENOMEM;
		return NULL;
	}
	if (!elf_read_vaddr(f, r->start, code, r->end - r->start))
		return code;
	free(code);
	return NULL;
}

#if defined(__x86_64__)
/* A jump with a 32-bit distance: jmp e9, jcc 0f 80 to 0f 8f. Any byte may look like one; chance
 * hits do not gather in one piece. */
static bool jump_target(const uint8_t *code, uint64_t left, uint64_t vaddr, uint64_t *ret)
{
	uint64_t length = code[0] == 0xe9 ? 5 : 6;
	int32_t distance;

	if (left < length || (length == 6 && (code[0] != 0x0f || (code[1] & 0xf0) != 0x80)))
		return false;
	memcpy(&distance, code + length - 4, 4);
	*ret = vaddr + length + (uint64_t)(int64_t)distance;
	return true;
}
#else
static bool jump_target(const uint8_t *code, uint64_t left, uint64_t vaddr, uint64_t *ret)
{
	return false;
}
#endif

/* Counts in counts[] (one for each piece) the jumps out of `r`. */
static int count_jumps(
	struct elf_file *f, const struct pieces *p, const struct walk_range *r, uint32_t *counts)
{
	int error = -ENOENT;
	uint8_t *code = load_code(f, r, &error);
	uint64_t size = r->end - r->start, target;

	if (!code)
		return error;
	for (uint64_t i = 0; i < size; i++) {
		int64_t piece;

		if (!jump_target(code + i, size - i, r->start + i, &target) ||
			target - r->start < size)
			continue;
		piece = piece_at(p, target);
		if (piece >= 0)
			counts[piece]++;
	}
	free(code);
	return 0;
}

static struct walk_range piece_range(const struct pieces *p, uint32_t i)
{
	uint64_t start = start_of(p, i);

	return (struct walk_range){start, i + 1 < p->count ? start_of(p, i + 1) : start};
}

/* The piece most jumped to, if it jumps back into the body more often than anywhere else. */
static int choose(struct elf_file *f, const struct pieces *p, const struct walk_range *body,
	uint32_t *counts, struct walk_range *ret)
{
	int64_t home = piece_at(p, body->start);
	struct walk_range cold;
	uint32_t best = 0, back = 0;
	int error;

	for (uint32_t i = 1; i < p->count; i++)
		if (counts[i] > counts[best])
			best = i;
	if (counts[best] < JUMPS_MIN || home < 0)
		return -ENOENT;
	cold = piece_range(p, best);
	memset(counts, 0, p->count * sizeof(*counts));
	error = count_jumps(f, p, &cold, counts);
	for (uint32_t i = 1; !error && i < p->count; i++)
		if (counts[i] > counts[back])
			back = i;
	if (error || back != (uint32_t)home)
		return error ?: -ENOENT;
	*ret = cold;
	return 0;
}

int python_cold_part(struct elf_file *f, struct walk_range *body, struct walk_range *ret)
{
	struct pieces p;
	uint32_t *counts;
	int error = load_pieces(f, &p);

	*ret = (struct walk_range){0};
	if (error)
		return error == -ENOMEM ? error : 0;
	if (body->end <= body->start) {
		int64_t home = piece_at(&p, body->start);

		if (home >= 0)
			body->end = piece_range(&p, (uint32_t)home).end;
	}
	counts = calloc(p.count, sizeof(*counts));
	error = counts ? count_jumps(f, &p, body, counts) : -ENOMEM;
	error = error ?: choose(f, &p, body, counts, ret);
	free(counts);
	free(p.rows);
	return error == -ENOMEM ? error : 0;
}
