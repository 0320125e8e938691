// SPDX-License-Identifier: MIT
#include "report/accesses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "probe/recorded/recorded.h"
#include "probe/values.h"

#define TOOL	   "coalesce"
#define MAP	   "accesses"
#define LINE_BYTES 128

static int no_memory(void)
{
	return error_memory("accesses to memory");
}

static int add_file(struct kernel_accesses *a, const char *path, uint32_t *ret)
{
	char *copy;

	vec_foreach (file, &a->files)
		if (!strcmp(*file, path)) {
			*ret = (uint32_t)(file - a->files.items) + 1;
			return 0;
		}
	copy = strdup(path);
	if (!copy || vec_push(&a->files, copy)) {
		free(copy);
		return no_memory();
	}
	*ret = (uint32_t)a->files.count;
	return 0;
}

static int add(struct kernel_accesses *a, const struct server *s, const struct values *v,
	const struct value_entry *e)
{
	uint64_t place = values_key_number(v, e, 8);
	struct kernel_access new = {.insn = (uint32_t)place,
		.size_bytes = (uint32_t)(place >> 32),
		.accesses = values_number(v, e, 0),
		.lanes = values_number(v, e, 8),
		.lines = values_number(v, e, 16)};
	const struct server_line *l = server_line(s, values_key_number(v, e, 0), new.insn);
	int error = 0;

	if (!new.accesses)
		return 0;
	if (l && l->file) {
		new.line = l->line;
		error = add_file(a, interner_get(s->strings, l->file, NULL), &new.file);
	}
	return error || !vec_push(&a->items, new) ? error : no_memory();
}

static int add_map(struct kernel_accesses *a, const struct server *s, uint32_t object, uint32_t map,
	const char *kernel)
{
	struct values v = {0};
	int error = values_read(&v, s, object, map, VALUES_ANY);

	vec_foreach (e, &v.entries) {
		const char *name = server_kernel_name(s, values_key_number(&v, e, 0));

		if (!error && name && !strcmp(name, kernel))
			error = add(a, s, &v, e);
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
	int error = 0;

	for (uint32_t o = 0; o < found->plan.objects.count; o++) {
		const struct plan_object *object = &found->plan.objects.items[o];
		const struct ebpf_object *file = object->object;

		if (!object->tool || strcmp(object->name, TOOL) != 0)
			continue;
		for (uint32_t map = 0; !error && map < file->maps.count; map++)
			if (!strcmp(file->maps.items[map].name, MAP))
				error = add_map(a, &found->server, o, map, kernel);
	}
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

double kernel_access_least(const struct kernel_access *a)
{
	double bytes = (double)a->lanes / (double)a->accesses * a->size_bytes;

	return bytes < LINE_BYTES ? 1 : bytes / LINE_BYTES;
}
