// SPDX-License-Identifier: MIT
/*
 * The row of an instruction is searched by its opcode, then by form, SM and condition; its fields
 * give the modifiers. The guard predicate is bits 12 to 14, bit 15 negates it, 7 is "always"; what
 * runs on the uniform datapath is guarded by a uniform predicate.
 */
#include "gpucode/nvidia/sass.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "gpucode/nvidia/sass_table.h"

#define OPCODE_BITS 9
#define FORM_BITS   3
#define GUARD_BIT   12
#define NO_GUARD    7

/* The SYNCS that read and write a barrier as a word, from uniform registers. */
#define SYNCS_ON_WORDS 0x1b2

/* Of a matrix, in the instructions of a warpgroup. */
#define COLUMNS_BIT  53
#define COLUMNS_BITS 5

static const uint8_t known_sms[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

/* `count` bits from `bit`, at most 32 of the 128. */
static unsigned int bits_at(const uint8_t *bytes, unsigned int bit, unsigned int count)
{
	unsigned int value = 0;

	for (unsigned int i = 0; i < count; i++, bit++)
		value |= (bytes[bit / 8] >> bit % 8 & 1u) << i;
	return value;
}

bool sass_has_sm(unsigned int sm)
{
	for (size_t i = 0; i < sizeof(known_sms); i++)
		if (known_sms[i] == sm)
			return true;
	return false;
}

/* The first row whose opcode is not less. */
static size_t first_row(unsigned int opcode)
{
	return search_first(i, 0, sass_row_count, sass_rows[i].opcode >= opcode);
}

static const struct sass_row *find_row(unsigned int sm, const uint8_t *bytes)
{
	unsigned int opcode = bits_at(bytes, 0, OPCODE_BITS);
	unsigned int form = bits_at(bytes, OPCODE_BITS, FORM_BITS);

	if (!sass_has_sm(sm))
		return NULL;
	for (size_t i = first_row(opcode); i < sass_row_count && sass_rows[i].opcode == opcode;
		i++) {
		const struct sass_row *r = &sass_rows[i];

		if (r->first <= sm && sm <= r->last && r->forms >> form & 1 &&
			bits_at(bytes, r->when.bit, r->when.bits) == r->when.value)
			return r;
	}
	return NULL;
}

/* Whether its guard is a uniform predicate. Nearly all of these have names that begin with U. */
static bool has_uniform_guard(const struct sass_row *r)
{
	static const char *const others[] = {"LDCU", "S2UR", "CS2UR", "LDTM", "STTM"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(r->mnemonic, others[i]))
			return true;
	return *r->mnemonic == 'U' || r->opcode == SYNCS_ON_WORDS;
}

/* A text of fixed room that is cut rather than overrun. */
struct cut_text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void put(struct cut_text *t, const char *format, ...)
{
	va_list args;
	int wrote;

	if (!t->left)
		return;
	va_start(args, format);
	wrote = vsnprintf(t->at, t->left, format, args);
	va_end(args);
	if (wrote < 0 || (size_t)wrote >= t->left) {
		t->left = 0;
		return;
	}
	t->at += wrote;
	t->left -= (size_t)wrote;
}

/* `r`: NULL where it is not known. */
static void put_guard(struct cut_text *t, const struct sass_row *r, const uint8_t *bytes)
{
	unsigned int guard = bits_at(bytes, GUARD_BIT, 3);
	const char *negated = bits_at(bytes, GUARD_BIT + 3, 1) ? "!" : "";
	const char *uniform = r && has_uniform_guard(r) ? "U" : "";

	if (guard != NO_GUARD)
		put(t, "@%s%sP%u ", negated, uniform, guard);
	else if (*negated)
		put(t, "@!%sPT ", uniform);
}

static void put_name(struct cut_text *t, const char *name, const uint8_t *bytes)
{
	if (!*name || *name == '|')
		return;
	put(t, ".");
	for (; *name && *name != '|'; name++)
		if (*name == '#')
			put(t, "%u", 8 * (1 + bits_at(bytes, COLUMNS_BIT, COLUMNS_BITS)));
		else
			put(t, "%c", *name);
}

static void put_field(struct cut_text *t, const struct sass_field *f, const uint8_t *bytes)
{
	const char *name = f->names;

	for (unsigned int n = bits_at(bytes, f->bit, f->bits); name && n; n--) {
		name = strchr(name, '|');
		if (name)
			name++;
	}
	if (name)
		put_name(t, name, bytes);
}

bool sass_text(unsigned int sm, const uint8_t bytes[SASS_INSTRUCTION_BYTES], char *ret, size_t size)
{
	const struct sass_row *r = find_row(sm, bytes);
	struct cut_text t = {ret, size};

	if (size)
		*ret = 0;
	put_guard(&t, r, bytes);
	if (!r) {
		put(&t, "[unknown 0x%03x]", bits_at(bytes, 0, OPCODE_BITS + FORM_BITS));
		return false;
	}
	put(&t, "%s", r->mnemonic);
	for (const struct sass_field *f = r->fields; f && f->bits; f++)
		put_field(&t, f, bytes);
	return true;
}
