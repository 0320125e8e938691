// SPDX-License-Identifier: MIT
#include "report/call_path.h"

#include <string.h>

#include "base/json_writer.h"
#include "view/names/name.h"
#include "base/text.h"
#include "view/names/label.h"
#include "report/sections.h"
#include "view/names/launch_path.h"

#define PATH_FRAMES 4 /* of a path on a line of its own */

void report_location(
	const struct report *r, struct buf *out, const struct profile_location *l, bool plain)
{
	struct buf readable = BUF_INIT;
	enum tree_kind kind = location_text(r->texts, l, &readable);

	if (plain && kind == TREE_CXX)
		name_plain(out, buf_text(&readable));
	else
		text_fit(out, buf_text(&readable), 0);
	buf_release_for(&readable, out);
}

/* The innermost Python function of a stack: its location's id, 0 where there is none. */
static uint32_t find_python(const struct report *r, uint32_t stack)
{
	const struct profile_stack_node *n;

	for (uint32_t at = stack; (n = profile_stack_node(r->reader, at)); at = n->parent) {
		const struct profile_location *l = profile_location(r->reader, n->location);

		if (l && l->kind == FRAME_PYTHON)
			return n->location;
	}
	return 0;
}

static bool has(const uint32_t *locations, unsigned int count, uint32_t location)
{
	for (unsigned int i = 0; i < count; i++)
		if (locations[i] == location)
			return true;
	return false;
}

static bool is_of_c_library(const struct report *r, uint32_t location)
{
	const struct profile_location *l = profile_location(r->reader, location);
	const struct profile_module *m = l ? profile_module(r->reader, l->module) : NULL;

	return m && (m->kind == MODULE_VDSO ||
			    label_is_c_library(profile_string(r->reader, m->path, NULL)));
}

/* The file of the innermost code of a stack that is not of the C library; NULL: there is none. */
static const char *find_file(const struct report *r, uint32_t stack)
{
	const struct profile_stack_node *n;

	for (uint32_t at = stack; (n = profile_stack_node(r->reader, at)); at = n->parent) {
		const struct profile_location *l = profile_location(r->reader, n->location);
		const struct profile_module *m =
			l && l->kind == FRAME_USER ? profile_module(r->reader, l->module) : NULL;
		const char *path = m ? profile_string(r->reader, m->path, NULL) : "",
			   *slash = strrchr(path, '/');

		if (slash && slash[1] && !is_of_c_library(r, n->location))
			return slash + 1;
	}
	return NULL;
}

/*
 * The innermost functions of a stack that identify code of the program. Functions of the C library
 * and of the vDSO are left out at the inner end, and so are those that begin a thread or the
 * program. Where no others are known, they are used if no file is known either.
 */
static unsigned int find_functions(const struct report *r, uint32_t stack, unsigned int functions,
	uint32_t ret_locations[LAUNCH_PATH_MAX])
{
	unsigned int all = launch_path_functions(&r->summary->internals, stack, PATH_PROGRAM,
			     LAUNCH_PATH_MAX, ret_locations),
		     count = all;
	unsigned int first;

	while (count && is_of_c_library(r, ret_locations[count - 1]))
		count--;
	if (!count && find_file(r, stack))
		return 0;
	count = count ? count : all;
	first = count > functions ? count - functions : 0;
	while (count - first > 1 && is_of_c_library(r, ret_locations[first]))
		first++;
	memmove(ret_locations, ret_locations + first, (count - first) * sizeof(*ret_locations));
	return count - first;
}

void report_call_path(const struct report *r, struct buf *out, const char *before, uint32_t stack,
	unsigned int functions)
{
	uint32_t locations[LAUNCH_PATH_MAX];
	unsigned int count = find_functions(r, stack, functions, locations);
	uint32_t python = find_python(r, stack);

	if (python && count && functions > 1 && !has(locations, count, python)) {
		memmove(locations + 1, locations, --count * sizeof(*locations));
		locations[0] = python;
		count++;
	}

	for (unsigned int i = 0; i < count; i++) {
		buf_puts(out, i ? " > " : before);
		report_location(r, out, profile_location(r->reader, locations[i]), true);
	}
	if (!count && find_file(r, stack)) {
		buf_printf(out, "%s[", before);
		text_fit(out, find_file(r, stack), 0);
		buf_putc(out, ']');
	}
}

static void put_function(const struct report *r, struct buf *b, uint32_t location, bool inlines)
{
	uint32_t chain[INLINES_MAX];
	size_t count = inlines ? location_inlines(r->reader, location, chain) : 0;

	report_location(r, b, profile_location(r->reader, location), r->width);
	for (size_t n = 0; n < count; n++) {
		const struct profile_location l = location_of_inline(r->reader, chain[n]);

		buf_puts(b, " > ");
		report_location(r, b, &l, r->width);
	}
}

/* The last functions of a path that have room, at least one, with " > " between them. */
static void join_path(const struct report *r, struct buf *path, const uint32_t *locations,
	unsigned int count, unsigned int columns, bool inlines)
{
	struct buf longer = BUF_INIT;

	while (count--) {
		buf_reset(&longer);
		put_function(r, &longer, locations[count], inlines);
		if (path->size)
			buf_printf(&longer, " > %s", path->data);
		if (path->size && columns && text_columns(buf_text(&longer)) > columns)
			break;
		buf_reset(path);
		buf_puts(path, buf_text(&longer));
	}
	buf_release_for(&longer, path);
}

/* What begins a thread or the program says nothing of where something is called. */
static bool is_start(const struct report *r, uint32_t location)
{
	static const char *const names[] = {"_start", "runtime.goexit", "runtime.goexit.abi0",
		"runtime.rt0_go", "runtime.rt0_go.abi0", "runtime.mstart", "runtime.mstart.abi0",
		"runtime.mstart0", "runtime.mstart1", "runtime.main"};
	const struct profile_location *l = profile_location(r->reader, location);
	const char *name =
		l && l->kind == FRAME_USER ? profile_string(r->reader, l->name, NULL) : "";

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		if (!strcmp(name, names[n]))
			return true;
	return is_of_c_library(r, location);
}

static enum path_frames frames_of(enum report_path kind)
{
	return kind == REPORT_PATH_CPU ? PATH_SHOWN : PATH_PROGRAM;
}

void report_path_line(const struct report *r, struct buf *out, unsigned int end, const char *share,
	uint32_t stack, enum report_path kind)
{
	static const char from[] = " from ";
	uint32_t locations[LAUNCH_PATH_MAX], *first = locations;
	unsigned int count = launch_path_functions(
		&r->summary->internals, stack, frames_of(kind), PATH_FRAMES, locations);
	unsigned int columns = report_columns_left(r, end + (unsigned int)strlen(from));
	struct buf path = BUF_INIT;

	for (; count && is_start(r, *first); count--)
		first++;
	if (!count)
		return;
	join_path(r, &path, first, count, columns, kind == REPORT_PATH_INLINED);
	buf_printf(out, "%*s%s", (int)end, share, from);
	text_fit(out, buf_text(&path), columns);
	buf_putc(out, '\n');
	buf_release_for(&path, out);
}

void report_line(const struct report *r, struct buf *out, struct buf *line)
{
	text_fit(out, buf_text(line), r->width);
	buf_putc(out, '\n');
	buf_release_for(line, out);
}

static void put_location(
	const struct report *r, struct json_writer *w, const struct profile_location *l)
{
	struct buf text = BUF_INIT;

	(void)location_text(r->texts, l, &text);
	json_text(w, NULL, buf_text(&text));
	buf_release_for(&text, w->out);
}

void report_call_path_json(const struct report *r, struct json_writer *w, const char *name,
	uint32_t stack, enum report_path kind)
{
	uint32_t locations[LAUNCH_PATH_MAX], chain[INLINES_MAX];
	unsigned int count = launch_path_functions(
		&r->summary->internals, stack, frames_of(kind), LAUNCH_PATH_MAX, locations);

	json_begin(w, name, '[');
	for (unsigned int i = 0; i < count; i++) {
		size_t inlined = kind == REPORT_PATH_INLINED
					 ? location_inlines(r->reader, locations[i], chain)
					 : 0;

		put_location(r, w, profile_location(r->reader, locations[i]));
		for (size_t n = 0; n < inlined; n++) {
			const struct profile_location l = location_of_inline(r->reader, chain[n]);

			put_location(r, w, &l);
		}
	}
	json_end(w, ']');
}
