// SPDX-License-Identifier: MIT
#include "view/fold/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "vendor/vendor.h"

#define SUBJECT "the stacks"

/* A call's own name is looked for in this many frames at the leaf end. */
#define CALL_SEARCH_DEPTH 16

int stacks_init(struct stacks *s, const struct profile_reader *r, struct tree *t,
	const struct stacks_options *o)
{
	struct profile_counts counts = profile_counts(r);
	int error;

	*s = (struct stacks){.reader = r, .tree = t};
	error = location_texts_init(&s->texts, r, o->lines);
	if (!error && !o->native_python)
		error = internals_init(&s->internals, r);
	if (error)
		return error;
	s->frame_of_location = calloc((size_t)counts.locations + 1, sizeof(*s->frame_of_location));
	s->frame_of_module = calloc((size_t)counts.modules + 1, sizeof(*s->frame_of_module));
	s->gpu_library = calloc((size_t)counts.modules + 1, 1);
	if (o->inlines) {
		s->frame_of_inline =
			calloc((size_t)counts.inlines + 1, sizeof(*s->frame_of_inline));
		if (!s->frame_of_inline)
			return error_memory(SUBJECT);
	}
	return s->frame_of_location && s->frame_of_module && s->gpu_library ? 0
									    : error_memory(SUBJECT);
}

void stacks_release(struct stacks *s)
{
	free(s->frame_of_location);
	free(s->frame_of_inline);
	free(s->frame_of_module);
	free(s->gpu_library);
	free(s->names);
	free(s->path);
	free(s->first_nodes);
	map_release(&s->nodes);
	map_release(&s->inner_nodes);
	buf_release(&s->text);
	location_texts_release(&s->texts);
	internals_release(&s->internals);
	*s = (struct stacks){0};
}

/* The frame of a location's text, or of the functions without a name in its module; kept in
 * *cached. */
static int frame_of(struct stacks *s, const struct profile_location *l, bool nameless,
	uint32_t *cached, uint32_t *ret_frame)
{
	if (!*cached) {
		enum tree_kind kind;
		uint32_t frame;
		int error;

		buf_reset(&s->text);
		kind = nameless ? location_text_nameless(&s->texts, l, &s->text)
				: location_text(&s->texts, l, &s->text);
		if (s->text.failed)
			return error_memory(SUBJECT);
		error = tree_add_frame(s->tree, kind, 0, buf_text(&s->text), s->text.size, &frame);
		if (error)
			return error;
		*cached = frame + 1;
	}
	*ret_frame = *cached - 1;
	return 0;
}

static int add_location(struct stacks *s, uint32_t location, bool nameless, uint32_t *node)
{
	const struct profile_location *l = profile_location(s->reader, location);
	uint32_t *cached = nameless ? &s->frame_of_module[l->module]
			   : l	    ? &s->frame_of_location[location]
				    : &s->frame_of_location[0];
	uint32_t frame = 0;
	int error = frame_of(s, l, nameless, cached, &frame);

	/* Such functions that call each other are one, as which they are is not known. */
	if (!error && *node != TREE_ROOT_NODE && location_is_nameless_jit(s->reader, l) &&
		tree_nodes(s->tree)[*node].frame == frame)
		return 0;
	return error ?: tree_add_child(s->tree, *node, frame, node);
}

/* The functions inlined at a location, from its own function inwards. */
static int add_inlines(struct stacks *s, uint32_t location, uint32_t *node)
{
	uint32_t chain[INLINES_MAX];
	size_t count = s->frame_of_inline ? location_inlines(s->reader, location, chain) : 0;
	int error = 0;

	for (size_t n = 0; !error && n < count; n++) {
		const struct profile_location l = location_of_inline(s->reader, chain[n]);
		uint32_t frame = 0;

		error = frame_of(s, &l, false, &s->frame_of_inline[chain[n]], &frame);
		error = error ?: tree_add_child(s->tree, *node, frame, node);
	}
	return error;
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
			return error_memory(SUBJECT);
		s->path = path;
		s->path_capacity = capacity;
	}
	s->path[depth] = stack;
	return 0;
}

static int add_node(struct stacks *s, uint32_t stack, uint32_t *node)
{
	const struct profile_stack_node *n = profile_stack_node(s->reader, stack);
	bool nameless = internals_nameless(&s->internals, stack);
	int error = add_location(s, n ? n->location : 0, nameless, node);

	return error || !n || nameless ? error : add_inlines(s, n->location, node);
}

/* Where the tree node of `at`, a node on the path of `stack`, is kept for all stacks that have the
 * same one: what is hidden depends on what follows. NULL: it is not kept. */
static struct map *map_for(struct stacks *s, uint32_t stack, uint32_t at)
{
	bool python = internals_has_python(&s->internals, at);

	if (internals_has_python(&s->internals, stack) != python)
		return NULL;
	return !python || internals_at_end(&s->internals, stack, at) ? &s->nodes : &s->inner_nodes;
}

static int begin_nodes(struct stacks *s, uint32_t base)
{
	if (s->first_nodes)
		return 0;
	s->stack_count = profile_counts(s->reader).stack_nodes + 1;
	s->first_nodes = calloc(s->stack_count, sizeof(*s->first_nodes));
	s->first_base = base;
	return s->first_nodes ? 0 : error_memory(SUBJECT);
}

static bool is_first(const struct stacks *s, const struct map *map, uint32_t base, uint32_t at)
{
	return map == &s->nodes && base == s->first_base && at < s->stack_count;
}

static bool find_node(const struct stacks *s, const struct map *map, uint32_t base, uint32_t at,
	uint32_t *ret_node)
{
	const uint64_t *found;

	if (is_first(s, map, base, at)) {
		if (s->first_nodes[at])
			*ret_node = s->first_nodes[at] - 1;
		return s->first_nodes[at];
	}
	found = map ? map_get(map, (uint64_t)base << 32 | at) : NULL;
	if (found)
		*ret_node = (uint32_t)*found;
	return found;
}

static int keep_node(struct stacks *s, struct map *map, uint32_t base, uint32_t at, uint32_t node)
{
	if (is_first(s, map, base, at))
		s->first_nodes[at] = node + 1;
	else if (map && map_put(map, (uint64_t)base << 32 | at, node))
		return error_memory(SUBJECT);
	return 0;
}

/* Puts the path from `stack` up to the first ancestor that has a node already, or the root, into
 * s->path. */
static int collect_path(
	struct stacks *s, uint32_t base, uint32_t stack, size_t *ret_depth, uint32_t *ret_node)
{
	size_t depth = 0;

	*ret_node = base;
	for (uint32_t at = stack; at; at = parent_of(s, at)) {
		int error;

		if (find_node(s, map_for(s, stack, at), base, at, ret_node))
			break;
		error = push_path(s, depth++, at);
		if (error)
			return error;
	}
	*ret_depth = depth;
	return 0;
}

int stacks_add(struct stacks *s, uint32_t base, uint32_t stack, uint32_t *ret_node)
{
	uint32_t node = base;
	size_t depth = 0;
	int error = begin_nodes(s, base);

	error = error ?: collect_path(s, base, stack, &depth, &node);
	while (!error && depth--) {
		uint32_t at = s->path[depth];

		if (!internals_hide(&s->internals, stack, at))
			error = add_node(s, at, &node);
		error = error ?: keep_node(s, map_for(s, stack, at), base, at, node);
	}
	if (!error)
		*ret_node = node;
	return error;
}

static bool is_gpu_library(struct stacks *s, uint32_t id)
{
	const struct profile_module *m = profile_module(s->reader, id);

	if (!m || m->kind != MODULE_FILE)
		return false;
	if (!s->gpu_library[id])
		s->gpu_library[id] =
			vendor_is_gpu_library(profile_string(s->reader, m->path, NULL)) ? 2 : 1;
	return s->gpu_library[id] == 2;
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

/* Where memory is short, any location may have it. */
static bool may_be_named(struct stacks *s, uint32_t name)
{
	struct profile_counts counts = profile_counts(s->reader);

	if (!s->names) {
		s->names = calloc((size_t)counts.strings + 1, 1);
		for (uint32_t id = 1; s->names && id <= counts.locations; id++)
			s->names[profile_location(s->reader, id)->name] = 1;
	}
	return name && (!s->names || s->names[name]);
}

/* Without a frame near the leaf whose name is the call's, and what lies below it. Equal texts have
 * one id in a profile. */
static uint32_t cut_named(struct stacks *s, uint32_t stack, uint32_t api, uint32_t *call)
{
	uint32_t at = may_be_named(s, api) ? stack : 0;

	for (int depth = 0; at && depth < CALL_SEARCH_DEPTH; depth++) {
		const struct profile_location *l = location_of(s, at);

		if (l && l->name == api) {
			*call = location_id(s, at);
			return parent_of(s, at);
		}
		at = parent_of(s, at);
	}
	return stack;
}

static bool is_launch_stub(const struct stacks *s, uint32_t stack)
{
	const struct profile_location *l = location_of(s, stack);

	return l && l->kind == FRAME_USER &&
	       vendor_is_launch_stub(profile_string(s->reader, l->name, NULL));
}

uint32_t stacks_cut_call(struct stacks *s, uint32_t stack, uint32_t api, uint32_t *ret_call)
{
	uint32_t at = skip_kernel(s, stack), kept = stack, call = 0;
	const struct profile_location *l;

	while (at && (l = location_of(s, at)) && l->kind == FRAME_USER &&
		is_gpu_library(s, l->module)) {
		call = location_id(s, at);
		at = parent_of(s, at);
		kept = at;
	}
	kept = cut_named(s, kept, api, &call);
	while (kept && is_launch_stub(s, kept))
		kept = parent_of(s, kept);
	*ret_call = call;
	return kept;
}

/* Functions of the kernel that do nothing but give the CPU away, of any version (schedule,
 * __schedule, schedule_timeout, schedule_hrtimeout_range_clock, io_schedule, __cond_resched, ...),
 * or lead there when a thread is interrupted for another (asm_sysvec_apic_timer_interrupt,
 * irqentry_exit_to_user_mode, exit_to_user_mode_loop, preempt_schedule_irq). */
static bool is_scheduler(const char *name)
{
	static const char *const names[] = {"schedule", "io_schedule", "preempt_schedule",
		"cond_resched", "asm_sysvec_", "sysvec_", "asm_common_interrupt",
		"raw_irqentry_exit", "irqentry_exit", "irq_exit", "exit_to_user_mode"};

	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

uint32_t stacks_cut_scheduler(const struct stacks *s, uint32_t stack)
{
	const struct profile_location *l;
	uint32_t kept = stack;

	for (uint32_t at = stack; at && (l = location_of(s, at)) && l->kind == FRAME_KERNEL;
		at = parent_of(s, at)) {
		if (is_scheduler(profile_string(s->reader, l->name, NULL)))
			kept = parent_of(s, at);
		else if (kept != stack)
			break;
	}
	return kept;
}

/* As the kernel calls them on x86 and elsewhere: "__x64_sys_futex", "__arm64_sys_futex". */
static bool is_system_call(const struct stacks *s, uint32_t stack)
{
	const struct profile_location *l = location_of(s, stack);
	const char *name = profile_string(s->reader, l ? l->name : 0, NULL);

	return name[0] == '_' && name[1] == '_' && strstr(name, "_sys_") && !strstr(name, "_do_");
}

int stacks_add_brief(struct stacks *s, uint32_t base, uint32_t stack, uint32_t *ret_node)
{
	uint32_t user = skip_kernel(s, stack), call = 0, node = base;
	int error = stacks_add(s, base, user, &node);

	for (uint32_t at = stack; at != user; at = parent_of(s, at))
		if (!call || !is_system_call(s, call))
			call = at;
	if (!error && call)
		error = add_node(s, call, &node);
	if (!error)
		*ret_node = node;
	return error;
}
