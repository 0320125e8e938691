// SPDX-License-Identifier: MIT
#include "view/stalls/annotation_text.h"

#include <string.h>

#include "view/names/kernel_name.h"
#include "view/names/label.h"

void annotation_line_text(
	const struct profile_reader *r, uint32_t file, uint32_t line, struct buf *b)
{
	const char *path = profile_string(r, file, NULL), *slash = strrchr(path, '/');

	if (file && line)
		buf_printf(b, "%s:%u", slash && slash[1] ? slash + 1 : path, line);
	else
		buf_puts(b, "(line not known)");
}

static void put_function(const struct profile_reader *r, uint32_t name, struct buf *b)
{
	struct buf readable = BUF_INIT;
	size_t before = b->size;

	kernel_readable(r, name, &readable);
	label_brief(buf_text(&readable), readable.size, 1, b);
	if (b->size == before)
		buf_puts(b, buf_text(&readable));
	b->failed |= readable.failed;
	buf_release(&readable);
}

void annotation_way_text(
	const struct annotation *a, const struct annotation_site *p, uint32_t file, struct buf *b)
{
	const struct profile_reader *r = a->stalls->reader;
	const struct profile_inline *chain[ANNOTATION_CHAIN_MAX];
	size_t count = annotation_chain(r, p->inlined, chain);

	for (size_t i = count; i--;) {
		uint32_t at_file = i ? chain[i - 1]->file : p->call_file;
		uint32_t at_line = i ? chain[i - 1]->line : p->call_line;

		buf_puts(b, i + 1 < count ? " in " : "");
		put_function(r, chain[i]->name, b);
		if (!i && !at_line) {
			buf_puts(b, ", called");
			break;
		}
		buf_puts(b, i + 1 < count ? ", at " : ", inlined at ");
		if (at_line && at_file == file)
			buf_printf(b, ":%u", at_line);
		else
			annotation_line_text(r, at_file, at_line, b);
		file = at_file;
	}
}
