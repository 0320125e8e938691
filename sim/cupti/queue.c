// SPDX-License-Identifier: MIT
/*
 * Queues are linked blocks. The writer links a new block behind the tail when the tail is full. The
 * reader returns a block when it has popped all of it and a next one exists. Queues are never
 * freed, only used again.
 */
#include "queue.h"

#include <stdlib.h>

static struct {
	pthread_mutex_t lock;
	struct queue_block *free;
	unsigned int blocks; /* in use */
	struct queue *first;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct queue_block *block_get(void)
{
	struct queue_block *b = NULL;

	pthread_mutex_lock(&pool.lock);
	if (pool.blocks < QUEUE_MAX_BLOCKS) {
		b = pool.free;
		if (b)
			pool.free = b->next;
		else
			b = malloc(sizeof(*b));
		pool.blocks += b != NULL;
	}
	pthread_mutex_unlock(&pool.lock);
	if (b) {
		b->next = NULL;
		b->filled = 0;
	}
	return b;
}

static void block_put(struct queue_block *b)
{
	pthread_mutex_lock(&pool.lock);
	b->next = pool.free;
	pool.free = b;
	pool.blocks--;
	pthread_mutex_unlock(&pool.lock);
}

struct queue *queue_acquire(void)
{
	struct queue *q;

	pthread_mutex_lock(&pool.lock);
	for (q = pool.first; q && q->used; q = q->next)
		;
	if (q)
		q->used = true;
	pthread_mutex_unlock(&pool.lock);
	if (q)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->head = q->tail = block_get();
	if (!q->head) {
		free(q);
		return NULL;
	}
	q->used = true;
	pthread_mutex_lock(&pool.lock);
	q->next = pool.first;
	pool.first = q;
	pthread_mutex_unlock(&pool.lock);
	return q;
}

void queue_retire(struct queue *q)
{
	q->used = false;
}

struct queue *queue_first(void)
{
	struct queue *q;

	pthread_mutex_lock(&pool.lock);
	q = pool.first;
	pthread_mutex_unlock(&pool.lock);
	return q;
}

struct queue_item *queue_reserve(struct queue *q)
{
	struct queue_block *b = q->tail;
	uint32_t filled = atomic_load_explicit(&b->filled, memory_order_relaxed);

	if (filled == QUEUE_BLOCK) {
		b = block_get();
		if (!b)
			return NULL;
		atomic_store_explicit(&q->tail->next, b, memory_order_release);
		q->tail = b;
		filled = 0;
	}
	return &b->items[filled];
}

void queue_commit(struct queue *q)
{
	uint32_t filled = atomic_load_explicit(&q->tail->filled, memory_order_relaxed);

	atomic_store_explicit(&q->tail->filled, filled + 1, memory_order_release);
}

struct queue_item *queue_peek(struct queue *q)
{
	struct queue_block *b = q->head, *next;

	if (q->popped == QUEUE_BLOCK) {
		next = atomic_load_explicit(&b->next, memory_order_acquire);
		if (!next)
			return NULL;
		block_put(b);
		q->head = b = next;
		q->popped = 0;
	}
	if (q->popped == atomic_load_explicit(&b->filled, memory_order_acquire))
		return NULL;
	return &b->items[q->popped];
}

void queue_pop(struct queue *q)
{
	q->popped++;
}
