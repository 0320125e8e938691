// SPDX-License-Identifier: MIT
/*
 * Paths get numbers, and a line is found by that of its file and its own. Then accesses are counted
 * by line, and put in the order of lines. So the work is in proportion to the sizes of both tables.
 */
#include "report/access_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct finding {
	const struct annotation *a;
	const struct kernel_accesses *accesses;
	struct interner *paths;
	struct map lines; /* by place_of */
	uint32_t *files;  /* of each file of the accesses: the number of its path; 0: no file's */
};

static uint64_t place_of(uint32_t path, uint32_t line)
{
	return (uint64_t)path << 32 | line;
}

static int add_file(struct finding *f, const struct annotation_file *file)
{
	const char *path = profile_string(f->a->stalls->reader, file->file, NULL);
	uint32_t number = 0;
	int error = file->file ? interner_add(f->paths, path, strlen(path), &number, NULL) : 0;

	for (uint32_t i = file->first; number && !error && i < file->first + file->count; i++) {
		uint64_t place = place_of(number, f->a->lines.items[i].line);

		if (!map_get(&f->lines, place))
			error = map_put(&f->lines, place, i);
	}
	return error;
}

static int find_all(struct finding *f, struct access_lines *l)
{
	int error = 0;

	vec_foreach (file, &f->a->files)
		error = error ?: add_file(f, file);
	for (size_t i = 0; i < f->accesses->files.count; i++) {
		const char *path = f->accesses->files.items[i];

		f->files[i] = interner_find(f->paths, path, strlen(path));
	}
	for (size_t i = 0; i < f->accesses->items.count && !error; i++) {
		const struct kernel_access *access = &f->accesses->items.items[i];
		uint32_t path = access->file ? f->files[access->file - 1] : 0;
		const uint64_t *line =
			path ? map_get(&f->lines, place_of(path, access->line)) : NULL;

		l->of[i] = line ? (uint32_t)*line : ACCESS_NO_LINE;
	}
	return error;
}

/* Counts are two further on than their line, so that they become its end while it is filled. */
static void sort(struct access_lines *l, size_t lines, size_t accesses)
{
	for (size_t i = 0; i < accesses; i++)
		if (l->of[i] != ACCESS_NO_LINE)
			l->first[l->of[i] + 2]++;
	for (size_t n = 0; n <= lines; n++)
		l->first[n + 1] += l->first[n];
	for (size_t i = 0; i < accesses; i++)
		if (l->of[i] != ACCESS_NO_LINE)
			l->sorted[l->first[l->of[i] + 1]++] = (uint32_t)i;
}

int access_lines_find(
	struct access_lines *l, const struct annotation *a, const struct kernel_accesses *accesses)
{
	size_t lines = a->lines.count, count = accesses->items.count;
	struct finding f = {.a = a, .accesses = accesses};
	int error = interner_new(&f.paths);

	*l = (struct access_lines){.of = calloc(count + 1, sizeof(*l->of)),
		.first = calloc(lines + 2, sizeof(*l->first)),
		.sorted = calloc(count + 1, sizeof(*l->sorted))};
	f.files = calloc(accesses->files.count + 1, sizeof(*f.files));
	if (!l->of || !l->first || !l->sorted || !f.files)
		error = -ENOMEM;
	error = error ?: find_all(&f, l);
	if (!error)
		sort(l, lines, count);
	interner_free(f.paths);
	map_release(&f.lines);
	free(f.files);
	return error;
}

void access_lines_release(struct access_lines *l)
{
	free(l->of);
	free(l->first);
	free(l->sorted);
	*l = (struct access_lines){0};
}
