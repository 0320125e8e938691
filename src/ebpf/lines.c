// SPDX-License-Identifier: MIT
/*
 * Source lines (.BTF.ext, line_info). They only help people: where they are damaged there are
 * fewer.
 *
 * Layout: Documentation/bpf/btf.rst of Linux, "The .BTF.ext section".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "ebpf/object_internal.h"

#define LINES_MAX (1u << 18)

struct line_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_size, function_offset, function_size, line_offset, line_size;
};

static size_t section_index(const struct ebpf_object *o, const char *name)
{
	for (size_t i = 1; i < o->image->sections.count; i++)
		if (o->image->sections.items[i].is_code &&
			!strcmp(o->image->sections.items[i].name, name))
			return i;
	return 0;
}

static int add_line(
	struct ebpf_object *o, const struct ebpf_code_map *code, size_t section, struct reader r)
{
	uint32_t at = reader_u32(&r), file = reader_u32(&r), text = reader_u32(&r);
	struct ebpf_line line = {
		.insn = ebpf_code_at(o, code, section, at),
		.line = reader_u32(&r) >> 10,
		.file = ebpf_btf_string(&o->btf, file),
		.text = ebpf_btf_string(&o->btf, text),
	};

	if (line.insn == EBPF_CODE_NONE || o->lines.count >= LINES_MAX)
		return 0;
	return vec_push(&o->lines, line);
}

static int read_section_lines(struct ebpf_object *o, const struct ebpf_code_map *code,
	struct reader *r, uint32_t record_size)
{
	const char *name = ebpf_btf_string(&o->btf, reader_u32(r));
	uint32_t count = reader_u32(r);
	size_t section = section_index(o, name);
	int error = 0;

	for (uint32_t i = 0; !error && i < count; i++) {
		const uint8_t *record = reader_take(r, record_size);

		if (!record)
			return 0;
		error = add_line(
			o, code, section, (struct reader){record, record + record_size, false});
	}
	return error;
}

static int by_insn(const void *a, const void *b)
{
	const struct ebpf_line *x = a, *y = b;

	return (x->insn > y->insn) - (x->insn < y->insn);
}

int ebpf_read_lines(struct ebpf_object *o, const struct ebpf_code_map *code)
{
	const struct ebpf_section *s = ebpf_image_section(o->image, ".BTF.ext");
	struct line_header h;
	struct reader r;
	uint32_t record_size;
	int error = 0;

	if (!s || !s->has_bytes || s->size < sizeof(h))
		return 0;
	memcpy(&h, s->data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.header_size > s->size ||
		h.line_offset > s->size - h.header_size ||
		h.line_size > s->size - h.header_size - h.line_offset)
		return 0;
	r.at = s->data + h.header_size + h.line_offset;
	r.end = r.at + h.line_size;
	r.failed = false;
	record_size = reader_u32(&r);
	if (record_size < 16)
		return 0;
	for (size_t i = 0; !error && reader_left(&r) && i < o->image->sections.count; i++)
		error = read_section_lines(o, code, &r, record_size);
	if (o->lines.count)
		qsort(o->lines.items, o->lines.count, sizeof(struct ebpf_line), by_insn);
	return error;
}
