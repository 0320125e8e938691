// SPDX-License-Identifier: MIT
/*
 * A walk makes every entry absent, goes through the folders, and makes present what it meets. It is
 * made at most once between two calls of containers_refresh: nearly all numbers that are asked
 * about in between had been given out before, so that a second walk could not find what the first
 * did not. One that was just being made is looked for once more after the next call.
 */
#include "monitor/metrics/containers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

#define ID_DIGITS     64
#define DEPTH_MAX     64		   /* of nested cgroups */
#define WALK_OFTEN_NS (60ull * 1000000000) /* so often at least, to see what is gone */

struct cgroup {
	uint64_t id;
	char *name; /* "": not found */
	bool present;
	bool searched_again; /* "": in a later walk than the first */
	uint64_t asked_ns;
};

struct containers {
	struct vec(struct cgroup) cgroups;
	struct map index; /* by id */
	struct map names; /* of those that are present: hashes */
	char *root;	  /* of version 2; NULL: there is none */
	uint64_t now_ns, walked_ns;
	bool walked; /* since the last refresh */
};

/* ------------------------------------------------------------------ names */

static bool is_id(const char *text)
{
	return strspn(text, "0123456789abcdef") == ID_DIGITS;
}

/*
 * The id in one folder's name: alone (cgroupfs driver), or behind the runtime's name, as in
 * "docker-ID.scope", "cri-containerd-ID.scope", "crio-ID.scope", "libpod-ID.scope",
 * "...slice:cri-containerd:ID". The process that watches over a container ("crio-conmon-ID.scope",
 * "libpod-conmon-ID.scope") is not in it.
 */
static const char *id_of_folder(const char *name, size_t size)
{
	static const char scope[] = ".scope", conmon[] = "conmon-";
	const char *id;

	if (size > ID_DIGITS + strlen(scope) &&
		!memcmp(name + size - strlen(scope), scope, strlen(scope)))
		size -= strlen(scope);
	if (size < ID_DIGITS)
		return NULL;
	id = name + size - ID_DIGITS;
	if (!is_id(id) || (id > name && id[-1] != '-' && id[-1] != ':'))
		return NULL;
	if ((size_t)(id - name) >= strlen(conmon) &&
		!memcmp(id - strlen(conmon), conmon, strlen(conmon)))
		return NULL;
	return id;
}

const char *container_id_of_path(const char *path)
{
	const char *found = NULL, *id;

	while (*path) {
		size_t size = strcspn(path, "/");

		id = id_of_folder(path, size);
		if (id)
			found = id;
		path += size + (path[size] == '/');
	}
	return found;
}

static char *name_of_path(const char *path)
{
	const char *id = container_id_of_path(path);

	return id ? strndup(id, ID_DIGITS) : strdup(*path ? path : "/");
}

/* ------------------------------------------------------------------ what is known */

static uint64_t hash_of(const char *name)
{
	return hash_bytes(name, strlen(name));
}

static struct cgroup *find(const struct containers *c, uint64_t id)
{
	uint64_t *at = map_get(&c->index, id);

	return at ? &c->cgroups.items[*at] : NULL;
}

static struct cgroup *add(struct containers *c, uint64_t id, const char *path)
{
	struct cgroup new = {
		.id = id, .name = path ? name_of_path(path) : strdup(""), .asked_ns = c->now_ns};

	if (!new.name || vec_push(&c->cgroups, new) < 0) {
		free(new.name);
		return NULL;
	}
	if (map_put(&c->index, id, c->cgroups.count - 1) < 0) {
		free(c->cgroups.items[--c->cgroups.count].name);
		return NULL;
	}
	return &c->cgroups.items[c->cgroups.count - 1];
}

/* It was asked for before a walk met it. Without memory for that it stays without a name. */
static void name_late(struct cgroup *g, const char *path)
{
	char *name = name_of_path(path);

	if (!name)
		return;
	free(g->name);
	g->name = name;
}

static void drop(struct containers *c, size_t at)
{
	struct cgroup *last = &c->cgroups.items[c->cgroups.count - 1];

	map_remove(&c->index, c->cgroups.items[at].id, NULL);
	free(c->cgroups.items[at].name);
	if (last != &c->cgroups.items[at]) {
		c->cgroups.items[at] = *last;
		*map_get(&c->index, last->id) = at;
	}
	c->cgroups.count--;
}

/* ------------------------------------------------------------------ the walk */

struct walk {
	struct containers *c;
	struct buf path; /* below the root */
	dev_t device;
	size_t seen;
};

static void walk_folder(struct walk *w, int parent, const char *name, unsigned int depth);

static void walk_entries(struct walk *w, int fd, unsigned int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		close(fd);
		return;
	}
	while ((e = readdir(dir))) {
		size_t size = w->path.size;

		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		buf_printf(&w->path, "/%s", e->d_name);
		if (w->path.failed)
			break;
		walk_folder(w, fd, e->d_name, depth + 1);
		w->path.size = size;
		w->path.data[size] = '\0';
	}
	closedir(dir);
}

/* A folder that goes away meanwhile, or that we may not open, is passed over: it stays unknown. */
static void walk_folder(struct walk *w, int parent, const char *name, unsigned int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct cgroup *known;
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || st.st_dev != w->device || depth > DEPTH_MAX ||
		++w->seen > CONTAINERS_MAX) {
		close(fd);
		return;
	}
	known = find(w->c, st.st_ino);
	if (known && !*known->name)
		name_late(known, buf_text(&w->path));
	if (!known)
		known = add(w->c, st.st_ino, buf_text(&w->path));
	if (known) {
		known->present = true;
		(void)map_put(&w->c->names, hash_of(known->name), 1);
	}
	walk_entries(w, fd, depth);
}

static void walk(struct containers *c)
{
	struct walk w = {.c = c};
	struct stat st;

	c->walked = true;
	c->walked_ns = c->now_ns;
	if (!c->root || stat(c->root, &st) < 0)
		return;
	vec_foreach (g, &c->cgroups)
		g->present = false;
	map_release(&c->names);
	w.device = st.st_dev;
	walk_folder(&w, AT_FDCWD, c->root, 0);
	buf_release(&w.path);
}

/* ------------------------------------------------------------------ the object */

/* Only folders of version 2 have this file. */
static char *root_of_version_2(const char *root)
{
	static const char *const below[] = {"", "/unified"};

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		struct buf file = BUF_INIT;
		bool there;

		buf_printf(&file, "%s%s/cgroup.controllers", root, below[i]);
		there = !access(buf_text(&file), F_OK);
		if (there) {
			*strrchr(file.data, '/') = '\0';
			return file.data;
		}
		buf_release(&file);
	}
	return NULL;
}

int containers_new(const char *root, struct containers **ret)
{
	struct containers *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->root = root_of_version_2(root);
	*ret = c;
	return 0;
}

void containers_free(struct containers *c)
{
	if (!c)
		return;
	vec_foreach (g, &c->cgroups)
		free(g->name);
	vec_release(&c->cgroups);
	map_release(&c->index);
	map_release(&c->names);
	free(c->root);
	free(c);
}

void containers_refresh(struct containers *c, uint64_t now_ns)
{
	c->now_ns = now_ns;
	c->walked = false;
	if (now_ns - c->walked_ns >= WALK_OFTEN_NS)
		walk(c);
	for (size_t i = c->cgroups.count; i-- > 0;) {
		const struct cgroup *g = &c->cgroups.items[i];

		if (!g->present && now_ns - g->asked_ns > CONTAINERS_KEPT_NS)
			drop(c, i);
	}
}

const char *containers_name(struct containers *c, uint64_t cgroup)
{
	struct cgroup *g = find(c, cgroup);
	bool again = g && !*g->name && !g->searched_again;

	if (cgroup && (!g || again) && !c->walked) {
		walk(c);
		g = find(c, cgroup);
		if (g)
			g->searched_again = again;
	}
	if (!g && cgroup)
		g = add(c, cgroup, NULL);
	if (!g)
		return "";
	g->asked_ns = c->now_ns;
	return g->name;
}

bool containers_present(const struct containers *c, const char *name)
{
	return map_get(&c->names, hash_of(name)) != NULL;
}
