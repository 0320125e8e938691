// SPDX-License-Identifier: MIT
/* The thread has the block and the result while the state is GIVEN, the owner at all other times.
 */
#include "export/compressor.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/error.h"

#define SUBJECT "compressed output"

enum state { EMPTY, GIVEN, DONE, ENDED };

struct compressor {
	pthread_t thread;
	bool threaded;
	int level;
	pthread_mutex_t lock; /* of `state` */
	pthread_cond_t changed;
	enum state state;
	struct buf block;
	Bytef *result;
	uLongf capacity, size;
	bool failed;
};

static void compress_block(struct compressor *c)
{
	uLong most = compressBound(c->block.size);

	if (most > c->capacity) {
		free(c->result);
		c->result = malloc(most);
		c->capacity = c->result ? most : 0;
	}
	c->size = c->capacity;
	c->failed = !c->result || compress2(c->result, &c->size, (const Bytef *)c->block.data,
					  c->block.size, c->level) != Z_OK;
}

static enum state wait_while(struct compressor *c, enum state state, enum state other)
{
	enum state seen;

	pthread_mutex_lock(&c->lock);
	while (c->state == state || c->state == other)
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

	while (wait_while(c, EMPTY, DONE) == GIVEN) {
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

int compressor_new(struct compressor **ret, int level)
{
	struct compressor *c = calloc(1, sizeof(*c));

	if (!c)
		return error_memory(SUBJECT);
	c->level = level;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	c->threaded = start(c);
	*ret = c;
	return 0;
}

int compressor_take(struct compressor *c, const void **ret_data, size_t *ret_size)
{
	bool any = wait_while(c, GIVEN, GIVEN) == DONE;

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
	(void)wait_while(c, GIVEN, GIVEN);
	enter(c, ENDED);
	if (c->threaded)
		pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	buf_release(&c->block);
	free(c->result);
	free(c);
}
