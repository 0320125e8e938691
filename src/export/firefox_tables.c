// SPDX-License-Identifier: MIT
/* Tables are objects of columns: each is written on its own, from the same rows. */
#include "export/firefox_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "view/names/label.h"

#define SUBJECT "the file for Firefox Profiler"

/* The first that is grey is for what has none. */
static const struct category {
	const char *name, *color;
} categories[] = {
	{"Other", "grey"},
	{"Native code", "orange"},
	{"Python", "blue"},
	{"Operating system", "brown"},
	{"GPU API", "purple"},
	{"GPU kernel", "green"},
	{"GPU copy", "lightblue"},
	{"Wait", "darkgrey"},
};

static const uint8_t category_of[TREE_KINDS] = {
	[TREE_PYTHON] = 2,
	[TREE_CXX] = 1,
	[TREE_C] = 1,
	[TREE_KERNEL] = 3,
	[TREE_API] = 4,
	[TREE_GPU_KERNEL] = 5,
	[TREE_GPU_SOURCE] = 5,
	[TREE_GPU_CODE] = 5,
	[TREE_GPU_COPY] = 6,
	[TREE_GPU_SET] = 6,
	[TREE_WAIT] = 7,
};

int firefox_tables_init(struct firefox_tables *t, struct output *o, const struct profile_reader *r,
	struct tree *tree, bool lines)
{
	*t = (struct firefox_tables){.output = o, .reader = r, .tree = tree};
	t->frame_count = (uint32_t)tree_frame_count(tree);
	if (interner_new(&t->strings))
		return error_memory(SUBJECT);
	return frame_places_find(tree, r, lines, &t->places);
}

void firefox_tables_release(struct firefox_tables *t)
{
	free(t->places);
	interner_free(t->strings);
	buf_release(&t->text);
	buf_release(&t->name);
}

int firefox_string(struct firefox_tables *t, const char *text, uint32_t *ret)
{
	uint32_t id = 0;
	int added;

	if (interner_add(t->strings, text, strlen(text), &id, &added))
		return error_memory(SUBJECT);
	t->string_count += added != 0;
	*ret = t->frame_count + id - 1;
	return 0;
}

void firefox_put_stack(struct firefox_tables *t, uint32_t node)
{
	if (node == TREE_ROOT_NODE)
		output_puts(t->output, "null");
	else
		output_u64(t->output, node - 1);
}

static int put_json(struct firefox_tables *t, const char *before, const char *text, size_t size)
{
	buf_reset(&t->text);
	json_string(&t->text, text, size);
	if (t->text.failed)
		return error_memory(SUBJECT);
	output_puts(t->output, before);
	output_write(t->output, t->text.data, t->text.size);
	return output_error(t->output);
}

int firefox_put_text(struct firefox_tables *t, const char *before, const char *text)
{
	return put_json(t, before, text, strlen(text));
}

void firefox_put_categories(struct firefox_tables *t)
{
	output_puts(t->output, "\"categories\":[");
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
		output_printf(t->output,
			"%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			i ? "," : "", categories[i].name, categories[i].color);
	output_puts(t->output, "]");
}

static unsigned int category_of_frame(const struct firefox_tables *t, uint32_t frame)
{
	return category_of[tree_frames(t->tree)[frame].kind];
}

unsigned int firefox_category(const struct firefox_tables *t, uint32_t node)
{
	return node ? category_of_frame(t, tree_nodes(t->tree)[node].frame) : 0;
}

/* ------------------------------------------------------------------ columns */

/* ,"name":[value,value,...], the same in each row. */
static void put_same(struct firefox_tables *t, const char *name, const char *value, size_t count)
{
	output_printf(t->output, ",\n\"%s\":[", name);
	for (size_t i = 0; i < count; i++) {
		if (i)
			output_putc(t->output, ',');
		output_puts(t->output, value);
	}
	output_putc(t->output, ']');
}

/* The same, with a number, or null, for each row. */
static void put_column(struct firefox_tables *t, const char *name, size_t count,
	int64_t (*value)(const struct firefox_tables *t, size_t row))
{
	output_printf(t->output, ",\n\"%s\":[", name);
	for (size_t i = 0; i < count; i++) {
		int64_t number = value(t, i);

		if (i)
			output_putc(t->output, ',');
		if (number < 0)
			output_puts(t->output, "null");
		else
			output_u64(t->output, (uint64_t)number);
	}
	output_putc(t->output, ']');
}

static int64_t frame_of_stack(const struct firefox_tables *t, size_t stack)
{
	return tree_nodes(t->tree)[stack + 1].frame;
}

static int64_t prefix_of_stack(const struct firefox_tables *t, size_t stack)
{
	uint32_t parent = tree_nodes(t->tree)[stack + 1].parent;

	return parent == TREE_ROOT_NODE ? 0 : (int64_t)(stack + 1 - parent);
}

static int64_t own_number(const struct firefox_tables *t, size_t row)
{
	(void)t;
	return (int64_t)row;
}

static int64_t frame_category(const struct firefox_tables *t, size_t frame)
{
	return category_of_frame(t, (uint32_t)frame);
}

static int64_t line_of_frame(const struct firefox_tables *t, size_t frame)
{
	return t->places[frame].line ? (int64_t)t->places[frame].line : -1;
}

/* The files of functions, which are strings of the recording. */
struct sources {
	struct interner *files; /* ids of strings */
	uint32_t *of_frame;	/* its number + 1; 0: none */
	uint32_t count;
};

static void put_stacks(struct firefox_tables *t)
{
	size_t count = tree_node_count(t->tree) - 1;

	output_printf(t->output, "\"stackTable\":{\"length\":%zu", count);
	put_column(t, "frame", count, frame_of_stack);
	put_column(t, "prefixOffset", count, prefix_of_stack);
	output_puts(t->output, "},\n");
}

static void put_frames(struct firefox_tables *t)
{
	size_t count = t->frame_count;

	output_printf(t->output, "\"frameTable\":{\"length\":%zu", count);
	put_same(t, "address", "-1", count);
	put_same(t, "lib", "-1", count);
	put_same(t, "inlineDepth", "0", count);
	put_column(t, "category", count, frame_category);
	put_same(t, "subcategory", "0", count);
	put_column(t, "func", count, own_number);
	put_same(t, "nativeSymbol", "null", count);
	put_same(t, "innerWindowID", "null", count);
	put_column(t, "line", count, line_of_frame);
	put_same(t, "column", "null", count);
	put_same(t, "originalLocation", "null", count);
	output_puts(t->output, "},\n");
}

static void put_functions(struct firefox_tables *t, const struct sources *s)
{
	size_t count = t->frame_count;

	output_printf(t->output, "\"funcTable\":{\"length\":%zu", count);
	put_column(t, "name", count, own_number);
	put_same(t, "isJS", "false", count);
	put_same(t, "relevantForJS", "false", count);
	put_same(t, "resource", "-1", count);
	output_puts(t->output, ",\n\"source\":[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			output_putc(t->output, ',');
		if (s->of_frame[i])
			output_u64(t->output, s->of_frame[i] - 1);
		else
			output_puts(t->output, "null");
	}
	output_putc(t->output, ']');
	put_same(t, "lineNumber", "null", count);
	put_same(t, "columnNumber", "null", count);
	put_same(t, "originalLocation", "null", count);
	output_puts(t->output, "},\n");
}

static int put_sources(struct firefox_tables *t, const struct sources *s)
{
	int error = 0;

	output_printf(t->output, "\"sources\":{\"length\":%u,\n\"filename\":[", s->count);
	for (uint32_t i = 0; !error && i < s->count; i++) {
		uint32_t file, string = 0;

		memcpy(&file, interner_get(s->files, i + 1, NULL), sizeof(file));
		error = firefox_string(t, profile_string(t->reader, file, NULL), &string);
		output_printf(t->output, "%s%u", i ? "," : "", string);
	}
	output_puts(t->output, "]");
	put_same(t, "id", "null", s->count);
	put_same(t, "startLine", "1", s->count);
	put_same(t, "startColumn", "1", s->count);
	put_same(t, "sourceMapURL", "null", s->count);
	put_same(t, "content", "null", s->count);
	output_puts(t->output, "},\n");
	return error;
}

static int find_sources(const struct firefox_tables *t, struct sources *s)
{
	s->of_frame = calloc((size_t)t->frame_count + 1, sizeof(*s->of_frame));
	if (!s->of_frame || interner_new(&s->files))
		return error_memory(SUBJECT);
	for (uint32_t i = 0; i < t->frame_count; i++) {
		int added = 0;

		if (!t->places[i].file)
			continue;
		if (interner_add(s->files, &t->places[i].file, sizeof(t->places[i].file),
			    &s->of_frame[i], &added))
			return error_memory(SUBJECT);
		s->count += added != 0;
	}
	return 0;
}

static int put_strings(struct firefox_tables *t)
{
	int error = 0;

	output_puts(t->output, "\"stringArray\":[");
	for (uint32_t i = 0; !error && i < t->frame_count; i++) {
		buf_reset(&t->name);
		tree_label(&tree_frames(t->tree)[i], &t->name);
		error = t->name.failed
				? error_memory(SUBJECT)
				: put_json(t, i ? ",\n" : "\n", buf_text(&t->name), t->name.size);
	}
	for (uint32_t id = 1; !error && id <= t->string_count; id++) {
		size_t size;
		const char *text = interner_get(t->strings, id, &size);

		error = put_json(t, t->frame_count || id > 1 ? ",\n" : "\n", text, size);
	}
	output_puts(t->output, "]");
	return error;
}

int firefox_put_shared(struct firefox_tables *t)
{
	struct sources s = {0};
	int error = find_sources(t, &s);

	if (!error) {
		output_puts(t->output, "\"shared\":{\n");
		put_stacks(t);
		put_frames(t);
		put_functions(t, &s);
		output_puts(t->output,
			"\"resourceTable\":{\"length\":0,\"name\":[],\"host\":[],\"type\":[]},\n"
			"\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],"
			"\"name\":[],\"functionSize\":[]},\n"
			"\"sourceLocationTable\":{\"length\":0,\"source\":[],\"line\":[],"
			"\"column\":[]},\n");
		error = put_sources(t, &s);
		error = error ?: put_strings(t);
		output_puts(t->output, "}");
	}
	interner_free(s.files);
	free(s.of_frame);
	return error;
}
