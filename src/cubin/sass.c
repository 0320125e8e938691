// SPDX-License-Identifier: MIT
/*
 * The row of an instruction is searched by its opcode, then by form, SM and condition; its fields
 * give the modifiers. The guard predicate is bits 12 to 14, bit 15 negates it, 7 is "always"; what
 * runs on the uniform datapath is guarded by a uniform predicate.
 */
#include "cubin/sass.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cubin/sass_table.h"

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

static const char *const class_words[SASS_CLASS_COUNT] = {
	[SASS_OTHER] = "other",
	[SASS_GLOBAL_LOAD] = "global memory load",
	[SASS_GLOBAL_STORE] = "global memory store",
	[SASS_SHARED_LOAD] = "shared memory load",
	[SASS_SHARED_STORE] = "shared memory store",
	[SASS_LOCAL_LOAD] = "local memory load",
	[SASS_LOCAL_STORE] = "local memory store",
	[SASS_GENERIC_LOAD] = "generic memory load",
	[SASS_GENERIC_STORE] = "generic memory store",
	[SASS_CONSTANT_LOAD] = "constant memory load",
	[SASS_TEXTURE] = "texture",
	[SASS_SURFACE] = "surface",
	[SASS_TENSOR_MEMORY] = "tensor memory",
	[SASS_ASYNC_COPY] = "asynchronous copy",
	[SASS_ATOMIC] = "atomic",
	[SASS_CACHE] = "fence or cache control",
	[SASS_TENSOR] = "tensor core",
	[SASS_FP32] = "32-bit floating point",
	[SASS_FP64] = "64-bit floating point",
	[SASS_FP16] = "16-bit floating point",
	[SASS_INTEGER] = "integer",
	[SASS_SPECIAL_FUNCTION] = "special function",
	[SASS_CONVERT] = "conversion",
	[SASS_MOVE] = "move or select",
	[SASS_WARP] = "exchange within the warp",
	[SASS_BRANCH] = "control flow",
	[SASS_BARRIER] = "barrier",
	[SASS_UNIFORM] = "uniform datapath",
};

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
	size_t low = 0, high = sass_row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sass_rows[middle].opcode < opcode)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
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

static void describe(const struct sass_row *r, const uint8_t *bytes, struct sass_instruction *ret)
{
	*ret = (struct sass_instruction){
		.opcode = (uint16_t)bits_at(bytes, 0, OPCODE_BITS + FORM_BITS),
		.mnemonic = r ? r->mnemonic : NULL,
		.class = r ? (enum sass_class)r->class : SASS_OTHER,
		.guard = (uint8_t)bits_at(bytes, GUARD_BIT, 3),
		.guard_negated = bits_at(bytes, GUARD_BIT + 3, 1),
		.guard_uniform = r && has_uniform_guard(r),
	};
}

bool sass_decode(
	unsigned int sm, const uint8_t bytes[SASS_INSTRUCTION_BYTES], struct sass_instruction *ret)
{
	const struct sass_row *r = find_row(sm, bytes);

	describe(r, bytes, ret);
	return r;
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

static void put_guard(struct cut_text *t, const struct sass_instruction *in)
{
	const char *negated = in->guard_negated ? "!" : "", *uniform = in->guard_uniform ? "U" : "";

	if (in->guard != NO_GUARD)
		put(t, "@%s%sP%u ", negated, uniform, in->guard);
	else if (in->guard_negated)
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
	struct sass_instruction in;

	if (size)
		*ret = 0;
	describe(r, bytes, &in);
	put_guard(&t, &in);
	if (!r) {
		put(&t, "[unknown 0x%03x]", in.opcode);
		return false;
	}
	put(&t, "%s", r->mnemonic);
	for (const struct sass_field *f = r->fields; f && f->bits; f++)
		put_field(&t, f, bytes);
	return true;
}

enum sass_class sass_class_of_text(const char *text)
{
	size_t length;

	if (*text == '@')
		text += strcspn(text, " ");
	text += strspn(text, " ");
	length = strcspn(text, ". ;");
	for (size_t i = 0; i < sass_row_count; i++)
		if (!strncmp(sass_rows[i].mnemonic, text, length) && !sass_rows[i].mnemonic[length])
			return (enum sass_class)sass_rows[i].class;
	return SASS_OTHER;
}

const char *sass_class_words(enum sass_class class)
{
	return (unsigned int)class < SASS_CLASS_COUNT ? class_words[class]
						      : class_words[SASS_OTHER];
}
