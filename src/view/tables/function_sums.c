// SPDX-License-Identifier: MIT
/*
 * Stacks are a trie, so what was sampled in a function and what it called is the sum over the nodes
 * above each of its nodes. Where a function calls itself, directly or not, only the node nearest to
 * the root counts: the walk starts at the root, and keeps which functions it is in.
 *
 * What is hidden of a stack depends on the whole stack, so the trie is summed and walked once for
 * each kind of them. The functions of an interpreter without symbols are one function, which a
 * stack has once at most: they are added stack by stack.
 */
#include "view/tables/function_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "view/names/launch_path.h"

/* A node of the trie, as far as it is in stacks of one kind. */
struct node {
	struct stack_sum sum; /* of the stacks that it is in */
	uint32_t parent, first_child, next_sibling;
	uint32_t function; /* 0: hidden */
};

struct reading {
	struct function_sums *result; /* rows by function - 1, until they are sorted */
	const struct profile_reader *reader;
	const struct stack_sums *stacks;
	const struct internals *internals;
	const struct location_texts *texts;
	bool inlines;
	struct map named, nameless, python; /* see map_for: -> function */
	struct map paths; /* function << 32 | path of its caller: the function's own time there */
	const uint32_t *first;	      /* see launch_path_merge */
	uint32_t *of_location;	      /* by location: its function; 0: not looked up yet */
	struct vec(uint32_t) entered; /* by function - 1: how many nodes of it the walk is in */
	struct node *nodes;	      /* by stack node; 0 is the parent of roots */
	uint32_t node_count;
	unsigned int kind; /* of the stacks that are summed */
	uint32_t example;  /* one of them; 0: there is none */
};

/* The functions of one node, the outermost first: its own, and what was inlined there. */
struct frame {
	uint32_t functions[1 + INLINES_MAX];
	size_t count;
};

int stack_sums_add(struct stack_sums *s, uint32_t stack, uint64_t ns)
{
	if (stack >= s->count) {
		uint64_t count = s->count ? s->count : 64;
		struct stack_sum *items;

		while (count <= stack)
			count *= 2;
		count = count > UINT32_MAX ? UINT32_MAX : count;
		items = stack < count ? realloc(s->items, count * sizeof(*items)) : NULL;
		if (!items)
			return -ENOMEM;
		memset(items + s->count, 0, (count - s->count) * sizeof(*items));
		s->items = items;
		s->count = (uint32_t)count;
	}
	s->items[stack].samples++;
	s->items[stack].ns += ns;
	return 0;
}

void stack_sums_release(struct stack_sums *s)
{
	free(s->items);
	*s = (struct stack_sums){0};
}

static void add(struct stack_sum *to, const struct stack_sum *more)
{
	to->samples += more->samples;
	to->ns += more->ns;
}

/* ------------------------------------------------------------------ functions */

static const char *file_of(const struct reading *d, const struct profile_location *l)
{
	const struct profile_module *m = l ? profile_module(d->reader, l->module) : NULL;

	if (l && l->kind == FRAME_PYTHON)
		return profile_string(d->reader, l->file, NULL);
	if (l && l->kind == FRAME_KERNEL)
		return "[kernel]";
	if (!m)
		return "";
	return m->kind == MODULE_VDSO ? "[vdso]" : profile_string(d->reader, m->path, NULL);
}

/* The function of this name in a file; adds its row when it is new. */
static int find_function(struct reading *d, enum tree_kind kind, const struct buf *name,
	const char *file, uint32_t *ret)
{
	struct function_sum row = {.kind = kind};
	struct buf text = BUF_INIT;
	int added = 0, error = -ENOMEM;

	buf_puts(&text, buf_text(name));
	buf_append(&text, (const char[]){'\0', (char)kind}, 2);
	buf_puts(&text, file);
	if (!text.failed && !name->failed)
		error = interner_add(d->result->names, text.data, text.size, ret, &added);
	if (!error && added) {
		row.name = interner_get(d->result->names, *ret, NULL);
		row.file = row.name + strlen(row.name) + 2;
		error = vec_push(&d->result->rows, row);
		error = error ?: vec_push(&d->entered, 0);
	}
	buf_release(&text);
	return error;
}

static int name_function(
	struct reading *d, const struct profile_location *l, bool nameless, uint32_t *ret)
{
	struct buf name = BUF_INIT;
	enum tree_kind kind = nameless ? location_text_nameless(d->texts, l, &name)
				       : location_text(d->texts, l, &name);
	int error = find_function(d, kind, &name, file_of(d, l), ret);

	if (!error && l && l->kind == FRAME_USER && !*profile_string(d->reader, l->name, NULL))
		d->result->rows.items[*ret - 1].nameless = l->module;
	buf_release(&name);
	return error;
}

/* Most locations are of a function that others are of, too, and names take long to be made: where
 * it is looked up by what, if it is such a location; else NULL. */
static struct map *map_for(struct reading *d, const struct profile_location *l, uint64_t *ret_key)
{
	if (!l || (l->kind != FRAME_USER && l->kind != FRAME_PYTHON))
		return NULL;
	*ret_key = (uint64_t)(l->kind == FRAME_PYTHON ? l->file : l->module) << 32 | l->name;
	if (l->kind == FRAME_PYTHON)
		return &d->python;
	if (l->name)
		return &d->named;
	*ret_key = (uint64_t)l->module << 44 | l->function;
	return l->function && !(l->function >> 44) && !(l->module >> 20) ? &d->nameless : NULL;
}

static int function_at(struct reading *d, const struct profile_location *l, uint32_t *ret)
{
	uint64_t key = 0;
	struct map *map = map_for(d, l, &key);
	const uint64_t *found = map ? map_get(map, key) : NULL;
	int error;

	if (found) {
		*ret = (uint32_t)*found;
		return 0;
	}
	error = name_function(d, l, false, ret);
	return error || !map ? error : map_put(map, key, *ret);
}

/* Whether the stacks that are summed are shown without a node; and those without a name, which only
 * some of them show (add_row). */
static bool is_hidden(const struct reading *d, uint32_t id)
{
	const struct internals *i = d->internals;

	if (!d->kind)
		return false;
	return internals_nameless(i, id) ||
	       internals_hide(i, internals_has_python(i, id) ? id : d->example, id);
}

/* The function of a node; 0 where it is hidden. */
static int function_of_node(
	struct reading *d, const struct profile_stack_node *n, uint32_t id, uint32_t *ret)
{
	const struct profile_location *l = profile_location(d->reader, n->location);
	uint32_t *cached = &d->of_location[l ? n->location : 0];
	int error = 0;

	if (is_hidden(d, id))
		return 0;
	if (!*cached)
		error = function_at(d, l, cached);
	*ret = *cached;
	return error;
}

static int add_inlined(struct reading *d, uint32_t location, struct frame *frame)
{
	const struct profile_location *at = profile_location(d->reader, location);
	uint32_t chain[INLINES_MAX];
	size_t count = location_inlines(d->reader, location, chain);
	int error = 0;

	for (size_t n = 0; !error && n < count; n++) {
		struct profile_location l = location_of_inline(d->reader, chain[n]);

		l.module = at->module;
		error = function_at(d, &l, &frame->functions[frame->count++]);
	}
	return error;
}

static int find_frame(struct reading *d, uint32_t id, struct frame *ret)
{
	ret->functions[0] = d->nodes[id].function;
	ret->count = ret->functions[0] != 0;
	return d->inlines && ret->count
		       ? add_inlined(d, profile_stack_node(d->reader, id)->location, ret)
		       : 0;
}

/* ------------------------------------------------------------------ one kind of stacks */

/* Puts the samples of this kind on their stacks' leaves. */
static void put_samples(struct reading *d)
{
	memset(d->nodes, 0, d->node_count * sizeof(*d->nodes));
	d->example = 0;
	for (uint32_t id = 1; id < d->node_count && id < d->stacks->count; id++)
		if (d->stacks->items[id].samples && internals_kind(d->internals, id) == d->kind) {
			d->nodes[id].sum = d->stacks->items[id];
			d->example = id;
		}
}

/* Parents have smaller ids, so a node's own sum is whole when it comes to it. */
static int sum_nodes(struct reading *d)
{
	int error = 0;

	for (uint32_t id = d->node_count - 1; !error && id; id--) {
		const struct profile_stack_node *n = profile_stack_node(d->reader, id);
		struct node *node = &d->nodes[id], *parent;

		if (!node->sum.samples)
			continue;
		node->parent = n->parent < id ? n->parent : 0;
		parent = &d->nodes[node->parent];
		add(&parent->sum, &node->sum);
		node->next_sibling = parent->first_child;
		parent->first_child = id;
		error = function_of_node(d, n, id, &node->function);
	}
	return error;
}

/* Whether a caller of a function is no part of the way to it: one in the kernel, or itself. */
static bool is_no_caller(const struct reading *d, uint32_t caller, uint32_t function)
{
	const struct profile_stack_node *n = profile_stack_node(d->reader, caller);
	const struct profile_location *l = profile_location(d->reader, n->location);

	return (l && l->kind == FRAME_KERNEL) || !d->nodes[caller].function ||
	       d->nodes[caller].function == function;
}

/* The caller, or the first stack through the same functions; 0: there is none. */
static uint32_t path_of(const struct reading *d, uint32_t function, uint32_t caller)
{
	while (caller && is_no_caller(d, caller, function))
		caller = d->nodes[caller].parent;
	return d->first[caller];
}

/* Own time of a function, on the way to it. */
static int add_own(
	struct reading *d, uint32_t function, uint32_t caller, const struct stack_sum *sum)
{
	uint64_t key = (uint64_t)function << 32 | path_of(d, function, caller);
	uint64_t *known = map_get(&d->paths, key);

	add(&d->result->rows.items[function - 1].self, sum);
	if (!known)
		return map_put(&d->paths, key, sum->ns);
	*known += sum->ns;
	return 0;
}

/* The time of a stack in functions of the interpreter that have no name; whether it is its own. */
static int add_row(struct reading *d, uint32_t stack, uint32_t row, bool is_innermost)
{
	const struct profile_stack_node *n = profile_stack_node(d->reader, row);
	const struct profile_location *l = profile_location(d->reader, n->location);
	struct function_sum *f;
	uint32_t function;
	int error = name_function(d, l, true, &function);

	if (error)
		return error;
	f = &d->result->rows.items[function - 1];
	add(&f->total, &d->stacks->items[stack]);
	return is_innermost ? add_own(d, function, d->nodes[row].parent, &d->stacks->items[stack])
			    : 0;
}

/* The time of a stack is that of its innermost function itself. */
static int add_self(struct reading *d, uint32_t stack)
{
	uint32_t id = stack, row = d->kind ? internals_row(d->internals, stack) : 0;
	struct frame frame;
	int error = 0;

	while (id && id != row && !d->nodes[id].function)
		id = d->nodes[id].parent;
	if (row)
		error = add_row(d, stack, row, id == row);
	if (error || id == row)
		return error;
	error = find_frame(d, id, &frame);
	if (error || !frame.count)
		return error;
	/* What a function is inlined into has the same node. */
	return add_own(d, frame.functions[frame.count - 1],
		frame.count > 1 ? id : d->nodes[id].parent, &d->stacks->items[stack]);
}

static int add_selves(struct reading *d)
{
	int error = 0;

	for (uint32_t id = 1; !error && id < d->node_count && id < d->stacks->count; id++)
		if (d->stacks->items[id].samples && internals_kind(d->internals, id) == d->kind)
			error = add_self(d, id);
	return error;
}

static int enter(struct reading *d, uint32_t id)
{
	struct frame frame;
	int error = find_frame(d, id, &frame);

	for (size_t i = 0; !error && i < frame.count; i++)
		if (!d->entered.items[frame.functions[i] - 1]++)
			add(&d->result->rows.items[frame.functions[i] - 1].total,
				&d->nodes[id].sum);
	return error;
}

static int leave(struct reading *d, uint32_t id)
{
	struct frame frame;
	int error = find_frame(d, id, &frame);

	for (size_t i = 0; !error && i < frame.count; i++)
		d->entered.items[frame.functions[i] - 1]--;
	return error;
}

static int walk_nodes(struct reading *d)
{
	uint32_t id = 0;
	int error = 0;

	for (;;) {
		uint32_t next = d->nodes[id].first_child;

		while (!error && id && !next) {
			error = leave(d, id);
			next = d->nodes[id].next_sibling;
			id = next ? id : d->nodes[id].parent;
		}
		if (error || !next)
			return error;
		id = next;
		__builtin_prefetch(&d->nodes[d->nodes[id].next_sibling]);
		error = enter(d, id);
	}
}

static int sum_kind(struct reading *d)
{
	int error;

	put_samples(d);
	if (!d->example)
		return 0;
	error = sum_nodes(d);
	error = error ?: add_selves(d);
	return error ?: walk_nodes(d);
}

/* ------------------------------------------------------------------ all */

/* As flame graphs show them. */
static int add_without_stack(
	struct reading *d, enum profile_sample_kind kind, const struct stack_sum *sum)
{
	struct buf name = BUF_INIT;
	uint32_t function;
	int error;

	if (!sum->samples && !sum->ns)
		return 0;
	buf_printf(&name, "[%s]", profile_sample_note(kind));
	error = find_function(d, TREE_NOTE, &name, "", &function);
	if (!error) {
		add(&d->result->rows.items[function - 1].self, sum);
		add(&d->result->rows.items[function - 1].total, sum);
	}
	buf_release(&name);
	return error;
}

static int add_all_without_stack(struct reading *d)
{
	int error = d->stacks->count ? add_without_stack(d, SAMPLE_SEEN, d->stacks->items) : 0;

	for (int kind = SAMPLE_SEEN + 1; !error && kind < SAMPLE_KINDS; kind++)
		error = add_without_stack(d, (enum profile_sample_kind)kind,
			&(struct stack_sum){.ns = d->stacks->unsampled_ns[kind]});
	return error;
}

/* The way with most time of each function; of equal ones the first stack. */
static void put_paths(struct reading *d)
{
	for (size_t i = 0; d->paths.slots && i <= d->paths.mask; i++) {
		const struct map_slot *slot = &d->paths.slots[i];
		uint32_t stack = (uint32_t)slot->key;
		struct function_sum *f;

		if (!slot->used || !stack)
			continue;
		f = &d->result->rows.items[(slot->key >> 32) - 1];
		if (f->stack && (slot->value < f->stack_ns ||
					(slot->value == f->stack_ns && stack > f->stack)))
			continue;
		f->stack = stack;
		f->stack_ns = slot->value;
	}
}

static bool has_stacks(const struct stack_sums *s)
{
	for (uint32_t id = 1; id < s->count; id++)
		if (s->items[id].samples)
			return true;
	return false;
}

static int read_stacks(struct reading *d)
{
	struct profile_counts counts = profile_counts(d->reader);
	int error;

	d->node_count = counts.stack_nodes + 1;
	d->of_location = calloc((size_t)counts.locations + 1, sizeof(*d->of_location));
	d->nodes = calloc(d->node_count, sizeof(*d->nodes));
	if (!d->of_location || !d->nodes)
		return -ENOMEM;
	error = launch_path_merge(d->internals, PATH_SHOWN, &d->first);
	for (d->kind = 0; !error && d->kind < INTERNALS_KINDS; d->kind++)
		error = sum_kind(d);
	return error;
}

static int read_kinds(struct reading *d)
{
	int error = interner_new(&d->result->names);

	if (!error && has_stacks(d->stacks))
		error = read_stacks(d);
	error = error ?: add_all_without_stack(d);
	if (!error)
		put_paths(d);
	return error;
}

static int by_self_time(const void *left, const void *right)
{
	const struct function_sum *a = left, *b = right;
	int order;

	if (a->self.ns != b->self.ns)
		return a->self.ns > b->self.ns ? -1 : 1;
	if (a->total.ns != b->total.ns)
		return a->total.ns > b->total.ns ? -1 : 1;
	order = strcmp(a->name, b->name);
	order = order ? order : strcmp(a->file, b->file);
	return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

int function_sums_read(struct function_sums *f, const struct stack_sums *stacks,
	const struct internals *internals, const struct location_texts *texts, bool inlines)
{
	struct reading d = {
		.result = f,
		.reader = internals->reader,
		.stacks = stacks,
		.internals = internals,
		.texts = texts,
		.inlines = inlines,
	};
	int error = read_kinds(&d);

	map_release(&d.named);
	map_release(&d.nameless);
	map_release(&d.python);
	map_release(&d.paths);
	vec_release(&d.entered);
	free(d.of_location);
	free(d.nodes);
	if (error)
		return error_errno(error, "cannot sum up the functions");
	if (f->rows.count)
		qsort(f->rows.items, f->rows.count, sizeof(*f->rows.items), by_self_time);
	return 0;
}

void function_sums_release(struct function_sums *f)
{
	vec_release(&f->rows);
	interner_free(f->names);
	*f = (struct function_sums){0};
}
