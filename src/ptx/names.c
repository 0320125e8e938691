// SPDX-License-Identifier: MIT
#include "ptx/names.h"

#include <fnmatch.h>
#include <string.h>

#include "base/demangle.h"

/* "ns::sum<int>" of "void ns::sum<int>(int*, int)". */
static void append_plain(struct buf *b, const char *readable)
{
	size_t size = strlen(readable), depth = 0;

	if (!strncmp(readable, "void ", 5)) {
		readable += 5;
		size -= 5;
	}
	if (size && readable[size - 1] == ')')
		for (size_t i = size; i--;) {
			depth += readable[i] == ')';
			depth -= readable[i] == '(';
			if (!depth) {
				size = i;
				break;
			}
		}
	buf_append(b, readable, size);
	buf_putc(b, 0);
}

bool ptx_names_set(struct ptx_names *n, const char *mangled, size_t size)
{
	buf_reset(&n->mangled);
	buf_reset(&n->readable);
	buf_reset(&n->plain);
	buf_append(&n->mangled, mangled, size);
	buf_putc(&n->mangled, 0);
	if (n->mangled.failed)
		return false;
	demangle(n->mangled.data, &n->readable);
	append_plain(&n->plain, buf_text(&n->readable));
	return !n->readable.failed && !n->plain.failed;
}

bool ptx_names_match(const struct ptx_names *n, const char *glob)
{
	return !fnmatch(glob, buf_text(&n->mangled), 0) ||
	       !fnmatch(glob, buf_text(&n->readable), 0) || !fnmatch(glob, buf_text(&n->plain), 0);
}

void ptx_names_release(struct ptx_names *n)
{
	buf_release(&n->mangled);
	buf_release(&n->readable);
	buf_release(&n->plain);
}
