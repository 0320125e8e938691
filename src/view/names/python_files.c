// SPDX-License-Identifier: MIT
/*
 * Every path begins with what is left behind the folder that Python found it in. Files that are
 * then called alike get one folder more, and again, until none are.
 */
#include "view/names/python_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"

struct file {
	const char *path;
	uint32_t id;
	uint32_t start;
};

struct files {
	struct file *items;
	size_t count, capacity;
};

/* Behind the last "/folder/" of the path; NULL: it has none. */
static const char *behind_last(const char *path, const char *folder)
{
	const char *found = NULL, *at = path;

	while ((at = strstr(at, folder)))
		found = at += strlen(folder);
	return found;
}

/* Behind "/python3.11/", the standard library; "/python3.13t/" and "/python311.zip/" are such,
 * too. */
static const char *behind_library(const char *path)
{
	const char *at = behind_last(path, "/python");

	if (!at || *at < '0' || *at > '9')
		return NULL;
	at += strspn(at, "0123456789.");
	at += *at == 't';
	at += strncmp(at, "zip", 3) ? 0 : 3;
	return *at == '/' ? at + 1 : NULL;
}

static uint32_t first_start(const char *path)
{
	const char *packages = behind_last(path, "/site-packages/");
	const char *name = packages ? packages : behind_last(path, "/dist-packages/");

	if (!name)
		name = behind_library(path);
	if (!name)
		name = behind_last(path, "/");
	return name ? (uint32_t)(name - path) : 0;
}

static int by_short_name(const void *left, const void *right)
{
	const struct file *a = left, *b = right;
	int order = strcmp(a->path + a->start, b->path + b->start);

	return order ? order : a->id < b->id ? -1 : a->id > b->id;
}

/* One folder more; false when the path is shown whole. */
static bool lengthen(struct file *f)
{
	uint32_t start = f->start;

	if (!start)
		return false;
	start--; /* the slash */
	while (start && f->path[start - 1] != '/')
		start--;
	f->start = start;
	return true;
}

/* False when all are called differently. */
static bool lengthen_equal_ones(struct files *f)
{
	bool any = false;

	qsort(f->items, f->count, sizeof(*f->items), by_short_name);
	for (size_t i = 0, end; i < f->count; i = end) {
		const char *name = f->items[i].path + f->items[i].start;

		for (end = i + 1; end < f->count; end++)
			if (strcmp(name, f->items[end].path + f->items[end].start))
				break;
		for (size_t same = i; end - i > 1 && same < end; same++)
			any |= lengthen(&f->items[same]);
	}
	return any;
}

static int collect(struct python_files *f, struct files *files)
{
	uint32_t locations = profile_counts(f->reader).locations;

	for (uint32_t id = 1; id <= locations; id++) {
		const struct profile_location *l = profile_location(f->reader, id);
		struct file file;

		if (!l || l->kind != FRAME_PYTHON || !l->file || f->start[l->file])
			continue;
		file.path = profile_string(f->reader, l->file, NULL);
		file.id = l->file;
		file.start = first_start(file.path);
		f->start[l->file] = UINT32_MAX;
		if (vec_push(files, file))
			return error_memory("the names of files");
	}
	return 0;
}

bool python_frames_exist(const struct profile_reader *r)
{
	uint32_t locations = profile_counts(r).locations;

	for (uint32_t id = 1; id <= locations; id++)
		if (profile_location(r, id)->kind == FRAME_PYTHON)
			return true;
	return false;
}

int python_files_init(struct python_files *f, const struct profile_reader *r)
{
	struct files files = {0};
	int error;

	*f = (struct python_files){.reader = r};
	if (!python_frames_exist(r))
		return 0;
	f->start = calloc((size_t)profile_counts(r).strings + 1, sizeof(*f->start));
	error = f->start ? collect(f, &files) : error_memory("the names of files");
	while (!error && files.count && lengthen_equal_ones(&files))
		continue;
	vec_foreach (file, &files)
		f->start[file->id] = file->start;
	vec_release(&files);
	return error;
}

void python_files_release(struct python_files *f)
{
	free(f->start);
	*f = (struct python_files){0};
}

const char *python_file_name(const struct python_files *f, uint32_t file)
{
	return profile_string(f->reader, file, NULL) + (f->start ? f->start[file] : 0);
}
