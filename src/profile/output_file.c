// SPDX-License-Identifier: MIT
/*
 * The lock is on the file itself, and goes with its descriptor. Whoever finds it taken is a second
 * recorder. Between opening a file and locking it somebody else may have moved or removed it: then
 * its name is looked up again.
 */
#include "profile/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "profile/format.h"

#define PROFILE_MODE 0600
#define OPEN_TRIES   100 /* others may replace the file meanwhile */

static bool is_profile(int fd)
{
	static const char magic[] = FILE_MAGIC;
	char begin[FILE_MAGIC_BYTES];

	return io_pread_full(fd, begin, sizeof(begin), 0) == sizeof(begin) &&
	       !memcmp(begin, magic, sizeof(begin));
}

static int open_new(struct output_file *f)
{
	f->fd = place_open(&f->place, O_WRONLY | O_CREAT, PROFILE_MODE);
	f->created = f->fd >= 0;
	return f->created ? 0 : f->fd;
}

/* Open for its beginning and its lock, which some file systems grant to writers only. */
static int open_to_look(const struct place *p)
{
	int fd = place_open(p, O_RDWR | O_NONBLOCK, 0);

	return fd == -EACCES ? place_open(p, O_RDONLY | O_NONBLOCK, 0) : fd;
}

static int open_to_overwrite(struct output_file *f)
{
	struct stat st;
	int error = place_stat(&f->place, &st);

	if (error)
		return error;
	f->fd = place_open_present(&f->place, &st, O_WRONLY);
	return f->fd < 0 ? f->fd : 0;
}

/* Whoever may rename files there may also keep one that may be neither read nor written. */
static int open_regular(struct output_file *f, bool keep)
{
	int look = keep ? open_to_look(&f->place) : -EBADF, error;

	if (look >= 0 && is_profile(look)) {
		f->earlier = look;
		f->keep = true;
		return 0;
	}
	if (look >= 0)
		close(look);
	error = open_to_overwrite(f);
	f->keep = error == -EACCES && look == -EACCES;
	return f->keep ? 0 : error;
}

static int open_any(struct output_file *f, bool keep)
{
	struct stat st;
	int error = place_stat(&f->place, &st);

	if (error == -ENOENT)
		return open_new(f);
	if (error)
		return error;
	return S_ISREG(st.st_mode) ? open_regular(f, keep) : open_to_overwrite(f);
}

static void close_both(struct output_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->earlier >= 0)
		close(f->earlier);
	f->fd = f->earlier = -1;
	f->keep = f->created = false;
}

static int open_locked(struct output_file *f, bool keep)
{
	int error = open_any(f, keep), fd = f->keep ? f->earlier : f->fd;

	if (!error && fd >= 0)
		error = place_lock(fd);
	if (!error && fd >= 0 && !place_holds(&f->place, fd))
		error = -EAGAIN;
	if (error)
		close_both(f);
	return error;
}

/* The file may be removed, or take the name of another, while we look. */
static int open_at_place(struct output_file *f, bool keep)
{
	int error, tries = OPEN_TRIES;

	do
		error = open_locked(f, keep);
	while ((error == -EAGAIN || error == -EEXIST || error == -ENOENT) && --tries);
	return error;
}

/* What a descriptor leads to is nothing of which there could be an earlier one. */
static int open_again(struct output_file *f, int descriptor)
{
	int fd = place_reopen(descriptor);

	if (fd < 0)
		return fd;
	f->fd = fd;
	return place_lock(fd);
}

static int is_busy(const struct output_file *f)
{
	return error_set(-EBUSY, "cannot create '%s': another recorder is writing it", f->path);
}

int output_file_open(struct output_file *f, const struct user *user, const char *path, bool keep)
{
	int descriptor = place_descriptor(path), error;

	*f = OUTPUT_FILE_NONE;
	f->path = path;
	error = descriptor < 0 ? place_find(&f->place, user, path, "create") : 0;
	if (error)
		return error;
	error = descriptor < 0 ? open_at_place(f, keep) : open_again(f, descriptor);
	if (!error)
		return 0;
	(void)output_file_close(f);
	return error == -EBUSY ? is_busy(f) : place_error(user, error, "create", path);
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* Pipes and devices have nothing to cut off. */
static int overwrite(struct output_file *f)
{
	int error = f->fd < 0 ? open_to_overwrite(f) : 0;

	if (!error && ftruncate(f->fd, 0) && errno != EINVAL)
		error = -errno;
	return error;
}

/* Whether the older profile may be replaced by the earlier one: nothing else is. */
static int check_old(const struct place *old)
{
	struct stat st;
	int error = place_stat(old, &st), fd;

	if (error == -ENOENT)
		return 0;
	fd = error || !S_ISREG(st.st_mode) ? -EEXIST : place_open(old, O_RDONLY | O_NONBLOCK, 0);
	if (fd == -EACCES)
		return 0;
	if (fd < 0)
		return error ?: fd;
	error = st.st_size && !is_profile(fd) ? -EEXIST : 0;
	close(fd);
	return error;
}

static int cannot_begin_beside(const struct output_file *f, int error)
{
	if (error == -EBUSY)
		return is_busy(f);
	if (error == -EEXIST)
		return error_set(error,
			"cannot keep the earlier '%s': '%s" OUTPUT_FILE_OLD "' is no profile",
			f->path, f->path);
	return place_error(f->place.user, error, "create", f->path);
}

struct beginning {
	struct place here; /* for the child: with nobody else's rights */
	int earlier;
};

/* All of it in one child, since a fork costs milliseconds by now. */
static int replace_earlier(void *context, int *ret_fd)
{
	struct beginning *b = context;
	struct place old;
	int error = place_beside(&b->here, OUTPUT_FILE_OLD, &old), fd;

	if (!error && b->earlier >= 0 && !place_holds(&b->here, b->earlier))
		error = -EBUSY;
	error = error ?: check_old(&old);
	error = error ?: place_rename(&b->here, &old);
	if (error)
		return error;
	fd = place_open(&b->here, O_WRONLY | O_CREAT, PROFILE_MODE);
	if (fd < 0)
		(void)place_rename(&old, &b->here);
	else
		*ret_fd = fd;
	return fd < 0 ? fd : 0;
}

/* In a folder that lets no file be renamed it is overwritten. */
static int begin_beside(struct output_file *f)
{
	struct beginning b = {.here = f->place, .earlier = f->earlier};
	int error;

	b.here.user = NULL;
	error = user_run(f->place.user, replace_earlier, &b, sizeof(b), &f->fd);
	if (error == -EACCES || error == -EPERM) {
		error = overwrite(f);
	} else {
		error = error ?: place_lock(f->fd);
		f->kept = f->created = !error;
	}
	return error ? cannot_begin_beside(f, error) : 0;
}

int output_file_begin(struct output_file *f)
{
	int error;

	if (f->begun)
		return 0;
	error = f->keep ? begin_beside(f) : overwrite(f);
	if (error)
		return f->keep ? error : place_error(f->place.user, error, "write", f->path);
	f->begun = true;
	return 0;
}

/* --- the end ---------------------------------------------------------------------------------- */

void output_file_remove(const struct output_file *f)
{
	struct place old;

	if (!f->created || !place_holds(&f->place, f->fd))
		return;
	if (f->kept && !place_beside(&f->place, OUTPUT_FILE_OLD, &old))
		(void)place_rename(&old, &f->place);
	else
		(void)place_remove(&f->place);
}

int output_file_close(struct output_file *f)
{
	int error = f->fd >= 0 && close(f->fd) ? -errno : 0;

	f->fd = -1;
	close_both(f);
	place_release(&f->place);
	return error;
}
