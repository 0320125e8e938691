// SPDX-License-Identifier: MIT
#include "export/output_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define TRIES 100 /* others may replace the file meanwhile */

/* Whoever may put files there may also replace one that may not be read: that has no lock. */
static int open_present(struct output_claim *c, const struct stat *st)
{
	int fd;

	if (!S_ISREG(st->st_mode) || c->place.opened_by_name)
		return 0;
	fd = place_open(&c->place, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0)
		return fd == -EACCES ? 0 : fd;
	c->fd = fd;
	return 0;
}

static int open_new(struct output_claim *c)
{
	c->fd = place_open(&c->place, O_WRONLY | O_CREAT, 0666);
	c->created = c->fd >= 0;
	return c->created ? 0 : c->fd;
}

static int lock(struct output_claim *c)
{
	struct stat st;
	int error = place_stat(&c->place, &st);

	error = error == -ENOENT ? open_new(c) : error ?: open_present(c, &st);
	if (!error && c->fd >= 0)
		error = place_lock(c->fd);
	if (!error && c->fd >= 0 && !place_holds(&c->place, c->fd))
		error = -EAGAIN;
	if (error && c->fd >= 0) {
		close(c->fd);
		c->fd = -1;
		c->created = false;
	}
	return error;
}

static int claim(struct output_claim *c)
{
	int error = place_check(&c->place), tries = TRIES;

	if (error)
		return error;
	do
		error = lock(c);
	while ((error == -EAGAIN || error == -EEXIST || error == -ENOENT) && --tries);
	return error;
}

int output_claim(struct output_claim *c, const struct user *user, const char *path)
{
	int error;

	*c = OUTPUT_CLAIM_NONE;
	if (!strcmp(path, "-") || place_descriptor(path) >= 0)
		return 0;
	error = place_find(&c->place, user, path, "write");
	if (error)
		return error;
	error = claim(c);
	if (!error)
		return 0;
	output_claim_release(c);
	return error == -EBUSY
		       ? error_set(error,
				 "cannot write '%s': another recorder is going to write it", path)
		       : place_error(user, error, "write", path);
}

/* What has another's name by now, or none, is not ours. */
void output_claim_release(struct output_claim *c)
{
	struct stat st;

	if (c->created && !fstat(c->fd, &st) && st.st_nlink && !st.st_size &&
		place_holds(&c->place, c->fd))
		(void)place_remove(&c->place);
	if (c->fd >= 0)
		close(c->fd);
	place_release(&c->place);
	*c = OUTPUT_CLAIM_NONE;
}
