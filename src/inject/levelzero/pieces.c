// SPDX-License-Identifier: MIT
/*
 * Memory for commands.
 *
 *	  blank   without an event of ours: whoever needs one, for as long as it does
 *	  free    with one, which it keeps: a stack of each context's
 *
 * New pieces with events are made by the call that finds none, some hundreds at once. When a
 * context goes, its events go before, and its pieces are blank again: those that are in use then,
 * when they are given back.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "inject/levelzero/levelzero.h"

#define PIECES (PIECES_MAX + (64u << 10)) /* so that there is room for what runs again and again */

struct links pieces;

static struct {
	pthread_mutex_t lock;
	uint64_t blank; /* a stack */
	uint32_t fresh; /* of the pieces: those that were ever taken */
	uint32_t with_events;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

int pieces_init(void)
{
	void *at = mmap(NULL, PIECES * sizeof(struct piece), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return -1;
	pieces = (struct links){.things = at, .size = sizeof(struct piece)};
	return 0;
}

static __thread bool has_lock;

bool pieces_lock(void)
{
	if (has_lock || (!is_alive() && getpid() != library.pid))
		return false;
	pthread_mutex_lock(&memory.lock);
	has_lock = true;
	return true;
}

void pieces_unlock(void)
{
	has_lock = false;
	pthread_mutex_unlock(&memory.lock);
}

struct piece *pieces_take_blank(void)
{
	struct piece *p = links_take(&pieces, &memory.blank);

	return p ?: links_take_fresh(&pieces, &memory.fresh, PIECES);
}

void pieces_release(void)
{
	if (pieces.things)
		munmap(pieces.things, PIECES * sizeof(struct piece));
}

/* --- under the lock */

static void make_blank(struct piece *p)
{
	struct context *c = p->context;

	if (p->own)
		levelzero.zeEventDestroy(p->own);
	p->own = NULL;
	p->context = NULL;
	memory.with_events--;
	links_give_back(&pieces, &memory.blank, p);
	if (!--c->piece_count && c->gone)
		objects_free_context(c);
}

/* Of those that are given back to a context that is going, or gone. */
static void empty_free(struct context *c)
{
	uint32_t left = c->piece_count;
	struct piece *p;

	while (left-- && (p = links_take(&pieces, &c->free)))
		make_blank(p);
}

static bool make_piece(struct context *c, const struct levelzero_event_desc *desc, void *pool)
{
	struct piece *p = pieces_take_blank();

	if (!p)
		return false;
	p->own = NULL;
	if (levelzero.zeEventCreate(pool, desc, &p->own)) {
		links_give_back(&pieces, &memory.blank, p);
		return false;
	}
	p->context = c;
	c->piece_count++;
	memory.with_events++;
	links_give_back(&pieces, &c->free, p);
	return true;
}

static void make_chunk(struct context *c)
{
	const struct levelzero_event_pool_desc of_pool = {.stype = LEVELZERO_IS_EVENT_POOL_DESC,
		.flags = LEVELZERO_POOL_HOST_VISIBLE | LEVELZERO_POOL_TIMESTAMPS,
		.count = PIECES_CHUNK};
	struct levelzero_event_desc of_event = {.stype = LEVELZERO_IS_EVENT_DESC};
	void *pool;

	if (memory.with_events + PIECES_CHUNK > PIECES_MAX || c->gone || c->left ||
		c->pool_count == sizeof(c->pools) / sizeof(c->pools[0]) ||
		levelzero.zeEventPoolCreate(c->handle, &of_pool, 0, NULL, &pool))
		return;
	c->pools[c->pool_count++] = pool;
	while (of_event.index < PIECES_CHUNK && make_piece(c, &of_event, pool))
		of_event.index++;
}

/* --- the launch path */

struct piece *pieces_take(struct context *c)
{
	struct piece *p = links_take(&pieces, &c->free);

	if (p || !pieces_lock())
		return p;
	p = links_take(&pieces, &c->free);
	if (!p && !c->gone) {
		make_chunk(c);
		p = links_take(&pieces, &c->free);
	}
	pieces_unlock();
	return p;
}

/* The context may go meanwhile: who sees that last makes what is left blank. */
void pieces_give_back(struct piece *p)
{
	struct context *c = p->context;

	if (!c) {
		links_give_back(&pieces, &memory.blank, p);
		return;
	}
	links_give_back(&pieces, &c->free, p);
	if (!__atomic_load_n(&c->gone, __ATOMIC_SEQ_CST) &&
		!__atomic_load_n(&c->left, __ATOMIC_SEQ_CST))
		return;
	if (pieces_lock()) {
		empty_free(c);
		pieces_unlock();
	} else {
		empty_free(c);
	}
}

void pieces_use_again(struct piece *p)
{
	if (p->own && pieces_lock()) {
		if (p->own && p->event == p->own)
			levelzero.zeEventHostReset(p->own);
		pieces_unlock();
	}
	pieces_give_back(p);
}

static void destroy_pools(struct context *c)
{
	for (uint32_t n = 0; n < c->pool_count; n++)
		levelzero.zeEventPoolDestroy(c->pools[n]);
	c->pool_count = 0;
}

bool pieces_let_go(struct context *c)
{
	__atomic_store_n(&c->left, true, __ATOMIC_SEQ_CST);
	empty_free(c);
	if (c->piece_count)
		return false;
	destroy_pools(c);
	return true;
}

/* Events go before their pools, and these before the context. Also where the context lives on, as
 * its end is refused. */
void pieces_leave_context(struct context *c)
{
	__atomic_store_n(&c->gone, true, __ATOMIC_SEQ_CST);
	for (uint32_t n = 1; n <= __atomic_load_n(&memory.fresh, __ATOMIC_RELAXED); n++) {
		struct piece *p = links_at(&pieces, n);

		if (p->context != c || !p->own)
			continue;
		levelzero.zeEventDestroy(p->own);
		p->own = NULL;
	}
	destroy_pools(c);
	if (c->piece_count)
		empty_free(c);
	else
		objects_free_context(c);
}
