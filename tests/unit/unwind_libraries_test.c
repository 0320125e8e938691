// SPDX-License-Identifier: MIT
/*
 * Tables of libraries that are installed here, beside what libdw reads of the same information: at
 * every row's first and last address, or at many of them.
 */
#include <stdio.h>

#ifndef HAVE_LIBDW
int main(void)
{
	printf("1..0 # SKIP built without libdw\n");
	return 0;
}
#else
#include <dirent.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"
#include "tap.h"
#include "unwind/cfi.h"

#define WALK_INLINE static inline __attribute__((unused))
#include "walk/walk.h"

#define FOLDER	  "/usr/lib/x86_64-linux-gnu"
#define LIBRARIES 60
#define ROWS_EACH 1500 /* at most */
#define MAX_BYTES (40l << 20)
#define DWARF_FP  6
#define DWARF_SP  7
#define DWARF_RA  16

/* A library with its table, ours and theirs. */
struct library {
	char path[512];
	uint32_t *words;
	struct walk_mapping mapping;
	Elf *elf;
	Dwarf_CFI *cfi;
};

struct home {
	struct walk walk;
	const struct library *library;
};

struct tally {
	unsigned int libraries;
	unsigned int compared;
	unsigned int different;
};

/* ------------------------------------------------------------------ ours */

static bool walk_home_mapping(struct walk *w, uint64_t address, struct walk_mapping *ret)
{
	return walk_search_mappings(&((struct home *)w)->library->mapping, 1, address, ret);
}

static bool walk_home_words(struct walk *w, uint32_t at, uint32_t *ret, uint32_t count)
{
	const struct library *l = ((struct home *)w)->library;

	if (at + count > ((const struct walk_table_header *)l->words)->words)
		return false;
	memcpy(ret, l->words + at, count * sizeof(*ret));
	return true;
}

static bool walk_home_read(struct walk *w, uint64_t address, uint64_t *ret)
{
	return false;
}

static struct walk_rule our_rule(const struct library *l, uint64_t vaddr)
{
	struct home home = {.library = l};
	struct walk_rule rule = {0};

	if (!walk_find_rule(&home.walk, vaddr, &rule))
		return (struct walk_rule){0};
	return rule;
}

/* ------------------------------------------------------------------ theirs */

static bool is_plt(const Dwarf_Op *ops, size_t count)
{
	return count == 9 && ops[0].atom == DW_OP_breg7 && ops[1].atom == DW_OP_breg16 &&
	       ops[5].atom == DW_OP_ge;
}

/* What an operation says of a register, as number and offset. */
static bool is_register(const Dwarf_Op *op, uint64_t *ret_number, int64_t *ret_offset)
{
	bool wide = op->atom == DW_OP_bregx;

	if (!wide && (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31))
		return false;
	*ret_number = wide ? op->number : (uint64_t)(op->atom - DW_OP_breg0);
	*ret_offset = (int64_t)(wide ? op->number2 : op->number);
	return true;
}

static struct walk_rule cfa_rule(const Dwarf_Op *ops, size_t count)
{
	struct walk_rule rule = {.cfa = WALK_CFA_UNSUPPORTED};
	uint64_t number;
	int64_t offset;
	bool deref = count > 1 && ops[1].atom == DW_OP_deref;

	if (is_plt(ops, count))
		return (struct walk_rule){
			.cfa = WALK_CFA_PLT, .cfa_offset = ops[4].atom - DW_OP_lit0};
	if (!count || !is_register(&ops[0], &number, &offset) || count > 3 ||
		(count > 1 && !deref) || (count == 3 && ops[2].atom != DW_OP_plus_uconst))
		return rule;
	if (deref && number != DWARF_SP && number != DWARF_FP)
		return rule;
	rule.cfa_offset = (int32_t)offset;
	rule.cfa_add = count == 3 ? (int16_t)ops[2].number : 0;
	if (number == DWARF_SP)
		rule.cfa = deref ? WALK_CFA_SP_DEREF : WALK_CFA_SP;
	else if (number == DWARF_FP)
		rule.cfa = deref ? WALK_CFA_FP_DEREF : WALK_CFA_FP;
	else
		rule.cfa = WALK_CFA_REGISTER;
	if (rule.cfa == WALK_CFA_REGISTER)
		rule.cfa_register = (uint8_t)number;
	return rule;
}

static enum walk_saved saved(Dwarf_Frame *frame, int number, int32_t *ret_offset)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, number, memory, &ops, &count))
		return WALK_SAVED_UNKNOWN;
	*ret_offset = 0;
	if (!count)
		return ops ? WALK_SAVED_UNKNOWN : WALK_SAVED_SAME;
	if (ops[0].atom == DW_OP_call_frame_cfa &&
		(count == 1 || ops[1].atom == DW_OP_plus_uconst) && count <= 2) {
		*ret_offset = count == 2 ? (int32_t)ops[1].number : 0;
		return WALK_SAVED_CFA;
	}
	/* The CFA is on the evaluator's stack to begin with. */
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
		ops[1].atom == DW_OP_breg0 + DWARF_FP) {
		*ret_offset = (int32_t)ops[1].number;
		return WALK_SAVED_FP;
	}
	return WALK_SAVED_UNKNOWN;
}

/* The caller's stack pointer is something else than the CFA. */
static bool has_own_sp(Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	return dwarf_frame_register(frame, DWARF_SP, memory, &ops, &count) || count != 2 ||
	       ops[0].atom != DW_OP_call_frame_cfa || ops[1].atom != DW_OP_stack_value;
}

static struct walk_rule their_rule(const struct library *l, uint64_t vaddr)
{
	struct walk_rule rule;
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t count;
	bool is_signal;
	int32_t offset;

	if (dwarf_cfi_addrframe(l->cfi, vaddr, &frame))
		return (struct walk_rule){0};
	if (dwarf_frame_info(frame, NULL, NULL, &is_signal) < 0 ||
		dwarf_frame_cfa(frame, &ops, &count))
		rule = (struct walk_rule){.cfa = WALK_CFA_UNSUPPORTED};
	else
		rule = cfa_rule(ops, count);
	rule.ra = (uint8_t)saved(frame, DWARF_RA, &offset);
	rule.ra_offset = (int16_t)offset;
	rule.fp = (uint8_t)saved(frame, DWARF_FP, &offset);
	rule.fp_offset = (int16_t)offset;
	if (is_signal)
		rule = (struct walk_rule){.cfa = WALK_CFA_SIGNAL};
	else if (rule.ra == WALK_SAVED_UNKNOWN)
		rule = (struct walk_rule){.cfa = WALK_CFA_END};
	else if (has_own_sp(frame))
		rule.cfa = WALK_CFA_UNSUPPORTED;
	free(frame);
	return rule;
}

/* ------------------------------------------------------------------ comparing */

/* What we do not support says nothing else; where their information ends ours may go on, into
 * padding. */
static bool agree(const struct walk_rule *ours, const struct walk_rule *theirs)
{
	if (ours->cfa == WALK_CFA_UNSUPPORTED)
		return theirs->cfa == WALK_CFA_UNSUPPORTED || theirs->cfa == WALK_CFA_END;
	return ours->cfa == theirs->cfa && ours->cfa_offset == theirs->cfa_offset &&
	       ours->cfa_add == theirs->cfa_add && ours->cfa_register == theirs->cfa_register &&
	       ours->fp == theirs->fp &&
	       (ours->fp == WALK_SAVED_UNKNOWN || ours->fp_offset == theirs->fp_offset) &&
	       ours->ra == theirs->ra && ours->ra_offset == theirs->ra_offset;
}

static void compare_at(const struct library *l, uint64_t vaddr, struct tally *t)
{
	struct walk_rule ours = our_rule(l, vaddr), theirs = their_rule(l, vaddr);

	/* We go on into padding, and know some code that the file says nothing of
	 * (unwind/uncovered.h). */
	if (!theirs.cfa)
		return;
	t->compared++;
	if (agree(&ours, &theirs))
		return;
	if (t->different++ < 10)
		printf("# %s at %#lx: cfa %u %d, fp %u %d, ra %u %d; theirs: cfa %u %d, fp %u %d, "
		       "ra %u %d\n",
			l->path, (unsigned long)vaddr, ours.cfa, ours.cfa_offset, ours.fp,
			ours.fp_offset, ours.ra, ours.ra_offset, theirs.cfa, theirs.cfa_offset,
			theirs.fp, theirs.fp_offset, theirs.ra, theirs.ra_offset);
}

static void compare_rows(const struct library *l, struct tally *t)
{
	const struct walk_table_header *h = (const struct walk_table_header *)l->words;
	const uint32_t *pages = l->words + h->pages_at, *rows = l->words + h->rows_at;
	uint32_t every = h->row_count / ROWS_EACH + 1;

	for (uint32_t page = 0; page < h->page_count; page++)
		for (uint32_t i = pages[page]; i < pages[page + 1]; i++) {
			uint64_t vaddr = ((uint64_t)(h->first_page + page) << WALK_PAGE_SHIFT) +
					 rows[i] % WALK_PAGE_BYTES;

			if (i % every)
				continue;
			compare_at(l, vaddr, t);
			compare_at(l, vaddr - 1, t);
		}
}

static void close_library(struct library *l)
{
	if (l->cfi)
		dwarf_cfi_end(l->cfi);
	elf_end(l->elf);
	free(l->words);
}

static bool open_library(struct library *l, int fd)
{
	struct elf_file *f;

	if (elf_file_open(&f, l->path))
		return false;
	if (!unwind_build(f, &l->words, NULL))
		CHECK(unwind_table_is_sound(
			l->words, ((const struct walk_table_header *)l->words)->words));
	elf_file_close(f);
	l->mapping = (struct walk_mapping){.end = UINT64_MAX, .kind = WALK_MAPPING_TABLE};
	l->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	l->cfi = l->elf ? dwarf_getcfi_elf(l->elf) : NULL;
	return l->words && l->cfi;
}

static void compare_library(const char *name, struct tally *t)
{
	struct library l = {0};
	int fd;

	snprintf(l.path, sizeof(l.path), FOLDER "/%s", name);
	fd = open(l.path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (lseek(fd, 0, SEEK_END) < MAX_BYTES && open_library(&l, fd)) {
		compare_rows(&l, t);
		t->libraries++;
	}
	close_library(&l);
	close(fd);
}

struct names vec(char *);

static int by_hash(const void *a, const void *b)
{
	uint64_t x = hash_bytes(*(char *const *)a, strlen(*(char *const *)a));
	uint64_t y = hash_bytes(*(char *const *)b, strlen(*(char *const *)b));

	return x < y ? -1 : x > y;
}

/* The names of all libraries, in an order that has nothing to do with what they are. */
static struct names list_libraries(void)
{
	struct names names = {0};
	DIR *dir = opendir(FOLDER);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strstr(entry->d_name, ".so") && entry->d_type == DT_REG)
			CHECK(!vec_push(&names, strdup(entry->d_name)));
	if (dir)
		closedir(dir);
	if (names.count)
		qsort(names.items, names.count, sizeof(*names.items), by_hash);
	return names;
}

static void tables_say_what_libdw_reads(void)
{
	/* Known for what is hard in them. */
	static const char *const hard[] = {"libc.so.6", "ld-linux-x86-64.so.2", "libcrypto.so.3",
		"libgcrypt.so.20", "libpthread.so.0", "libm.so.6", "libstdc++.so.6"};
	struct names names = list_libraries();
	struct tally t = {0};

	if (!names.count) {
		SKIP("no libraries in " FOLDER);
		return;
	}
	for (size_t i = 0; i < sizeof(hard) / sizeof(hard[0]); i++)
		compare_library(hard[i], &t);
	for (size_t i = 0; i < names.count && t.libraries < LIBRARIES; i++)
		compare_library(names.items[i], &t);
	vec_foreach (name, &names)
		free(*name);
	vec_release(&names);
	printf("# %u libraries, %u addresses, %u different\n", t.libraries, t.compared,
		t.different);
	CHECK(t.compared > 10000);
	CHECK(t.different == 0);
}

int main(void)
{
	elf_version(EV_CURRENT);
	RUN(tables_say_what_libdw_reads);
	return tap_end();
}
#endif
