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

static void append_piece(const char *text, size_t size, void *context)
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
	if (rust_demangle_callback(name, options, append_piece, d))
		return true;
	d->b->size = d->start; /* it may have begun and failed */
	return cplus_demangle_v3_callback(name, options, append_piece, d);
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
