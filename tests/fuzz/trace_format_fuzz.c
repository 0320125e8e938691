// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as the format of an event; what is to be read has to be possible to
 * read. */
#include <stdlib.h>
#include <string.h>

#include "monitor/kernel/tracefs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool size_is_possible(const struct trace_field *f)
{
	switch (f->type) {
	case TRACE_UNSIGNED:
	case TRACE_SIGNED:
		return f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8;
	case TRACE_CHARS:
		return f->size > 0;
	case TRACE_DATA_LOC:
	case TRACE_REL_LOC:
		return f->size == 4;
	case TRACE_POINTER:
		return f->size == 8;
	case TRACE_OTHER:
		return true;
	}
	return false;
}

static void check(const struct trace_format *format, const struct trace_field *f)
{
	const struct trace_field *found = trace_format_field(format, f->name);

	if (!found || (found != f && (found->type != TRACE_OTHER || f->type != TRACE_OTHER)))
		__builtin_trap();
	if (!*f->name || strlen(f->name) >= sizeof(f->name) || !size_is_possible(f))
		__builtin_trap();
	if (f->size > TRACE_RECORD_MAX || f->offset > TRACE_RECORD_MAX - f->size)
		__builtin_trap();
	for (const struct trace_field *other = format->fields; other < f; other++)
		if (f->offset < other->offset + other->size && other->offset < f->offset + f->size)
			__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct trace_format format;
	char *exact = malloc(size ? size : 1); /* so that reading past the end is seen */

	if (!exact)
		return 0;
	memcpy(exact, data, size);
	if (!trace_format_parse(exact, size, &format)) {
		if (format.field_count > TRACE_FIELDS_MAX)
			__builtin_trap();
		for (size_t i = 0; i < format.field_count; i++)
			check(&format, &format.fields[i]);
	}
	free(exact);
	return 0;
}
