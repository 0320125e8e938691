// SPDX-License-Identifier: MIT
/*
 * Two buffers: put appends to the first, the thread writes the second; when it is done they are
 * swapped. A buffer that grew during a stall is freed.
 *
 *	put --> [filling] --swap--> [writing] --> file
 */
#include "base/write_behind.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/io.h"

#define KEEP_BYTES ((size_t)1 << 20) /* a buffer beyond that is not kept */

struct write_behind {
	int fd;
	size_t limit_bytes;
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t lock;  /* of all below */
	pthread_cond_t filled; /* for the thread */
	/* for the owner: the thread swapped the buffers, or has written one */
	pthread_cond_t taken;
	struct buf filling;
	bool writing;
	bool ending;
	int error;
};

int write_behind_new(struct write_behind **ret, int fd, size_t limit_bytes)
{
	struct write_behind *wb = calloc(1, sizeof(*wb));

	if (!wb)
		return -ENOMEM;
	wb->fd = fd;
	wb->limit_bytes = limit_bytes;
	pthread_mutex_init(&wb->lock, NULL);
	pthread_cond_init(&wb->filled, NULL);
	pthread_cond_init(&wb->taken, NULL);
	*ret = wb;
	return 0;
}

static void swap(struct buf *a, struct buf *b)
{
	struct buf other = *a;

	*a = *b;
	*b = other;
}

/* With the lock held; let go while it writes. */
static void write_out(struct write_behind *wb, struct buf *writing)
{
	int error = wb->error;

	swap(writing, &wb->filling);
	wb->writing = true;
	pthread_cond_signal(&wb->taken);
	pthread_mutex_unlock(&wb->lock);
	error = error ?: io_write_all(wb->fd, writing->data, writing->size);
	if (writing->capacity > KEEP_BYTES)
		buf_release(writing);
	else
		buf_reset(writing);
	pthread_mutex_lock(&wb->lock);
	if (!wb->error)
		wb->error = error;
	wb->writing = false;
	pthread_cond_signal(&wb->taken);
}

static void *write_all(void *context)
{
	struct write_behind *wb = context;
	struct buf writing = BUF_INIT;

	pthread_mutex_lock(&wb->lock);
	for (;;) {
		if (wb->filling.size)
			write_out(wb, &writing);
		else if (wb->ending)
			break;
		else
			pthread_cond_wait(&wb->filled, &wb->lock);
	}
	pthread_mutex_unlock(&wb->lock);
	buf_release(&writing);
	return NULL;
}

static bool start(struct write_behind *wb)
{
	sigset_t all, before;

	if (wb->has_thread)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	wb->has_thread = !pthread_create(&wb->thread, NULL, write_all, wb);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return wb->has_thread;
}

int write_behind_put(struct write_behind *wb, const void *data, size_t size)
{
	int error;

	if (!start(wb)) {
		if (!wb->error)
			wb->error = io_write_all(wb->fd, data, size);
		return wb->error;
	}
	pthread_mutex_lock(&wb->lock);
	while (wb->filling.size && wb->filling.size + size > wb->limit_bytes)
		pthread_cond_wait(&wb->taken, &wb->lock);
	if (!wb->error)
		buf_append(&wb->filling, data, size);
	if (wb->filling.failed)
		wb->error = -ENOMEM;
	error = wb->error;
	pthread_cond_signal(&wb->filled);
	pthread_mutex_unlock(&wb->lock);
	return error;
}

int write_behind_wait(struct write_behind *wb)
{
	int error;

	pthread_mutex_lock(&wb->lock);
	while (wb->has_thread && (wb->filling.size || wb->writing))
		pthread_cond_wait(&wb->taken, &wb->lock);
	error = wb->error;
	pthread_mutex_unlock(&wb->lock);
	return error;
}

void write_behind_free(struct write_behind *wb)
{
	if (!wb)
		return;
	pthread_mutex_lock(&wb->lock);
	wb->ending = true;
	pthread_cond_signal(&wb->filled);
	pthread_mutex_unlock(&wb->lock);
	if (wb->has_thread)
		pthread_join(wb->thread, NULL);
	pthread_cond_destroy(&wb->taken);
	pthread_cond_destroy(&wb->filled);
	pthread_mutex_destroy(&wb->lock);
	buf_release(&wb->filling);
	free(wb);
}
