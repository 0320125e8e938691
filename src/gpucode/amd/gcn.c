// SPDX-License-Identifier: MIT
/*
 * The highest bits of an instruction's first word are its encoding, which has a place for the
 * opcode and a length. A word more follows where a source is a literal (255), where the first
 * source of a vector instruction has its lanes moved (DPP, SDWA: values of that source, too), or
 * where the opcode always has a literal.
 *
 * There are four sets of encodings: gfx9, gfx10, gfx11 and gfx12. Within one, opcodes differ by
 * generation, and the table says which have them.
 */
#include "gpucode/amd/gcn.h"

#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "gpucode/amd/gcn_table.h"

enum {
	SOURCE_DPP8 = 233, /* from gfx10 on, as the next */
	SOURCE_DPP8_FI = 234,
	SOURCE_SDWA = 249, /* up to gfx10 */
	SOURCE_DPP = 250,
	SOURCE_LITERAL = 255,
};

/* Opcodes of VOP3 from which on they are those of short instructions, behind VOPC's from 0. */
#define LONG_VOP2     0x100
#define LONG_VOP1_OLD 0x140 /* gfx9 */
#define LONG_VOP1     0x180
#define LONG_END      0x200

/* The first half of an instruction that is two in one; the second one has its name. */
#define LOAD_SCALE	 0xd3acu
#define LOAD_SCALE_BYTES 16

struct target {
	uint8_t mach;
	uint8_t generation;
	const char *name;
};

/* Compiled for each by LLVM 22. */
static const struct target targets[] = {
	{0x2c, GCN_GFX900, "gfx900"},
	{0x2d, GCN_GFX900, "gfx902"},
	{0x2e, GCN_GFX900, "gfx904"},
	{0x2f, GCN_GFX906, "gfx906"},
	{0x30, GCN_GFX908, "gfx908"},
	{0x31, GCN_GFX900, "gfx909"},
	{0x32, GCN_GFX900, "gfx90c"},
	{0x33, GCN_GFX1010, "gfx1010"},
	{0x34, GCN_GFX1010, "gfx1011"},
	{0x35, GCN_GFX1010, "gfx1012"},
	{0x36, GCN_GFX1030, "gfx1030"},
	{0x37, GCN_GFX1030, "gfx1031"},
	{0x38, GCN_GFX1030, "gfx1032"},
	{0x39, GCN_GFX1030, "gfx1033"},
	{0x3d, GCN_GFX1030, "gfx1035"},
	{0x3e, GCN_GFX1030, "gfx1034"},
	{0x3f, GCN_GFX90A, "gfx90a"},
	{0x41, GCN_GFX1100, "gfx1100"},
	{0x42, GCN_GFX1010, "gfx1013"},
	{0x43, GCN_GFX1150, "gfx1150"},
	{0x44, GCN_GFX1100, "gfx1103"},
	{0x45, GCN_GFX1030, "gfx1036"},
	{0x46, GCN_GFX1100, "gfx1101"},
	{0x47, GCN_GFX1100, "gfx1102"},
	{0x48, GCN_GFX1200, "gfx1200"},
	{0x4a, GCN_GFX1150, "gfx1151"},
	{0x4c, GCN_GFX942, "gfx942"},
	{0x4e, GCN_GFX1200, "gfx1201"},
	{0x4f, GCN_GFX950, "gfx950"},
	{0x51, GCN_GFX900, "gfx9-generic"},
	{0x52, GCN_GFX1010, "gfx10-1-generic"},
	{0x53, GCN_GFX1030, "gfx10-3-generic"},
	{0x54, GCN_GFX1100, "gfx11-generic"},
	{0x55, GCN_GFX1150, "gfx1152"},
	{0x58, GCN_GFX1150, "gfx1153"},
	{0x59, GCN_GFX1200, "gfx12-generic"},
	{0x5f, GCN_GFX942, "gfx9-4-generic"},
};

/* An instruction taken apart. */
struct instruction {
	const struct target *target;
	int set;       /* of encodings: 9, 10, 11 or 12 */
	uint32_t w[2]; /* the second one is 0 where the code ends */
	int family;    /* enum gcn_family; -1: one without names */
	uint32_t opcode;
	unsigned int words;   /* without literals and the like */
	unsigned int sources; /* of a long vector instruction, in the second word; else 0 */
	const char *what;     /* of a family without names; NULL: unknown */
};

static const struct target *target_of(unsigned int mach)
{
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		if (targets[i].mach == mach)
			return &targets[i];
	return NULL;
}

bool gcn_has_target(unsigned int target)
{
	return target_of(target);
}

const char *gcn_target_name(unsigned int target)
{
	const struct target *t = target_of(target);

	return t ? t->name : NULL;
}

/* NULL: there is no such opcode. */
static const char *name_of(const struct instruction *i, int family, uint32_t opcode)
{
	size_t n = search_first(k, 0, gcn_name_count,
		gcn_names[k].family > family ||
			(gcn_names[k].family == family && gcn_names[k].opcode >= opcode));

	for (; n < gcn_name_count && gcn_names[n].family == family && gcn_names[n].opcode == opcode;
		n++)
		if (gcn_names[n].generations >> i->target->generation & 1)
			return gcn_names[n].name;
	return NULL;
}

/* --- encodings -------------------------------------------------------------------------------- */

static void is(struct instruction *i, int family, uint32_t opcode, unsigned int words)
{
	i->family = family;
	i->opcode = opcode;
	i->words = words;
}

static void has_no_names(struct instruction *i, const char *what, unsigned int words)
{
	i->what = what;
	i->words = words;
}

static void split_scalar(struct instruction *i)
{
	uint32_t w = i->w[0];

	switch (w >> 23 & 0x7f) {
	case 0x7d:
		is(i, GCN_SOP1, w >> 8 & 0xff, 1);
		return;
	case 0x7e:
		is(i, GCN_SOPC, w >> 16 & 0x7f, 1);
		return;
	case 0x7f:
		is(i, GCN_SOPP, w >> 16 & 0x7f, 1);
		return;
	}
	if (w >> 28 == 0xb)
		is(i, GCN_SOPK, w >> 23 & 0x1f, 1);
	else
		is(i, GCN_SOP2, w >> 23 & 0x7f, 1);
}

static void split_short_vector(struct instruction *i)
{
	uint32_t w = i->w[0];

	if (w >> 25 == 0x3f)
		is(i, GCN_VOP1, w >> 9 & 0xff, 1);
	else if (w >> 25 == 0x3e)
		is(i, GCN_VOPC, w >> 17 & 0xff, 1);
	else
		is(i, GCN_VOP2, w >> 25, 1);
}

static void split_flat(struct instruction *i, unsigned int segment, uint32_t opcode, unsigned words)
{
	static const int families[] = {GCN_FLAT, GCN_SCRATCH, GCN_GLOBAL};

	if (segment < 3)
		is(i, families[segment], opcode, words);
	else
		has_no_names(i, NULL, words);
}

static void split_long_vector(struct instruction *i, int family, uint32_t opcode)
{
	is(i, family, opcode, 2);
	i->sources = 3;
	if (family == GCN_VOP3 && opcode < LONG_VOP1)
		i->sources = 2;
	else if (family == GCN_VOP3 && opcode < LONG_END)
		i->sources = 1;
}

static void split_9(struct instruction *i)
{
	uint32_t w = i->w[0];

	switch (w >> 26) {
	case 0x30:
		is(i, GCN_SMEM, w >> 18 & 0xff, 2);
		break;
	case 0x31:
		has_no_names(i, "export", 2);
		break;
	case 0x34:
		if (w >> 23 == 0x1a7)
			is(i, GCN_VOP3P, w >> 16 & 0x7f, 2);
		else
			is(i, GCN_VOP3, w >> 16 & 0x3ff, 2);
		break;
	case 0x35:
		has_no_names(i, "interpolation", 1);
		break;
	case 0x36:
		is(i, GCN_DS, w >> 17 & 0xff, 2);
		break;
	case 0x37:
		split_flat(i, w >> 14 & 3, w >> 18 & 0x7f, 2);
		break;
	case 0x38:
		is(i, GCN_MUBUF, w >> 18 & 0x7f, 2);
		break;
	case 0x3a:
		has_no_names(i, "typed buffer", 2);
		break;
	case 0x3c:
		has_no_names(i, "image", 2);
		break;
	}
}

/* What gfx10, gfx11 and gfx12 have in common. */
static void split_newer(struct instruction *i)
{
	uint32_t w = i->w[0];

	switch (w >> 26) {
	case 0x33:
		split_long_vector(i, GCN_VOP3P, w >> 16 & 0x7f);
		break;
	case 0x35:
		split_long_vector(i, GCN_VOP3, w >> 16 & 0x3ff);
		break;
	case 0x36:
		is(i, GCN_DS, w >> 18 & 0xff, 2);
		break;
	case 0x3d:
		is(i, GCN_SMEM, i->set >= 12 ? w >> 13 & 0x3f : w >> 18 & 0xff, 2);
		break;
	case 0x3e:
		has_no_names(i, "export", 2);
		break;
	}
}

static void split_10(struct instruction *i)
{
	uint32_t w = i->w[0];

	switch (w >> 26) {
	case 0x32:
		has_no_names(i, "interpolation", 1);
		break;
	case 0x37:
		split_flat(i, w >> 14 & 3, w >> 18 & 0x7f, 2);
		break;
	case 0x38:
		is(i, GCN_MUBUF, w >> 18 & 0xff, 2);
		break;
	case 0x3a:
		has_no_names(i, "typed buffer", 2);
		break;
	case 0x3c:
		has_no_names(i, "image", 2 + (w >> 1 & 3)); /* words with addresses */
		break;
	default:
		split_newer(i);
	}
}

/* Both of gfx11 and gfx12. */
static void split_parameters(struct instruction *i)
{
	uint32_t w = i->w[0];

	if (w >> 24 == 0xcd)
		has_no_names(i, "interpolation", 2);
	else if (w >> 24 == 0xce)
		has_no_names(i, "parameter", 1);
	else
		split_newer(i);
}

static void split_11(struct instruction *i)
{
	uint32_t w = i->w[0];

	switch (w >> 26) {
	case 0x32:
		is(i, GCN_VOPD, w >> 22 & 0xf, 2);
		break;
	case 0x37:
		split_flat(i, w >> 16 & 3, w >> 18 & 0x7f, 2);
		break;
	case 0x38:
		is(i, GCN_MUBUF, w >> 18 & 0xff, 2);
		break;
	case 0x3a:
		has_no_names(i, "typed buffer", 2);
		break;
	case 0x3c:
		has_no_names(i, "image", 2 + (w & 1));
		break;
	default:
		split_parameters(i);
	}
}

static void split_12(struct instruction *i)
{
	uint32_t w = i->w[0];

	switch (w >> 26) {
	case 0x31:
		is(i, GCN_MUBUF, w >> 14 & 0xff, 3);
		break;
	case 0x32:
		is(i, GCN_VOPD, w >> 22 & 0xf, 2);
		break;
	case 0x34:
	case 0x39:
		has_no_names(i, "image", 3);
		break;
	case 0x3b:
		split_flat(i, w >> 24 & 3, w >> 14 & 0xff, 3);
		break;
	default:
		split_parameters(i);
	}
}

static bool split(unsigned int mach, const uint8_t *bytes, size_t size, struct instruction *ret)
{
	*ret = (struct instruction){.target = target_of(mach), .family = -1, .words = 1};
	memcpy(ret->w, bytes, size < sizeof(ret->w) ? size : sizeof(ret->w));
	if (!ret->target || size < GCN_BYTES_MIN)
		return false;
	ret->set = ret->target->generation >= GCN_GFX1200   ? 12
		   : ret->target->generation >= GCN_GFX1100 ? 11
		   : ret->target->generation >= GCN_GFX1010 ? 10
							    : 9;
	if (!(ret->w[0] >> 31))
		split_short_vector(ret);
	else if (ret->w[0] >> 30 == 2)
		split_scalar(ret);
	else if (ret->set == 9)
		split_9(ret);
	else if (ret->set == 10)
		split_10(ret);
	else if (ret->set == 11)
		split_11(ret);
	else
		split_12(ret);
	return true;
}

/* --- how long --------------------------------------------------------------------------------- */

static bool is_moved_by_8(const struct instruction *i, uint32_t source)
{
	return i->set >= 10 && (source == SOURCE_DPP8 || source == SOURCE_DPP8_FI);
}

static bool is_short(const struct instruction *i)
{
	return i->family == GCN_VOP1 || i->family == GCN_VOP2 || i->family == GCN_VOPC;
}

/* The end that a vector instruction's name has where its lanes are moved, in a word of its own;
 * NULL: they are not. */
static const char *moved_form(const struct instruction *i)
{
	uint32_t source = i->w[0] & 0x1ff;

	if (!is_short(i))
		return NULL;
	if (source == SOURCE_DPP || is_moved_by_8(i, source))
		return "_dpp";
	return source == SOURCE_SDWA && i->set <= 10 ? "_sdwa" : NULL;
}

static bool is_long_moved(const struct instruction *i)
{
	uint32_t source = i->w[1] & 0x1ff;

	return i->sources && i->set >= 11 && (source == SOURCE_DPP || is_moved_by_8(i, source));
}

/* They multiply and add with a constant, or set a register to one. */
static bool has_constant(const char *name)
{
	static const char *const parts[] = {"madmk_", "madak_", "fmamk_", "fmaak_", "imm32_"};

	for (size_t n = 0; name && n < sizeof(parts) / sizeof(parts[0]); n++)
		if (strstr(name, parts[n]))
			return true;
	return false;
}

static bool has_literal_source(const struct instruction *i)
{
	uint32_t w = i->w[0];

	switch (i->family) {
	case GCN_SOP1:
		return (w & 0xff) == SOURCE_LITERAL;
	case GCN_SOP2:
	case GCN_SOPC:
		return (w & 0xff) == SOURCE_LITERAL || (w >> 8 & 0xff) == SOURCE_LITERAL;
	case GCN_VOP1:
	case GCN_VOP2:
	case GCN_VOPC:
		return (w & 0x1ff) == SOURCE_LITERAL;
	case GCN_VOPD:
		return (w & 0x1ff) == SOURCE_LITERAL || (i->w[1] & 0x1ff) == SOURCE_LITERAL;
	}
	for (unsigned int n = 0; n < i->sources; n++)
		if ((i->w[1] >> 9 * n & 0x1ff) == SOURCE_LITERAL)
			return true;
	return false;
}

static bool has_another_word(const struct instruction *i)
{
	if (has_literal_source(i) || is_long_moved(i) || moved_form(i))
		return true;
	if (i->family == GCN_VOPD && has_constant(name_of(i, GCN_VOPD, i->w[0] >> 17 & 0x1f)))
		return true;
	return (is_short(i) || i->family == GCN_SOP2 || i->family == GCN_SOPK ||
		       i->family == GCN_VOPD) &&
	       has_constant(name_of(i, i->family, i->opcode));
}

static bool loads_scale(const struct instruction *i)
{
	return i->target->generation == GCN_GFX950 && i->w[0] >> 16 == LOAD_SCALE;
}

size_t gcn_size(unsigned int target, const uint8_t *bytes, size_t size)
{
	struct instruction i;

	if (!split(target, bytes, size, &i))
		return size < GCN_BYTES_MIN ? size : GCN_BYTES_MIN;
	if (loads_scale(&i))
		return LOAD_SCALE_BYTES;
	return 4 * (i.words + has_another_word(&i));
}

/* --- what it is called ------------------------------------------------------------------------ */

/* Without a `*` at its end. */
static int base_size(const char *name)
{
	return (int)strcspn(name, "*");
}

/* Comparisons of gfx11 and later are called the same however their lanes are moved. */
static void put_short(const struct instruction *i, const char *name, char *ret, size_t room)
{
	const char *form = moved_form(i) ?: strchr(name, '*') ? "_e32" : "";

	if (moved_form(i) && i->family == GCN_VOPC && i->set >= 11)
		form = "";
	snprintf(ret, room, "%.*s%s", base_size(name), name, form);
}

/* The name of the short instruction that this is the long form of; NULL: of none. */
static const char *short_name(const struct instruction *i)
{
	uint32_t vop1 = i->set == 9 ? LONG_VOP1_OLD : LONG_VOP1;

	if (i->opcode < LONG_VOP2)
		return name_of(i, GCN_VOPC, i->opcode);
	if (i->opcode < vop1)
		return name_of(i, GCN_VOP2, i->opcode - LONG_VOP2);
	return i->opcode < LONG_END ? name_of(i, GCN_VOP1, i->opcode - vop1) : NULL;
}

static bool put_long(const struct instruction *i, char *ret, size_t room)
{
	const char *own = name_of(i, i->family, i->opcode);
	const char *name = own ?: i->family == GCN_VOP3 ? short_name(i) : NULL;

	if (name)
		snprintf(ret, room, "%.*s%s", base_size(name), name,
			is_long_moved(i)	    ? "_e64_dpp"
			: !own && strchr(name, '*') ? "_e64"
						    : "");
	return name;
}

static bool put_both(const struct instruction *i, char *ret, size_t room)
{
	const char *x = name_of(i, GCN_VOPD, i->opcode);
	const char *y = name_of(i, GCN_VOPD, i->w[0] >> 17 & 0x1f);

	if (x && y)
		snprintf(ret, room, "v_dual_%s :: v_dual_%s", x, y);
	return x && y;
}

static bool put_name(const struct instruction *i, char *ret, size_t room)
{
	static const char *const prefixes[] = {[GCN_DS] = "ds_",
		[GCN_GLOBAL] = "global_",
		[GCN_FLAT] = "flat_",
		[GCN_SCRATCH] = "scratch_",
		[GCN_MUBUF] = "buffer_",
		[GCN_VOPD] = ""};
	const char *name;

	if (i->family == GCN_VOP3 || i->family == GCN_VOP3P)
		return put_long(i, ret, room);
	if (i->family == GCN_VOPD)
		return put_both(i, ret, room);
	name = i->family >= 0 ? name_of(i, i->family, i->opcode) : NULL;
	if (name && is_short(i))
		put_short(i, name, ret, room);
	else if (name)
		snprintf(ret, room, "%s%s", prefixes[i->family] ?: "", name);
	return name;
}

bool gcn_text(unsigned int target, const uint8_t *bytes, size_t size, char *ret, size_t room)
{
	struct instruction i;
	bool known = split(target, bytes, size, &i);

	if (known && loads_scale(&i) && size >= LOAD_SCALE_BYTES)
		(void)split(target, bytes + 8, size - 8, &i);
	if (known && put_name(&i, ret, room))
		return true;
	if (i.what)
		snprintf(ret, room, "[%s]", i.what);
	else
		snprintf(ret, room, "[unknown 0x%08x]", i.w[0]);
	return false;
}
