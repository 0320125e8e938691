// SPDX-License-Identifier: MIT
/* The thread has the block and the result while the state is GIVEN, the owner at all other times.
 */
#include "export/compressor.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include <libdeflate.h>

#include "base/error.h"

#define SUBJECT "compressed output"
#define LEVEL	1

/* Bits, to wait for one of several. */
enum state { EMPTY = 1, GIVEN = 2, DONE = 4, ENDED = 8 };

struct compressor {
	pthread_t thread;
	bool threaded;
	struct libdeflate_compressor *deflate;
	pthread_mutex_t lock; /* of `state` */
	pthread_cond_t changed;
	enum state state;
	struct buf block;
	uint8_t *result;
	size_t capacity, size;
	bool failed;
};

static void compress_block(struct compressor *c)
{
	size_t most = libdeflate_zlib_compress_bound(c->deflate, c->block.size);

	if (most > c->capacity) {
		free(c->result);
		c->result = malloc(most);
		c->capacity = c->result ? most : 0;
	}
	c->size = c->result ? libdeflate_zlib_compress(c->deflate, c->block.data, c->block.size,
				      c->result, c->capacity)
			    : 0;
	c->failed = !c->size;
}

/* Waits until the state is one of these; returns which. */
static enum state wait_for(struct compressor *c, unsigned int states)
{
	enum state seen;

	pthread_mutex_lock(&c->lock);
	while (!(c->state & states))
		pthread_cond_wait(&c->changed, &c->lock);
	seen = c->state;
	pthread_mutex_unlock(&c->lock);
	return seen;
}

static void enter(struct compressor *c, enum state state)
{
	pthread_mutex_lock(&c->lock);
	c->state = state;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void *run(void *arg)
{
	struct compressor *c = arg;

	while (wait_for(c, GIVEN | ENDED) == GIVEN) {
		compress_block(c);
		enter(c, DONE);
	}
	return NULL;
}

/* Signals are for the thread that was there before. */
static bool start(struct compressor *c)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = !pthread_create(&c->thread, NULL, run, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

int compressor_new(struct compressor **ret)
{
	struct compressor *c = calloc(1, sizeof(*c));

	if (c)
		c->deflate = libdeflate_alloc_compressor(LEVEL);
	if (!c || !c->deflate) {
		free(c);
		return error_memory(SUBJECT);
	}
	c->state = EMPTY;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	c->threaded = start(c);
	*ret = c;
	return 0;
}

int compressor_take(struct compressor *c, const void **ret_data, size_t *ret_size)
{
	bool any = wait_for(c, EMPTY | DONE) == DONE;

	if (any && c->failed)
		return error_memory(SUBJECT);
	*ret_data = any ? c->result : NULL;
	*ret_size = any ? c->size : 0;
	enter(c, EMPTY);
	return 0;
}

void compressor_give(struct compressor *c, struct buf *block)
{
	struct buf empty = c->block;

	c->block = *block;
	*block = empty;
	buf_reset(block);
	if (!c->threaded)
		compress_block(c);
	enter(c, c->threaded ? GIVEN : DONE);
}

void compressor_free(struct compressor *c)
{
	if (!c)
		return;
	(void)wait_for(c, EMPTY | DONE);
	enter(c, ENDED);
	if (c->threaded)
		pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	libdeflate_free_compressor(c->deflate);
	buf_release(&c->block);
	free(c->result);
	free(c);
}
