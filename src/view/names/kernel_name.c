// SPDX-License-Identifier: MIT
#include "view/names/kernel_name.h"

#include <string.h>

#include "base/demangle.h"

void kernel_readable(const struct profile_reader *r, uint32_t name, struct buf *b)
{
	const char *text = profile_string(r, name, NULL);
	const char *second = *text == '$' ? strchr(text + 1, '$') : NULL;
	struct buf kernel = BUF_INIT;

	if (!second || second == text + 1 || !second[1]) {
		demangle(*text ? text : "(no name)", b);
		return;
	}
	buf_append(&kernel, text + 1, (size_t)(second - text - 1));
	demangle(second + 1, b);
	buf_puts(b, " (called by ");
	demangle(buf_text(&kernel), b);
	buf_putc(b, ')');
	b->failed |= kernel.failed;
	buf_release(&kernel);
}
