// SPDX-License-Identifier: MIT
#include "view/stalls/source_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"

void source_map_release(struct source_map *m)
{
	vec_foreach (r, &m->replacements) {
		free(r->old);
		free(r->new);
	}
	vec_foreach (folder, &m->folders)
		free(*folder);
	vec_release(&m->replacements);
	vec_release(&m->folders);
}

int source_map_add(struct source_map *m, const char *text)
{
	const char *equals = strchr(text, '=');
	struct source_replacement r;

	if (!equals || equals == text)
		return error_set(-EINVAL, "takes OLD=NEW, not '%s'", text);
	r.old = strndup(text, (size_t)(equals - text));
	r.new = strdup(equals + 1);
	if (!r.old || !r.new || vec_push(&m->replacements, r)) {
		free(r.old);
		free(r.new);
		return error_errno(-ENOMEM, "cannot keep '%s'", text);
	}
	return 0;
}

int source_dir_add(struct source_map *m, const char *folder)
{
	char *copy = strdup(folder);

	if (!copy || vec_push(&m->folders, copy)) {
		free(copy);
		return error_errno(-ENOMEM, "cannot keep '%s'", folder);
	}
	return 0;
}

void source_text_release(struct source_text *t)
{
	free(t->path);
	free(t->why);
	buf_release(&t->contents);
	vec_release(&t->starts);
	*t = (struct source_text){0};
}

/* 0 or why this is no source: -EINVAL where it is no text. */
static int read_text(struct source_text *t, int fd, const struct stat *st)
{
	ssize_t size;

	if ((uint64_t)st->st_size > SOURCE_BYTES_MAX)
		return -EFBIG;
	if (!buf_reserve(&t->contents, (size_t)st->st_size + 1))
		return -ENOMEM;
	size = io_read_full(fd, t->contents.data, (size_t)st->st_size);
	if (size < 0)
		return (int)size;
	if (memchr(t->contents.data, '\0', (size_t)size))
		return -EINVAL;
	t->contents.size = (size_t)size;
	t->contents.data[size] = '\0';
	t->changed_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
	return 0;
}

/* 0 with t->path set, -ENOMEM, or why this is no source. */
static int try(struct source_text *t, const char *path)
{
	struct stat st;
	int fd = io_open_regular(path, &st), error;

	if (fd < 0)
		return fd;
	error = read_text(t, fd, &st);
	close(fd);
	if (error) {
		buf_reset(&t->contents);
		return error;
	}
	t->path = strdup(path);
	return t->path ? 0 : -ENOMEM;
}

/* A folder's name is replaced as a whole only. */
static bool is_below(const char *path, const char *old)
{
	size_t size = strlen(old);

	return !strncmp(path, old, size) &&
	       (old[size - 1] == '/' || path[size] == '/' || !path[size]);
}

/* Appends what the longest of the replacements makes of a path, if there is one for it. */
static bool replace(const struct source_map *m, const char *path, struct buf *ret)
{
	const struct source_replacement *best = NULL;

	vec_foreach (r, &m->replacements)
		if (is_below(path, r->old) && (!best || strlen(r->old) >= strlen(best->old)))
			best = r;
	if (best)
		buf_printf(ret, "%s%s", best->new, path + strlen(best->old));
	return best;
}

static int try_replaced(struct source_text *t, const struct source_map *m, const char *path)
{
	struct buf other = BUF_INIT;
	int error = -ENOENT;

	if (replace(m, path, &other))
		error = other.failed ? -ENOMEM : try(t, buf_text(&other));
	buf_release(&other);
	return error;
}

/* folder/a/b/c.cu, folder/b/c.cu, folder/c.cu; never above the folder. */
static int try_folder(
	struct source_text *t, const struct source_map *m, const char *folder, const char *path)
{
	struct buf other = BUF_INIT;
	int error = -ENOENT;

	while (path && error && error != -ENOMEM) {
		path += strspn(path, "/");
		buf_reset(&other);
		buf_printf(&other, "%s/%s", folder, path);
		if (strncmp(path, "../", 3) && !strstr(path, "/../"))
			error = other.failed ? -ENOMEM : try(t, buf_text(&other));
		path = strchr(path, '/');
	}
	buf_release(&other);
	return error;
}

static int find_lines(struct source_text *t)
{
	const char *text = t->contents.data, *end = text + t->contents.size;

	for (const char *at = text; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		if (vec_push(&t->starts, (uint32_t)(at - text)))
			return -ENOMEM;
		at = newline ? newline + 1 : end;
	}
	return 0;
}

/* `own`: why the path itself is none. */
static int say_why(struct source_text *t, const struct source_map *m, const char *path, int own)
{
	struct buf why = BUF_INIT, other = BUF_INIT;

	buf_puts(&why, own == -EINVAL ? "not a text file" : strerror(-own));
	if (replace(m, path, &other))
		buf_printf(&why, "; nor is it %s", buf_text(&other));
	for (size_t i = 0; i < m->folders.count; i++)
		buf_printf(&why, "%s %s", i ? "," : "; nor is it below", m->folders.items[i]);
	if (!why.failed && !other.failed)
		t->why = strdup(buf_text(&why));
	buf_release(&why);
	buf_release(&other);
	return t->why ? 0 : -ENOMEM;
}

int source_text_find(struct source_text *t, const struct source_map *m, const char *path)
{
	int error = try_replaced(t, m, path), own = 0;

	if (error && error != -ENOMEM)
		own = error = try(t, path);
	for (size_t i = 0; error && error != -ENOMEM && i < m->folders.count; i++)
		error = try_folder(t, m, m->folders.items[i], path);
	if (!error)
		error = find_lines(t);
	else if (error != -ENOMEM)
		error = say_why(t, m, path, own);
	return error ? error_errno(error, "cannot read '%s'", path) : 0;
}

uint32_t source_line_count(const struct source_text *t)
{
	return (uint32_t)t->starts.count;
}

const char *source_line(const struct source_text *t, uint32_t line, size_t *ret_size)
{
	const char *start;

	*ret_size = 0;
	if (!line || line > t->starts.count)
		return NULL;
	start = t->contents.data + t->starts.items[line - 1];
	*ret_size = (line < t->starts.count ? t->starts.items[line] : t->contents.size) -
		    t->starts.items[line - 1];
	while (*ret_size && (start[*ret_size - 1] == '\n' || start[*ret_size - 1] == '\r'))
		--*ret_size;
	return start;
}

bool source_is_newer(const struct source_text *t, const struct profile_reader *r)
{
	uint64_t start_ns = profile_meta_number(r, META_START_NS, 0);
	uint64_t realtime_ns = profile_meta_number(r, META_REALTIME_NS, 0);

	return t->path && realtime_ns && t->changed_ns > realtime_ns + start_ns;
}

int source_texts_find(struct source_text **ret, const struct annotation *a,
	const struct profile_reader *r, const struct source_map *m)
{
	int error = 0;

	*ret = calloc(a->files.count + 1, sizeof(**ret));
	if (!*ret)
		return error_memory("sources");
	for (size_t i = 0; !error && i < a->files.count; i++)
		if (a->files.items[i].file)
			error = source_text_find(
				&(*ret)[i], m, profile_string(r, a->files.items[i].file, NULL));
	return error;
}

void source_texts_release(struct source_text *texts, const struct annotation *a)
{
	for (size_t i = 0; texts && i < a->files.count; i++)
		source_text_release(&texts[i]);
	free(texts);
}

const char *source_made_text(const char *path)
{
	if (*path != '[')
		return NULL;
	return !strcmp(path, "[probe]")
		       ? "these are programs that `xpuprof probe` or `record --probe` put into "
			 "kernels, numbered in their order"
		       : "these are lines of text that the compiler made, which is not in the "
			 "recording";
}
