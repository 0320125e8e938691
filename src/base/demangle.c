// SPDX-License-Identifier: MIT
/*
 * libiberty's demanglers, those of the GNU tools: Rust's first, as cplus_demangle does it, since
 * its older mangling also reads as C++.
 *
 * A mangled name may refer back to its own parts, so its readable form can be exponentially longer:
 * 300 bytes for gigabytes. Names are not trusted; when the text gets too long, the demangler is
 * left in its middle, by a jump out of the function it hands each piece to. It keeps its state on
 * the stack (but for a few bytes of Rust's punycode, which are lost then).
 *
 * The search for the parameter pack that an expansion ("Dp" of types, "sp" of expressions) expands
 * prints nothing meanwhile, so for names that have one the parts are counted before. They form a
 * tree, in which a part that the name refers back to is found several times:
 *
 *	a function of two functions (S0_) of two functions (S_) of int     _Z1fDpFFiiEFS_S_EFS0_S0_EE
 *
 * What stands behind an '@' ("_Z3foov@plt") is no part of the mangling and stays as it is.
 */
#include "base/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Readable names take some thousands at most. */
#define STEPS_MAX 65536
/* The demangler reads names by recursion, and refuses those of more than 1 KiB unless it is asked
 * not to; PyTorch and Eigen have longer ones. Of 8 KiB the worst take 1.7 MiB of the stack. */
#define NAME_MAX_BYTES 8192
/* It also puts an array there, of 16 bytes for each pair of a list of template arguments and a
 * reference to a template parameter, some of them counted twice: 2 MiB at most. */
#define PAIRS_MAX 32768

/* The parts of a name, in one block of memory. */
struct parts {
	struct demangle_component *items;
	size_t count;
	uint32_t *steps; /* of each: 0 while it is not counted */
};

struct demangling {
	struct buf *b;
	size_t start; /* the text begins there */
	jmp_buf too_long;
};

static void append_piece(const char *text, size_t size, void *context)
{
	struct demangling *d = context;

	if (size > DEMANGLED_MAX_BYTES - (d->b->size - d->start) || d->b->failed)
		longjmp(d->too_long, 1);
	buf_append(d->b, text, size);
}

static bool has_no_parts(const struct demangle_component *part)
{
	switch (part->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
		return true;
	default:
		return false;
	}
}

/* How often a part below this one is found, itself included. Where parts have other parts they are
 * in one or both of the same two places; what else may be there does not point into the block. */
static uint32_t count_steps(struct parts *p, const struct demangle_component *part)
{
	size_t i = ((uintptr_t)part - (uintptr_t)p->items) / sizeof(*part);
	uint64_t steps;

	if (i >= p->count || part != &p->items[i])
		return 0;
	if (has_no_parts(part))
		return 1;
	if (!p->steps[i]) {
		p->steps[i] = STEPS_MAX; /* should it be below itself */
		steps = 1 + (uint64_t)count_steps(p, part->u.s_binary.left) +
			count_steps(p, part->u.s_binary.right);
		p->steps[i] = steps < STEPS_MAX ? (uint32_t)steps : STEPS_MAX;
	}
	return p->steps[i];
}

/* Whether the packs of this name are found soon. */
static bool has_few_steps(const char *name, int options)
{
	size_t length = strlen(name);
	struct parts p = {.count = 2 * length}; /* no name has more */
	struct demangle_component *whole;
	void *block = NULL;
	bool few;

	whole = cplus_demangle_v3_components(name, options, &block);
	if (!whole)
		return false;
	p.items = block;
	p.steps = calloc(p.count, sizeof(*p.steps));
	few = p.steps && count_steps(&p, whole) < STEPS_MAX;
	free(p.steps);
	free(block);
	return few;
}

/* Whether that array is small. Each list begins with 'I', each such reference with 'R' or 'O' and
 * the parameter or a substitution for it; letters of identifiers make it more. */
static bool has_few_pairs(const char *name)
{
	size_t lists = 0, references = 0;

	for (; *name; name++) {
		lists += *name == 'I';
		references += (*name == 'R' || *name == 'O') && (name[1] == 'T' || name[1] == 'S');
	}
	return lists * references <= PAIRS_MAX;
}

/* C++ names may have something before them ("_GLOBAL__sub_I__Z3foov"). */
static bool is_read_soon(const char *name, int options)
{
	const char *mangled = strstr(name, "_Z");

	if (strlen(name) > NAME_MAX_BYTES || !has_few_pairs(name))
		return false;
	return !mangled || (!strstr(mangled, "Dp") && !strstr(mangled, "sp")) ||
	       has_few_steps(mangled, options);
}

static bool append_part(const char *name, struct demangling *d)
{
	const int options = DMGL_PARAMS | DMGL_ANSI, unlimited = options | DMGL_NO_RECURSE_LIMIT;

	if (setjmp(d->too_long))
		return false;
	if (rust_demangle_callback(name, options, append_piece, d))
		return true;
	d->b->size = d->start; /* it may have begun and failed */
	return is_read_soon(name, unlimited) &&
	       cplus_demangle_v3_callback(name, unlimited, append_piece, d);
}

static bool append_readable(const char *name, struct demangling *d)
{
	const char *at = name[0] == '_' ? strchr(name, '@') : NULL;
	char *part;
	bool readable;

	if (!at || at == name)
		return append_part(name, d);
	part = strndup(name, (size_t)(at - name));
	readable = part && append_part(part, d);
	free(part);
	if (readable)
		buf_puts(d->b, at);
	return readable;
}

/* Behind "_INTERNAL_2b7ad4f0_9_kernel_cu_d9852886", as a compiler calls what is local to a file of
 * GPU code (a checksum, the length of the file's name, the name, more checksums): 0 if `at` does
 * not begin so. */
static size_t local_size(const char *at, size_t size)
{
	static const char mark[] = "_INTERNAL_";
	const char *end = memmem(at, size, "::", 2);
	size_t mark_size = sizeof(mark) - 1, digits;

	if (!end || memcmp(at, mark, mark_size))
		return 0;
	digits = strspn(at + mark_size, "0123456789abcdef");
	return digits == 8 && at[mark_size + digits] == '_' ? (size_t)(end - at) : 0;
}

/* Such names become what they are in C++. */
static void name_local(struct buf *b, size_t start)
{
	static const char instead[] = "(anonymous namespace)";
	const char *found;
	struct buf text = BUF_INIT;
	size_t done = start;

	if (b->failed || !memmem(b->data + start, b->size - start, "_INTERNAL_", 10))
		return;
	while ((found = memmem(b->data + done, b->size - done, "_INTERNAL_", 10))) {
		size_t before = (size_t)(found - (b->data + done));
		size_t size = local_size(found, b->size - done - before);

		buf_append(&text, b->data + done, before);
		if (size)
			buf_puts(&text, instead);
		else
			buf_append(&text, found, 1);
		done += before + (size ? size : 1);
	}
	buf_append(&text, b->data + done, b->size - done);
	b->size = start;
	buf_append(b, text.data, text.size);
	b->failed |= text.failed;
	buf_release(&text);
}

void demangle(const char *name, struct buf *b)
{
	struct demangling d = {.b = b, .start = b->size};

	if (append_readable(name, &d)) {
		name_local(b, d.start);
		return;
	}
	b->size = d.start;
	buf_puts(b, name);
}
