// SPDX-License-Identifier: MIT
/*
 * An instruction is a list of parts between dots: its name, modifiers, its type at the end. The
 * space is one of them; without one the address is generic.
 */
#include "ptx/access.h"

#include "ptx/splice.h"

static const struct {
	const char *name;
	uint32_t kind;
} instructions[] = {
	{"ld", PTX_READS},
	{"ldu", PTX_READS},
	{"st", PTX_WRITES},
	{"atom", PTX_READS | PTX_WRITES | PTX_ATOMIC},
	{"red", PTX_WRITES | PTX_ATOMIC},
	{"cp", PTX_READS | PTX_ASYNC},
};

/* They may access global memory in ways of their own. */
static const char *const not_seen[] = {
	"wmma.load",
	"wmma.store",
	"cp.async.bulk",
	"cp.reduce",
	"multimem",
	"tex",
	"tld4",
	"suld",
	"sust",
	"sured",
	"st.bulk",
	"prefetch.tensormap",
};

/* The next part of the instruction, behind its dot; size 0 at its end. */
static struct ptx_text next_part(struct ptx_text *rest)
{
	struct ptx_text part = {rest->at, 0};
	const char *dot = memchr(rest->at, '.', rest->size);

	part.size = dot ? (size_t)(dot - rest->at) : rest->size;
	rest->at += part.size + !!dot;
	rest->size -= part.size + !!dot;
	return part;
}

/* The part itself, or the part with "::" and more behind it. */
static bool part_is(struct ptx_text part, const char *name)
{
	size_t size = strlen(name);

	return part.size >= size && !memcmp(part.at, name, size) &&
	       (part.size == size || part.at[size] == ':');
}

static bool starts(const struct ptx_token *op, const char *prefix)
{
	return *op->text == *prefix && op->size >= strlen(prefix) &&
	       !memcmp(op->text, prefix, strlen(prefix));
}

enum space { GENERIC, GLOBAL, OTHER };

static enum space space_of(struct ptx_text part)
{
	static const char *const others[] = {"param", "shared", "local", "const"};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (part_is(part, others[i]))
			return OTHER;
	return part_is(part, "global") ? GLOBAL : GENERIC;
}

/* Reads the parts; false where it is no access of global memory. */
static bool read_parts(const struct ptx_token *op, struct ptx_memory *m)
{
	struct ptx_text rest = {op->text, op->size}, last = {0};
	enum space space = GENERIC;
	uint32_t lanes = 1;

	next_part(&rest);
	while (rest.size) {
		struct ptx_text part = next_part(&rest);
		enum space s = space_of(part);

		/* "cp.async.ca.shared.global" has two: the other end is global. */
		if (s != GENERIC && !(m->kind & PTX_ASYNC && s == OTHER))
			space = s;
		if (part_is(part, "volatile") || part_is(part, "mmio"))
			m->kind |= PTX_VOLATILE;
		if (part.size == 2 && *part.at == 'v' && strchr("248", part.at[1]))
			lanes = (uint32_t)(part.at[1] - '0');
		if (ptx_type_bytes(part))
			last = part;
	}
	m->generic = space == GENERIC;
	m->bytes = ptx_type_bytes(last) * lanes;
	return space != OTHER;
}

/* "[base]", "[base+8]", "[base+-8]". */
static bool read_address(struct ptx_lexer *l, struct ptx_memory *m)
{
	struct ptx_token t = ptx_lex(l);

	if (t.kind != PTX_WORD)
		return false;
	m->base = (struct ptx_text){t.text, t.size};
	m->base_is_name = *t.text != '%' && !(*t.text >= '0' && *t.text <= '9');
	t = ptx_lex(l);
	m->added.at = t.text;
	while (ptx_is_mark(&t, '+') || ptx_is_mark(&t, '-') || t.kind == PTX_WORD) {
		m->added.size = (size_t)(t.text + t.size - m->added.at);
		t = ptx_lex(l);
	}
	return ptx_is_mark(&t, ']');
}

/* Goes behind the next `[` of the statement; false also where a name is in front, "name[3]": the
 * address follows from what the variable's elements are. */
static bool find_address(struct ptx_lexer *l)
{
	struct ptx_token before, t = {0};

	do {
		before = t;
		t = ptx_lex(l);
	} while (t.kind == PTX_WORD || (t.kind == PTX_MARK && !strchr("[;", *t.text)));
	return ptx_is_mark(&t, '[') && before.kind != PTX_WORD;
}

/* cp.async [to], [from], size ... */
static bool read_copy(struct ptx_lexer *l, struct ptx_memory *m)
{
	struct ptx_token t;

	if (!find_address(l) || !read_address(l, m) || !find_address(l) || !read_address(l, m) ||
		!ptx_take_mark(l, ','))
		return false;
	t = ptx_lex(l);
	m->size_operand = (struct ptx_text){t.text, t.size};
	return t.kind == PTX_WORD;
}

/* By its first two letters, which most instructions do not have. */
static bool may_access(const struct ptx_token *op)
{
	static const char starts[][3] = {
		"ld", "st", "at", "re", "cp", "wm", "mu", "te", "tl", "su", "pr"};

	for (size_t i = 0; op->size > 1 && i < sizeof(starts) / sizeof(*starts); i++)
		if (op->text[0] == starts[i][0] && op->text[1] == starts[i][1])
			return true;
	return false;
}

enum ptx_seen ptx_memory_of(
	const struct ptx_token *op, const struct ptx_lexer *operands, struct ptx_memory *ret)
{
	struct ptx_lexer l = *operands;
	struct ptx_memory m = {0};

	if (!may_access(op))
		return PTX_NO_ACCESS;

	for (size_t i = 0; i < sizeof(not_seen) / sizeof(*not_seen); i++)
		if (starts(op, not_seen[i]))
			return PTX_NOT_SEEN;
	for (size_t i = 0; !m.kind && i < sizeof(instructions) / sizeof(*instructions); i++)
		if (ptx_is_op(op, instructions[i].name))
			m.kind = instructions[i].kind;
	if (!m.kind || (m.kind & PTX_ASYNC && !starts(op, "cp.async.c")) ||
		starts(op, "cp.async.commit"))
		return PTX_NO_ACCESS;
	if (!read_parts(op, &m))
		return PTX_NO_ACCESS;
	if (m.kind & PTX_ASYNC ? !read_copy(&l, &m)
			       : !m.bytes || !find_address(&l) || !read_address(&l, &m))
		return PTX_NOT_SEEN;
	/* The generic address of a variable is not the one that its name stands for. */
	if (m.base_is_name && m.generic)
		return PTX_NOT_SEEN;
	*ret = m;
	return PTX_SEEN;
}
