// SPDX-License-Identifier: MIT
#include "report/accesses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "probe/coalescing.h"
#include "probe/recorded/recorded.h"

#define TOOL "coalesce"

static int no_memory(void)
{
	return error_memory("accesses to memory");
}

struct collecting {
	struct kernel_accesses *to;
	const struct server *from;
	struct map files; /* by the server's numbers of their paths */
};

static int add_file(struct collecting *c, uint32_t path, uint32_t *ret)
{
	const uint64_t *known = map_get(&c->files, path);
	char *copy;

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	copy = strdup(interner_get(c->from->strings, path, NULL));
	if (!copy || vec_push(&c->to->files, copy)) {
		free(copy);
		return no_memory();
	}
	*ret = (uint32_t)c->to->files.count;
	return map_put(&c->files, path, *ret) ? no_memory() : 0;
}

static int add(struct collecting *c, const struct coalescing *found)
{
	struct kernel_access new = {.insn = found->insn,
		.accesses = found->accesses,
		.lanes = found->lanes,
		.lines = found->lines,
		.least = coalescing_least(found)};
	const struct server_line *l = server_line(c->from, found->kernel, found->insn);
	int error = 0;

	if (!new.accesses)
		return 0;
	if (l && l->file) {
		new.line = l->line;
		error = add_file(c, l->file, &new.file);
	}
	return error || !vec_push(&c->to->items, new) ? error : no_memory();
}

static int add_map(struct collecting *c, uint32_t object, uint32_t map, const char *kernel)
{
	struct values v = {0};
	int error = values_read(&v, c->from, object, map, VALUES_ANY);

	vec_foreach (e, &v.entries) {
		struct coalescing found = coalescing_of(&v, e);
		const char *name = server_kernel_name(c->from, found.kernel);

		if (!error && name && !strcmp(name, kernel))
			error = add(c, &found);
	}
	values_release(&v);
	return error;
}

static int by_lines(const void *a, const void *b)
{
	const struct kernel_access *x = a, *y = b;

	if (x->lines != y->lines)
		return x->lines > y->lines ? -1 : 1;
	return x->insn < y->insn ? -1 : x->insn > y->insn;
}

static int collect(
	struct kernel_accesses *a, const struct recorded_reading *found, const char *kernel)
{
	struct collecting c = {.to = a, .from = &found->server};
	int error = 0;

	for (uint32_t o = 0; o < found->plan.objects.count; o++) {
		const struct plan_object *object = &found->plan.objects.items[o];
		const struct ebpf_object *file = object->object;

		if (!object->tool || strcmp(object->name, TOOL) != 0)
			continue;
		for (uint32_t map = 0; !error && map < file->maps.count; map++)
			if (!strcmp(file->maps.items[map].name, COALESCING_MAP))
				error = add_map(&c, o, map, kernel);
	}
	map_release(&c.files);
	if (a->items.count)
		qsort(a->items.items, a->items.count, sizeof(*a->items.items), by_lines);
	return error;
}

int kernel_accesses_read(
	struct kernel_accesses *a, const struct profile_reader *done, const char *kernel)
{
	struct recorded_reading found;
	int error;

	*a = (struct kernel_accesses){0};
	if (!profile_counts(done).probe_objects)
		return 0;
	error = recorded_read(&found, done, NULL, NULL);
	if (error)
		return error;
	error = collect(a, &found, kernel);
	recorded_reading_release(&found);
	return error;
}

void kernel_accesses_release(struct kernel_accesses *a)
{
	vec_foreach (file, &a->files)
		free(*file);
	vec_release(&a->files);
	vec_release(&a->items);
}
