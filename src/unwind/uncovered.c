// SPDX-License-Identifier: MIT
/*
 * Frame pointers are looked for in the bytes of the code itself:
 *
 *	55              push %rbp             the CFA is sp + 8 before it, sp + 16 after it
 *	48 89 e5        mov %rsp,%rbp         from here on fp + 16
 *	...
 *	5d              pop %rbp              sp + 8 again, until the function is left
 *	c3 or e9 ...    ret, or jmp
 *
 * Other code hardly ever has the first four bytes, so a stretch with one for every 2 KiB counts as
 * code of this kind; in Chromium there is one for every 350 bytes.
 */
#include "unwind/uncovered.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "elf/limits.h"

#define ENTRY_BYTES	   128	/* at most; glibc's is 61 */
#define STRETCH_MIN	   4096 /* shorter ones are not looked at for frame pointers */
#define STRETCH_MAX	   (1u << 30)
#define BYTES_FOR_PROLOGUE 2048
#define PIECE		   (256u << 10)
#define LOOK_AHEAD	   8 /* bytes that a pattern needs */

static const struct walk_rule at_entry = {
	.cfa = WALK_CFA_SP, .ra = WALK_SAVED_CFA, .cfa_offset = 8, .ra_offset = -8};
static const struct walk_rule pushed_once = {
	.cfa = WALK_CFA_SP, .ra = WALK_SAVED_CFA, .cfa_offset = 16, .ra_offset = -8};
static const struct walk_rule pushed_twice = {
	.cfa = WALK_CFA_SP, .ra = WALK_SAVED_CFA, .cfa_offset = 24, .ra_offset = -8};
static const struct walk_rule after_push = {.cfa = WALK_CFA_SP,
	.fp = WALK_SAVED_CFA,
	.ra = WALK_SAVED_CFA,
	.cfa_offset = 16,
	.fp_offset = -16,
	.ra_offset = -8};
static const struct walk_rule in_frame = WALK_RULE_FRAME_POINTER;

/* ------------------------------------------------------------------ the entry point */

/* Linkers give shared libraries the start of their code as entry point, for want of another. */
static bool has_entry_point(const struct elf_file *f)
{
	uint64_t start, end;

	return elf_file_entry(f) && (!elf_file_section_range(f, ".interp", &start, &end) ||
					    elf_file_section_range(f, ".text", &start, &end) ||
					    start != elf_file_entry(f));
}

static void add_entry_point(const struct elf_file *f, struct table_builder *b)
{
	const struct walk_rule rule = {.cfa = WALK_CFA_END};
	uint64_t entry = elf_file_entry(f), start, end;

	if (!has_entry_point(f) || elf_file_code_range(f, entry, &start, &end) ||
		builder_covers(b, entry))
		return;
	builder_begin(b, entry, ENTRY_BYTES);
	builder_row(b, 0, &rule);
	builder_end(b);
}

/* ------------------------------------------------------------------ stubs */

/*
 * The first entry of .plt is jumped to with one word pushed and pushes another (ff 35). Where the
 * others push follows from how they begin: with the jump (ff 25), or with endbr64 and the push (f3
 * 0f 1e fa 68).
 */
static void add_plt(struct elf_file *f, struct table_builder *b, uint64_t start, uint64_t size)
{
	static const uint8_t first[] = {0xff, 0x35}, plain[] = {0xff, 0x25},
			     marked[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x68};
	struct walk_rule rule = at_entry;
	uint8_t stubs[32];

	if (start % 16 || size < sizeof(stubs) ||
		elf_file_read_code(f, start, stubs, sizeof(stubs)) ||
		memcmp(stubs, first, sizeof(first)))
		return;
	if (!memcmp(stubs + 16, plain, sizeof(plain)))
		rule.cfa_offset = 11;
	else if (!memcmp(stubs + 16, marked, sizeof(marked)))
		rule.cfa_offset = 9;
	else
		return;
	builder_begin(b, start, (uint32_t)size);
	builder_row(b, 0, &pushed_once);
	builder_row(b, 6, &pushed_twice);
	rule.cfa = WALK_CFA_PLT;
	builder_row(b, 16, &rule);
	builder_end(b);
}

/* Stubs that only jump. */
static void add_jumps(struct table_builder *b, uint64_t start, uint64_t size)
{
	builder_begin(b, start, (uint32_t)size);
	builder_row(b, 0, &at_entry);
	builder_end(b);
}

static void add_stubs(struct elf_file *f, struct table_builder *b)
{
	static const char *const names[] = {".plt", ".plt.got", ".plt.sec", ".iplt"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t start, end, code_start, code_end;

		if (elf_file_section_range(f, names[i], &start, &end) ||
			elf_file_code_range(f, start, &code_start, &code_end) || end > code_end ||
			end - start > STRETCH_MAX || builder_covers(b, start))
			continue;
		if (i == 0)
			add_plt(f, b, start, end - start);
		else
			add_jumps(b, start, end - start);
	}
}

/* ------------------------------------------------------ what calls constructors and destructors */

#define ANY	  -1
#define ANY_4	  ANY, ANY, ANY, ANY
#define CRT_BYTES 256 /* at most; functions of gcc 12 have 53 and 79, sections of glibc 23 and 13 */

static bool is_code(const uint8_t *code, const int16_t *pattern, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (pattern[i] != ANY && pattern[i] != code[i])
			return false;
	return true;
}

#define IS_CODE(code, ...)                                                                         \
	is_code(code, (const int16_t[]){__VA_ARGS__},                                              \
		sizeof((int16_t[]){__VA_ARGS__}) / sizeof(int16_t))

/* A function of crtbegin.o or crtend.o: by offset from where it begins, behind which code its frame
 * is what it is. */
struct crt_function {
	uint32_t pushed, framed, popped;
};

/*
 * __do_global_dtors_aux is in nearly every file, and below all that a library does when it is
 * unloaded or the program ends:
 *
 *	80 3d .. .. .. .. 00       cmpb $0,completed
 *	75 ..                      jne  out
 *	55                         push %rbp
 *	48 83 3d .. .. .. .. 00    cmpq $0,__cxa_finalize  (or not)
 *	48 89 e5                   mov  %rsp,%rbp
 *	...                        calls
 *	c6 05 .. .. .. .. 01       movb $1,completed
 *	5d c3                      pop  %rbp; ret
 */
static bool find_dtors(const uint8_t *code, struct crt_function *ret)
{
	uint32_t at = 10;

	if (!IS_CODE(code, 0x80, 0x3d, ANY_4, 0, 0x75, ANY, 0x55))
		return false;
	ret->pushed = at;
	at += IS_CODE(code + at, 0x48, 0x83, 0x3d, ANY_4, 0) ? 8 : 0;
	if (!IS_CODE(code + at, 0x48, 0x89, 0xe5))
		return false;
	for (ret->framed = at += 3; at < CRT_BYTES; at++) {
		ret->popped = at + 8;
		if (IS_CODE(code + at, 0xc6, 0x05, ANY_4, 1, 0x5d, 0xc3))
			return true;
	}
	return false;
}

/*
 * __do_global_ctors_aux is in files whose constructors are listed in .ctors, as in some vendors'
 * libraries for GPUs:
 *
 *	48 8b 05 .. .. .. ..       mov  last of the list,%rax
 *	48 83 f8 ff                cmp  $-1,%rax
 *	74 ..                      je   out
 *	55                         push %rbp
 *	48 89 e5                   mov  %rsp,%rbp
 *	...                        calls
 *	48 8b 5d f8                mov  -8(%rbp),%rbx
 *	c9 c3                      leave; ret
 */
static bool find_ctors(const uint8_t *code, struct crt_function *ret)
{
	if (!IS_CODE(code, 0x48, 0x8b, 0x05, ANY_4, 0x48, 0x83, 0xf8, 0xff, 0x74, ANY, 0x55, 0x48,
		    0x89, 0xe5))
		return false;
	ret->pushed = 14;
	ret->framed = 17;
	for (uint32_t at = ret->framed; at < CRT_BYTES; at++) {
		ret->popped = at + 5;
		if (IS_CODE(code + at, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3))
			return true;
	}
	return false;
}

static void add_crt_function(struct table_builder *b, uint64_t start, const struct crt_function *c)
{
	builder_begin(b, start, c->popped + 1);
	builder_row(b, 0, &at_entry);
	builder_row(b, c->pushed, &after_push);
	builder_row(b, c->framed, &in_frame);
	builder_row(b, c->popped, &at_entry);
	builder_end(b);
}

/* In a stretch. `piece`: room for it and more. */
static int look_for_crt(
	struct elf_file *f, struct table_builder *b, uint64_t start, uint32_t size, uint8_t *piece)
{
	struct crt_function c;
	int error;

	memset(piece, 0, size + 2 * CRT_BYTES);
	error = elf_file_read_code(f, start, piece, size);
	for (uint32_t at = 0; !error && at < size; at++) {
		if ((piece[at] != 0x80 || !find_dtors(piece + at, &c)) &&
			(piece[at] != 0x48 || !find_ctors(piece + at, &c)))
			continue;
		add_crt_function(b, start + at, &c);
		at += c.popped;
	}
	return error;
}

/* A section that is one function, of crti.o and crtn.o with calls between; by the C library glibc
 * or musl. */
static void add_crt_section(struct elf_file *f, struct table_builder *b, const char *name)
{
	uint64_t start, end, code_start, code_end;
	uint32_t size, pushed, popped;
	uint8_t code[CRT_BYTES] = {0};

	if (elf_file_section_range(f, name, &start, &end) || end - start < 8 ||
		end - start > CRT_BYTES || elf_file_code_range(f, start, &code_start, &code_end) ||
		end > code_end || builder_covers(b, start) ||
		elf_file_read_code(f, start, code, (uint32_t)(end - start)))
		return;
	size = (uint32_t)(end - start);
	pushed = IS_CODE(code, 0xf3, 0x0f, 0x1e, 0xfa) ? 4 : 0;
	popped = size - 1;
	if (IS_CODE(code + pushed, 0x48, 0x83, 0xec, 8) &&
		IS_CODE(code + popped - 4, 0x48, 0x83, 0xc4, 8, 0xc3))
		pushed += 4;
	else if (IS_CODE(code + pushed, 0x50) && IS_CODE(code + popped - 1, 0x58, 0xc3))
		pushed += 1;
	else
		return;
	builder_begin(b, start, size);
	builder_row(b, 0, &at_entry);
	builder_row(b, pushed, &pushed_once);
	builder_row(b, popped, &at_entry);
	builder_end(b);
}

/* ------------------------------------------------------------------ frame pointers */

/* A stretch that is being looked at. */
struct stretch {
	struct table_builder *rows;
	uint32_t prologues;
	uint32_t done; /* offsets before this one are */
};

static bool is_prologue(const uint8_t *code)
{
	return code[0] == 0x55 && code[1] == 0x48 && code[2] == 0x89 && code[3] == 0xe5;
}

/* How many bytes follow pop %rbp until the function is left; 0: it is not left. */
static uint32_t leaving_bytes(const uint8_t *code)
{
	if (code[0] != 0x5d)
		return 0;
	return code[1] == 0xc3 ? 1 : code[1] == 0xe9 ? 5 : 0;
}

static void look_at(struct stretch *s, uint32_t offset, const uint8_t *code)
{
	uint32_t leaving;

	if (is_prologue(code)) {
		s->prologues++;
		builder_row(s->rows, offset, &at_entry);
		builder_row(s->rows, offset + 1, &after_push);
		builder_row(s->rows, offset + 4, &in_frame);
		s->done = offset + 4;
		return;
	}
	leaving = leaving_bytes(code);
	if (leaving) {
		builder_row(s->rows, offset + 1, &at_entry);
		builder_row(s->rows, offset + 1 + leaving, &in_frame);
		s->done = offset + 1 + leaving;
	}
}

/* Pieces overlap by what a pattern may need of the next one. */
static int look_through(
	struct elf_file *f, struct stretch *s, uint64_t start, uint32_t size, uint8_t *piece)
{
	for (uint32_t at = 0; at < size; at += PIECE) {
		uint32_t count = size - at < PIECE ? size - at : PIECE;
		uint32_t more = size - at < PIECE + LOOK_AHEAD ? size - at : PIECE + LOOK_AHEAD;
		int error;

		memset(piece, 0, PIECE + LOOK_AHEAD);
		error = elf_file_read_code(f, start + at, piece, more);
		if (error)
			return error;
		for (uint32_t i = 0; i < count; i++)
			if ((piece[i] == 0x55 || piece[i] == 0x5d) && at + i >= s->done)
				look_at(s, at + i, piece + i);
	}
	return 0;
}

static int add_stretch(
	struct elf_file *f, struct table_builder *b, uint64_t start, uint32_t size, uint8_t *piece)
{
	struct stretch s = {.rows = b};
	int error;

	builder_begin(b, start, size);
	builder_row(b, 0, &in_frame);
	error = look_through(f, &s, start, size, piece);
	if (error || s.prologues < size / BYTES_FOR_PROLOGUE)
		builder_drop(b);
	else
		builder_end(b);
	return error;
}

/* The code between functions, from section to section. */
struct sweep {
	struct elf_file *f;
	struct table_builder *rows;
	uint8_t *piece;
	size_t next, count; /* of the functions that were there before */
	uint64_t covered;   /* by functions before `next`, up to here */
	uint64_t looked_at; /* bytes */
};

static int look_between(struct sweep *s, uint64_t start, uint64_t end)
{
	uint64_t size = end - start;

	if (size > STRETCH_MAX)
		return 0;
	s->looked_at += size;
	if (s->looked_at > ELF_CODE_MAX_BYTES)
		return -EFBIG;
	if (size >= STRETCH_MIN)
		return add_stretch(s->f, s->rows, start, (uint32_t)size, s->piece);
	return look_for_crt(s->f, s->rows, start, (uint32_t)size, s->piece);
}

/* One section, which begins where the one before has ended, or later. */
static int sweep_section(struct sweep *s, uint64_t start, uint64_t end)
{
	uint64_t at = start > s->covered ? start : s->covered;
	int error = 0;

	while (!error && at < end) {
		uint64_t next =
			s->next < s->count ? s->rows->functions.items[s->next].start : UINT64_MAX;
		uint64_t stop = next < end ? next : end;

		if (stop > at)
			error = look_between(s, at, stop);
		if (next >= end)
			break;
		next += s->rows->functions.items[s->next++].size;
		s->covered = next > s->covered ? next : s->covered;
		at = s->covered > at ? s->covered : at;
	}
	return error;
}

struct code_section {
	uint64_t start, end;
};

static int by_start(const void *a, const void *b)
{
	const struct code_section *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* By sections, as segments may hold hundreds of megabytes of data beside the code; those that
 * overlap are gone through once. */
static int sweep_sections(struct sweep *s)
{
	struct vec(struct code_section) sections = {0};
	struct code_section next;
	uint64_t end = 0;
	int error = 0;

	for (size_t i = 0; !error && elf_file_code_section(s->f, i, &next.start, &next.end); i++)
		error = vec_push(&sections, next);
	if (sections.count)
		qsort(sections.items, sections.count, sizeof(*sections.items), by_start);
	vec_foreach (r, &sections) {
		if (!error && r->end > end)
			error = sweep_section(s, r->start > end ? r->start : end, r->end);
		end = r->end > end ? r->end : end;
	}
	vec_release(&sections);
	return error;
}

static int add_frame_pointers(struct elf_file *f, struct table_builder *b)
{
	struct sweep s = {.f = f, .rows = b, .piece = malloc(PIECE + LOOK_AHEAD)};
	int error = -ENOMEM;

	if (s.piece) {
		builder_sort(b);
		s.count = b->functions.count;
		error = sweep_sections(&s);
	}
	free(s.piece);
	return error;
}

int uncovered_add(struct elf_file *f, struct table_builder *b)
{
	int error;

	add_entry_point(f, b);
	if (elf_file_machine(f) != EM_X86_64)
		return 0;
	add_stubs(f, b);
	add_crt_section(f, b, ".init");
	add_crt_section(f, b, ".fini");
	error = add_frame_pointers(f, b);
	return error ? error_errno(error, "cannot read the code of a file") : 0;
}
