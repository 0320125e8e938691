// SPDX-License-Identifier: MIT
/*
 * Folders of other users are never entered: neither those above ours, nor those that have a name
 * like ours in /tmp. What lies on another file system than its parent is left alone, too, since
 * opening it could wait for whoever serves it.
 */
#include "record/runtime_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

#define OWN_NAME    "xpuprof"
#define PREFIX	    "recording-"
#define ID_DIGITS   16
#define TRIES	    16
#define ENTRIES_MAX 65536 /* looked at for what others have left: /tmp is everybody's */
#define MODE	    0700
#define MODE_SHARED 0711

/* Where folders are made. */
struct place {
	int fd; /* -1: it cannot be had */
	char path[RUNTIME_DIR_PATH_BYTES - RUNTIME_DIR_NAME_BYTES];
	const char *prefix;
};

/* ---- the places ---- */

static int open_folder(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Whether only we can change what is in it. */
static bool is_ours(int fd, mode_t others)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & others);
}

/* -1: there is none that is ours alone. Nor is there any in the parent -1. */
static int open_own(int parent, const char *name, mode_t others)
{
	int fd = parent == -1 ? -1 : open_folder(parent, name);

	if (fd < 0 || is_ours(fd, others))
		return fd;
	close(fd);
	return -1;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The folder in `parent` that all recordings share. It stays. */
static int open_common(int parent, mode_t mode)
{
	int fd;

	if (parent < 0)
		return -1;
	mkdirat(parent, OWN_NAME, mode);
	fd = open_own(parent, OWN_NAME, S_IWGRP | S_IWOTH);
	/* The caller's umask may have kept others out. */
	if (fd >= 0 && fchmod(fd, mode)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void open_place_of_root(struct place *p)
{
	int root = open_own(AT_FDCWD, "/", S_IWGRP | S_IWOTH),
	    run = open_own(root, "run", S_IWGRP | S_IWOTH);

	*p = (struct place){.path = "/run/" OWN_NAME "/", .prefix = PREFIX};
	p->fd = open_common(run, MODE_SHARED);
	close_if_open(run);
	close_if_open(root);
}

static void open_place_of_user(struct place *p)
{
	const char *folder = secure_getenv("XDG_RUNTIME_DIR");
	int parent, size;

	*p = (struct place){.fd = -1, .prefix = PREFIX};
	if (!folder || *folder != '/')
		return;
	size = snprintf(p->path, sizeof(p->path), "%s/" OWN_NAME "/", folder);
	if ((size_t)size >= sizeof(p->path))
		return;
	parent = open_own(AT_FDCWD, folder, S_IRWXG | S_IRWXO);
	p->fd = open_common(parent, MODE);
	close_if_open(parent);
}

static void open_place_for_all(struct place *p)
{
	*p = (struct place){.path = "/tmp/", .prefix = OWN_NAME "-" PREFIX};
	p->fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- what killed recorders have left ---- */

static bool is_name_of_ours(const struct place *p, const char *name)
{
	size_t size = strlen(p->prefix);

	return !strncmp(name, p->prefix, size) && strlen(name) == size + ID_DIGITS &&
	       strspn(name + size, "0123456789abcdef") == ID_DIGITS;
}

/* A folder as we make them. */
static bool was_made_by_us(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == geteuid() &&
	       ((st.st_mode & 07777) == MODE || (st.st_mode & 07777) == MODE_SHARED);
}

/* A stream of its own: NULL when there is none. */
static DIR *list(int fd)
{
	int copy = open_folder(fd, ".");
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);

	if (!entries)
		close_if_open(copy);
	return entries;
}

static void remove_sockets(int fd)
{
	DIR *entries = list(fd);
	struct dirent *entry;
	struct stat st;

	while (entries && (entry = readdir(entries)))
		if (!fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(st.st_mode))
			unlinkat(fd, entry->d_name, 0);
	if (entries)
		closedir(entries);
}

static void remove_if_left(const struct place *p, const char *name)
{
	const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
	int fd = (int)syscall(SYS_openat2, p->fd, name, &how, sizeof(how));

	if (fd < 0)
		return;
	if (was_made_by_us(fd) && !flock(fd, LOCK_EX | LOCK_NB)) {
		remove_sockets(fd);
		unlinkat(p->fd, name, AT_REMOVEDIR);
	}
	close(fd);
}

static void sweep(const struct place *p)
{
	DIR *entries = list(p->fd);
	struct dirent *entry;

	for (int n = 0; entries && n < ENTRIES_MAX && (entry = readdir(entries)); n++)
		if (is_name_of_ours(p, entry->d_name))
			remove_if_left(p, entry->d_name);
	if (entries)
		closedir(entries);
}

/* ---- ours ---- */

/* Whether the name still stands for what we have opened and locked: somebody who sweeps may have
 * come between. Where folders cannot be locked (NFS), nobody sweeps. */
static bool is_locked(const struct place *p, const char *name, int fd)
{
	struct stat ours, there;

	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return false;
	return !fstat(fd, &ours) && !fstatat(p->fd, name, &there, AT_SYMLINK_NOFOLLOW) &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* -1: it did not work, with errno; EEXIST: another name may do. */
static int make_locked(const struct place *p, const char *name, mode_t mode)
{
	int fd;

	if (mkdirat(p->fd, name, mode))
		return -1;
	fd = open_own(p->fd, name, S_IWGRP | S_IWOTH);
	if (fd >= 0 && is_locked(p, name, fd) && !fchmod(fd, mode))
		return fd;
	close_if_open(fd);
	errno = EEXIST;
	return -1;
}

static int make_in(struct runtime_dir *d, const struct place *p, bool shared)
{
	uint64_t id;

	for (int n = 0; d->fd < 0 && n < TRIES; n++) {
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			return -errno;
		snprintf(d->name, sizeof(d->name), "%s%0*" PRIx64, p->prefix, ID_DIGITS, id);
		d->fd = make_locked(p, d->name, shared ? MODE_SHARED : MODE);
		if (d->fd < 0 && errno != EEXIST)
			return -errno;
	}
	if (d->fd < 0)
		return -EEXIST;
	d->parent = p->fd;
	snprintf(d->path, sizeof(d->path), "%s%s", p->path, d->name);
	return 0;
}

static int open_in(struct runtime_dir *d, const struct place *p, bool shared)
{
	int error;

	if (p->fd < 0)
		return -errno;
	sweep(p);
	error = make_in(d, p, shared);
	if (error)
		close(p->fd);
	return error;
}

int runtime_dir_open(struct runtime_dir *d, bool shared)
{
	struct place own, tmp;
	int error;

	*d = RUNTIME_DIR_INIT;
	if (geteuid())
		open_place_of_user(&own);
	else
		open_place_of_root(&own);
	if (own.fd >= 0 && !open_in(d, &own, shared))
		return 0;
	open_place_for_all(&tmp);
	error = open_in(d, &tmp, shared);
	return error ? error_errno(error, "cannot make a folder in /tmp for the GPU side "
					  "(--cpu-only needs none)")
		     : 0;
}

void runtime_dir_close(struct runtime_dir *d)
{
	if (d->fd < 0)
		return;
	unlinkat(d->parent, d->name, AT_REMOVEDIR);
	close(d->fd);
	close(d->parent);
	*d = RUNTIME_DIR_INIT;
}
