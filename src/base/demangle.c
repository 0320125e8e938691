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
 * What stands behind an '@' ("_Z3foov@plt") is no part of the mangling and stays as it is.
 */
#include "base/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct demangling {
	struct buf *b;
	size_t start; /* the text begins there */
	jmp_buf too_long;
};

static void take_piece(const char *text, size_t size, void *context)
{
	struct demangling *d = context;

	if (size > DEMANGLED_MAX_BYTES - (d->b->size - d->start) || d->b->failed)
		longjmp(d->too_long, 1);
	buf_append(d->b, text, size);
}

static bool append_part(const char *name, struct demangling *d)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(d->too_long))
		return false;
	if (rust_demangle_callback(name, options, take_piece, d))
		return true;
	d->b->size = d->start; /* it may have begun and failed */
	return cplus_demangle_v3_callback(name, options, take_piece, d);
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

void demangle(const char *name, struct buf *b)
{
	struct demangling d = {.b = b, .start = b->size};

	if (append_readable(name, &d))
		return;
	b->size = d.start;
	buf_puts(b, name);
}
