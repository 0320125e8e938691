// SPDX-License-Identifier: MIT
/*
 * A path is walked name by name, here and not in the kernel, which knows no rule for whose links to
 * follow. Each name is opened below the descriptor of the folder before it, so that what was
 * checked is what is used. The walk runs in a child where the rights are another user's: then it
 * needs no checks, since the user could have done the same.
 */
#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"

#define LINKS_MAX	40 /* as the kernel's */
#define TEMPORARY_TRIES 100
#define READER_WAIT_MS	50 /* between looks for the reader of a pipe */

#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

struct walk {
	char rest[PATH_MAX]; /* what is still to be walked */
	char name[NAME_MAX + 1];
	int links;
	bool as_root; /* links of others are not followed */
	bool refused; /* such a link was met */
	bool shared, opened_by_name;
};

/* Moves the first name of the rest to w->name; "": there is none. */
static int cut_name(struct walk *w)
{
	const char *begin = w->rest + strspn(w->rest, "/");
	size_t length = strcspn(begin, "/");

	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(w->name, begin, length);
	w->name[length] = '\0';
	memmove(w->rest, begin + length, strlen(begin + length) + 1);
	return 0;
}

static bool is_ours_alone(int folder)
{
	struct stat st;

	return !fstat(folder, &st) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int move_to(int *folder, int fd)
{
	if (fd < 0)
		return -errno;
	close(*folder);
	*folder = fd;
	return 0;
}

/* Puts what the link says before the rest. */
static int take_link(struct walk *w, int *folder, int link)
{
	char text[PATH_MAX];
	ssize_t length = readlinkat(link, "", text, sizeof(text));
	size_t rest = strlen(w->rest) + 1;

	if (length < 0)
		return -errno;
	if ((size_t)length + rest > sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + length, w->rest, rest);
	memcpy(w->rest, text, (size_t)length);
	return text[0] == '/' ? move_to(folder, open("/", FOLDER_FLAGS)) : 0;
}

/* What /proc shows as links may have no path that could be walked. */
static int follow_in_proc(struct walk *w, int *folder)
{
	if (w->rest[0])
		return move_to(folder, openat(*folder, w->name, FOLDER_FLAGS));
	w->opened_by_name = true;
	return 0;
}

static int follow_link(struct walk *w, int *folder, int link)
{
	struct statfs fs;
	struct stat st;

	if (fstat(link, &st) || fstatfs(link, &fs))
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return -ENOTDIR;
	if (w->as_root && (st.st_uid != geteuid() || !is_ours_alone(*folder))) {
		w->refused = true;
		return -ELOOP;
	}
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	return fs.f_type == PROC_SUPER_MAGIC && strcmp(w->name, "self") &&
			       strcmp(w->name, "thread-self")
		       ? follow_in_proc(w, folder)
		       : take_link(w, folder, link);
}

static int follow(struct walk *w, int *folder)
{
	int link = openat(*folder, w->name, O_PATH | O_NOFOLLOW | O_CLOEXEC), error;

	if (link < 0)
		return -errno;
	error = follow_link(w, folder, link);
	close(link);
	return error;
}

/* Into the folder that is w->name, or along the link. */
static int enter(struct walk *w, int *folder)
{
	int fd = openat(*folder, w->name, FOLDER_FLAGS | O_NOFOLLOW);

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return follow(w, folder);
	return move_to(folder, fd);
}

/* At the last name: *ret_done unless it is a link, which is followed. */
static int arrive(struct walk *w, int *folder, bool *ret_done)
{
	struct stat st;
	int error;

	if (!w->name[0] || !strcmp(w->name, ".") || !strcmp(w->name, ".."))
		return -EISDIR;
	if (fstatat(*folder, w->name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISLNK(st.st_mode)) {
		*ret_done = true;
		return 0;
	}
	error = follow(w, folder);
	*ret_done = !error && w->opened_by_name;
	return error;
}

static int walk(void *context, int *ret_folder)
{
	struct walk *w = context;
	int folder = open(w->rest[0] == '/' ? "/" : ".", FOLDER_FLAGS), error = 0;
	bool done = false;

	if (folder < 0)
		return -errno;
	while (!error && !done) {
		error = cut_name(w);
		if (!error)
			error = w->rest[0] ? enter(w, &folder) : arrive(w, &folder, &done);
	}
	w->shared = w->as_root && !is_ours_alone(folder);
	if (error)
		close(folder);
	else
		*ret_folder = folder;
	return error;
}

int place_error(const struct user *user, int code, const char *doing, const char *path)
{
	if (user && user->name && (code == -EACCES || code == -EPERM))
		return error_errno(
			code, "cannot %s '%s' as %s, who called sudo", doing, path, user->name);
	if (code == -EMLINK)
		return error_set(code,
			"cannot %s '%s': it is another user's, or has a second name, in a folder "
			"where others may make files",
			doing, path);
	if (code == -ETIMEDOUT)
		return error_set(
			code, "cannot %s '%s': its file system does not answer", doing, path);
	return error_errno(code, "cannot %s '%s'", doing, path);
}

int place_find(struct place *p, const struct user *user, const char *path, const char *doing)
{
	struct walk w = {.as_root = !geteuid() && !(user && user->switched)};
	int error = strlen(path) < sizeof(w.rest) ? 0 : -ENAMETOOLONG, folder;

	*p = PLACE_NONE;
	if (!*path)
		error = -ENOENT;
	strncpy(w.rest, path, sizeof(w.rest) - 1);
	error = error ?: user_run(user, walk, &w, sizeof(w), &folder);
	if (error && w.refused)
		return error_set(error,
			"cannot %s '%s': '%s' in it is a link that another user may have made",
			doing, path, w.name);
	if (error)
		return place_error(user, error, doing, path);
	*p = (struct place){.user = user,
		.folder = folder,
		.shared = w.shared,
		.opened_by_name = w.opened_by_name};
	memcpy(p->name, w.name, sizeof(p->name));
	return 0;
}

void place_release(struct place *p)
{
	if (p->folder >= 0)
		close(p->folder);
	p->folder = -1;
}

/* --- with the user's rights ------------------------------------------------------------------- */

struct job {
	int folder, flags;
	mode_t mode;
	char name[NAME_MAX + 1], other[NAME_MAX + 1];
	struct stat st;
};

static struct job job_at(const struct place *p)
{
	struct job j = {.folder = p->folder};

	memcpy(j.name, p->name, sizeof(j.name));
	return j;
}

static int run_job(const struct place *p, int (*call)(void *, int *), struct job *j, int *ret_fd)
{
	return user_run(p->user, call, j, sizeof(*j), ret_fd);
}

static int do_stat(void *context, int *ret_fd)
{
	struct job *j = context;

	(void)ret_fd;
	return fstatat(j->folder, j->name, &j->st, j->flags) ? -errno : 0;
}

static int do_open(void *context, int *ret_fd)
{
	struct job *j = context;
	int fd = openat(j->folder, j->name, j->flags | O_CLOEXEC | O_NOCTTY, j->mode);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int do_remove(void *context, int *ret_fd)
{
	struct job *j = context;

	(void)ret_fd;
	return unlinkat(j->folder, j->name, 0) ? -errno : 0;
}

static int do_rename(void *context, int *ret_fd)
{
	struct job *j = context;

	(void)ret_fd;
	return renameat(j->folder, j->name, j->folder, j->other) ? -errno : 0;
}

/* A file comes to its place by another name, so the folder counts; but for one that may only be
 * overwritten. */
static int do_check(void *context, int *ret_fd)
{
	struct job *j = context;
	struct stat st;
	bool there = !fstatat(j->folder, j->name, &st, j->flags);

	(void)ret_fd;
	if (there && S_ISDIR(st.st_mode))
		return -EISDIR;
	if ((!there || S_ISREG(st.st_mode)) && !faccessat(j->folder, ".", W_OK | X_OK, 0))
		return 0;
	return there && !faccessat(j->folder, j->name, W_OK, 0) ? 0 : -errno;
}

int place_stat(const struct place *p, struct stat *ret)
{
	struct job j = job_at(p);
	int error;

	j.flags = p->opened_by_name ? 0 : AT_SYMLINK_NOFOLLOW;
	error = run_job(p, do_stat, &j, NULL);
	if (!error)
		*ret = j.st;
	return error;
}

int place_open(const struct place *p, int flags, mode_t mode)
{
	struct job j = job_at(p);
	int fd, error;

	j.flags = flags | (flags & O_CREAT ? O_EXCL : 0) | (p->opened_by_name ? 0 : O_NOFOLLOW);
	j.mode = mode;
	error = run_job(p, do_open, &j, &fd);
	return error ?: fd;
}

int place_remove(const struct place *p)
{
	struct job j = job_at(p);

	return run_job(p, do_remove, &j, NULL);
}

int place_rename(const struct place *from, const struct place *to)
{
	struct job j = job_at(from);

	memcpy(j.other, to->name, sizeof(j.other));
	return run_job(from, do_rename, &j, NULL);
}

int place_check(const struct place *p)
{
	struct job j = job_at(p);

	j.flags = p->opened_by_name ? 0 : AT_SYMLINK_NOFOLLOW;
	return run_job(p, do_check, &j, NULL);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool place_holds(const struct place *p, int fd)
{
	struct stat there, opened;

	return !place_stat(p, &there) && !fstat(fd, &opened) && is_same(&there, &opened);
}

int place_lock(int fd)
{
	struct stat st;

	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) &&
		errno == EWOULDBLOCK)
		return -EBUSY;
	return 0;
}

/* A pipe that nobody reads cannot be opened without waiting in the kernel, where no signal of those
 * that we block would reach us. */
static int open_when_read(const struct place *p, int flags)
{
	int fd;

	while ((fd = place_open(p, flags, 0)) == -ENXIO) {
		if (user_signal_waits())
			return -EINTR;
		poll(NULL, 0, READER_WAIT_MS);
	}
	return fd;
}

int place_open_present(const struct place *p, const struct stat *st, int flags)
{
	bool pipe = S_ISFIFO(st->st_mode);
	struct stat opened;
	int fd;

	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (p->shared && (st->st_uid != geteuid() || st->st_nlink > 1))
		return -EMLINK;
	flags |= O_NONBLOCK; /* should it be a pipe by now */
	fd = pipe ? open_when_read(p, flags) : place_open(p, flags, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &opened) || !is_same(st, &opened) || (p->shared && opened.st_nlink > 1) ||
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK)) {
		close(fd);
		return -EAGAIN;
	}
	return fd;
}

/* --- beside it -------------------------------------------------------------------------------- */

int place_temporary(const struct place *p, mode_t mode, struct place *ret)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	struct place place = *p;
	int fd = -EEXIST;

	place.opened_by_name = false;
	for (int i = 0; fd == -EEXIST && i < TEMPORARY_TRIES; i++) {
		uint8_t random[8];
		char *end = stpcpy(place.name, ".xpuprof.");

		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			return -EIO;
		for (size_t n = 0; n < sizeof(random); n++)
			*end++ = letters[random[n] % 32];
		*end = '\0';
		fd = place_open(&place, O_WRONLY | O_CREAT, mode);
	}
	if (fd >= 0)
		*ret = place;
	return fd;
}

int place_beside(const struct place *p, const char *suffix, struct place *ret)
{
	struct place place = *p;

	if (strlen(p->name) + strlen(suffix) > NAME_MAX)
		return -ENAMETOOLONG;
	strcat(place.name, suffix);
	*ret = place;
	return 0;
}

/* --- what is open already --------------------------------------------------------------------- */

int place_descriptor(const char *path)
{
	static const char *const streams[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

	for (int fd = 0; fd < 3; fd++)
		if (!strcmp(path, streams[fd]))
			return fd;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *number = path + strlen(folders[i]);
		char *end;
		long fd;

		if (strncmp(path, folders[i], strlen(folders[i])) || *number < '0' || *number > '9')
			continue;
		fd = strtol(number, &end, 10);
		return *end || fd > INT_MAX ? -1 : (int)fd;
	}
	return -1;
}

/* Not beyond what it was opened for: the caller of sudo may have given us a file to read. */
int place_reopen(int descriptor)
{
	int flags = fcntl(descriptor, F_GETFL), fd = -1;
	char name[32];
	struct stat st;

	if (flags < 0 || fstat(descriptor, &st))
		return -errno;
	if ((flags & O_ACCMODE) == O_RDONLY)
		return -EACCES;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", descriptor);
	if (S_ISREG(st.st_mode))
		fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}
