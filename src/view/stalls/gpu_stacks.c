// SPDX-License-Identifier: MIT
#include "view/stalls/gpu_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define SUBJECT "the instructions"

static void find_files(struct gpu_stacks *g)
{
	struct profile_counts counts = profile_counts(g->reader);

	for (uint32_t id = 1; id <= counts.instructions; id++) {
		const struct profile_instruction *i = profile_instruction(g->reader, id);

		if (!g->function_files[i->function])
			g->function_files[i->function] = i->file;
	}
}

int gpu_stacks_init(
	struct gpu_stacks *g, const struct profile_reader *r, struct tree *t, bool lines)
{
	struct profile_counts counts = profile_counts(r);
	int error;

	*g = (struct gpu_stacks){.reader = r, .tree = t};
	error = location_texts_init(&g->texts, r, lines);
	error = error ?: tree_add_frame(t, TREE_NOTE, 0, "-", 1, &g->boundary);
	if (error)
		return error;
	g->sources = calloc((size_t)counts.strings + 1, sizeof(*g->sources));
	g->function_files = calloc((size_t)counts.gpu_functions + 1, sizeof(*g->function_files));
	g->function_frames = calloc((size_t)counts.gpu_functions + 1, sizeof(*g->function_frames));
	g->inline_frames = calloc((size_t)counts.inlines + 1, sizeof(*g->inline_frames));
	if (!g->sources || !g->function_files || !g->function_frames || !g->inline_frames)
		return error_memory(SUBJECT);
	find_files(g);
	return 0;
}

void gpu_stacks_release(struct gpu_stacks *g)
{
	location_texts_release(&g->texts);
	free(g->sources);
	free(g->function_files);
	free(g->function_frames);
	free(g->inline_frames);
	map_release(&g->mnemonics);
	buf_release(&g->text);
	*g = (struct gpu_stacks){0};
}

/* The frame of a directory or file, unless it was added already. */
static int source_frame(struct gpu_stacks *g, const char *name, size_t size, uint32_t *cached)
{
	uint32_t frame = 0;
	int error = tree_add_frame(g->tree, TREE_GPU_SOURCE, 0, name, size, &frame);

	if (!error)
		*cached = frame + 1;
	return error;
}

static int learn_source(struct gpu_stacks *g, uint32_t file, struct gpu_source *s)
{
	size_t size;
	const char *path = profile_string(g->reader, file, &size);
	const char *slash = memrchr(path, '/', size), *name = slash ? slash + 1 : path;
	int error = 0;

	if (slash)
		error = source_frame(
			g, path, slash > path ? (size_t)(slash - path) : 1, &s->directory);
	return error ?: source_frame(g, name, size - (size_t)(name - path), &s->file);
}

/* Directory and file. */
static int add_source(struct gpu_stacks *g, const struct profile_instruction *i, uint32_t *node)
{
	uint32_t file = i->file ? i->file : g->function_files[i->function];
	struct gpu_source *s = &g->sources[file];
	int error = 0;

	if (!*profile_string(g->reader, file, NULL))
		return 0;
	if (!s->file)
		error = learn_source(g, file, s);
	if (!error && s->directory)
		error = tree_add_child(g->tree, *node, s->directory - 1, node);
	return error ?: tree_add_child(g->tree, *node, s->file - 1, node);
}

/* The frame of a function, the kernel or one that is called or inlined; *cached is it plus 1 (0:
 * not yet). */
static int add_function(
	struct gpu_stacks *g, const struct profile_location *l, uint32_t *cached, uint32_t *node)
{
	int error;

	if (!*cached) {
		buf_reset(&g->text);
		if (*profile_string(g->reader, l->name, NULL))
			location_text(&g->texts, l, &g->text);
		else
			buf_puts(&g->text, "(no name)");
		if (g->text.failed)
			return error_memory(SUBJECT);
		error = source_frame(g, buf_text(&g->text), g->text.size, cached);
		if (error)
			return error;
	}
	return tree_add_child(g->tree, *node, *cached - 1, node);
}

static int add_functions(struct gpu_stacks *g, const struct profile_instruction *i, uint32_t *node)
{
	struct profile_location own = {.kind = FRAME_USER,
		.file = i->file,
		.line = i->line,
		.name = profile_gpu_function(g->reader, i->function)->name};
	uint32_t chain[INLINES_MAX], with_line = 0;
	int error = add_function(
		g, &own, g->texts.lines ? &with_line : &g->function_frames[i->function], node);
	size_t count = inline_chain(g->reader, i->inlined, chain);

	for (size_t n = 0; !error && n < count; n++) {
		const struct profile_location l = location_of_inline(g->reader, chain[n]);

		error = add_function(g, &l, &g->inline_frames[chain[n]], node);
	}
	return error;
}

const char *gpu_mnemonic(const char *text, size_t *ret_size)
{
	text += strspn(text, " \t{");
	while (*text == '@' || *text == '(') {
		text += strcspn(text, " \t");
		text += strspn(text, " \t");
	}
	*ret_size = strcspn(text, " \t;");
	return text;
}

static int add_mnemonic(struct gpu_stacks *g, uint32_t text, uint32_t *node)
{
	const uint64_t *found = map_get(&g->mnemonics, text);
	uint32_t frame = found ? (uint32_t)*found : 0;
	size_t size;
	const char *mnemonic = gpu_mnemonic(profile_string(g->reader, text, NULL), &size);
	int error = 0;

	if (!size)
		return 0;
	if (!found) {
		error = tree_add_frame(g->tree, TREE_GPU_CODE, 0, mnemonic, size, &frame);
		if (!error && map_put(&g->mnemonics, text, frame))
			error = error_memory(SUBJECT);
	}
	return error ?: tree_add_child(g->tree, *node, frame, node);
}

int gpu_stacks_add(struct gpu_stacks *g, uint32_t kernel, uint32_t instruction, uint32_t *ret_node)
{
	const struct profile_instruction *i = profile_instruction(g->reader, instruction);
	uint32_t node = kernel;
	int error = tree_add_child(g->tree, node, g->boundary, &node);

	if (!error && i)
		error = add_source(g, i, &node);
	if (!error && i)
		error = add_functions(g, i, &node);
	if (!error && i)
		error = add_mnemonic(g, i->text, &node);
	if (!error)
		*ret_node = node;
	return error;
}

int gpu_stacks_reason(struct gpu_stacks *g, const char *name, uint32_t *ret_frame)
{
	return tree_add_frame(g->tree, TREE_GPU_CODE, 0, name, strlen(name), ret_frame);
}

int gpu_stacks_offset(struct gpu_stacks *g, uint32_t instruction, uint32_t *ret_frame)
{
	const struct profile_instruction *i = profile_instruction(g->reader, instruction);

	buf_reset(&g->text);
	buf_printf(&g->text, "0x%x", i ? i->offset : 0);
	if (g->text.failed)
		return error_memory(SUBJECT);
	return tree_add_frame(
		g->tree, TREE_GPU_CODE, 0, buf_text(&g->text), g->text.size, ret_frame);
}
