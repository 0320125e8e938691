// SPDX-License-Identifier: MIT
#include "page/in_script.h"

#include <string.h>

#include "base/error.h"

int in_script(struct buf *text, struct buf *ret)
{
	const char *at = buf_text(text), *end = at + text->size;

	buf_reset(ret);
	while (at < end) {
		const char *next = memchr(at, '<', (size_t)(end - at)) ?: end;

		buf_append(ret, at, (size_t)(next - at));
		if (next < end)
			buf_puts(ret, "\\u003c");
		at = next + (next < end);
	}
	buf_release_for(text, ret);
	return ret->failed ? error_memory("the page") : 0;
}
