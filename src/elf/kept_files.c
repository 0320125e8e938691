// SPDX-License-Identifier: MIT
/*
 * Each distinct root folder is kept once. A perf map that exists already is kept open (the compiler
 * goes on adding to it); for another one its root folder is.
 */
#include "elf/kept_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/map.h"
#include "base/proc_text.h"
#include "base/vec.h"

#define ROOTS_MAX 64

/* What makes a root folder another one: the folder, and the mounts below it. */
struct root {
	dev_t device;
	ino_t inode, mounts;
	int fd;
};

struct kept {
	int fd;	  /* the file, or the map; -1: none */
	int dump; /* the jitdump, or -errno */
	int root; /* index, or -1 */
	struct file_identity identity;
	bool has_user;
	struct kept_user user;
};

struct kept_files {
	struct map by_module; /* -> index */
	struct vec(struct kept) all;
	struct vec(struct root) roots;
	struct root own;
};

/* A file system that a user serves (FUSE) is not asked: it may not answer. */
static bool stat_now(const char *process, const char *name, struct statx *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/%s", process, name);
	return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, ret);
}

static bool identify_root(const char *process, struct root *ret)
{
	struct statx folder, mounts;

	if (!stat_now(process, "root", &folder) || !stat_now(process, "ns/mnt", &mounts))
		return false;
	*ret = (struct root){makedev(folder.stx_dev_major, folder.stx_dev_minor), folder.stx_ino,
		mounts.stx_ino, -1};
	return true;
}

static bool same_root(const struct root *a, const struct root *b)
{
	return a->device == b->device && a->inode == b->inode && a->mounts == b->mounts;
}

struct kept_files *kept_files_new(void)
{
	struct kept_files *k = calloc(1, sizeof(*k));

	if (k)
		identify_root("self", &k->own);
	return k;
}

static void kept_close(const struct kept *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->dump >= 0)
		close(f->dump);
}

void kept_files_free(struct kept_files *k)
{
	if (!k)
		return;
	vec_foreach (f, &k->all)
		kept_close(f);
	vec_foreach (r, &k->roots)
		close(r->fd);
	vec_release(&k->all);
	vec_release(&k->roots);
	map_release(&k->by_module);
	free(k);
}

/* The index of the process's root folder; -1 when it is ours, or cannot be kept. */
static int keep_root(struct kept_files *k, uint32_t pid)
{
	char process[16], path[64];
	struct root root;

	snprintf(process, sizeof(process), "%u", pid);
	if (!identify_root(process, &root) || same_root(&root, &k->own))
		return -1;
	vec_foreach (r, &k->roots)
		if (same_root(r, &root))
			return (int)(r - k->roots.items);
	if (k->roots.count == ROOTS_MAX)
		return -1;
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root.fd < 0)
		return -1;
	if (vec_push(&k->roots, root)) {
		close(root.fd);
		return -1;
	}
	return (int)k->roots.count - 1;
}

/* Half of the descriptors are for others. */
static size_t room(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 2 > KEPT_FILES_MAX)
		return KEPT_FILES_MAX;
	return limit.rlim_cur / 2;
}

static void read_status(uint32_t pid, struct kept *ret)
{
	struct proc_status status;

	ret->has_user = proc_status_read(pid, &status);
	if (ret->has_user)
		ret->user = (struct kept_user){
			status.uid, status.gid, status.inner_pid ? status.inner_pid : pid};
}

int kept_files_add(struct kept_files *k, uint32_t module, uint32_t pid, bool is_map)
{
	struct kept kept = {.fd = -1, .dump = -ENOENT};
	int error;

	if (map_get(&k->by_module, module))
		return -EEXIST;
	read_status(pid, &kept);
	if (is_map && !kept.has_user)
		return -ESRCH;
	kept.root = keep_root(k, pid);
	error = k->all.count < room() ? vec_push(&k->all, kept) : -ENOSPC;
	if (!error && map_put(&k->by_module, module, k->all.count - 1)) {
		k->all.count--;
		error = -ENOMEM;
	}
	return error;
}

int kept_files_put(
	struct kept_files *k, uint32_t module, int fd, const struct file_identity *identity)
{
	const uint64_t *index = map_get(&k->by_module, module);
	struct kept *kept = index ? &k->all.items[*index] : NULL;

	if (!kept || kept->fd >= 0) {
		close(fd);
		return kept ? -EEXIST : -ENOENT;
	}
	kept->fd = fd;
	kept->identity = *identity;
	return 0;
}

static bool may_name(const struct kept *kept, uint64_t owner)
{
	return !owner || (kept->has_user && owner == kept->user.uid);
}

int kept_files_put_dump(
	struct kept_files *k, uint32_t module, int fd, const struct file_identity *identity)
{
	const uint64_t *index = map_get(&k->by_module, module);
	struct kept *kept = index ? &k->all.items[*index] : NULL;

	if (!kept || kept->dump >= 0) {
		close(fd);
		return kept ? -EEXIST : -ENOENT;
	}
	kept->dump = may_name(kept, identity->owner) ? fd : -EACCES;
	if (kept->dump < 0)
		close(fd);
	return kept->dump < 0 ? kept->dump : 0;
}

static const struct kept *find(const struct kept_files *k, uint32_t module)
{
	const uint64_t *index = map_get(&k->by_module, module);

	return index ? &k->all.items[*index] : NULL;
}

int kept_files_find(const struct kept_files *k, uint32_t module)
{
	const struct kept *f = find(k, module);
	struct file_identity now;
	struct stat st;

	if (!f || f->fd < 0 || fstat(f->fd, &st))
		return -1;
	now = file_identity_of(&st);
	return now.size == f->identity.size && now.modified_ns == f->identity.modified_ns ? f->fd
											  : -1;
}

int kept_files_root(const struct kept_files *k, uint32_t module)
{
	const struct kept *f = find(k, module);

	return f && f->root >= 0 ? k->roots.items[f->root].fd : -1;
}

bool kept_files_user(const struct kept_files *k, uint32_t module, struct kept_user *ret)
{
	const struct kept *f = find(k, module);

	if (f)
		*ret = f->user;
	return f && f->has_user;
}

int kept_files_open_map(const struct kept_files *k, uint32_t module)
{
	const struct kept *f = find(k, module);
	int fd;

	if (!f || f->fd < 0)
		return -ENOENT;
	fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

int kept_files_dump(const struct kept_files *k, uint32_t module)
{
	const struct kept *f = find(k, module);

	return f ? f->dump : -ENOENT;
}
