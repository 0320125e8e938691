// SPDX-License-Identifier: MIT
#include "view/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/error.h"
#include "view/label.h"

/* A call's own name is looked for in this many frames at the leaf end. */
#define CALL_SEARCH_DEPTH 16

static int short_of_memory(void)
{
	return error_set(-ENOMEM, "not enough memory for the stacks");
}

int stacks_init(struct stacks *s, const struct profile_reader *r, struct tree *t)
{
	struct profile_counts counts = profile_counts(r);

	*s = (struct stacks){.reader = r, .tree = t};
	s->frame_of_location = calloc((size_t)counts.locations + 1, sizeof(*s->frame_of_location));
	s->cuda_module = calloc((size_t)counts.modules + 1, 1);
	return s->frame_of_location && s->cuda_module ? 0 : short_of_memory();
}

void stacks_release(struct stacks *s)
{
	free(s->frame_of_location);
	free(s->cuda_module);
	free(s->path);
	map_release(&s->placed);
	buf_release(&s->text);
	*s = (struct stacks){0};
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "module+0xoffset" for code without a name. */
static void put_address(const struct stacks *s, const struct profile_location *l, struct buf *b)
{
	const struct profile_module *m = profile_module(s->reader, l->module);
	const char *name = "";

	if (m && m->kind == MODULE_FILE)
		name = base_name(profile_string(s->reader, m->path, NULL));
	else if (m)
		name = m->kind == MODULE_KERNEL ? "[kernel]"
		       : m->kind == MODULE_VDSO ? "[vdso]"
						: "[anon]";
	buf_printf(b, "%s%s0x%llx", name, *name ? "+" : "", (unsigned long long)l->address);
}

static enum tree_kind put_native(const struct stacks *s, const struct profile_location *l,
	struct buf *b)
{
	const char *name = profile_string(s->reader, l->name, NULL);

	if (!*name) {
		put_address(s, l, b);
		return TREE_C;
	}
	demangle(name, b);
	/* The same frame as that of the call: what it costs the CPU and what it asks of the GPU. */
	if (label_is_cuda_call(name, strlen(name)))
		return TREE_API;
	return strcmp(name, buf_text(b)) || strstr(name, "::") ? TREE_CXX : TREE_C;
}

static enum tree_kind put_python(const struct stacks *s, const struct profile_location *l,
	struct buf *b)
{
	const char *file = profile_string(s->reader, l->file, NULL);

	buf_puts(b, profile_string(s->reader, l->name, NULL));
	if (*file && l->line)
		buf_printf(b, " (%s:%u)", base_name(file), l->line);
	else if (*file)
		buf_printf(b, " (%s)", base_name(file));
	return TREE_PYTHON;
}

static enum tree_kind put_location(struct stacks *s, const struct profile_location *l)
{
	struct buf *b = &s->text;

	buf_reset(b);
	if (!l) {
		buf_puts(b, "[damaged]");
		return TREE_NOTE;
	}
	switch (l->kind) {
	case FRAME_USER:
		return put_native(s, l, b);
	case FRAME_KERNEL:
		if (*profile_string(s->reader, l->name, NULL))
			buf_puts(b, profile_string(s->reader, l->name, NULL));
		else
			put_address(s, l, b);
		return TREE_KERNEL;
	case FRAME_PYTHON:
		return put_python(s, l, b);
	case FRAME_NOTE:
		break;
	}
	buf_puts(b, profile_string(s->reader, l->name, NULL));
	return TREE_NOTE;
}

static int location_frame(struct stacks *s, uint32_t location, uint32_t *ret_frame)
{
	const struct profile_location *l = profile_location(s->reader, location);
	uint32_t *known = l ? &s->frame_of_location[location] : &s->frame_of_location[0];

	if (!*known) {
		enum tree_kind kind = put_location(s, l);
		uint32_t frame;
		int error;

		if (s->text.failed)
			return short_of_memory();
		error = tree_add_frame(s->tree, kind, 0, buf_text(&s->text), s->text.size, &frame);
		if (error)
			return error;
		*known = frame + 1;
	}
	*ret_frame = *known - 1;
	return 0;
}

/* The parent of a stack node; 0 for the root's and where a damaged file would lead in circles. */
static uint32_t parent_of(const struct stacks *s, uint32_t stack)
{
	const struct profile_stack_node *n = profile_stack_node(s->reader, stack);

	return n && n->parent < stack ? n->parent : 0;
}

static int push_path(struct stacks *s, size_t depth, uint32_t stack)
{
	if (depth == s->path_capacity) {
		size_t capacity = depth ? depth * 2 : 256;
		uint32_t *path = realloc(s->path, capacity * sizeof(*path));

		if (!path)
			return short_of_memory();
		s->path = path;
		s->path_capacity = capacity;
	}
	s->path[depth] = stack;
	return 0;
}

static int place_one(struct stacks *s, uint32_t stack, uint32_t *node)
{
	const struct profile_stack_node *n = profile_stack_node(s->reader, stack);
	uint32_t frame = 0;
	int error = location_frame(s, n ? n->location : 0, &frame);

	return error ? error : tree_add_child(s->tree, *node, frame, node);
}

int stacks_place(struct stacks *s, uint32_t base, uint32_t stack, uint32_t *ret_node)
{
	uint32_t node = base;
	size_t depth = 0;
	int error;

	/* Up to the first ancestor that was placed before, then down again. */
	for (; stack; stack = parent_of(s, stack)) {
		uint64_t *known = map_get(&s->placed, (uint64_t)base << 32 | stack);

		if (known) {
			node = (uint32_t)*known;
			break;
		}
		error = push_path(s, depth++, stack);
		if (error)
			return error;
	}
	while (depth--) {
		error = place_one(s, s->path[depth], &node);
		if (error)
			return error;
		if (map_put(&s->placed, (uint64_t)base << 32 | s->path[depth], node))
			return short_of_memory();
	}
	*ret_node = node;
	return 0;
}

static bool is_cuda_module(struct stacks *s, uint32_t id)
{
	const struct profile_module *m = profile_module(s->reader, id);

	if (!m || m->kind != MODULE_FILE)
		return false;
	if (!s->cuda_module[id])
		s->cuda_module[id] =
			label_is_cuda_library(profile_string(s->reader, m->path, NULL)) ? 2 : 1;
	return s->cuda_module[id] == 2;
}

static const struct profile_location *location_of(const struct stacks *s, uint32_t stack)
{
	const struct profile_stack_node *n = profile_stack_node(s->reader, stack);

	return n ? profile_location(s->reader, n->location) : NULL;
}

/* The first frame from the leaf on that is not of the operating system's kernel. */
static uint32_t skip_kernel(const struct stacks *s, uint32_t stack)
{
	const struct profile_location *l;

	while (stack && (l = location_of(s, stack)) && l->kind == FRAME_KERNEL)
		stack = parent_of(s, stack);
	return stack;
}

static uint32_t location_id(const struct stacks *s, uint32_t stack)
{
	const struct profile_stack_node *n = profile_stack_node(s->reader, stack);

	return n ? n->location : 0;
}

/* Without a frame near the leaf whose name is the call's, and what lies below it. Equal texts have
 * one id in a profile. */
static uint32_t cut_named(const struct stacks *s, uint32_t stack, uint32_t api, uint32_t *call)
{
	uint32_t at = stack;

	for (int depth = 0; at && api && depth < CALL_SEARCH_DEPTH; depth++) {
		const struct profile_location *l = location_of(s, at);

		if (l && l->name == api) {
			*call = location_id(s, at);
			return parent_of(s, at);
		}
		at = parent_of(s, at);
	}
	return stack;
}

uint32_t stacks_cut_cuda(struct stacks *s, uint32_t stack, uint32_t api, uint32_t *ret_call)
{
	uint32_t at = skip_kernel(s, stack), kept = stack, call = 0;
	const struct profile_location *l;

	while (at && (l = location_of(s, at)) && l->kind == FRAME_USER &&
		is_cuda_module(s, l->module)) {
		call = location_id(s, at);
		at = parent_of(s, at);
		kept = at;
	}
	kept = cut_named(s, kept, api, &call);
	*ret_call = call;
	return kept;
}
