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
	buf_append(&n->mangled, mangled, size);
	buf_putc(&n->mangled, 0);
	n->has_readable = false;
	return !n->mangled.failed;
}

/* To read a name takes much longer than all else that is done with a kernel. */
static bool read_name(struct ptx_names *n)
{
	if (!n->has_readable) {
		buf_reset(&n->readable);
		buf_reset(&n->plain);
		demangle(n->mangled.data, &n->readable);
		append_plain(&n->plain, buf_text(&n->readable));
		n->has_readable = true;
	}
	return !n->readable.failed && !n->plain.failed;
}

static bool match_one(struct ptx_names *n, const char *glob, bool *ret_failed)
{
	if (!strcmp(glob, "*") || !fnmatch(glob, n->mangled.data, 0))
		return true;
	if (!read_name(n)) {
		*ret_failed = true;
		return false;
	}
	return !fnmatch(glob, buf_text(&n->readable), 0) || !fnmatch(glob, buf_text(&n->plain), 0);
}

bool ptx_names_match(struct ptx_names *n, const char *globs, bool *ret_failed)
{
	const char *end = strchr(globs, '\n');
	bool found = false;

	if (!end)
		return match_one(n, globs, ret_failed);
	for (; !found && *globs; end = strchrnul(globs, '\n')) {
		buf_reset(&n->glob);
		buf_append(&n->glob, globs, (size_t)(end - globs));
		buf_putc(&n->glob, 0);
		*ret_failed |= n->glob.failed;
		found = !n->glob.failed && match_one(n, n->glob.data, ret_failed);
		globs = end + (*end == '\n');
	}
	return found;
}

void ptx_names_release(struct ptx_names *n)
{
	buf_release(&n->mangled);
	buf_release(&n->readable);
	buf_release(&n->plain);
	buf_release(&n->glob);
}
