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

#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/vec.h"

#define KEEP_BYTES ((size_t)1 << 20) /* a buffer beyond that is not kept */

struct queue {
	struct buf bytes;
	struct vec(size_t) ends; /* of each put, in these bytes */
};

struct write_behind {
	int fd;
	size_t limit_bytes;
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t lock;  /* of all below */
	pthread_cond_t filled; /* for the thread */
	/* for the owner: the thread swapped the buffers, or has written one */
	pthread_cond_t taken;
	struct queue filling;
	bool writing;
	bool ending;
	int error;
	uint64_t written;   /* of whole puts */
	struct queue alone; /* what is written when there is no thread */
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

static void swap(struct queue *a, struct queue *b)
{
	struct queue other = *a;

	*a = *b;
	*b = other;
}

static void empty(struct queue *q)
{
	if (q->bytes.capacity > KEEP_BYTES)
		buf_release(&q->bytes);
	else
		buf_reset(&q->bytes);
	q->ends.count = 0;
}

static void release(struct queue *q)
{
	buf_release(&q->bytes);
	vec_release(&q->ends);
}

/* Pipes and devices keep what they got. */
static void cut_off(int fd, size_t bytes)
{
	off_t end = lseek(fd, 0, SEEK_CUR);

	if (bytes && end >= (off_t)bytes && !ftruncate(fd, end - (off_t)bytes))
		(void)lseek(fd, -(off_t)bytes, SEEK_CUR);
}

static int write_whole(int fd, const struct queue *q, size_t *ret_whole)
{
	size_t written;
	int error = io_write(fd, q->bytes.data, q->bytes.size, &written);

	*ret_whole = 0;
	vec_foreach (end, &q->ends)
		if (*end <= written)
			*ret_whole = *end;
	if (error)
		cut_off(fd, written - *ret_whole);
	return error;
}

/* With the lock held; let go while it writes. */
static void write_out(struct write_behind *wb, struct queue *writing)
{
	int error = wb->error;
	size_t whole = 0;

	swap(writing, &wb->filling);
	wb->writing = true;
	pthread_cond_signal(&wb->taken);
	pthread_mutex_unlock(&wb->lock);
	error = error ?: write_whole(wb->fd, writing, &whole);
	empty(writing);
	pthread_mutex_lock(&wb->lock);
	if (!wb->error)
		wb->error = error;
	wb->written += whole;
	wb->writing = false;
	pthread_cond_signal(&wb->taken);
}

static void *write_all(void *context)
{
	struct write_behind *wb = context;
	struct queue writing = {0};

	pthread_mutex_lock(&wb->lock);
	for (;;) {
		if (wb->filling.bytes.size)
			write_out(wb, &writing);
		else if (wb->ending)
			break;
		else
			pthread_cond_wait(&wb->filled, &wb->lock);
	}
	pthread_mutex_unlock(&wb->lock);
	release(&writing);
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

static int enqueue(struct queue *q, const void *data, size_t size)
{
	buf_append(&q->bytes, data, size);
	return q->bytes.failed || vec_push(&q->ends, q->bytes.size) < 0 ? -ENOMEM : 0;
}

int write_behind_put(struct write_behind *wb, const void *data, size_t size)
{
	bool threaded = start(wb);
	int error;

	pthread_mutex_lock(&wb->lock);
	while (wb->filling.bytes.size && wb->filling.bytes.size + size > wb->limit_bytes)
		pthread_cond_wait(&wb->taken, &wb->lock);
	if (!wb->error)
		wb->error = enqueue(&wb->filling, data, size);
	if (!threaded)
		write_out(wb, &wb->alone);
	error = wb->error;
	pthread_cond_signal(&wb->filled);
	pthread_mutex_unlock(&wb->lock);
	return error;
}

uint64_t write_behind_written(struct write_behind *wb)
{
	uint64_t written;

	pthread_mutex_lock(&wb->lock);
	written = wb->written;
	pthread_mutex_unlock(&wb->lock);
	return written;
}

int write_behind_wait(struct write_behind *wb)
{
	int error;

	pthread_mutex_lock(&wb->lock);
	while (wb->has_thread && (wb->filling.bytes.size || wb->writing))
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
	release(&wb->filling);
	release(&wb->alone);
	free(wb);
}
