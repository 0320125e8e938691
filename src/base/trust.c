// SPDX-License-Identifier: MIT
/*
 * The path is walked name by name, each opened in the folder before it and never followed: what a
 * link points to is put before the rest of the path, and walked likewise.
 */
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel */

struct walk {
	int at;		  /* the last that was entered, O_PATH */
	mode_t mode;	  /* of it */
	struct buf there; /* its path; "" of the root */
	char rest[2 * PATH_MAX];
	int links;
};

static bool has_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &head, has) || has[0].permitted || has[1].permitted;
}

/* The loader's mark stays on a process that has dropped the capabilities of its file. */
bool trust_is_due(void)
{
	return !geteuid() || (getauxval(AT_SECURE) && has_capabilities());
}

/* Goes on at `fd`, which becomes the walk's, if only root can write it. */
static int enter(struct walk *w, int fd)
{
	struct stat st;

	if (w->at >= 0)
		close(w->at);
	w->at = fd;
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	w->mode = st.st_mode;
	return st.st_uid || st.st_mode & (S_IWGRP | S_IWOTH) ? -EPERM : 0;
}

static int enter_root(struct walk *w)
{
	buf_reset(&w->there);
	return enter(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int enter_parent(struct walk *w)
{
	const char *slash = w->there.size ? strrchr(w->there.data, '/') : NULL;

	if (slash) {
		w->there.size = (size_t)(slash - w->there.data);
		w->there.data[w->there.size] = '\0';
	}
	return enter(w, openat(w->at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Puts what the link at `fd` points to before the rest. */
static int follow(struct walk *w, int fd)
{
	char target[PATH_MAX + sizeof(w->rest)];
	ssize_t size = readlinkat(fd, "", target, PATH_MAX);

	if (size < 0)
		return -errno;
	if (!size || ++w->links > LINKS_MAX)
		return -ELOOP;
	if ((size_t)size + 1 + strlen(w->rest) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	target[size] = '/';
	strcpy(target + size + 1, w->rest);
	strcpy(w->rest, target);
	return target[0] == '/' ? enter_root(w) : 0;
}

static int enter_name(struct walk *w, const char *name)
{
	int fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), error;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISLNK(st.st_mode)) {
		error = follow(w, fd);
		close(fd);
		return error;
	}
	buf_printf(&w->there, "/%s", name);
	return w->there.failed ? close(fd), -ENOMEM : enter(w, fd);
}

/* Walks the first name of the rest. */
static int step(struct walk *w)
{
	size_t size = strcspn(w->rest, "/");
	char name[NAME_MAX + 1];

	if (size > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, w->rest, size);
	name[size] = '\0';
	size += strspn(w->rest + size, "/");
	memmove(w->rest, w->rest + size, strlen(w->rest + size) + 1);
	if (!*name || !strcmp(name, "."))
		return 0;
	return strcmp(name, "..") ? enter_name(w, name) : enter_parent(w);
}

int trust_file(const char *path, struct buf *ret_path)
{
	struct walk w = {.at = -1};
	int error;

	if (path[0] != '/')
		return -EINVAL;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(w.rest, path);
	error = enter_root(&w);
	while (!error && w.rest[0])
		error = step(&w);
	if (!error && !S_ISREG(w.mode))
		error = -EINVAL;
	if (!error) {
		buf_puts(ret_path, buf_text(&w.there));
		error = ret_path->failed ? -ENOMEM : 0;
	}
	if (w.at >= 0)
		close(w.at);
	buf_release(&w.there);
	return error;
}
